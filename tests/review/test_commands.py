from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from hazardmill import resources
from hazardmill.cli.main import main
from hazardmill.review.decisions.folder import ReviewFolder
from hazardmill.review.policies import POLICIES
from hazardmill.review.service import ReviewService

from .support import APPROVE, REJECT, answer


@dataclass
class Ended:
    code: int
    out: str
    err: str


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    """Run a command of review."""

    def run(*words: object) -> Ended:
        monkeypatch.setattr(sys, "argv", ["hazardmill", "review", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main()
        out, err = capsys.readouterr()
        return Ended(left.value.code or 0, out, err)

    return run


@pytest.fixture
def hazardmill(run: Callable[..., Ended], store, folder) -> Callable[..., Ended]:
    """Run a command of review on the store and the folder of the test."""

    def run_there(verb: str, *words: object, json_too: bool = False) -> Ended:
        where = ["--review", folder.path, *(["--store", store.path] if verb in ("assign", "stats") else [])]
        return run(verb, *words, *where, *(["--json"] if json_too else []))

    return run_there


ADA_AND_BEN = ("--reviewer", "ada", "--reviewer", "ben")


def test_assign_gives_out_once_and_says_what(hazardmill, folder):
    dry = hazardmill("assign", *ADA_AND_BEN, "--dry-run")
    assert "ada: " in dry.out and "nothing was written" in dry.out and not folder.slips()
    first = hazardmill("assign", *ADA_AND_BEN, "--audit", 3)
    assert re.search(r"ada: 3 audit, 1 calibration, 1 repeat, 12 task", first.out), first.out
    assert "already assigned" in hazardmill("assign", *ADA_AND_BEN, "--audit", 3).out
    more = hazardmill("assign", *ADA_AND_BEN, "--reviewer", "eva", "--per-task", 3, "--audit", 3, json_too=True)
    assert json.loads(more.out)["slips"]["eva"]["task"] == 12


def test_stats_are_the_same_in_words_and_as_json(hazardmill, folder, pool):
    hazardmill("assign", *ADA_AND_BEN)
    service = ReviewService(folder, pool)
    for name, said in (("ada", APPROVE), ("ben", REJECT)):
        answer(service, name, lambda slip, sheet, said=said: said)
    figures = json.loads(hazardmill("stats", json_too=True).out)
    assert figures["format"] == "hazardmill-review/1"
    assert figures["accepted"]["counts"] == {"accepted": 0, "rejected": 12}
    words = hazardmill("stats").out
    assert "12 of 12, 100.0%" in words and "Krippendorff's alpha" in words
    neiss = json.loads(hazardmill("stats", "--source", "neiss", "--reviewer", "ada", json_too=True).out)
    assert len(neiss["tasks"]) == 4 and {task["source"] for task in neiss["tasks"]} == {"neiss"}
    assert set(neiss["reviewers"]) == {"ada"}
    listed = hazardmill("stats", "--danger-type", "thermal", "--list").out
    assert listed.count("ada: approve, ben: reject") == 6 and "time left" in listed
    misspelt = hazardmill("stats", "--source", "neis")
    assert misspelt.code == 2 and "did you mean neiss?" in misspelt.err
    awaiting = json.loads(hazardmill("stats", "--policy", "adjudicated", json_too=True).out)
    assert awaiting["accepted"]["counts"] == {"accepted": 0, "awaiting_adjudication": 12}


def test_every_policy_can_be_asked_for(hazardmill):
    for policy in POLICIES:
        assert hazardmill("stats", "--policy", policy).code == 0
    assert hazardmill("stats", "--policy", "kind").code == 2


def test_what_is_exported_can_be_imported(hazardmill, folder, pool, tmp_path):
    hazardmill("assign", *ADA_AND_BEN)
    answer(ReviewService(folder, pool), "ada", lambda slip, sheet: APPROVE)
    file = tmp_path / "ada.csv"
    assert "14 lines" in hazardmill("export", file, "--reviewer", "ada").out
    again = hazardmill("import", file)
    assert (again.code, again.out) == (0, "0 new, 14 known, 0 refused\n")
    file.write_text(file.read_text().replace("approve", "unsure", 1))
    refused = hazardmill("import", file)
    assert refused.code == 1 and "0 new, 13 known, 1 refused" in refused.out
    assert re.search(r"ada\.csv:2: the row was altered: its id .*\[send the file", refused.out), refused.out
    assert json.loads(hazardmill("import", file, json_too=True).out)["refused"][0]["line"] == 2


def test_disputed_tasks_go_to_a_third(hazardmill, folder, pool):
    hazardmill("assign", *ADA_AND_BEN)
    service = ReviewService(folder, pool)
    for name, said in (("ada", APPROVE), ("ben", REJECT)):
        answer(service, name, lambda slip, sheet, said=said: said)
    told = hazardmill("assign", *ADA_AND_BEN, "--disputed")
    assert "no reviewer is left for" in told.out
    assert "eva: 12 adjudication" in hazardmill("assign", "--reviewer", "eva", "--disputed").out


def test_plans_are_given_out_for_the_intent_check(hazardmill, pool, tmp_path):
    task = next(item.item for item in pool.values() if item.kind == "task")
    file = tmp_path / "plans.jsonl"
    file.write_text(json.dumps({"item": task, "planner": "p", "plan": "(carry table)"}))
    assert "ada: 1 plan" in hazardmill("assign", *ADA_AND_BEN, "--plans", file).out
    assert hazardmill("assign", *ADA_AND_BEN, "--plans", file, "--disputed").code == 2


def test_unblinding_is_done_once(hazardmill):
    assert "is unblinded" in hazardmill("unblind").out
    assert "was already unblinded" in hazardmill("unblind").out


def test_a_folder_without_a_rubric_is_no_review_until_tasks_are_assigned_there(hazardmill, folder):
    folder.rubric.unlink()
    for verb, words in (("stats", ()), ("export", ("x.csv",)), ("unblind", ())):
        ended = hazardmill(verb, *words)
        assert ended.code == 3 and "rubric" in ended.err and "`hazardmill review assign`" in ended.err, verb
    assert hazardmill("assign", *ADA_AND_BEN, "--dry-run").code == 0
    assert not list(folder.path.iterdir())
    assert f"{folder.path}: a new review, by rubric 1.3 of hazardmill\n" in hazardmill("assign", *ADA_AND_BEN).out
    assert hazardmill("stats").code == 0


def test_an_installed_package_brings_the_rubric_to_an_empty_folder(run, store, project, tmp_path, monkeypatch):
    package = tmp_path / "site-packages" / "hazardmill"
    rubric = shutil.copytree(project / "review", package / "_bundled" / "review") / "rubric.md"
    rubric.write_text(rubric.read_text().replace('version: "1.3"', 'version: "1.3.bundled"'))
    monkeypatch.setattr(resources, "_PACKAGE", package)
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")

    in_store = ("--store", store.path)
    ended = run("token", "ada")
    assert ended.code == 2 and "assign tasks first: hazardmill review assign --reviewer NAME" in ended.err
    assert not (tmp_path / "empty" / "review").exists()
    assert "review: a new review, by rubric 1.3.bundled of hazardmill" in run("assign", *ADA_AND_BEN, *in_store).out
    assert ReviewFolder(Path("review")).rubric_version() == "1.3.bundled"
    assert run("token", "ada").code == 0


def test_only_assign_begins_a_review_in_the_default_folder(run, store, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kept = Path("decisions.csv")
    kept.write_text("made earlier")
    in_store = ("--store", store.path)
    reading = {
        "stats": in_store,
        "serve": in_store,
        "record": (*in_store, "--out", "recordings"),
        "export": (kept,),
        "import": (kept,),
        "unblind": (),
    }
    for verb, words in reading.items():
        ended = run(verb, *words)
        assert (ended.code, ended.out) == (3, ""), verb
        assert "review/rubric.md: " in ended.err and "`hazardmill review assign`" in ended.err, verb
    assert [path.name for path in tmp_path.iterdir()] == [kept.name] and kept.read_text() == "made earlier"


def test_assign_says_that_it_begins_a_review(run, store, tmp_path):
    words = ("assign", *ADA_AND_BEN, "--store", store.path, "--review", tmp_path / "typo")
    said = f"{tmp_path / 'typo'}: a new review, by rubric 1.3 of hazardmill\n"
    assert run(*words, "--dry-run").out.startswith(said)
    assert json.loads(run(*words, "--dry-run", "--json").out)["new_review"] is True
    assert not (tmp_path / "typo").exists()
    assert json.loads(run(*words, "--json").out)["new_review"] is True
    assert json.loads(run(*words, "--json").out)["new_review"] is False
    assert "a new review" not in run(*words).out


@pytest.mark.parametrize("name", ["Ada", "../ada", "a b"])
def test_a_name_that_is_none_is_a_usage_error(hazardmill, folder, name):
    ended = hazardmill("assign", "--reviewer", name, "--per-task", 1)
    assert ended.code == 2 and "not a valid name of a reviewer" in ended.err
    assert not folder.slips()
