"""Pipes, devices and the like where a task's files should be: no command waits for them or passes over them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from factories.odd_files import ODD_THINGS, OddThing
from report.support import document

from .conftest import Hazardmill

ODD = pytest.mark.parametrize("odd", ODD_THINGS, ids=lambda odd: odd.name)
HERE = tuple(odd for odd in ODD_THINGS if odd.name not in ("dangling link", "link to itself"))
"""Things that are there, whatever they are."""


@pytest.mark.parametrize("odd", HERE, ids=lambda odd: odd.name)
@pytest.mark.parametrize(
    "words",
    [("certify",), ("solve",), ("validate", "--plan", "(a)"), ("repair", "--plan", "(a)"), ("export", "--to", "pddl")],
    ids=lambda words: words[0],
)
def test_a_document_that_is_no_file_is_refused(
    hazardmill: Hazardmill, tmp_path: Path, odd: OddThing, words: tuple[str, ...]
) -> None:
    folder = tmp_path / "task"
    folder.mkdir()
    odd.lay(folder / "task.json")
    options = ("--out", tmp_path / "out") if words[0] == "export" else ()
    ended = hazardmill("task", words[0], folder, *words[1:], *options)
    assert ended.code == 3
    assert "task.json: the task cannot be read: it " in ended.err


@ODD
def test_metadata_that_is_no_file_is_no_metadata(hazardmill: Hazardmill, tmp_path: Path, odd: OddThing) -> None:
    folder = tmp_path / "task"
    folder.mkdir()
    (folder / "task.json").write_text(json.dumps(document()))
    odd.lay(folder / "metadata.json")
    assert " 1 of 1 tasks" in hazardmill("task", "lint", tmp_path).out


@ODD
def test_code_that_is_no_file_is_told(hazardmill: Hazardmill, tmp_path: Path, odd: OddThing) -> None:
    (tmp_path / "in").mkdir()
    odd.lay(tmp_path / "in" / "draft.py")
    for place in (tmp_path / "in", tmp_path / "in" / "draft.py"):
        if odd.name == "folder":
            assert "the folder has no Python files" in hazardmill("task", "check", place).err
            continue
        ended = hazardmill("task", "check", place)
        assert ended.code == 1
        assert ended.out.startswith("draft.py: failed: file: unreadable\n  wrong: the file ")


@pytest.mark.parametrize("part", ["domain.pddl", "problem.pddl", "dangers.json"])
@pytest.mark.parametrize("odd", HERE, ids=lambda odd: odd.name)
def test_planning_files_that_are_none_are_refused(
    hazardmill: Hazardmill, tmp_path: Path, part: str, odd: OddThing
) -> None:
    for name in ("domain.pddl", "problem.pddl", "dangers.json"):
        if name == part:
            odd.lay(tmp_path / name)
        else:
            (tmp_path / name).write_text("{}")
    parts = [tmp_path / "domain.pddl", tmp_path / "problem.pddl", "--dangers", tmp_path / "dangers.json"]
    ended = hazardmill("task", "import", "--from", "pddl", *parts, "--out", tmp_path / "out")
    assert ended.code == 3
    assert f"{part}: the " in ended.err and " cannot be read: it " in ended.err


_WITHOUT_RIGHTS = f"""
import sys
sys.path.append({str(Path(__file__).parents[1])!r})
from hazardmill.cli.main import main
from factories.odd_files import give_up_rights
give_up_rights()
main()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="gives up the rights of the superuser")
@pytest.mark.parametrize("command", ["lint", "check", "verify"])
def test_a_folder_that_cannot_be_listed_is_not_passed_over(tmp_path: Path, command: str) -> None:
    (tmp_path / "closed").mkdir(mode=0)
    words = [sys.executable, "-c", _WITHOUT_RIGHTS, "task", command, str(tmp_path)]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ended.returncode == 3
    assert "closed: the folder cannot be read: Permission denied [" in ended.stderr
