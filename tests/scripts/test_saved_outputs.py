from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    for name in ("before", "after"):
        (tmp_path / name / "help").mkdir(parents=True)
        (tmp_path / name / "help" / "run.txt").write_text("Usage: run\n")
    return tmp_path / "before", tmp_path / "after"


def compare(project: Path, folders: tuple[Path, Path]) -> tuple[int, str]:
    command = [sys.executable, project / "scripts" / "saved_outputs.py", "compare", *folders]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def test_equal_outputs_are_counted(project: Path, folders: tuple[Path, Path]) -> None:
    assert compare(project, folders) == (0, "equal: 1 files\n")


def test_a_changed_line_is_shown(project: Path, folders: tuple[Path, Path]) -> None:
    (folders[1] / "help" / "run.txt").write_text("Usage: go\n")
    code, text = compare(project, folders)
    assert code == 1
    assert "help/run.txt: differs" in text and "-Usage: run" in text and "+Usage: go" in text


def test_a_file_that_only_one_has_is_named(project: Path, folders: tuple[Path, Path]) -> None:
    (folders[1] / "more.txt").write_text("")
    code, text = compare(project, folders)
    assert code == 1 and "more.txt: only in" in text and "after" in text


def test_only_what_differs_each_time_is_put_aside(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(project / "scripts")
    import saved_outputs

    text = "generate-20260131-235959-1a2b3c took 12.5 s at 2026-01-31T23:59:59Z: 158 tasks in /x/out, 94.5 %"
    assert saved_outputs.scrub(text, Path("/x/out")) == "RUN took TOOK at TIME: 158 tasks in OUT, 94.5 %"
