from __future__ import annotations

import json
from pathlib import Path

import pytest
from release.small_release import soups

from hazardmill.release.read.release import load_release

from .conftest import Hazardmill


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return soups(tmp_path_factory.mktemp("releases") / "soups")


@pytest.fixture
def results(hazardmill: Hazardmill, release: Path, tmp_path: Path) -> Path:
    """Three planners, of which one alone is safe, and only on the first two tasks."""
    lines = []
    for place, task in enumerate(load_release(release).tasks()):
        for model in ("one", "two", "three"):
            safe = model == "one" and place < 2
            plan = task.safe_plan if safe else task.unsafe_plan if model != "three" else "(fly)"
            lines.append({"task_id": task.task_id, "model": model, "plan": plan})
    (tmp_path / "plans.jsonl").write_text("\n".join(map(json.dumps, lines)))
    folder = tmp_path / "results"
    ended = hazardmill(
        *("evaluate", "score", "--release", release, "--plans", tmp_path / "plans.jsonl"),
        *("--out", folder, "--resamples", 100),
    )
    assert ended.code == 0, ended.err
    return folder


def test_splits_of_a_release(hazardmill: Hazardmill, release: Path, results: Path) -> None:
    ended = hazardmill("evaluate", "difficulty", results, "--release", release, "--out", "out", "--json")
    assert ended.code == 0, ended.err
    # (2 + 1 + 0) / 3 is over 0.8, (1 + 1 + 0) / 3 is not.
    assert sum(splits.get("easy", 0) for splits in ended.json["splits"].values()) == 2
    assert sum(splits.get("hard", 0) for splits in ended.json["splits"].values()) == 3
    assert ended.json["panel"] == ["one", "three", "two"] and ended.json["folder"] == "out"
    assert ended.json["card"][0] == "- config_name: difficulty"


def test_it_is_told_in_words_with_what_to_do_next(hazardmill: Hazardmill, release: Path, results: Path) -> None:
    ended = hazardmill(
        "evaluate", "difficulty", results, "--release", release, "--out", "out", "--panel", "one", "--panel", "two"
    )
    assert ended.code == 0, ended.err
    assert "panel: one, two" in ended.out and "not in the panel: three" in ended.out
    assert "5 tasks with a safe plan" in ended.out and "    path: data/difficulty/easy.parquet" in ended.out


@pytest.mark.parametrize(
    ("more", "code", "says"),
    [
        (("--panel", "four"), 3, "no result rows of four"),
        (("--search-limit", "0"), 2, "--search-limit"),
    ],
)
def test_what_cannot_be_is_refused(
    hazardmill: Hazardmill, release: Path, results: Path, more: tuple[str, ...], code: int, says: str
) -> None:
    ended = hazardmill("evaluate", "difficulty", results, "--release", release, "--out", "out", *more)
    assert ended.code == code and says in ended.err, ended.err
    assert not Path("out").exists()


def test_what_is_not_there_is_refused(hazardmill: Hazardmill, release: Path, tmp_path: Path) -> None:
    ended = hazardmill("evaluate", "difficulty", tmp_path / "nowhere", "--release", release, "--out", "out")
    assert ended.code == 3 and "nowhere" in ended.err
