"""Reading the tasks to lint, from a store or from a folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from hazardmill.errors import DocumentError, InputError, NoStore
from hazardmill.files import read_regular
from hazardmill.formalism.document.document import Document
from hazardmill.quality.lint import LintItem
from hazardmill.store.store import Store
from hazardmill.task_access import declared_unavoidable, is_imported, read_document, task_folders

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_FETCHED: Final = 64
"""Number of stored tasks in memory at a time."""


def lint_items(place: Path, imported: bool = False) -> Iterator[LintItem]:
    """Read the tasks of a store, sorted by id, or of all task folders below a folder, sorted by path.

    A task that cannot be read is an item with the error.

    Args:
        place: The folder of a store, or a folder with task folders.
        imported: Whether all tasks count as made elsewhere.

    Returns:
        The tasks; each is read when the iterator reaches it.

    Raises:
        InputError: There is no such folder.
        StoreError: The store cannot be read.
    """
    if not place.is_dir():
        raise InputError("there is no such folder", file=str(place), remedy="name a folder of tasks, or a store")
    try:
        store = Store.open(place)
    except NoStore:
        return _in_folders(place, imported)
    return _in_store(store, imported)


def _in_folders(place: Path, imported: bool) -> Iterator[LintItem]:
    for path in task_folders(place):
        name = str(path.relative_to(place))
        try:
            document = read_document(path / "task.json")
        except DocumentError as error:
            yield LintItem(name, error)
            continue
        source, danger = _origin(path)
        yield LintItem(
            name, document, declared_unavoidable(path), imported or is_imported(document), source=source, danger=danger
        )


def _origin(folder: Path) -> tuple[str | None, dict[str, Any] | None]:
    """Return source and danger formalization in the metadata of a task folder; None where these are missing."""
    try:
        metadata = _object(read_regular(folder / "metadata.json")) or {}
    except OSError:
        return None, None
    ours, danger = metadata.get("hazardmill"), metadata.get("danger_formalization")
    source = ours.get("source") if isinstance(ours, dict) else None
    return source if isinstance(source, str) else None, danger if isinstance(danger, dict) else None


def _object(text: str | bytes) -> dict[str, Any] | None:
    """Parse a JSON object; None if the text is not one."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _in_store(store: Store, imported: bool) -> Iterator[LintItem]:
    cursor, rows = store.query(_first_of_all, ["tasks"])
    while rows:
        for name, source, danger, text, avoidability in rows:
            try:
                document = Document.from_json(json.loads(text))
            except DocumentError as error:
                yield LintItem(name, error)
            except (ValueError, RecursionError) as error:
                yield LintItem(name, DocumentError(f"the task is not JSON: {error}"))
            else:
                yield LintItem(
                    name,
                    document,
                    avoidability == "unavoidable",
                    imported or is_imported(document),
                    source=source,
                    danger=_object(danger),
                )
        rows = cursor.fetchmany(_FETCHED)


def _first_of_all(views: DuckDBPyConnection) -> tuple[DuckDBPyConnection, list[Any]]:
    """Return a cursor over all tasks, and the first of them.

    The first tasks come after a sort, so that all parts have been read by then: the store may change afterwards.
    """
    cursor = views.execute("SELECT task_id, source, danger, document, avoidability FROM tasks_latest ORDER BY task_id")
    return cursor, cursor.fetchmany(_FETCHED)
