"""Finding the task that a caller names: by a task folder, the file of a document, or the id of a stored task.

It imports only the standard library, apart from the store if an id is given, so that ``task validate`` starts quickly.
"""

from __future__ import annotations

import contextlib
import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from hazardmill.errors import DocumentError, InputError, StoreError
from hazardmill.files import read_regular, walk_folders
from hazardmill.formalism.document.document import Document
from hazardmill.store_access import open_store
from hazardmill.text.suggestions import unknown_name

TASK_HELP: Final = "TASK is a task folder, a task.json, or the id of a stored task (with --store where it is stored)."


def find_task(name: str, store_path: Path | None = None) -> Document:
    """Return the document of a task.

    Args:
        name: A folder with a ``task.json``, the path of a document, or the id of a stored task.
        store_path: The store with the task; ``name`` is then always an id. If None, a name that is not a path is
            looked up in the store of the settings.

    Raises:
        InputError: There is no such task.
        DocumentError: There is one, but it cannot be read.
        StoreError: The store cannot be read.
    """
    if store_path is not None:
        return _read_stored(name, store_path)
    path = Path(name)
    if path_exists(path) and path.is_dir():
        return _in_folder(path)
    if path_exists(path) or _looks_like_a_path(name):
        return read_document(path)
    return _read_stored(name, None)


def read_document(path: Path) -> Document:
    """Return the document in a file.

    Raises:
        DocumentError: The file cannot be read, is not JSON, or is not a document; the error names the file.
    """
    if path.suffix == ".py" and path_exists(path):
        raise DocumentError(
            "this is the code of a task, which only the jail may run", file=str(path), remedy=_of_code(path)
        )
    try:
        content = read_regular(path)
    except OSError as error:
        raise DocumentError(
            f"the task cannot be read: {error.strerror or error}", file=str(path), remedy=TASK_HELP
        ) from error
    return _parse(content, str(path))


def task_folders(root: Path) -> Iterator[Path]:
    """Yield the folders in and below a folder that have a ``task.json``, in order, without hidden ones.

    Folders that are still being written have a name that begins with a dot.

    Raises:
        InputError: A folder cannot be listed.
    """
    for place, _, files in walk_folders(root):
        if "task.json" in files:
            yield place


def is_imported(document: Document) -> bool:
    """Check by the provenance in a document whether the task was made elsewhere."""
    return "imported_from" in document.provenance


def is_unavoidable(name: str, store_path: Path | None) -> bool:
    """Return whether the danger of a task is declared unavoidable, so that it has no safe plan.

    The document does not say so; the table of tasks does, or the metadata in the task's folder.

    Args:
        name: The task, as for ``find_task``, which has found it.
        store_path: The store with the task; None as for ``find_task``.

    Raises:
        StoreError: The store cannot be read.
    """
    path = Path(name)
    if store_path is None and path.is_dir():
        return declared_unavoidable(path)
    if store_path is None and (path.exists() or path.suffix == ".json"):
        return path.name == "task.json" and declared_unavoidable(path.parent)
    rows = open_store(store_path).rows("tasks", {"task_id": name}, ["avoidability"])
    return bool(rows) and rows[-1]["avoidability"] == "unavoidable"


def declared_unavoidable(folder: Path) -> bool:
    """Check whether the metadata of a task folder declares its danger unavoidable; False if they cannot be read."""
    try:
        metadata = json.loads(read_regular(folder / "metadata.json"))
    except (OSError, ValueError, RecursionError):
        return False
    ours = metadata.get("hazardmill") if isinstance(metadata, dict) else None
    return isinstance(ours, dict) and ours.get("avoidability") == "unavoidable"


def path_exists(path: Path) -> bool:
    """Check whether a path exists; False where that cannot be found out."""
    # The name may be too long for a file, or in a folder that this user may not read.
    with contextlib.suppress(OSError):
        return path.exists()
    return False


def _of_code(path: Path) -> str:
    """Return what to do with a file of code: check it, or take the task that was checked already."""
    if path_exists(beside := path.with_name("task.json")):
        return f"name its task folder instead: {beside.parent}"
    words = f"hazardmill task check {shlex.quote(str(path))} --out checked"
    # The folder that `find_work` chooses: a module `code.py` is that of the folder itself.
    folder = Path("checked") if path.name == "code.py" else Path("checked", path.stem)
    return f"check it in the jail with: {words}; then name {folder}"


def _looks_like_a_path(name: str) -> bool:
    return name.endswith((".json", ".py")) or Path(name).name != name


def _in_folder(folder: Path) -> Document:
    path = folder / "task.json"
    if path_exists(path):
        return read_document(path)
    if path_exists(folder / "domain.pddl"):
        remedy = "make a task of PDDL with: hazardmill task import --help"
    else:
        remedy = TASK_HELP
    raise DocumentError("the folder holds no task.json", file=str(folder), remedy=remedy)


def _read_stored(task_id: str, store_path: Path | None) -> Document:
    try:
        store = open_store(store_path)
    except StoreError as error:
        if store_path is not None:
            raise
        raise InputError(
            f"there is no file or folder {task_id!r}, and the store named in the settings cannot be searched for a "
            f"task of this id: {error.message}",
            file=error.file,
            remedy=TASK_HELP,
        ) from error
    rows = store.rows("tasks", {"task_id": task_id}, ["document"])
    if not rows:
        raise unknown_name(
            f"there is no task {task_id!r} in this store"
            + ("; with --store, TASK is an id" if store_path is not None and path_exists(Path(task_id)) else ""),
            task_id,
            [row["task_id"] for row in store.rows("tasks", columns=["task_id"])],
            file=store.address,
            remedy=f"""{TASK_HELP} See: hazardmill query "select task_id from tasks_latest" --store {store.address}""",
        )
    # Rows come in the order of commits, so the task of the latest run is read.
    return _parse(rows[-1]["document"], f"{store.address} (task {task_id})")


def _parse(content: str | bytes, place: str) -> Document:
    try:
        return Document.from_json(json.loads(content))
    except json.JSONDecodeError as error:
        raise DocumentError(
            f"the task is not JSON: {error.msg}", file=place, line=error.lineno, remedy=TASK_HELP
        ) from error
    except DocumentError as error:
        error.file = place
        error.remedy = error.remedy or "see hazardmill/formalism/document/document.schema.json"
        raise
    # UnicodeDecodeError, integers of thousands of digits, or brackets nested thousands deep.
    except (ValueError, RecursionError) as error:
        raise DocumentError(f"the task is not JSON: {error}", file=place, remedy=TASK_HELP) from error
