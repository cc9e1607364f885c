from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from evaluation.scripted_models import ScriptedModels

from hazardmill.cli.main import main
from hazardmill.evaluation.abilities.run import AbilityRun
from hazardmill.evaluation.runner import Evaluation
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


Hazardmill = Callable[..., Ended]


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
def neiss(project: Path) -> Path:
    """The shipped sample of NEISS."""
    return project / "sources" / "neiss" / "sample" / "sample.tsv"


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> ScriptedModels:
    """Models that answer by a script, which ``evaluate run`` and ``evaluate abilities`` ask in place of what they name.

    A command has no argument for the resources of a run; they are given where it names the class of its run.
    """
    models = ScriptedModels()
    for name, run in (("run.Evaluation", Evaluation), ("abilities.AbilityRun", AbilityRun)):
        monkeypatch.setattr(f"hazardmill.cli.evaluate.{name}", partial(run, resources=models.resources))
    return models
