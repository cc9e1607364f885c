"""Folders of DESPITE as task folders: one folder, or a tree of thousands, over all cores.

Each worker process has a jail of its own, whose zygote is started once; a folder that fails is reported, and the rest
goes on.
"""

from __future__ import annotations

import hashlib
import importlib.util
import multiprocessing
import os
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from hazardmill.errors import HazardmillError, JailUnavailable, PlanningInputError, SandboxError, UsageError
from hazardmill.formalism.formats.despite.read import CODE, examine, folders, read_claims, read_code, write_folder
from hazardmill.formalism.search.budget import DRAFT_LIMIT
from hazardmill.sandbox.check import CheckFailure, check_planner
from hazardmill.sandbox.jail import PLANNERS, Jail
from hazardmill.sandbox.proving import provers

_EXAMPLES: Final = 3
_CHUNK: Final = 16


@dataclass(frozen=True, slots=True)
class FolderImport:
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
class ImportCounts:
    """Counts over many folders, with the first examples of each kind."""

    imported: int = 0
    failures: list[FolderImport] = field(default_factory=list)
    findings: Counter[str] = field(default_factory=Counter)
    """Folders with a finding of each rule."""
    refusals: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    """Of each rule and each reason, folders and messages."""

    def add(self, result: FolderImport) -> None:
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


def find_folders(root: Path) -> list[Path]:
    """List the folders of DESPITE at and below a folder.

    Raises:
        UsageError: Unified Planning, without which none can be imported, is not installed.
        PlanningInputError: There is none.
    """
    if importlib.util.find_spec("unified_planning") is None:
        raise UsageError("Unified Planning is not installed", remedy="pip install 'hazardmill[up]'")
    found = list(folders(root))
    if not found:
        raise PlanningInputError(
            f"no folder here holds a {CODE}", file=str(root), remedy="name a folder of DESPITE, or one above several"
        )
    return found


def import_folders(found: list[Path], root: Path, out: Path | None, jobs: int | None = None) -> Iterator[FolderImport]:
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
                yield from pool.map(_import_in_worker, work, chunksize=_CHUNK)
            finally:
                pool.shutdown(wait=True, cancel_futures=True)
    except BrokenProcessPool as error:
        raise SandboxError("a worker process was ended from outside", remedy="see that memory is enough") from error


def import_folder(folder: Path, out: Path | None, jail: Jail) -> FolderImport:
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
            return FolderImport(place, None, None, (), answer.reason, answer.message, answer.line, answer.mend)
        task = provers().run(DRAFT_LIMIT, examine, answer.document, read_claims(folder), answer.notes)
        if out is not None:
            write_folder(task, out, hashlib.sha256(code.encode()).hexdigest())
    except JailUnavailable:
        raise
    except HazardmillError as error:
        reason = "jail" if isinstance(error, SandboxError) else "folder"
        said = f"{error.where}: {error.message}" if error.where else error.message
        return FolderImport(place, None, None, (), reason, said, None, error.remedy)
    findings = tuple((finding.rule, finding.message) for finding in task.findings)
    return FolderImport(place, task.document.name, task.document.hash, findings)


_jail: Jail | None = None
"""Of a worker process: opened with its first folder, so that what is wrong with it reaches the command as an error."""


def _import_in_worker(work: tuple[Path, Path | None]) -> FolderImport:
    global _jail
    if _jail is None:
        _jail = _open_jail()
    return import_folder(*work, _jail)


def _open_jail() -> Jail:
    return Jail("auto", workload=PLANNERS)
