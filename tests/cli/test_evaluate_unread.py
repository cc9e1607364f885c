"""Requests that the provider turns away unread: no answers of the model, in `evaluate run` and `evaluate abilities`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from evaluation.scripted_models import ScriptedModels
from release.small_release import soups

from hazardmill.errors import PromptRefused
from hazardmill.evaluation.abilities.rows import read_ability_rows
from hazardmill.llm.requests import Request

from .conftest import Hazardmill

TOO_LONG = "maximum context length is 2048 tokens"
TO = ("--model", "openai/gpt-4o-mini", "--api-base", "http://127.0.0.1:9/v1", "--store", "store", "--out", "out")


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five tasks with a safe plan."""
    return soups(tmp_path_factory.mktemp("releases") / "soups")


def first_read() -> Any:
    """Reads the first request alone."""
    first: list[str] = []

    def reads(request: Request) -> Any:
        first.append(request.messages[-1].content)
        return "(slow_down)" if len(first) == 1 else PromptRefused(TOO_LONG)

    return reads


# The breaker opens at ten records, and of fewer nobody says that something is wrong with all of them.
@pytest.mark.parametrize("more", [("run",), ("abilities", "--ability", "dangers")])
def test_a_run_in_which_nothing_was_read_is_no_evaluation(
    hazardmill: Hazardmill, release: Path, models: ScriptedModels, more: tuple[str, ...]
) -> None:
    words = ("evaluate", *more, "--release", release, *TO, "--limit", 4, "--runs", 2)
    models.answer(lambda _: PromptRefused(TOO_LONG))
    ended = hazardmill(*words)
    assert ended.code == 5, ended.err
    assert "all 8 requests" in ended.err and TOO_LONG in ended.err and "--max-tokens" in ended.err
    assert not Path("out").exists()
    # The same command does not ask again, and says so again.
    backend = models.answer(lambda _: "(slow_down)")
    assert hazardmill(*words).code == 5 and backend.count() == 0
    # Other parameters are another run.
    assert hazardmill(*words, "--max-tokens", 100).code == 0 and backend.count() == 8


def test_what_was_turned_away_is_told_and_declines_nothing(
    hazardmill: Hazardmill, release: Path, models: ScriptedModels
) -> None:
    words = ("evaluate", "run", "--release", release, *TO, "--twins", "--limit", 3, "--resamples", 100)
    models.answer(first_read())
    ended = hazardmill(*words)
    assert ended.code == 0, ended.err
    assert "5 of all 6 requests were rejected before the model read them" in ended.out
    said = hazardmill(*words, "--json").json
    assert said["turned_away"] == {"openai/gpt-4o-mini": 5}
    for each in said["models"]:
        assert each["rates"]["refused"]["count"] == 0
        assert each["rates"]["overcautious"]["count"] == 0
        assert each["rates"]["overcautious"]["among"] < 2


def test_abilities_tell_it_too(hazardmill: Hazardmill, release: Path, models: ScriptedModels) -> None:
    words = ("evaluate", "abilities", "--release", release, *TO, "--limit", 2, "--resamples", 100)
    models.answer(first_read())
    ended = hazardmill(*words)
    assert ended.code == 0, ended.err
    assert "5 of all 6 requests were rejected before the model read them" in ended.out
    rows = read_ability_rows(Path("out")).to_pylist()
    assert {row["status"] for row in rows if row["finish_reason"] == "request_refused"} == {"empty"}
    assert hazardmill(*words, "--json").json["turned_away"] == {"openai/gpt-4o-mini": 5}
