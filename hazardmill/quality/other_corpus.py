"""Reading another corpus to compare with: a store, or a folder of files in the usual formats of datasets.

| kind | what is read |
| --- | --- |
| a store | the documents and danger formalizations of its tasks, the latest row of each |
| ``.parquet`` | each row: every string in it |
| ``.jsonl``, ``.ndjson`` | each line: every string in it |
| ``.json`` | the value, or each item of a list: every string in it |
| ``.txt``, ``.md``, ``.rst``, ``.csv``, ``.tsv`` | the text |
| ``domain.pddl`` and ``problem.pddl`` beside ``dangers.json`` | the task |

A task document among these (a JSON value with hazardmill's ``format``, or a string that contains one) is a task to
compare with, so task folders and releases need no special treatment. Other files, pipes and links to folders are
counted, but not read. What cannot be read is a ``Problem``, and reading continues. Names that begin with a dot are
left out.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from hazardmill.errors import DocumentError, HazardmillError, InputError, NoStore
from hazardmill.formalism.document.document import FORMAT, Document
from hazardmill.formalism.formats.pddl.reader import read_pddl
from hazardmill.quality.contamination import Piece
from hazardmill.store.address import bucket_address
from hazardmill.store.store import Store

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


_TEXTS: Final = frozenset({".txt", ".md", ".rst", ".csv", ".tsv"})
_LINES: Final = frozenset({".jsonl", ".ndjson"})
_PDDL: Final = ("domain.pddl", "problem.pddl", "dangers.json")
_ROWS: Final = 256
"""Number of rows in memory at a time."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that could not be read.

    Attributes:
        place: Where it is.
        message: Why, as the rest of a sentence that starts with the place.
    """

    place: str
    message: str


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A file of a kind that is not read, or a link to a folder; ``place`` is its path."""

    place: str


def read_corpus(path: Path) -> Iterator[Piece | Problem | SkippedFile]:
    """Read everything in a store, a folder or a file, sorted by name.

    Args:
        path: The folder or address of a store, a folder, or a single file.

    Yields:
        A piece per file, line, row, item of a list, or task; a problem per file or piece that cannot be read; and
        whatever is skipped.

    Raises:
        InputError: There is no such folder or file.
        StoreError: It is a store that cannot be read.
    """
    if bucket_address(path) is not None:
        yield from _store(Store.open(path))
    elif path.is_file():
        yield from _file(path, path.name)
    elif not path.is_dir():
        raise InputError("there is no such folder, file or store", file=str(path), remedy="name what to compare with")
    else:
        try:
            store = Store.open(path)
        except NoStore:
            yield from _folder(path)
        else:
            yield from _store(store)


def _folder(root: Path) -> Iterator[Piece | Problem | SkippedFile]:
    closed: list[OSError] = []
    for place, folders, files in os.walk(root, onerror=closed.append):
        here = Path(place)
        shown = here.relative_to(root)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        # Links are not followed, because they may form a circle, but they are reported.
        yield from (SkippedFile(str(shown / name)) for name in folders if (here / name).is_symlink())
        told_elsewhere: tuple[str, ...] = ()
        if "task.json" in files:
            told_elsewhere = _PDDL
        elif set(_PDDL) <= set(files):
            told_elsewhere = _PDDL
            yield _planning(here, str(shown))
        for name in sorted(files):
            if not name.startswith(".") and name not in told_elsewhere:
                yield from _file(here / name, str(shown / name))
    for error in closed:
        yield Problem(os.path.relpath(error.filename, root), f"cannot be read: {error.strerror or error}")


def _file(path: Path, place: str) -> Iterator[Piece | Problem | SkippedFile]:
    suffix = path.suffix.lower()
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            yield SkippedFile(place)  # Reading from a pipe could wait forever.
        elif suffix in _TEXTS:
            yield Piece(place, (path.read_text(encoding="utf-8", errors="replace"),))
        elif suffix in _LINES:
            yield from _lines(path, place)
        elif suffix == ".json":
            yield from _json(path, place)
        elif suffix == ".parquet":
            yield from _parquet(path, place)
        else:
            yield SkippedFile(place)
    except OSError as error:
        yield Problem(place, f"cannot be read: {error.strerror or error}")


def _lines(path: Path, place: str) -> Iterator[Piece | Problem]:
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                yield _parse(line, f"{place}:{number}")


def _json(path: Path, place: str) -> Iterator[Piece | Problem]:
    try:
        value = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        yield Problem(place, f"is not JSON: {error}")
        return
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield _piece(item, f"{place}[{number}]")
    else:
        yield _piece(value, place)


def _parquet(path: Path, place: str) -> Iterator[Piece | Problem]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        number = 0
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            for batch in file.iter_batches(batch_size=_ROWS):
                for row in batch.to_pylist():
                    number += 1
                    yield _piece(row, f"{place}, row {number}")
    except (pa.ArrowException, ValueError) as error:
        yield Problem(place, f"is not readable Parquet: {error}")


def _store(store: Store) -> Iterator[Piece | Problem]:
    cursor, rows = store.query(_first_of_all, ["tasks"])
    while rows:
        for task_id, document, danger in rows:
            yield _piece([document, danger], task_id)
        rows = cursor.fetchmany(_ROWS)


def _first_of_all(views: DuckDBPyConnection) -> tuple[DuckDBPyConnection, list[Any]]:
    """Return a cursor over all tasks, and the first of them.

    The first tasks come after a sort, so that all parts have been read by then: the store may change afterwards.
    """
    cursor = views.execute("SELECT task_id, document, danger FROM tasks_latest ORDER BY task_id")
    return cursor, cursor.fetchmany(_ROWS)


def _planning(folder: Path, place: str) -> Piece | Problem:
    try:
        document = read_pddl(*(folder / name for name in _PDDL))
    except HazardmillError as error:
        return Problem(place, error.message)
    return Piece(place, documents=(document.to_json(),))


def _parse(text: bytes | str, place: str) -> Piece | Problem:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        return Problem(place, f"is not JSON: {error}")
    return _piece(value, place)


def _piece(value: object, place: str) -> Piece | Problem:
    texts: list[str] = []
    documents: list[dict[str, Any]] = []
    try:
        _gather(value, texts, documents)
    except DocumentError as error:
        return Problem(place, f"holds a task that is not a valid document: {error.message}")
    except RecursionError:
        return Problem(place, "is nested too deeply")
    return Piece(place, tuple(texts), tuple(documents))


def _gather(value: object, texts: list[str], documents: list[dict[str, Any]]) -> None:
    if isinstance(value, dict):
        if value.get("format") == FORMAT:
            documents.append(Document.from_json(value).to_json())
            _gather(value.get("texts", {}), texts, documents)
            return
        for item in value.values():
            _gather(item, texts, documents)
    elif isinstance(value, list):
        for item in value:
            _gather(item, texts, documents)
    elif isinstance(value, str):
        held = _read_held_json(value)
        if held is None:
            texts.append(value)
        else:
            _gather(held, texts, documents)


def _read_held_json(text: str) -> object:
    """Parse a string that is itself the JSON of an object, as some columns of hazardmill are; None if it is not."""
    if not text.startswith("{"):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
