"""Exporting tasks to folders in the format of DESPITE: one task, a tree of task folders, or a whole store."""

from __future__ import annotations

import itertools
import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from hazardmill.errors import InputError
from hazardmill.files import read_regular
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.formats.despite.adapt import Obstacle, adapt, refusal
from hazardmill.formalism.formats.despite.write import TaskOrigin, adapted_files
from hazardmill.report.folders import folder_name
from hazardmill.store.store import Store
from hazardmill.store_access import open_store
from hazardmill.task_access import TASK_HELP, find_task, path_exists, task_folders

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


_BATCH: Final = 100
_COLUMNS: Final = ("task_id", "document", "danger", "safe_plan", "unsafe_plan", "licence", "attribution")


@dataclass(frozen=True, slots=True)
class _Task:
    """A task to export, or why it cannot be read.

    Attributes:
        name: Its name in reports and, if there are several tasks, of its folder.
        document: Its document; None if it cannot be read.
        origin: What else its folder needs; None if it cannot be read.
        unreadable: Why it cannot be read.
    """

    name: str
    document: Document | None = None
    origin: TaskOrigin | None = None
    unreadable: str | None = None


@dataclass
class DespiteExport:
    """The results of an export so far.

    Attributes:
        out: Folder to write to.
        counts: Number of tasks ``written``, ``unchanged`` and ``refused``.
        lossy: Number of exported tasks that lost something.
        refusals: Task and reasons, for each task that was not exported.
        reasons: Rule to the number of tasks that it refused, with an example.
        lost: Rule to the number of exported tasks that lost something under it, with an example.
    """

    out: Path
    counts: Counter[str] = field(default_factory=Counter)
    lossy: int = 0
    refusals: list[dict[str, Any]] = field(default_factory=list)
    reasons: dict[str, dict[str, Any]] = field(default_factory=dict)
    lost: dict[str, dict[str, Any]] = field(default_factory=dict)

    def refuse(self, name: str, reasons: tuple[Obstacle, ...]) -> None:
        """Count a task that was not exported."""
        self.counts["refused"] += 1
        said = [{"rule": reason.rule, "message": reason.message} for reason in reasons]
        self.refusals.append({"task": name, "reasons": said})
        _count(self.reasons, name, reasons)

    def lose(self, name: str, lost: tuple[Obstacle, ...]) -> None:
        """Count an exported task that lost something; without ``lost`` nothing is counted."""
        if lost:
            self.lossy += 1
            _count(self.lost, name, lost)

    def to_json(self) -> dict[str, Any]:
        """Return the results as JSON values."""
        counts = {key: self.counts[key] for key in ("written", "unchanged", "refused")}
        return {
            "out": str(self.out),
            "tasks": self.counts.total(),
            **counts,
            "lossy": self.lossy,
            "reasons": self.reasons,
            "lost": self.lost,
            "refusals": self.refusals,
        }


def export_despite(
    name: str | None,
    store_path: Path | None,
    out: Path,
    *,
    lossy: bool = False,
    force: bool = False,
    on_task: Callable[[DespiteExport], None] | None = None,
) -> DespiteExport:
    """Export tasks as folders in the format of DESPITE.

    A task that cannot be read or expressed is refused, and the export continues. A folder that already has the same
    content is left unchanged.

    Args:
        name: A task, which is written to ``out`` itself; or a folder without a ``task.json`` above task folders, each
            of which is written to a folder in ``out`` named after its id. None exports every task of the store in the
            same way.
        store_path: The store; by default that of the settings.
        out: Folder to write to.
        lossy: Whether to export tasks that the format cannot express exactly, as closely as possible.
        force: Whether to overwrite folders that hold something else.
        on_task: Called after each task with the results so far.

    Returns:
        The results for all tasks.

    Raises:
        InputError: There is no such task, or ``out`` cannot be written.
        DocumentError: The one task that was named cannot be read.
        StoreError: The store cannot be read.
    """
    tasks, several = _find_tasks(name, store_path)
    summary = DespiteExport(out)
    taken: set[str] = set()
    for task in tasks:
        _export(task, out / folder_name(task.name) if several else out, taken, summary, lossy, force)
        if on_task is not None:
            on_task(summary)
    return summary


# Which tasks


def _find_tasks(name: str | None, store_path: Path | None) -> tuple[Iterator[_Task], bool]:
    """Return an iterator over the tasks, and whether there may be several."""
    if name is None:
        return _all_stored(open_store(store_path)), True
    path = Path(name)
    if store_path is None and path_exists(path):
        if path.is_dir() and not (path / "task.json").exists():
            folders = task_folders(path)
            first = next(folders, None)
            if first is not None:
                return _in_folders(itertools.chain([first], folders)), True
            find_task(name)  # Raises the error about the folder.
        return iter([_from_path(path)]), False
    find_task(name, store_path)  # Raises the error about the name, if there is no such task.
    row = open_store(store_path).rows("tasks", {"task_id": name}, _COLUMNS)[-1]
    return iter([_from_row(row)]), False


def _in_folders(folders: Iterable[Path]) -> Iterator[_Task]:
    for folder in folders:
        try:
            yield _from_path(folder)
        except InputError as error:
            yield _Task(folder.name, unreadable=str(error))


def _from_path(path: Path) -> _Task:
    """Read a task folder, or the file of a document.

    Returns:
        The task with its document and origin. Its id is that of the metadata, otherwise the name of the folder or file;
        other parts of the origin are None where the metadata does not have them.

    Raises:
        InputError: It cannot be read, or the metadata beside it cannot.
    """
    document = find_task(str(path))
    folder = path if path.is_dir() else path.parent
    known = _metadata(folder / "metadata.json") if path.is_dir() or path.name == "task.json" else {}
    plans, ours = (_object(known.get(key)) for key in ("reference_feasible_plans", "hazardmill"))
    given = known.get("task_id")
    by_folder = folder.resolve().name if path.is_dir() or path.name == "task.json" else path.stem
    task_id = given if isinstance(given, str) and given else by_folder
    origin = TaskOrigin(
        task_id,
        danger=_object(known.get("danger_formalization")) or None,
        safe_plan=_text(plans.get("safe")),
        unsafe_plan=_text(plans.get("unsafe")),
        licence=_text(ours.get("licence")),
        attribution=_text(ours.get("attribution")),
    )
    return _Task(task_id, document, origin)


def _metadata(path: Path) -> dict[str, Any]:
    """Read the metadata of a task folder; empty if there is none."""
    if not os.path.lexists(path):
        return {}
    remedy = "repair the file, or remove it from the folder: a task does not need it"
    try:
        value = json.loads(read_regular(path))
    except OSError as error:
        message = f"the metadata cannot be read: {error.strerror or error}"
        raise InputError(message, file=str(path), remedy=remedy) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"the metadata is not JSON: {error}", file=str(path), remedy=remedy) from error
    if not isinstance(value, dict):
        raise InputError("the metadata is not a JSON object", file=str(path), remedy=remedy)
    return value


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _all_stored(store: Store) -> Iterator[_Task]:
    cursor, rows = store.query(_first_of_all, ["tasks"])
    while rows:
        for values in rows:
            row = dict(zip(_COLUMNS, values, strict=True))
            try:
                yield _from_row(row)
            except (InputError, ValueError) as error:
                yield _Task(row["task_id"], unreadable=str(error))
        rows = cursor.fetchmany(_BATCH)


def _first_of_all(views: DuckDBPyConnection) -> tuple[DuckDBPyConnection, list[Any]]:
    """Return a cursor over all tasks, and the first of them.

    The first tasks come after a sort, so that all parts have been read by then: the store may change afterwards.
    """
    cursor = views.execute(f"SELECT {', '.join(_COLUMNS)} FROM tasks_latest ORDER BY task_id")
    return cursor, cursor.fetchmany(_BATCH)


def _from_row(row: Mapping[str, Any]) -> _Task:
    origin = TaskOrigin(
        row["task_id"],
        danger=json.loads(row["danger"]),
        **{key: row[key] for key in ("safe_plan", "unsafe_plan", "licence", "attribution")},
    )
    return _Task(row["task_id"], Document.from_json(json.loads(row["document"])), origin)


# Writing


def _export(task: _Task, folder: Path, taken: set[str], summary: DespiteExport, lossy: bool, force: bool) -> None:
    if task.document is None or task.origin is None:
        summary.refuse(task.name, (Obstacle("unreadable", task.unreadable or TASK_HELP),))
        return
    # Some file systems do not distinguish names that differ only in case.
    if folder.name.lower() in taken:
        summary.refuse(task.name, (Obstacle("same_id", f"another task was written to {folder} in this run"),))
        return
    adapted = adapt(task.document, task.origin.danger)
    if reasons := refusal(adapted, lossy):
        summary.refuse(task.name, reasons)
        return
    written = _write(folder, adapted_files(task.document, adapted, task.origin, lossy=lossy), force)
    if written == "different":
        message = f"{folder} holds something else: name another folder, or overwrite it with --force"
        summary.refuse(task.name, (Obstacle("folder_differs", message),))
        return
    taken.add(folder.name.lower())
    summary.counts[written] += 1
    summary.lose(task.name, adapted.lost)


def _write(folder: Path, files: Mapping[str, str], force: bool) -> Literal["written", "unchanged", "different"]:
    """Write a folder, or the files that it lacks; other files in it are left alone.

    Returns:
        ``different`` if the folder holds files with other content and ``force`` is not set; nothing is written then.

    Raises:
        InputError: The folder cannot be written.
    """
    content = {name: text.encode() for name, text in files.items()}
    staged = folder.with_name(f".{folder.name}.partial")
    try:
        if not os.path.lexists(folder):
            # A killed run leaves only complete folders, and this one.
            shutil.rmtree(staged, ignore_errors=True)
            staged.mkdir(parents=True)
            for name, text in content.items():
                (staged / name).write_bytes(text)
            staged.rename(folder)
            return "written"
        there = {name for name in content if os.path.lexists(folder / name)}
        same = {name for name in there if (folder / name).is_file() and (folder / name).read_bytes() == content[name]}
        if same == content.keys():
            return "unchanged"
        if (there != same or not folder.is_dir()) and not force:
            return "different"
        for name in sorted(content.keys() - same):
            part = folder / f".{name}.partial"
            part.write_bytes(content[name])
            part.replace(folder / name)
        return "written"
    except OSError as error:
        raise InputError(
            f"cannot write here: {error.strerror or error}",
            file=str(folder),
            remedy="name a folder that can be written",
        ) from error


def _count(table: dict[str, dict[str, Any]], name: str, obstacles: tuple[Obstacle, ...]) -> None:
    for rule in dict.fromkeys(obstacle.rule for obstacle in obstacles):
        first = next(obstacle for obstacle in obstacles if obstacle.rule == rule)
        entry = table.setdefault(rule, {"tasks": 0, "example": {"task": name, "message": first.message}})
        entry["tasks"] += 1
