"""Whether the file that a record was read from still holds it, at that place."""

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
    """The paths from which a run, of ingestion or generation, read a source."""
    for given in config.get("inputs") or [config]:
        if given.get("source") == source and given.get("path"):
            yield Path(given["path"])


def look_again(row: Row, paths: Iterable[Path]) -> OriginCheck:
    """Read the record's file again, as far as the record's place in it. Never an error: files go and change.

    Args:
        row: The record, as the store has it.
        paths: Where its file may be: what was given to the runs that read it.
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
        except Exception as error:  # whatever a reader makes of what is there now, it is only looked at
            wrong = f"{path} could not be read again: {error}"
    if wrong is None:
        wrong = f"{row['file']} is not at {' or '.join(tried)}" if tried else "no run says where the file lay"
    return OriginCheck(state="not_here", message=wrong)


def _read_again(row: Row, path: Path) -> OriginCheck | None:
    source = load_source(row["source"])
    file = next((file for file in source.discover(path) if file.name == row["file"]), None)
    if file is None or kind_of(file.path) is FileKind.MISSING:
        return None
    items = source.items(file)
    place = _at(items, row)
    lies = str(file.path.resolve())
    if isinstance(place, Record):
        found = place.content_hash
        if found == row["content_hash"]:
            return OriginCheck(state="unchanged", message="the file holds it there", path=lies, content_hash=found)
        other = "" if place.native_id == row["native_id"] else f": it is {place.record_id}"
        return OriginCheck(
            state="changed", message=f"what is there now says something else{other}", path=lies, content_hash=found
        )
    why = "nothing of it is there now" if place is None else f"what is there now is refused: {place.message}"
    return OriginCheck(state="changed", message=why, path=lies)


def _at(items: Iterator[Record | Reject | Note], row: Row) -> Record | Reject | None:
    """What a file has at the record's place; of several items there, the one of the record's id."""
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
