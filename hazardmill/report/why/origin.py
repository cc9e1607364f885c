"""Check whether the file that a record was read from still holds it at the same place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from hazardmill.files import FileKind, kind_of
from hazardmill.ingest.sources import Note, load_source
from hazardmill.ingest.sources.streams import is_stream
from hazardmill.records import Record, Reject
from hazardmill.report.queries import Row
from hazardmill.report.why.model import OriginCheck


def inputs_of(config: Row, source: str) -> Iterator[Path]:
    """Yield the paths from which a run read a source.

    Args:
        config: Configuration of an ingestion run or a generation run.
        source: Name of the source.
    """
    for given in config.get("inputs") or [config]:
        if given.get("source") == source and given.get("path"):
            yield Path(given["path"])


def look_again(row: Row, paths: Iterable[Path]) -> OriginCheck:
    """Read a record's file again, up to the place of the record.

    Never raises, because files disappear and change: what went wrong is in the message of the result.

    Args:
        row: The record's row in the store.
        paths: Where its file may be, in order: the inputs of the runs that read it.

    Returns:
        What the first path that can be read holds at that place; the state is ``not_here`` if none can.
    """
    tried: list[str] = []
    wrong: str | None = None
    for path in dict.fromkeys(paths):
        tried.append(str(path))
        try:
            if is_stream(path):
                wrong = f"it came through a stream ({path}), which cannot be read again"
                continue
            still = None if kind_of(path) is FileKind.MISSING else _read_again(row, path)
            if still is not None:
                return still
        except Exception as error:  # whatever a reader raises about what is there now, this is only a look
            wrong = f"{path} could not be read again: {error}"
    if wrong is None:
        wrong = f"{row['file']} is not at {' or '.join(tried)}" if tried else "no run recorded where the file was"
    return OriginCheck(state="not_here", message=wrong)


def _read_again(row: Row, path: Path) -> OriginCheck | None:
    source = load_source(row["source"])
    file = next((file for file in source.discover(path) if file.name == row["file"]), None)
    if file is None or kind_of(file.path) is FileKind.MISSING:
        return None
    place = _at(source.items(file, row["line"]), row)
    lies = str(file.path.resolve())
    if isinstance(place, Record):
        found = place.content_hash
        if found == row["content_hash"]:
            return OriginCheck(state="unchanged", message="the file still holds it", path=lies, content_hash=found)
        other = "" if place.native_id == row["native_id"] else f": it is {place.record_id}"
        return OriginCheck(
            state="changed", message=f"the file now has different content there{other}", path=lies, content_hash=found
        )
    why = "the file has nothing there now" if place is None else f"what is there now is refused: {place.message}"
    return OriginCheck(state="changed", message=why, path=lies)


def _at(items: Iterator[Record | Reject | Note], row: Row) -> Record | Reject | None:
    """Return the item at the record's place; among several, the one with the record's id."""
    here: Record | Reject | None = None
    for item in items:
        if isinstance(item, Note):
            continue
        line: Any = item.line
        if row["line"] is not None and line is not None and line > row["line"]:
            break
        if item.native_id == row["native_id"] and line == row["line"]:
            return item
        if line == row["line"] or line is None:
            here = here or item
    return here
