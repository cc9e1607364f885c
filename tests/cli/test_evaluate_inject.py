"""``hazardmill evaluate run --inject``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from evaluation.scripted_models import ScriptedModels
from release.small_release import soups

from hazardmill.errors import RequestRefused
from hazardmill.evaluation.injection import tasks
from hazardmill.evaluation.injection.injection import inject
from hazardmill.evaluation.injection.proof import InjectionRefused
from hazardmill.evaluation.results import read_results
from hazardmill.llm.requests import Request

from .conftest import Hazardmill

MODEL = ("--model", "openai/gpt-4o-mini", "--api-base", "http://127.0.0.1:9/v1")


def script(request: Request) -> str:
    """Slow where there is little to read, and hasty where there is much."""
    shown = request.messages[-1].content
    (place,) = re.findall(r"\(:goal \(bowl_at (\w+)\)", shown)
    slowly = "(slow_down) " if shown.count("(:action") < 5 else ""
    return f"{slowly}(carry kitchen {place})"


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five tasks with a safe plan."""
    return soups(tmp_path_factory.mktemp("releases") / "soups")


@pytest.fixture
def asks(models: ScriptedModels) -> Any:
    return lambda line=script: models.answer(line)


def words(release: Path, *more: Any) -> tuple[Any, ...]:
    return (
        "evaluate",
        "run",
        "--release",
        release,
        *MODEL,
        "--store",
        "store",
        "--out",
        "out",
        "--resamples",
        100,
        *more,
    )


def test_distractors_are_variants_of_one_run(hazardmill: Hazardmill, release: Path, asks: Any) -> None:
    backend = asks()
    injected = ("--inject", "actions", "--inject", "objects", "--levels", "2,8", "--seeds", 2, "--json")
    ended = hazardmill(*words(release, *injected))
    assert ended.code == 0, ended.err
    # As released, and two arms of two levels of two draws.
    assert backend.count() == ended.json["rows"] == 5 * (1 + 2 * 2 * 2)
    rates = {each["variant"]: each["rates"] for each in ended.json["models"]}
    assert all(each["F"]["value"] == 1.0 for each in rates.values())
    safe = {variant: each["S"]["value"] for variant, each in rates.items()}
    assert safe[None] == safe["objects-8-seed-1"] == safe["actions-2-seed-0"] == 1.0
    assert safe["actions-8-seed-0"] == safe["actions-8-seed-1"] == 0.0
    assert ended.json["injection"]["injected"] == ended.json["injection"]["confirmed"] == 40
    assert (ended.json["tasks_in_release"], ended.json["missing"]) == (5, {})
    assert read_results(Path("out")).num_rows == 45
    asks(RequestRefused("nobody is there any more"))
    assert hazardmill(*words(release, *injected)).json == ended.json


def test_curves_and_refusals_are_told(
    hazardmill: Hazardmill, release: Path, asks: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(document: Any, arm: Any, level: int, seed: int, **how: Any) -> Any:
        if level == 8 and seed == 1:
            raise InjectionRefused("a room could be walked into")
        return inject(document, arm, level, seed, **how)

    monkeypatch.setattr(tasks, "inject", refuses)
    asks()
    ended = hazardmill(*words(release, "--inject", "actions", "--levels", "2,8", "--seeds", 2))
    assert ended.code == 0, ended.err
    assert "openai/gpt-4o-mini: 5 answers on 5 tasks" in ended.out
    assert re.search(r" 2 actions: F 100.0% .*; S 100.0% .*; SI .*; 10 answers on 5 tasks", ended.out)
    assert re.search(r" 8 actions: F 100.0% .*; S 0.0% .*; SI .*; 5 answers on 5 tasks", ended.out)
    assert "8 actions could not be added 5 times, because no proof" in ended.out
    assert "actions-8-seed-1: a room could be walked into" in ended.out
    # Each variant has its figures in the summary; in words they would be pages.
    assert "seed-0:" not in ended.out


def test_an_evaluation_without_injection_says_nothing_of_it(hazardmill: Hazardmill, release: Path, asks: Any) -> None:
    asks()
    ended = hazardmill(*words(release))
    assert ended.code == 0 and "distractors" not in ended.out
    assert read_results(Path("out"))["variant"].null_count == 5


def test_whole_sources_are_drawn_where_they_are_wanted(hazardmill: Hazardmill, release: Path, asks: Any) -> None:
    def half(request: Request) -> str:
        # Of one of the two sources every answer is wrong.
        return script(request) if str(request.record_id).startswith("normbank") else "no"

    asks(half)
    told = {}
    for cluster in ("task", "source"):
        ended = hazardmill(*words(release, "--inject", "actions", "--levels", "2", "--seeds", 1, "--cluster", cluster))
        assert ended.code == 0, ended.err
        (told[cluster],) = re.findall(r" 2 actions: F (.*?);", ended.out)
    # Two sources say less than their tasks do.
    task, source = ([float(end) for end in re.findall(r"([\d.]+)%", told[name])] for name in ("task", "source"))
    assert task[0] == source[0] and source[1] < task[1] < task[2] < source[2], told


@pytest.mark.parametrize(
    ("levels", "says"), [("3", "cannot inject 3"), ("2;4", "not a list of whole"), ("", "numbers")]
)
def test_other_levels_are_refused(hazardmill: Hazardmill, release: Path, asks: Any, levels: str, says: str) -> None:
    backend = asks()
    ended = hazardmill(*words(release, "--inject", "actions", "--levels", levels))
    assert ended.code == 2 and says in ended.err, ended.err
    assert backend.asked == [] and not Path("store").exists()
