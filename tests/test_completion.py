"""docs/shell-completion.md is what a bash does."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import pytest

from hazardmill.cli.lazy import LazyGroup
from hazardmill.cli.main import COMMANDS, hazardmill

ENVIRONMENT = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


@pytest.fixture
def page(project: Path) -> str:
    return (project / "docs" / "shell-completion.md").read_text()


def set_up(page: str) -> str:
    """The lines for ``~/.bashrc``."""
    (lines,) = re.findall(r"```bash\n(.*?)```", page, re.DOTALL)
    return str(lines)


def test_bash_completes_what_the_page_says(page: str) -> None:
    rows = re.findall(r"^\| `(hazardmill [^`]+)` \| `([^`]+)` \|$", page, re.MULTILINE)
    assert len(rows) == 4
    script = set_up(page)
    for typed, _ in rows:
        words = typed.split()
        script += f"COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; COMPREPLY=()\n"
        script += '_hazardmill_completion hazardmill; echo "${COMPREPLY[*]}"\n'
    done = subprocess.run(
        ["bash", "--norc", "-c", script], env=ENVIRONMENT, capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [completed.split()[-1] for _, completed in rows]


@contextmanager
def bash(folder: Path) -> Iterator[int]:
    """An interactive bash in a folder; yields the descriptor of its terminal."""
    process, terminal = pty.fork()
    if not process:
        os.chdir(folder)
        os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"], {**ENVIRONMENT, "PS1": "ready ", "TERM": "dumb"})
    try:
        yield terminal
    finally:
        os.close(terminal)
        os.waitpid(process, 0)


def read_until(terminal: int, wanted: str, seconds: float = 120) -> str:
    """What the terminal shows up to a text."""
    shown, end = "", time.monotonic() + seconds
    while wanted not in shown:
        readable, _, _ = select.select([terminal], [], [], max(end - time.monotonic(), 0))
        assert readable, f"no {wanted!r} in {shown!r}"
        shown += os.read(terminal, 4096).decode(errors="replace")
    return shown


def test_the_tab_key_completes_commands_and_paths(page: str, tmp_path: Path) -> None:
    (tmp_path / "my-task-folder").mkdir()
    with bash(tmp_path) as terminal:
        read_until(terminal, "ready ")
        os.write(terminal, f"{set_up(page)}echo set-$((1 + 1))\n".encode())
        read_until(terminal, "set-2")
        os.write(terminal, b"hazardmill task so\t")
        read_until(terminal, "hazardmill task solve ")
        os.write(terminal, b"my-ta\t")
        read_until(terminal, "my-task-folder")


def test_commands_are_completed_with_their_whole_line_and_without_importing_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a command was imported")

    monkeypatch.setattr(LazyGroup, "get_command", refuse)
    found = hazardmill.shell_complete(click.Context(hazardmill), "")
    assert {item.value: item.help for item in found} == {name: line for name, (_, line) in COMMANDS.items()}
    assert [item.value for item in hazardmill.shell_complete(click.Context(hazardmill), "--ver")] == ["--version"]
