from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from evaluation.ability_answers import ability_of, right
from evaluation.scripted_models import ScriptedModels
from release.small_release import soups

from hazardmill.errors import RequestRefused
from hazardmill.evaluation.abilities import summary
from hazardmill.evaluation.abilities.rows import read_ability_rows
from hazardmill.llm.requests import Request

from .conftest import Hazardmill

MODEL = ("--model", "openai/gpt-4o-mini", "--api-base", "http://127.0.0.1:9/v1")


def script(request: Request) -> str:
    """Right, but it declines to give plans."""
    question = request.messages[-1].content
    return "I'm sorry, but I can't help with that." if ability_of(question) == "alternative" else right(question)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five tasks with a safe plan, one in `test`."""
    return soups(tmp_path_factory.mktemp("releases") / "soups")


@pytest.fixture
def asks(models: ScriptedModels) -> Any:
    return lambda line=script: models.answer(line)


def test_abilities_are_asked_about_and_written(hazardmill: Hazardmill, release: Path, asks: Any) -> None:
    backend = asks()
    words = ("evaluate", "abilities", "--release", release, *MODEL, "--out", "out", "--store", "store", "--json")
    ended = hazardmill(*words)
    assert ended.code == 0, ended.err
    found = {each["ability"]: each for each in ended.json["abilities"]}
    assert list(found) == ["dangers", "condition", "alternative"]
    assert {name: each["rates"]["correct"]["value"] for name, each in found.items()} == {
        "dangers": 1.0,
        "condition": 1.0,
        "alternative": 0.0,
    }
    assert found["alternative"]["statuses"] == {"refused": 5}
    assert found["alternative"]["rates"]["safety_intention"]["value"] is None
    assert (ended.json["rows"], backend.count()) == (15, 15)
    assert read_ability_rows(Path("out")).num_rows == 15
    asks(RequestRefused("nobody is there any more"))
    assert hazardmill(*words).json == ended.json


def test_they_are_told_in_words(hazardmill: Hazardmill, release: Path, asks: Any) -> None:
    asks()
    ended = hazardmill(
        *("evaluate", "abilities", "--release", release, *MODEL, "--split", "test"),
        *("--ability", "alternative", "--ability", "dangers", "--resamples", "100"),
    )
    assert ended.code == 0, ended.err
    assert "alternative (a safe plan in place of a dangerous one): 1 answers on 1 tasks: 1 refused" in ended.out
    assert "0.0% [0.0% to 79.3%, Wilson]  (0 of 1)" in ended.out and "not defined  (0 of 0; null for 1)" in ended.out
    one = "100.0% [20.7% to 100.0%, Wilson]"
    assert f"{one} pooled, {one} on average  (over 1 answers)" in ended.out
    assert "condition" not in ended.out
    (folder,) = Path("evaluations").iterdir()
    assert folder.name.startswith("abilities-") and str(folder) in ended.out


def test_a_folder_of_something_else_is_refused_before_anything_is_asked(
    hazardmill: Hazardmill, release: Path, asks: Any
) -> None:
    backend = asks()
    Path("out").mkdir()
    Path("out/mine.txt").write_text("mine")
    ended = hazardmill("evaluate", "abilities", "--release", release, *MODEL, "--out", "out")
    assert ended.code == 2 and "something else" in ended.err and backend.asked == []


def test_what_was_killed_while_writing_is_written_by_the_same_command(
    hazardmill: Hazardmill, release: Path, asks: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        """What no command handles, as nothing of a killed process does."""

    def killed(*_: object) -> None:
        raise Killed

    asks()
    words = ("evaluate", "abilities", "--release", release, *MODEL, "--out", "out", "--store", "store", "--json")
    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(summary, "write_summary", killed)
        hazardmill(*words)
    assert read_ability_rows(Path("out")).num_rows == 15 and not Path("out/summary.json").exists()
    other = hazardmill(*words, "--max-tokens", 7)
    assert other.code == 2 and "something else" in other.err
    ended = hazardmill(*words)
    assert ended.code == 0 and ended.json["rows"] == 15, ended.err


def test_what_a_stopped_run_has_is_kept(hazardmill: Hazardmill, release: Path, asks: Any) -> None:
    left = iter(range(4))

    def tires(request: Request) -> Any:
        return script(request) if next(left, None) is not None else RequestRefused("your credit is used up")

    asks(tires)
    words = ("evaluate", "abilities", "--release", release, *MODEL, "--out", "out", "--store", "store", "--json")
    ended = hazardmill(*words)
    assert ended.code != 0 and "the same command resumes" in ended.err and not Path("out").exists()
    backend = asks()
    assert hazardmill(*words).json["rows"] == 15 and backend.count() == 11
