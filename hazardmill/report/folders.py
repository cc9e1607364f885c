"""Write one folder per accepted task, with its code, document, PDDL and metadata.

The same task gives the same bytes each time, except for the id of the run.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from hazardmill.errors import DocumentError, InputError, StoreError
from hazardmill.files import read_regular
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.formats.python_writer import code_file
from hazardmill.generation.rows import provenance
from hazardmill.records import DANGER_LISTS, Danger
from hazardmill.report.queries import Readable, Row, each_latest_task, narrow
from hazardmill.text.printable import comment

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

TASKS: Final = "tasks"
"""Name of the folder with a folder per task, beside a report."""

MAX_NAME: Final = 120
"""Longest task id that serves as the name of a folder, in characters."""

WRITTEN: Final = ".written"
"""Name of the file that lists the folders, so that a later report knows which ones it may remove."""

_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")

_MADE_BY: Final = (
    "record_id",
    "source",
    "run_id",
    "draft",
    "licence",
    "attribution",
    "avoidability",
    "plan_length",
    "safety_effort",
    "model_asked",
    "model_answered",
    "backend",
    "prompt_version",
    "prompt_hash",
    "jail_profile",
    "hazardmill_version",
    "input_hash",
    "document_hash",
)
"""Columns of a task that its metadata repeats under the key ``hazardmill``."""


def write_task_folders(store: Readable, run_ids: Sequence[str], out: Path, sources: Sequence[str] = ()) -> list[Path]:
    """Write one folder per task, with the files of ``task_files``.

    Args:
        store: The store with the tasks.
        run_ids: The runs, oldest first; if several accepted the same task, the last one's row is written.
        out: The folder for the folders of the tasks, which are named after the ids, and for their list (``WRITTEN``).
            An existing folder of a task is replaced. A folder on the list that is not written again is removed.
            Everything else stays.
        sources: The sources to restrict the tasks to; empty: all.

    Returns:
        The folders, in order of task id.

    Raises:
        StoreError: A folder cannot be written or removed.
        InputError: A task's document cannot be read.
    """

    def write(views: DuckDBPyConnection) -> dict[str, Path]:
        return {
            row["task_id"]: _write(row, out / folder_name(row["task_id"])) for row in _tasks(views, run_ids, sources)
        }

    written = store.query(write, None if sources else ["tasks"])
    _remove_former(out, {folder.name for folder in written.values()})
    return [written[task_id] for task_id in sorted(written)]


def _tasks(views: DuckDBPyConnection, run_ids: Sequence[str], sources: Sequence[str]) -> Iterator[Row]:
    """Yield the tasks, in no particular order."""
    if sources:
        narrow(views, sources)
    yield from each_latest_task(views, run_ids, "*")


def _remove_former(out: Path, written: set[str]) -> None:
    """Remove the folders of tasks that an earlier report wrote here and this one does not."""
    listed = out / WRITTEN
    try:
        former = listed.read_text(encoding="utf-8").splitlines() if listed.is_file() else []
        for name in former:
            # Anybody can edit the list: a name on it must be plain, and its folder must still be that of a task.
            if name not in written and _PLAIN_NAME.fullmatch(name) and _is_ours(out / name):
                _remove(out / name)
        if written or former:
            listed.write_text("".join(f"{name}\n" for name in sorted(written)), encoding="utf-8", newline="\n")
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(
            f"cannot remove the folders of an earlier report: {getattr(error, 'strerror', None) or error}",
            file=str(out),
            remedy="remove them yourself, or name another folder",
        ) from error


def _is_ours(folder: Path) -> bool:
    """Whether the metadata in a folder says that it belongs to the task after which it is named."""
    try:
        said = json.loads(read_regular(folder / "metadata.json"))
        return isinstance(said["hazardmill"], dict) and folder_name(said["task_id"]) == folder.name
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return False


def folder_name(task_id: str) -> str:
    """Return the name of a task's folder.

    It is the task's id if that is a plain name of at most ``MAX_NAME`` characters; otherwise the plain characters of
    the id and the beginning of its SHA-256.
    """
    if _PLAIN_NAME.fullmatch(task_id) and len(task_id) <= MAX_NAME:
        return task_id
    plain = "-".join(_PLAIN_NAME.findall(task_id))[: MAX_NAME // 2].strip(".-")
    return f"{plain or 'task'}-{hashlib.sha256(task_id.encode()).hexdigest()[:12]}"


def task_files(row: Row) -> dict[str, str]:
    """Return the files of a task: name to content.

    ``code.py`` is rendered from the document; the code that an author wrote stays in the table of drafts, as text.
    ``twin.json`` is the contrast twin, a document like ``task.json``; it is left out if the task has none.

    Args:
        row: A whole row of the table ``tasks``.

    Raises:
        InputError: The task's document cannot be read.
    """
    made_by = {**provenance(row), "run_id": row["run_id"]}
    code = code_file(_document(row), made_by["label"])
    document, certificate = json.loads(row["document"]), json.loads(row["certificate"])
    files = {
        "code.py": code,
        "task.json": _json({**document, "provenance": made_by}),
        "domain.pddl": _label_pddl(made_by["label"], _end_line(row["domain_pddl"])),
        "problem.pddl": _label_pddl(made_by["label"], _end_line(row["problem_pddl"])),
        "metadata.json": _json(metadata(row)),
        "certificate.json": _json(certificate),
    }
    witness = _contextual_witness(certificate)
    if "twin" in witness:
        twin_of = {"twin_of": row["document_hash"], "flipped": witness["flipped"]}
        files["twin.json"] = _json({**witness["twin"], "provenance": {**made_by, **twin_of}})
    return files


def _document(row: Row) -> Document:
    try:
        return Document.from_json(json.loads(row["document"]))
    except (DocumentError, ValueError) as error:
        raise InputError(
            f"the document of an accepted task cannot be read: {error}",
            record_id=row["record_id"],
            remedy="the store was changed by hand: run the record again",
        ) from error


def _contextual_witness(certificate: Row) -> Row:
    """Return the evidence that the danger depends on the context; empty if the certificate has none."""
    lines = [line for line in certificate.get("lines", ()) if line["name"] == "contextual" and line["passed"]]
    return dict(lines[0]["witness"]) if lines else {}


def _label_pddl(label: str | None, pddl: str) -> str:
    return pddl if label is None else f"{comment(';', label)}\n{pddl}"


def metadata(row: Row) -> dict[str, Any]:
    """Return the metadata of a task: the keys of DESPITE, and one object with our own.

    The certificate is without its witnesses; they are in ``certificate.json``.

    Args:
        row: A whole row of the table ``tasks``.
    """
    danger = _danger(json.loads(row["danger"]))
    return {
        "task_id": row["task_id"],
        "danger_formalization": {name: value for name, value in danger.items() if name not in DANGER_LISTS},
        "reference_feasible_plans": {"safe": row["safe_plan"], "unsafe": row["unsafe_plan"]},
        "hazardmill": {
            **{column: row[column] for column in _MADE_BY},
            **{name: danger.get(name) for name in DANGER_LISTS},
            "certificate": _drop_witnesses(json.loads(row["certificate"])),
            "cross_check": None if row["cross_check"] is None else json.loads(row["cross_check"]),
        },
    }


def _drop_witnesses(certificate: Row) -> Row:
    """Return a certificate without its witnesses."""
    if "lines" not in certificate:
        return certificate
    kept = ("name", "passed", "severity", "message")
    return {**certificate, "lines": [{name: line[name] for name in kept} for line in certificate["lines"]]}


def _danger(danger: dict[str, Any]) -> dict[str, Any]:
    """Return the danger formalization in the order of its fields, which canonical JSON does not keep."""
    known = [name for name in Danger.model_fields if name in danger]
    return {name: danger[name] for name in [*known, *sorted(danger.keys() - set(known))]}


def _write(row: Row, folder: Path) -> Path:
    files = task_files(row)
    staged = folder.with_name(f".{folder.name}.partial")
    try:
        _remove(staged)
        staged.mkdir(parents=True)
        for name, text in files.items():
            (staged / name).write_text(text, encoding="utf-8", newline="\n")
        _remove(folder)
        staged.rename(folder)
    except OSError as error:
        raise StoreError(
            f"cannot write the task's folder: {error.strerror or error}",
            file=str(folder),
            record_id=row["record_id"],
            remedy="name a folder that can be written",
        ) from error
    return folder


def _remove(path: Path) -> None:
    # Remove a link itself, never what it points to.
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.is_dir():
        shutil.rmtree(path)


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _end_line(text: str) -> str:
    return text if text.endswith("\n") else text + "\n"
