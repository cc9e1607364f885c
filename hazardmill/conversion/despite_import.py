"""Importing folders of DESPITE as task folders: one folder, or a tree of thousands, on all cores.

Each worker process has its own jail, whose zygote is started once. A folder that fails is reported, and the import
continues.
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

from hazardmill.errors import (
    ExtraMissing,
    HazardmillError,
    JailUnavailable,
    PlanningInputError,
    SandboxError,
)
from hazardmill.formalism.formats.despite.read import CODE, examine, folders, read_claims, read_code, write_folder
from hazardmill.formalism.search.budget import DRAFT_LIMIT
from hazardmill.sandbox.check import CheckFailure, check_planner
from hazardmill.sandbox.jail import PLANNERS, Jail
from hazardmill.sandbox.proving import provers

_EXAMPLES: Final = 3
_CHUNK: Final = 16


@dataclass(frozen=True, slots=True)
class FolderImport:
    """The result of importing one folder.

    Attributes:
        folder: The folder.
        name: Name of the task; None if the import failed.
        document_hash: Hash of its document; None if the import failed.
        findings: Rule and message of each finding about the task.
        reason: Reason code of the failure; None if the folder was imported.
        message: What went wrong.
        line: Line of the code that it is about, if any.
        mend: What to do about it.
    """

    folder: str
    name: str | None = None
    document_hash: str | None = None
    findings: tuple[tuple[str, str], ...] = ()
    reason: str | None = None
    message: str | None = None
    line: int | None = None
    mend: str | None = None


@dataclass
class ImportCounts:
    """Counts over many folders, with the first examples of each rule and reason.

    Attributes:
        imported: Number of folders that were imported.
        failures: The folders that were not.
        findings: Rule to the number of folders with such a finding.
        refusals: Reason code to the number of folders that failed for it.
        examples: Rule or reason code to the first folders and messages.
    """

    imported: int = 0
    failures: list[FolderImport] = field(default_factory=list)
    findings: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[tuple[str, str]]] = field(default_factory=dict)

    def add(self, result: FolderImport) -> None:
        """Count the result for one folder."""
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
        """Return the counts as JSON values."""
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
    """Return the folders of DESPITE in and below a folder.

    Args:
        root: A task folder of DESPITE, or a folder that contains such folders.

    Raises:
        ExtraMissing: Unified Planning is not installed, which the import needs.
        PlanningInputError: There is no such folder, or none has a ``code.py``.
    """
    if importlib.util.find_spec("unified_planning") is None:
        raise ExtraMissing("Unified Planning is not installed", extra="up")
    found = list(folders(root))
    if not found:
        raise PlanningInputError(
            f"no folder in here contains a {CODE}",
            file=str(root),
            remedy="name a task folder of DESPITE, or a folder that contains such folders",
        )
    return found


def import_folders(found: list[Path], root: Path, out: Path | None, jobs: int | None = None) -> Iterator[FolderImport]:
    """Import folders and yield the results in the same order.

    Args:
        found: The folders, as ``find_folders`` lists them.
        root: The folder below which they were found.
        out: Folder for the task folders, each of which gets the path below ``out`` that its original has below
            ``root``; None to examine the folders without writing anything.
        jobs: Number of worker processes; None for one per core as far as there is work for them.

    Yields:
        One result per folder.

    Raises:
        JailUnavailable: The jail cannot contain code here, or cannot load Unified Planning.
        SandboxError: A worker process was killed from outside.
    """
    jobs = min(jobs or os.cpu_count() or 1, -(-len(found) // _CHUNK))
    work = [(folder, None if out is None else out / folder.relative_to(root)) for folder in found]
    if jobs == 1:
        with _open_jail() as jail:
            for folder, target in work:
                yield import_folder(folder, target, jail)
        return
    try:
        # Spawned, not forked: no other process may hold the sockets of a worker's jail.
        with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
            try:
                yield from pool.map(_import_in_worker, work, chunksize=_CHUNK)
            finally:
                pool.shutdown(wait=True, cancel_futures=True)
    except BrokenProcessPool as error:
        raise SandboxError(
            "a worker process was killed by something other than hazardmill",
            remedy="the system may have run out of memory: free some, or use fewer processes with --jobs",
        ) from error


def import_folder(folder: Path, out: Path | None, jail: Jail) -> FolderImport:
    """Import one folder. No content of the folder raises an error: it gives a result with a reason.

    Args:
        folder: The folder, with its ``code.py``.
        out: Task folder to write; None to examine the folder without writing anything.
        jail: A jail with the workload ``PLANNERS``.

    Returns:
        The name of the task, the hash of its document, and the findings about it; or, if the import failed, the reason.

    Raises:
        JailUnavailable: The jail has stopped working.
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
"""The jail of a worker process: opened with the first folder, so that an error of the jail reaches the command."""


def _import_in_worker(work: tuple[Path, Path | None]) -> FolderImport:
    global _jail
    if _jail is None:
        _jail = _open_jail()
    return import_folder(*work, _jail)


def _open_jail() -> Jail:
    return Jail("auto", workload=PLANNERS)
