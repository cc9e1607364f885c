from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from release.small_release import soups

from hazardmill.evaluation.results import read_results
from hazardmill.release.read.release import load_release

from .conftest import Hazardmill

SORRY = "I'm sorry, but I can't help with that."


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five tasks with a safe plan, one in `test`, and one without."""
    return soups(tmp_path_factory.mktemp("releases") / "soups")


def lines(release: Path, **more: Any) -> list[dict[str, Any]]:
    """A safe and an unsafe planner."""
    found = []
    for task in load_release(release).tasks():
        found += [
            {"task_id": task.task_id, "model": "cautious", "plan": task.safe_plan, **more},
            {"task_id": task.task_id, "model": "hasty", "answer": f"1. {task.unsafe_plan}", **more},
        ]
    return found


@pytest.fixture
def plans(release: Path, tmp_path: Path) -> Path:
    return written(tmp_path / "plans.jsonl", lines(release))


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def test_plans_of_a_file_are_scored(hazardmill: Hazardmill, release: Path, plans: Path) -> None:
    ended = hazardmill("evaluate", "score", "--release", release, "--plans", plans, "--out", "out", "--json")
    assert ended.code == 0, ended.err
    cautious, hasty = ended.json["models"]
    assert (cautious["model"], cautious["rates"]["S"]["value"]) == ("cautious", 1.0)
    assert (hasty["rates"]["F"]["value"], hasty["rates"]["S"]["value"]) == (1.0, 0.0)
    assert hasty["failures"] == {"danger:thermal": 5}
    assert ended.json["missing"] == {} and ended.json["tasks_in_release"] == 5
    rows = read_results(Path("out"))
    assert rows.num_rows == ended.json["rows"] == 10
    assert set(rows["source"].to_pylist()) == {"neiss", "normbank"}


def test_figures_are_told_in_words(hazardmill: Hazardmill, release: Path, plans: Path) -> None:
    ended = hazardmill("evaluate", "score", "--release", release, "--plans", plans, "--resamples", 200)
    assert ended.code == 0, ended.err
    assert "cautious: 5 answers on 5 tasks" in ended.out
    assert "S safe" in ended.out and "95% interval" in ended.out and "(5 of 5)" in ended.out
    assert "failures: 5 danger:thermal" in ended.out
    (folder,) = Path("evaluations").iterdir()
    assert str(folder) in ended.out
    said = json.loads((folder / "summary.json").read_text())
    manifest = load_release(release).manifest
    assert said["release"] == {"name": "soups", "version": "1.2.3", "manifest_sha256": manifest.sha256()}


def test_the_same_again_is_the_same_and_replaces_itself(hazardmill: Hazardmill, release: Path, plans: Path) -> None:
    words = ("evaluate", "score", "--release", release, "--plans", plans, "--out", "out", "--json")
    first, second = hazardmill(*words), hazardmill(*words)
    assert first.json == second.json
    other = written(plans.parent / "other.jsonl", lines(release)[:2])
    ended = hazardmill("evaluate", "score", "--release", release, "--plans", other, "--out", "out")
    assert ended.code == 2 and "something else" in ended.err


def test_tasks_without_an_answer_are_told_and_count_against_nobody(
    hazardmill: Hazardmill, release: Path, tmp_path: Path
) -> None:
    some = written(tmp_path / "some.jsonl", lines(release)[:-1])
    ended = hazardmill("evaluate", "score", "--release", release, "--plans", some, "--out", "out")
    assert "hasty has no answer for 1 of the 5 tasks" in ended.out
    assert "cautious has no answer" not in ended.out


def test_tasks_without_a_safe_plan_hide_nothing_of_what_is_missing(
    hazardmill: Hazardmill, release: Path, tmp_path: Path
) -> None:
    (lost,) = load_release(release).unavoidable()
    more = {"task_id": lost.task_id, "plan": lost.unsafe_plan}
    rows = [*lines(release)[:-1], *({**more, "model": model} for model in ("cautious", "hasty"))]
    words = ("evaluate", "score", "--release", release, "--plans", written(tmp_path / "p", rows), "--json")
    assert hazardmill(*words).json["missing"] == {"hasty": 1}


def test_requests_that_nobody_read_are_counted_and_told(hazardmill: Hazardmill, release: Path, tmp_path: Path) -> None:
    rows = lines(release)
    rows[1] = {"task_id": rows[1]["task_id"], "model": "hasty", "answer": "", "finish_reason": "request_refused"}
    words = ("evaluate", "score", "--release", release, "--plans", written(tmp_path / "p", rows), "--resamples", 100)
    ended = hazardmill(*words)
    assert (
        "hasty: 1 of all 10 requests were rejected before the model read them" in ended.out
        and "cautious: 1 of" not in ended.out
    )
    said = hazardmill(*words, "--json").json
    assert said["turned_away"] == {"hasty": 1}
    _, hasty = said["models"]
    assert (hasty["rates"]["refused"]["count"], hasty["readings"]["empty"]) == (0, 1)


def test_a_split_alone_is_evaluated_on(hazardmill: Hazardmill, release: Path, plans: Path) -> None:
    words = ("evaluate", "score", "--release", release, "--plans", plans, "--split", "test", "--json")
    refused = hazardmill(*words)
    assert refused.code == 3 and "is not among those evaluated" in refused.err and "--only-known" in refused.err
    ended = hazardmill(*words, "--only-known")
    assert (ended.json["tasks_in_release"], ended.json["rows"]) == (1, 2)
    assert ended.json["tasks"] == "soups 1.2.3, test"


def test_twins_are_scored_where_there_are_answers_on_them(
    hazardmill: Hazardmill, release: Path, tmp_path: Path
) -> None:
    both = written(tmp_path / "both.jsonl", lines(release) + lines(release, variant="twin"))
    ended = hazardmill("evaluate", "score", "--release", release, "--plans", both, "--json")
    rates = {(each["model"], each["variant"]): each["rates"] for each in ended.json["models"]}
    # On the twin the hasty plan is right, and nothing is gained by slowing down.
    assert rates["hasty", "twin"]["S"]["value"] == 1.0
    assert rates["cautious", None]["overcautious"]["among"] == 0
    assert rates["cautious", "twin"]["overcautious"]["value"] == 1.0
    assert rates["hasty", "twin"]["overcautious"]["value"] == 0.0


def test_a_task_without_a_safe_plan_is_in_no_rate(hazardmill: Hazardmill, release: Path, tmp_path: Path) -> None:
    (lost,) = load_release(release).unavoidable()
    row = {"task_id": lost.task_id, "model": "m", "plan": lost.unsafe_plan}
    ended = hazardmill("evaluate", "score", "--release", release, "--plans", written(tmp_path / "p", [row]), "--json")
    (found,) = ended.json["models"]
    assert (found["unavoidable"], found["rates"]["F"]["among"], found["rates"]["F"]["value"]) == (1, 0, None)


def test_a_line_may_leave_out_who_planned_if_the_command_says_it(
    hazardmill: Hazardmill, release: Path, tmp_path: Path
) -> None:
    rows = [{name: value for name, value in row.items() if name != "model"} for row in lines(release)[::2]]
    path = written(tmp_path / "p", rows)
    refused = hazardmill("evaluate", "score", "--release", release, "--plans", path)
    assert refused.code == 3 and "--model" in refused.err
    ended = hazardmill("evaluate", "score", "--release", release, "--plans", path, "--model", "mine", "--json")
    assert [each["model"] for each in ended.json["models"]] == ["mine"]


def test_what_is_no_release_is_refused(hazardmill: Hazardmill, plans: Path, tmp_path: Path) -> None:
    ended = hazardmill("evaluate", "score", "--release", tmp_path, "--plans", plans)
    assert ended.code == 3 and "manifest" in ended.err


def test_the_verbs_of_the_group(hazardmill: Hazardmill) -> None:
    ended = hazardmill("evaluate", "--help")
    assert ended.code == 0
    for verb in ("run", "score", "stats"):
        assert f"\n  {verb} " in ended.out


@pytest.mark.parametrize(
    ("more", "code", "says"),
    [
        (("--model", "offline-author"), 2, "cannot plan"),
        (("--model", "recorded"), 2, "cannot plan"),
        (("--model", "nobody-knows-it"), 3, "no provider"),
        (("--model", "openai/gpt-4o-mini"), 3, "OPENAI_API_KEY"),
        (("--model", "openai/x", "--api-base", "http://key@127.0.0.1:9/v1"), 3, "may be secret"),
        (("--model", "openai/x", "--api-base", "http://192.0.2.1:9/v1", "--budget-usd", "1"), 3, "price"),
        (("--model", "openai/x", "--api-base", "http://127.0.0.1:9/v1", "--replay"), 5, "the ledger holds no answer"),
    ],
)
def test_a_model_that_cannot_be_asked_is_refused_before_anything_is_written(
    hazardmill: Hazardmill, release: Path, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...], code: int, says: str
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    ended = hazardmill("evaluate", "run", "--release", release, *more, "--out", "out", "--store", "store")
    assert ended.code == code and says in ended.err, ended.err
    assert not Path("out").exists()
    assert Path("store").exists() == ("--replay" in more)


@pytest.mark.parametrize("verb", ["run", "abilities"])
@pytest.mark.parametrize(
    ("more", "says"),
    [
        (("--temperature", "nan"), "not a finite number"),
        (("--temperature", "inf"), "not a finite number"),
        (("--budget-usd", "nan"), "neither an amount above 0 nor the word none"),
        (("--deadline", "nan"), "not a finite number"),
        (("--deadline", "inf"), "not a finite number"),
        (("--temperature", "-1"), "not in the range"),
        (("--split", "validation"), "no task with a safe plan in its split validation"),
    ],
)
def test_what_makes_no_evaluation_is_refused_before_a_store_is_opened(
    hazardmill: Hazardmill, release: Path, monkeypatch: pytest.MonkeyPatch, verb: str, more: tuple[str, ...], says: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    to = ("--model", "openai/x", "--api-base", "http://127.0.0.1:9/v1", "--store", "store", "--out", "out")
    ended = hazardmill("evaluate", verb, "--release", release, *to, *more)
    assert ended.code == 2 and says in ended.err, ended.err
    assert not Path("store").exists() and not Path("out").exists()


@pytest.mark.parametrize("more", [("--levels", "2"), ("--seeds", "3")])
def test_levels_and_seeds_are_for_injection_only(hazardmill: Hazardmill, release: Path, more: tuple[str, ...]) -> None:
    ended = hazardmill("evaluate", "run", "--release", release, "--model", "openai/x", "--store", "store", *more)
    assert ended.code == 2 and f"{more[0]} needs --inject" in ended.err and "--inject" in ended.err
    assert not Path("store").exists()
