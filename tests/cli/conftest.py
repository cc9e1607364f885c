from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, TypeVar, cast

import pytest
from evaluation.scripted_models import ScriptedModels

from hazardmill.cli.main import main
from hazardmill.evaluation.abilities.run import AbilityRun
from hazardmill.evaluation.episodes.run import EpisodeRun
from hazardmill.evaluation.runner import Evaluation
from hazardmill.evaluation.safel.run import SafelRun
from hazardmill.evaluation.safety.run import SafetyRun
from hazardmill.llm.requests import OFFLINE_MODEL
from hazardmill.settings import NO_SETTINGS, PREFIX
from tests.figures_once import _figures_once as _figures_once
from tests.shared_jails import _shared_zygotes as _shared_zygotes
from tests.shared_jails import own_zygotes as own_zygotes


@dataclass
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Its output as one JSON value."""
        return json.loads(self.out)


def assert_damage_is_told(ended: Ended, part: Path) -> None:
    """Check that a command names a damaged part and what to do, and nothing of how it was found."""
    assert (ended.code, ended.out) == (3, "")
    assert f"{part.name}: the part is " in ended.err and ended.err.count("\n") == 1
    assert "hazardmill store verify" in ended.err and "hazardmill store rebuild" in ended.err
    assert not any(word in ended.err.lower() for word in ("duckdb", "line 1", "read_parquet", "select", "parquet'"))


Hazardmill = Callable[..., Ended]
T = TypeVar("T")


class OnceASession:
    """Fills a test's working folder with what some commands leave there: run for the first test, copied for the others.

    What a copy cannot have is not to be asked of it: processes that still run, and the time of the commands.
    """

    _made: ClassVar[dict[str, tuple[Path, object]]] = {}
    """By name: the folder that is copied, and what was returned."""

    def __init__(self, folder: Path, new_folder: Callable[[str], Path]) -> None:
        self._folder = folder
        self._new_folder = new_folder

    def __call__(self, name: str, make: Callable[[], T]) -> T:
        """Return what ``make`` returned for the first test that named it so, with what that left in its folder."""
        if name not in self._made:
            assert not any(self._folder.iterdir()), "what was there before would be copied too"
            returned = make()
            self._made[name] = shutil.copytree(self._folder, self._new_folder("made") / "folder"), returned
        else:
            shutil.copytree(self._made[name][0], self._folder, dirs_exist_ok=True)
        return cast("T", self._made[name][1])


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder, and no settings but the defaults and the model of our rules."""
    for variable in [name for name in os.environ if name.upper().startswith(PREFIX) and name not in NO_SETTINGS]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("HAZARDMILL_MODEL", OFFLINE_MODEL)
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def hazardmill(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Hazardmill:
    """Run a command as the script does, in this process."""

    def run(*words: object) -> Ended:
        monkeypatch.setattr(sys, "argv", ["hazardmill", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main()
        out, err = capsys.readouterr()
        code = left.value.code
        return Ended(code if isinstance(code, int) else 0, out, err)

    return run


@pytest.fixture
def once(empty_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> OnceASession:
    return OnceASession(empty_folder, tmp_path_factory.mktemp)


@pytest.fixture
def neiss(project: Path) -> Path:
    """The shipped sample of NEISS."""
    return project / "sources" / "neiss" / "sample" / "sample.tsv"


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> ScriptedModels:
    """Models that answer by a script, which ``evaluate run`` and ``evaluate abilities`` ask in place of what they name.

    A command has no argument for the resources of a run; they are given where it names the class of its run.
    """
    models = ScriptedModels()
    for name, run in (
        ("run.Evaluation", Evaluation),
        ("abilities.AbilityRun", AbilityRun),
        ("safel.SafelRun", SafelRun),
        ("safety.SafetyRun", SafetyRun),
        ("episodes.EpisodeRun", EpisodeRun),
    ):
        monkeypatch.setattr(f"hazardmill.cli.evaluate.{name}", partial(run, resources=models.resources))
    return models
