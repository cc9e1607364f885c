from __future__ import annotations

from pathlib import Path

import pytest

from hazardmill.errors import InputError
from hazardmill.resources import review_folder
from hazardmill.review.assignments.publish import give_tasks
from hazardmill.review.assignments.sampler import Wish
from hazardmill.review.candidates import ReviewPool
from hazardmill.review.decisions.effective import opinions
from hazardmill.review.decisions.folder import ReviewFolder
from hazardmill.review.policies import accepted_set
from hazardmill.review.recorded import PLACE, lay_out, record_reviews
from hazardmill.review.schemas import ReviewAnswer
from hazardmill.review.service import ReviewService

MODELS = ("model-claude-1", "model-claude-2")


@pytest.fixture
def decided(folder: ReviewFolder, pool: ReviewPool, service: ReviewService) -> ReviewFolder:
    """Two models and a person review all tasks; the second model rejects its first one, after a change of mind."""
    give_tasks(folder, pool, Wish((*MODELS, "ada"), per_task=3, calibration=0.0, repeats=0.0))
    for name in (*MODELS, "ada"):
        session, number = service.session(name), 0
        while (sheet := session.next()) is not None:
            answer = ReviewAnswer(verdict="approve", seconds=None)
            session.record(sheet.slip, answer, seen=sheet.seen, expects=None, submission=f"{name}-{number}")
            if number == 0 and name == MODELS[1]:
                session.undo(submission="undone")
                again = ReviewAnswer(verdict="reject", reasons=("hints",), seconds=None)
                session.record(sheet.slip, again, seen=sheet.seen, expects=None, submission="again")
            number += 1
    return folder


def files(made: list) -> list[Path]:
    return [each.path for each in made]


def test_what_models_decided_comes_out_again_and_nothing_of_people(
    decided: ReviewFolder, pool: ReviewPool, tmp_path: Path
) -> None:
    made = record_reviews(decided, pool, tmp_path / "out")
    sources = {pool[item].source for item in pool if pool[item].kind == "task"}
    assert {each.source for each in made} == sources
    assert {each.path for each in made} == {tmp_path / "out" / source / PLACE for source in sources}
    assert sum(each.tasks for each in made) == 12 and sum(each.decisions for each in made) == 25
    assert {each.reviewers for each in made} == {MODELS}
    assert not any("ada" in path.read_text() for path in files(made))

    again = ReviewFolder(tmp_path / "again")
    assert lay_out(files(made), again) == 25
    assert again.reviewers() == list(MODELS)
    assert again.rubric.read_bytes() == (review_folder() / "rubric.md").read_bytes()
    for name in MODELS:
        ours, theirs = (folder.decision_log(name).history().entries for folder in (again, decided))
        assert ours == theirs
    tasks = [item for item in pool if pool[item].kind == "task"]
    accepted = accepted_set(tasks, opinions(again, pool), "any-reject")
    assert accepted.counts == {"accepted": 11, "rejected": 1}


def test_laid_out_twice_it_is_there_once(decided: ReviewFolder, pool: ReviewPool, tmp_path: Path) -> None:
    made = files(record_reviews(decided, pool, tmp_path / "out"))
    folder = ReviewFolder(tmp_path / "again")
    lay_out(made, folder)
    before = {path.name: path.read_bytes() for path in (tmp_path / "again").rglob("*.*") if path.is_file()}
    lay_out(made, ReviewFolder(tmp_path / "again"))
    assert before == {path.name: path.read_bytes() for path in (tmp_path / "again").rglob("*.*") if path.is_file()}


def test_the_same_decisions_give_the_same_bytes(decided: ReviewFolder, pool: ReviewPool, tmp_path: Path) -> None:
    one, other = (files(record_reviews(decided, pool, tmp_path / name)) for name in ("one", "other"))
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in other]


def test_without_a_model_there_is_nothing_to_record(folder: ReviewFolder, pool: ReviewPool, tmp_path: Path) -> None:
    give_tasks(folder, pool, Wish(("ada", *MODELS)))
    with pytest.raises(InputError, match="no language model has reviewed any of these tasks"):
        record_reviews(folder, pool, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_damage_is_named_with_its_line(decided: ReviewFolder, pool: ReviewPool, tmp_path: Path) -> None:
    path = files(record_reviews(decided, pool, tmp_path / "out"))[0]
    lines = path.read_text().splitlines(keepends=True)
    number = next(number for number, line in enumerate(lines, 1) if '"verdict":"approve"' in line)
    good = lines[number - 1]
    for bad, said in (
        (good.replace('"approve"', '"skip"'), "its id does not match"),
        (good[:40] + "\n", "not JSON"),
        ("{}\n", "Unable to extract tag"),
    ):
        lines[number - 1] = bad
        path.write_text("".join(lines))
        with pytest.raises(InputError, match=said) as caught:
            lay_out([path], ReviewFolder(tmp_path / "again"))
        assert (caught.value.file, caught.value.line) == (str(path), number)
        assert caught.value.remedy is not None and "hazardmill review record" in caught.value.remedy
    assert not (tmp_path / "again").exists()


def test_decisions_of_people_are_not_taken_from_such_a_file(
    decided: ReviewFolder, pool: ReviewPool, tmp_path: Path
) -> None:
    path = tmp_path / "reviews.jsonl"
    path.write_text(decided.decision_log("ada").history().entries[0].line() + "\n")
    with pytest.raises(InputError, match="ada is not a model"):
        lay_out([path], ReviewFolder(tmp_path / "again"))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="recorded reviews cannot be read") as caught:
        lay_out([tmp_path / "gone.jsonl"], ReviewFolder(tmp_path / "again"))
    assert caught.value.file == str(tmp_path / "gone.jsonl")
