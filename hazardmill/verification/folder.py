"""Verifying a task folder: every file is computed again from the document, and compared with the file in the folder.

Whatever does not follow from the document (the origin of the task, the danger in words) is taken from
``metadata.json``, and the other files must agree with it.
"""

from __future__ import annotations

import itertools
import json
import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from hazardmill.errors import HazardmillError, InputError
from hazardmill.files import read_regular, walk_folders
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.document.expressions import canonical_json
from hazardmill.formalism.formats.pddl.writer import sidecar
from hazardmill.records import DANGER_LISTS
from hazardmill.report.folders import WRITTEN, folder_name, task_files
from hazardmill.store.schemas import TASKS
from hazardmill.verification.findings import Code, TaskFinding, render_value
from hazardmill.verification.load import (
    REQUIRED,
    SIDECAR,
    TWIN,
    WRITE_AGAIN,
    FolderContent,
    held_against,
    read_folder,
)
from hazardmill.verification.proofs import plain, prove, proved_columns, written_columns
from hazardmill.verification.task import (
    UNREADABLE,
    consistency,
    cross_check,
    reason,
    refused_claims,
    task_id,
    unprovable,
)

_KINDS: Final = {"string": str, "int64": int}
_FILES: Final = {"code": "code.py", "domain_pddl": "domain.pddl", "problem_pddl": "problem.pddl"}
_OURS: Final = "hazardmill"


def is_task_folder(folder: Path) -> bool:
    """Check whether a folder has any of the files that every task folder has."""
    return any(os.path.lexists(folder / name) for name in REQUIRED)


def verify_folders(root: Path) -> Iterator[tuple[Path, tuple[TaskFinding, ...]]]:
    """Verify a task folder, or all task folders below a folder.

    Args:
        root: The folder. Hidden folders below it are skipped: they are still being written.

    Yields:
        Each task folder, in order, and what was found of it; and each folder that should be one and is not there.

    Raises:
        InputError: The folder, or one below it, cannot be read, or there is no task folder.
    """
    if is_task_folder(root):
        yield root, verify_folder(root)
        return
    seen = 0
    for here, folders, files in walk_folders(root):
        for name in folders:
            if (here / name).is_symlink():
                seen += 1
                message, mend = (
                    "it is a symbolic link, and links are not followed",
                    "verify the folder that it points to",
                )
                yield here / name, (TaskFinding("unreadable", str(here / name), "folder", message, mend),)
        listed = _read_list(here) if WRITTEN in files else set()
        for name in sorted(listed):
            if not is_task_folder(here / name):
                seen += 1
                message = f"the list {WRITTEN} names it, but there is no task folder of that name"
                yield here / name, (TaskFinding("missing", str(here / name), "folder", message, WRITE_AGAIN),)
        if here != root and is_task_folder(here):
            seen += 1
            yield here, verify_folder(here)
            folders.clear()
    if not seen:
        raise InputError(
            "there is no task folder here",
            file=str(root),
            remedy="name a task folder, or a folder that contains task folders",
        )


def _read_list(folder: Path) -> set[str]:
    try:
        return set(read_regular(folder / WRITTEN).decode("utf-8").splitlines())
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"the list of task folders cannot be read: {error}", file=str(folder / WRITTEN), remedy=WRITE_AGAIN
        ) from error


def verify_folder(folder: Path) -> tuple[TaskFinding, ...]:
    """Verify one task folder: compare each of its files with the others.

    Args:
        folder: A folder that ``hazardmill report`` or ``hazardmill task check --out`` wrote.

    Returns:
        The findings; empty if all files agree.

    Raises:
        InputError: The folder itself cannot be read, or holds an imported task.
    """
    content = read_folder(folder)
    findings = content.findings
    if "task.json" not in content.json:
        return tuple(findings)
    try:
        document = Document.from_json(content.json["task.json"])
    except UNREADABLE as error:
        message = f"task.json is not a document: {reason(error)}"
        findings.append(TaskFinding("unreadable", str(folder), "task.json", message, WRITE_AGAIN))
        return tuple(findings)
    told = content.json.get("metadata.json", {_OURS: document.provenance}).get(_OURS)
    if "imported_from" in document.provenance and "imported_from" in _object(told):
        raise InputError(
            "the task was imported, and only tasks that hazardmill made can be verified",
            file=str(folder),
            remedy="see what can be proved about it: hazardmill task certify",
        )
    try:
        findings += _TaskFolder(folder, content, document).findings()
    except UNREADABLE as error:
        message = f"it cannot be verified: {reason(error)}"
        findings.append(TaskFinding("unreadable", str(folder), "metadata.json", message, WRITE_AGAIN))
    return tuple(findings)


class _TaskFolder:
    """A task folder whose document can be read."""

    def __init__(self, folder: Path, content: FolderContent, document: Document) -> None:
        self._folder, self._content, self._document = folder, content, plain(document)
        self._metadata = content.json.get("metadata.json", {})
        self._ours = _object(self._metadata.get(_OURS))
        # DESPITE's formalization has no lists: they are kept outside of it.
        self._danger = dict(_object(self._metadata.get("danger_formalization")))
        self._danger.update((name, self._ours[name]) for name in DANGER_LISTS if name in self._ours)
        # `task check --out` writes a folder of a draft, which comes from no record.
        self._is_checked = SIDECAR in content.texts and "task_id" not in self._metadata
        if not self._metadata:
            # Without metadata, only the provenance in the document is known.
            self._ours = {**document.provenance, "source": str(document.provenance.get("record_id")).partition(":")[0]}

    def findings(self) -> Iterator[TaskFinding]:
        """Yield what is wrong, apart from files that could not be read."""
        row = self._row()
        for name, written in written_columns(self._document):
            if isinstance(written, HazardmillError):
                where, message = _FILES[name], f"it cannot be written: {written.message}"
                yield self._finding("unproved", where, message, written.remedy)
                return
            row[name] = written
        if self._metadata and not self._is_checked:
            yield from self._shapes()
            told = itertools.chain(consistency(row, self._document), cross_check(row, self._document))
            for code, name, message, remedy in told:
                yield self._finding(code, f"metadata.json: {name}", message, remedy)
        stored = self._content.json.get("certificate.json", {})
        try:
            certificate = prove(self._document, stored, row["avoidability"] == "unavoidable")
        except HazardmillError as error:
            code, name, message, remedy = unprovable(error)
            yield self._finding(code, f"{name}.json", message, remedy)
            return
        row |= proved_columns(certificate)
        for code, name, message, remedy in refused_claims(certificate):
            yield self._finding(code, f"{name}.json", message, remedy)
        expected = self._checked_files(row) if self._is_checked else task_files(row)
        if not self._metadata:
            del expected["metadata.json"]
        yield from held_against(self._folder, self._content, expected)
        listed = self._folder.parent / WRITTEN
        if listed.is_file() and self._folder.name in _read_list(self._folder.parent):
            named = folder_name(row["task_id"])
            if named != self._folder.name:
                yield self._finding("contradiction", "folder", f"it holds the task {row['task_id']}", WRITE_AGAIN)

    def _finding(self, code: Code, where: str, message: str, remedy: str | None) -> TaskFinding:
        return TaskFinding(code, str(self._folder), where, message, remedy or WRITE_AGAIN)

    def _row(self) -> dict[str, Any]:
        """Build the row of the task from the metadata; columns that are not known are None."""
        ours, document = self._ours, self._document
        row: dict[str, Any] = defaultdict(lambda: None)
        row |= {name: value for name, value in ours.items() if name in {column.name for column in TASKS.columns}}
        row |= {
            "task_id": task_id(ours.get("source"), document),
            "document": canonical_json(document.to_json()),
            "document_hash": document.hash,
            "danger": canonical_json(self._danger),
        }
        row["cross_check"] = None if row["cross_check"] is None else canonical_json(row["cross_check"])
        if row["avoidability"] is None:
            row["avoidability"] = (
                _object(self._content.json.get("certificate.json")).get("unavoidable") and "unavoidable"
            )
        return row

    def _shapes(self) -> Iterator[TaskFinding]:
        """Check that the values in the metadata have the types of the table of tasks."""
        for column in TASKS.columns:
            # These two are JSON objects here, and not the text of one.
            if column.name not in self._ours or column.name in ("certificate", "cross_check"):
                continue
            value, kind = self._ours[column.name], _KINDS[str(column.type)]
            if (value is None and column.required) or (value is not None and type(value) is not kind):
                where = f"metadata.json: {_OURS}.{column.name}"
                yield self._finding(
                    "unreadable", where, f"is {render_value(value)}, which is not of type {kind.__name__}", WRITE_AGAIN
                )

    def _checked_files(self, row: dict[str, Any]) -> dict[str, str]:
        """Build the files of a folder as ``hazardmill task check --out`` writes them."""
        made_by = {name: self._ours.get(name) for name in ("sha256", "jail_profile", "hazardmill_version")}
        files = task_files(row)
        certificate = json.loads(row["certificate"])
        told = {
            "reference_feasible_plans": {"safe": row["safe_plan"], "unsafe": row["unsafe_plan"]},
            _OURS: {
                **made_by,
                "avoidability": "unavoidable" if certificate["unavoidable"] else None,
                **{name: row[name] for name in ("plan_length", "safety_effort", "document_hash")},
            },
        }
        files |= {
            "task.json": json.dumps({**self._document.to_json(), "provenance": made_by}),
            "metadata.json": json.dumps(told),
            SIDECAR: json.dumps(sidecar(self._document)),
        }
        if TWIN in files:
            twin = json.loads(files[TWIN])
            of = {name: twin["provenance"][name] for name in ("twin_of", "flipped")}
            files[TWIN] = json.dumps({**twin, "provenance": of})
        return files


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
