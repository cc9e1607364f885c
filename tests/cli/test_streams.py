"""Output that cannot be written, and paths that cannot be encoded: one message, and never a traceback."""

from __future__ import annotations

import errno
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from test_cli import LEAVES

from hazardmill.cli.main import TRACEBACK_VARIABLE, main
from hazardmill.cli.main import hazardmill as commands
from hazardmill.review.decisions.folder import ReviewFolder
from hazardmill.store.store import Store

FULL = Path("/dev/full")
"""A device that takes nothing: Linux has it."""
NO_SPACE = "error: standard output cannot be written: No space left on device [free some space there]\n"

REACH = "check the address, and whether it can be reached from here; then repeat the command]"

OLD = {"LC_ALL": "C", "PYTHONUTF8": "0"}
"""The environment of a Python that takes the names of files to be ASCII."""


on_full_disk = pytest.mark.skipif(not FULL.exists(), reason=f"this system has no {FULL}")


@contextmanager
def full_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make standard output a disk that is full. No fixture, because pytest captures anew between setup and test."""
    with monkeypatch.context() as patched, FULL.open("w") as stream:
        patched.setattr(sys, "stdout", stream)
        patched.setattr(sys, "__stdout__", stream)
        yield


def code_of(monkeypatch: pytest.MonkeyPatch, *words: object) -> object:
    monkeypatch.setattr(sys, "argv", ["hazardmill", *map(str, words)])
    with pytest.raises(SystemExit) as left:
        main()
    return left.value.code


def script(*words: object, **environment: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "hazardmill.cli.main", *map(str, words)]
    return subprocess.run(command, capture_output=True, check=False, env=os.environ | environment)


@on_full_disk
@pytest.mark.parametrize("words", [*LEAVES, ()], ids=lambda words: " ".join(words) or "the program")
def test_a_full_disk_for_the_help_of_any_command_is_one_message(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    with full_disk(monkeypatch):
        assert code_of(monkeypatch, *words, "--help") == 3
    assert capsys.readouterr().err == NO_SPACE


@on_full_disk
@pytest.mark.parametrize(
    "words",
    [
        ("--version",),
        ("doctor",),
        ("sources", "list"),
        ("sources", "list", "--json"),
        ("sources", "show", "neiss"),
        ("query", "select 1", "--store", "s"),
        ("query", "select 1", "--store", "s", "--json"),
        ("run", "list", "--store", "s", "--json"),
        ("store", "verify", "--store", "s"),
        ("store", "digest", "--store", "s"),
        ("store", "compact", "--store", "s"),
        ("ingest", "--source", "neiss", "{neiss}", "--limit", "1", "--store", "s"),
    ],
    ids=" ".join,
)
def test_a_full_disk_for_what_a_command_prints_is_one_message(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], neiss: Path, words: tuple[str, ...]
) -> None:
    Store.open("s", create=True)
    with full_disk(monkeypatch):
        assert code_of(monkeypatch, *(word.format(neiss=neiss) for word in words)) == 3
    assert capsys.readouterr().err.endswith(NO_SPACE)


@on_full_disk
def test_a_process_ends_with_the_code_of_its_failure_when_nothing_can_be_written() -> None:
    command = [sys.executable, "-m", "hazardmill.cli.main"]
    with FULL.open("w") as full:
        # As for a buffered stream, Python writes what is left when it ends, and complains if that fails.
        ended = subprocess.run(
            [*command, "sources", "list"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
        assert (ended.returncode, ended.stderr) == (3, NO_SPACE)
        assert subprocess.run([*command, "nonsense"], stderr=full, check=False).returncode == 2


@pytest.mark.parametrize("words", [("query", "from records"), ("run", "list"), ("store", "verify")], ids=" ".join)
def test_a_store_whose_path_python_takes_to_be_ascii_is_refused_with_the_way_out(
    words: tuple[str, ...],
) -> None:
    Store.open("käse", create=True)
    ended = script(*words, "--store", "käse", **OLD)
    assert (ended.returncode, ended.stdout) == (3, b"")
    message = ended.stderr.decode()
    assert "käse: the store's path cannot be read as UTF-8 [" in message and "PYTHONUTF8=1" in message
    assert message.count("\n") == 1
    if words == ("store", "verify"):
        assert script(*words, "--store", "käse", LC_ALL="C", PYTHONUTF8="1").returncode == 0


@pytest.mark.parametrize(
    "words",
    [
        ("ingest", "--source", "neiss", "käse.tsv", "--store", "s"),
        ("hazards", "check", "käse"),
        ("task", "lint", "käse"),
    ],
    ids=" ".join,
)
def test_no_path_that_python_takes_to_be_ascii_is_a_traceback(neiss: Path, words: tuple[str, ...]) -> None:
    Path("käse.tsv").write_bytes(neiss.read_bytes())
    ended = script(*words, **OLD)
    message = ended.stderr.decode()
    assert ended.returncode == 3 and message.startswith("error: ") and message.count("\n") == 1
    assert "käse" in message


def test_names_that_python_takes_to_be_ascii_are_printed_as_they_are() -> None:
    ReviewFolder(Path("käse")).adopt_rubric()
    export = ("review", "export", "käse/語.csv", "--review", "käse")
    assert script(*export, **OLD).stdout.decode() == "käse/語.csv: 0 lines\n"
    assert json.loads(script(*export, "--json", **OLD).stdout) == {"file": "käse/語.csv", "lines": 0}
    Path("käse/code.py").write_text("import os\n")
    assert "where: käse/code.py:1: import os\n" in script("task", "check", "käse/code.py", **OLD).stdout.decode()


def test_bytes_that_are_no_utf8_stay_escapes() -> None:
    ReviewFolder(Path("käse")).adopt_rubric()
    name = os.fsdecode(b"a\xff\xc3\xbc.csv")
    told = script("review", "export", name, "--review", "käse", **OLD).stdout.decode()
    assert told == "a\\udcffü.csv: 0 lines\n"


def test_what_an_encoding_lacks_is_printed_as_an_escape() -> None:
    Store.open("s", create=True)
    ask = ("query", "select 'Käse 語 🍲' as soup", "--store", "s")
    ended = script(*ask, PYTHONIOENCODING="latin-1")
    assert ended.returncode == 0 and "Käse \\u8a9e \\U0001f372".encode("latin-1") in ended.stdout
    for encoding in ("latin-1", "ascii"):
        ended = script(*ask, "--json", PYTHONIOENCODING=encoding)
        assert json.loads(ended.stdout.decode(encoding.replace("ascii", "utf-8"))) == [{"soup": "Käse 語 🍲"}]


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (UnicodeEncodeError("ascii", "a/ü", 2, 3, "?"), "error: 'ü' in 'a/ü' cannot be written as ASCII ["),
        (
            PermissionError(errno.EACCES, "Permission denied", "out"),
            "error: out: cannot read or write this: Permission",
        ),
        (OSError(errno.ENOSPC, "No space left on device"), "error: No space left on device [free some space"),
        (ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused"), f"error: Connection refused [{REACH}"),
        (
            ConnectionResetError(errno.ECONNRESET, "Connection reset by peer"),
            f"error: Connection reset by peer [{REACH}",
        ),
        (OSError(errno.EHOSTUNREACH, "No route to host"), f"error: No route to host [{REACH}"),
        (TimeoutError("timed out"), f"error: timed out [{REACH}"),
        (socket.gaierror(socket.EAI_NONAME, "Name or service not known"), f"error: Name or service not known [{REACH}"),
        (OSError(errno.EMFILE, "Too many open files"), "error: Too many open files [set HAZARDMILL_TRACEBACK=1 to see"),
        (OSError("no words of the system"), "error: no words of the system [set HAZARDMILL_TRACEBACK=1 to see"),
        (
            FileNotFoundError(errno.ENOENT, "No such file", "a", None, "b"),
            "error: b: cannot read or write this: No such",
        ),
    ],
)
def test_what_the_system_refuses_is_one_message(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: Exception, message: str
) -> None:
    def refuse(**_: object) -> None:
        raise error

    monkeypatch.setattr(commands, "main", refuse)
    monkeypatch.delenv(TRACEBACK_VARIABLE, raising=False)
    assert code_of(monkeypatch) == (5 if REACH in message else 3)
    said = capsys.readouterr().err
    assert said.startswith(message) and said.count("\n") == 1
    monkeypatch.setenv(TRACEBACK_VARIABLE, "1")
    code_of(monkeypatch)
    traced = capsys.readouterr().err
    assert traced.startswith("Traceback ") and "in refuse\n" in traced and traced.endswith(f"\n{said}")
