"""``task import --from despite``: one folder, or a tree of thousands, over all cores.

Each worker process has a jail of its own, whose zygote is started once; a folder that fails is reported, and the rest
goes on.
"""

from __future__ import annotations

import hashlib
import importlib.util
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import click

from hazardmill.cli.options import print_json
from hazardmill.errors import HazardmillError, JailUnavailable, PlanningInputError, SandboxError, UsageError
from hazardmill.formalism.formats.despite.read import CODE, examine, folders, read_claims, read_code, write_folder
from hazardmill.formalism.search.budget import DRAFT_LIMIT
from hazardmill.sandbox.check import CheckFailure, check_planner
from hazardmill.sandbox.jail import PLANNERS, Jail
from hazardmill.sandbox.proving import provers
from hazardmill.text.printable import printable

_EXAMPLES: Final = 3
_CHUNK: Final = 16
_SHOWN_FAILURES: Final = 20
_EVERY_S: Final = 3.0


@dataclass(frozen=True, slots=True)
class FolderResult:
    """What became of one folder. ``reason`` is None if it is a task now."""

    folder: str
    name: str | None = None
    document_hash: str | None = None
    findings: tuple[tuple[str, str], ...] = ()
    """Rule and message."""
    reason: str | None = None
    message: str | None = None
    line: int | None = None
    mend: str | None = None


@dataclass
class Summary:
    """Counts over many folders, with the first examples of each kind."""

    imported: int = 0
    failures: list[FolderResult] = field(default_factory=list)
    findings: Counter[str] = field(default_factory=Counter)
    """Folders with a finding of each rule."""
    refusals: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    """Of each rule and each reason, folders and messages."""

    def add(self, result: FolderResult) -> None:
        """Count one folder in."""
        if result.reason is None:
            self.imported += 1
        else:
            self.failures.append(result)
            self.refusals[result.reason] += 1
            self._example(result.reason, result.folder, result.message or "")
        for rule, message in dict(reversed(result.findings)).items():
            self.findings[rule] += 1
            self._example(rule, result.folder, message)

    def _example(self, kind: str, folder: str, message: str) -> None:
        shown = self.examples.setdefault(kind, [])
        if len(shown) < _EXAMPLES:
            shown.append((folder, message))

    def to_json(self) -> dict[str, Any]:
        """JSON values."""
        return {
            "folders": self.imported + len(self.failures),
            "imported": self.imported,
            "failed": len(self.failures),
            "findings": self._counts(self.findings),
            "refusals": self._counts(self.refusals),
            "failures": [
                {"folder": f.folder, "reason": f.reason, "message": f.message, "line": f.line, "mend": f.mend}
                for f in self.failures
            ],
        }

    def _counts(self, counts: Counter[str]) -> dict[str, Any]:
        return {
            kind: {
                "count": count,
                "examples": [{"folder": folder, "message": text} for folder, text in self.examples[kind]],
            }
            for kind, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        }


def import_despite(root: Path, out: Path | None, jobs: int | None, as_json: bool) -> None:
    """Import what is at and below ``root``, and say what came of it.

    Args:
        root: A folder of DESPITE, or one above such folders.
        out: Where task folders go, at the paths they have below ``root``; None only examines.
        jobs: Processes [default: one a core].
        as_json: Print JSON.

    Raises:
        PlanningInputError: There is nothing to import.
        UsageError: Unified Planning is not installed.
        JailUnavailable: The jail cannot contain code here.
        SystemExit: 1 if some folder failed.
    """
    if importlib.util.find_spec("unified_planning") is None:
        raise UsageError("Unified Planning is not installed", remedy="pip install 'hazardmill[up]'")
    found = list(folders(root))
    if not found:
        raise PlanningInputError(
            f"no folder here holds a {CODE}", file=str(root), remedy="name a folder of DESPITE, or one above several"
        )
    summary = Summary()
    progress = _Progress(len(found))
    for result in imports(found, root, out, jobs):
        summary.add(result)
        progress(summary)
    progress.close()
    _tell(summary, out, as_json)
    if summary.failures:
        sys.exit(1)


def imports(found: list[Path], root: Path, out: Path | None, jobs: int | None = None) -> Iterator[FolderResult]:
    """Import folders, in their order, each to the path below ``out`` that it has below ``root``.

    Raises:
        JailUnavailable: The jail cannot contain code here, or there is no Unified Planning to load.
        SandboxError: A worker process was ended from outside.
    """
    jobs = min(jobs or os.cpu_count() or 1, -(-len(found) // _CHUNK))
    work = [(folder, None if out is None else out / folder.relative_to(root)) for folder in found]
    if jobs == 1:
        with _open_jail() as jail:
            for folder, target in work:
                yield import_folder(folder, target, jail)
        return
    try:
        # Not forked: a worker's jail must be the only one to hold its sockets.
        with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
            try:
                yield from pool.map(_import_apart, work, chunksize=_CHUNK)
            finally:
                pool.shutdown(wait=True, cancel_futures=True)
    except BrokenProcessPool as error:
        raise SandboxError("a worker process was ended from outside", remedy="see that memory is enough") from error


def import_folder(folder: Path, out: Path | None, jail: Jail) -> FolderResult:
    """Import one folder. Nothing that it holds raises an error; what the jail cannot do does.

    Args:
        folder: The folder, with its ``code.py``.
        out: The task folder to make; None only examines.
        jail: With the workload ``PLANNERS``.

    Raises:
        JailUnavailable: There is no jail any more.
    """
    place = str(folder)
    try:
        code = read_code(folder)
        answer = check_planner(code, jail)
        if isinstance(answer, CheckFailure):
            return FolderResult(place, None, None, (), answer.reason, answer.message, answer.line, answer.mend)
        task = provers().run(DRAFT_LIMIT, examine, answer.document, read_claims(folder), answer.notes)
        if out is not None:
            write_folder(task, out, hashlib.sha256(code.encode()).hexdigest())
    except JailUnavailable:
        raise
    except HazardmillError as error:
        reason = "jail" if isinstance(error, SandboxError) else "folder"
        said = f"{error.where}: {error.message}" if error.where else error.message
        return FolderResult(place, None, None, (), reason, said, None, error.remedy)
    findings = tuple((finding.rule, finding.message) for finding in task.findings)
    return FolderResult(place, task.document.name, task.document.hash, findings)


_jail: Jail | None = None
"""Of a worker process: opened with its first folder, so that what is wrong with it reaches the command as an error."""


def _import_apart(work: tuple[Path, Path | None]) -> FolderResult:
    global _jail
    if _jail is None:
        _jail = _open_jail()
    return import_folder(*work, _jail)


def _open_jail() -> Jail:
    return Jail("auto", workload=PLANNERS)


class _Progress:
    """A line every few seconds on standard error; on a terminal always the same one."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._last = time.monotonic()
        self._terminal = sys.stderr.isatty()

    def __call__(self, summary: Summary) -> None:
        done = summary.imported + len(summary.failures)
        now = time.monotonic()
        if now - self._last < (0.1 if self._terminal else _EVERY_S):
            return
        self._last = now
        text = f"{done}/{self._total} folders: {summary.imported} imported, {len(summary.failures)} failed"
        # On a terminal each line is written over the last.
        click.echo(f"\r{text}" if self._terminal else text, err=True, nl=not self._terminal)

    def close(self) -> None:
        """Leave the line that is written over."""
        if self._terminal:
            click.echo(err=True)


def _tell(summary: Summary, out: Path | None, as_json: bool) -> None:
    if as_json:
        print_json({**summary.to_json(), "out": None if out is None else str(out)})
        return
    for failure in summary.failures[:_SHOWN_FAILURES]:
        line = "" if failure.line is None else f", line {failure.line} of the code"
        mend = f" [{failure.mend}]" if failure.mend else ""
        click.echo(printable(f"{failure.folder}{line}: {failure.reason}: {failure.message}{mend}"), err=True)
    if len(summary.failures) > _SHOWN_FAILURES:
        click.echo(f"... and {len(summary.failures) - _SHOWN_FAILURES} more (all of them: --json)", err=True)
    told = summary.to_json()
    click.echo(f"folders: {told['folders']}; imported: {told['imported']}, failed: {told['failed']}")
    for title, counts in (("failed", told["refusals"]), ("findings", told["findings"])):
        for line in _lines(title, counts):
            click.echo(printable(line))
    if out is not None and summary.imported:
        click.echo(f"written to {out}")


def _lines(title: str, counts: dict[str, Any]) -> Iterable[str]:
    for kind, told in counts.items():
        first = told["examples"][0]
        yield f"  {title} {kind}: {told['count']} (such as {Path(first['folder']).name}: {first['message']})"
