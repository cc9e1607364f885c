"""Starts workers that may be killed, in a process that has imported what they need (``killed_run.serve``)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.authorities import TRUSTED

TESTS = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Ended:
    """How a worker ended."""

    status: int
    """Its exit code, or the number of the signal that killed it, negative."""
    passed: dict[str, int]
    """How often it passed each point; empty if it was killed."""
    err: str
    out: str


class Keeper:
    """Runs commands that may be killed, in workers forked from one warm process, one after the other."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def begin(self, report: Path, *words: object, point: str = "none", occurrence: int = 0) -> None:
        """Start a worker; ``ended`` waits for it."""
        report.with_suffix(".passed").unlink(missing_ok=True)
        job = {"report": str(report), "point": point, "occurrence": occurrence, "words": [*map(str, words)]}
        print(json.dumps(job), file=self._process.stdin, flush=True)

    def ended(self, report: Path) -> Ended:
        """Wait until the worker that was started last, and all that it left, have ended."""
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "done\n", self._process.poll()
        seen = json.loads(report.read_text())
        assert seen["left"] == [], "it left processes behind"
        passed = report.with_suffix(".passed")
        counted = json.loads(passed.read_text()) if passed.exists() else {}
        err, out = (report.with_suffix(suffix).read_text() for suffix in (".err", ".out"))
        return Ended(seen["status"], counted, err, out)

    def act(self, report: Path, *words: object, point: str = "none", occurrence: int = 0) -> Ended:
        self.begin(report, *words, point=point, occurrence=occurrence)
        return self.ended(report)


@contextmanager
def keeping(module: str, environment: Mapping[str, str]) -> Iterator[Keeper]:
    """A keeper that runs a module of the tests, with nothing in its environment but what is given."""
    paths = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join([str(TESTS.parent), str(TESTS)])}
    command = [sys.executable, "-m", module]
    with subprocess.Popen(
        command, env={**paths, **TRUSTED, **environment}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        yield Keeper(process)
        process.stdin.close()
        assert process.wait() == 0
