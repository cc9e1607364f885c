"""Writing a source of one's own: a project to begin with, its check, and a look at what it reads."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import pytest

from hazardmill.testing.conformance import REQUIREMENTS
from tests.plugins.installing import KITCHEN

from .conftest import Hazardmill

SOURCE = Path("hazardmill-my-notes", "hazardmill_my_notes", "my_notes")


@pytest.fixture
def written(hazardmill: Hazardmill, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder of a project as `sources new` writes it."""
    monkeypatch.chdir(tmp_path)
    # The commands put the project on the path, which ends with the process; here it must end with the test.
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in [name for name in sys.modules if name.startswith("hazardmill_my_notes")]:
        del sys.modules[name]
    ended = hazardmill("sources", "new", "my_notes")
    assert ended.code == 0 and "next: hazardmill sources check ./hazardmill-my-notes" in ended.out
    return tmp_path / "hazardmill-my-notes"


@pytest.mark.parametrize("by", ["project", "folder", "name"])
def test_what_new_writes_keeps_every_requirement(
    hazardmill: Hazardmill, written: Path, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HAZARDMILL_SOURCES", str(SOURCE.parent))
    ended = hazardmill("sources", "check", {"project": str(written), "folder": f"./{SOURCE}", "name": "my_notes"}[by])
    assert ended.code == 0, ended.out + ended.err
    assert f"{len(REQUIREMENTS)} of {len(REQUIREMENTS)} requirements are kept" in ended.out


def test_a_check_leaves_no_temporary_folder(
    hazardmill: Hazardmill, written: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    assert hazardmill("sources", "check", str(written)).code == 0
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize(
    ("file", "old", "new", "requirement"),
    [
        ("source.py", "licence=self.licence", 'licence="none"', "records have ids of their own"),
        ("source.py", "for line in read_lines(file.path):", "for line in list(read_lines(file.path)):", "a long file"),
        ("source.py", "    except (ValueError, RecursionError):", "    except KeyError:", "no bytes make it raise"),
        ("SOURCE.md", "`json`", "something", "cases.py has cases"),
        ("cases.py", '("json",)', '("fields",)', "every case comes to what it expects"),
    ],
)
def test_what_is_broken_is_found(
    hazardmill: Hazardmill, written: Path, file: str, old: str, new: str, requirement: str
) -> None:
    text = (SOURCE / file).read_text()
    assert old in text
    (SOURCE / file).write_text(text.replace(old, new))
    ended = hazardmill("sources", "check", f"./{SOURCE}", "--json")
    failed = [found["requirement"] for found in ended.json if found["failure"] is not None]
    assert ended.code == 1
    assert any(name.startswith(requirement) for name in failed), failed


def test_a_name_that_is_taken_or_a_folder_that_is_there_is_refused(hazardmill: Hazardmill, written: Path) -> None:
    for words, message in [
        (("neiss",), "there is a source neiss already"),
        (("My-Notes",), "cannot be the name of a source"),
        (("my_notes",), "exists already"),
    ]:
        ended = hazardmill("sources", "new", *words)
        assert ended.code == 2 and message in ended.err


def test_preview_shows_records_and_rejects_and_writes_nothing(hazardmill: Hazardmill, written: Path) -> None:
    before = sorted(written.parent.rglob("*"))
    shown = hazardmill("sources", "preview", f"./{SOURCE}", "-n", "2")
    assert shown.code == 0 and "my_notes:1 (my_notes.jsonl:1)\n  Text: spilled hot soup" in shown.out
    assert "2 records, 0 rejects" in shown.out
    everything = hazardmill("sources", "preview", str(written), str(SOURCE / "sample"), "-n", "30")
    assert "rejected (json) my_notes.jsonl:23: the line is not JSON [write one JSON object per line]" in everything.out
    found = hazardmill("sources", "preview", f"./{SOURCE}", "-n", "30", "--json").json
    assert (len(found["records"]), len(found["rejects"])) == (22, 3)
    left = [path for path in sorted(written.parent.rglob("*")) if "__pycache__" not in path.parts]
    assert left == before


def test_preview_shows_no_character_that_turns_the_text_around(hazardmill: Hazardmill, written: Path) -> None:
    file = written.parent / "turned.jsonl"
    first = (written.parent / SOURCE / "sample" / "my_notes.jsonl").read_bytes().split(b"\n")[0].decode()
    file.write_text(first.replace("soup", "so\u202eup") + "\n")
    shown = hazardmill("sources", "preview", str(written), str(file), "-n", "1").out
    assert "my_notes:1" in shown and "\u202e" not in shown and "\\u202e" in shown


def test_a_project_that_is_not_installed_is_previewed_from_its_folder(
    hazardmill: Hazardmill, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    shown = hazardmill("sources", "preview", str(KITCHEN), "-n", "1")
    assert shown.code == 0 and "incidents:2" in shown.out
    sys.modules.pop("hazardmill_kitchen", None)
    for name in [name for name in sys.modules if name.startswith("hazardmill_kitchen")]:
        del sys.modules[name]


def test_a_folder_without_a_source_says_what_to_give(hazardmill: Hazardmill, tmp_path: Path) -> None:
    ended = hazardmill("sources", "check", str(tmp_path))
    assert ended.code == 3 and "neither a source.py nor a pyproject.toml" in ended.err
    assert "sources new NAME" in ended.err and os.sep in ended.err


def test_a_broken_source_is_named_and_the_others_are_listed(
    hazardmill: Hazardmill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "source.py").write_text("import surely_not_installed\n")
    monkeypatch.setenv("HAZARDMILL_SOURCES", str(tmp_path))
    ended = hazardmill("sources", "list")
    assert ended.code == 0 and "neiss" in ended.out
    assert "left out: " in ended.err and "surely_not_installed" in ended.err
    doctor = hazardmill("doctor", "--json").json
    assert any("surely_not_installed" in each for each in doctor["broken"]) and "neiss" in doctor["sources"]
