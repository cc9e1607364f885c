"""The properties of BEHAVIOR's kinds of objects, from ``generated_data/synsets.csv`` next to the activities."""

from __future__ import annotations

import csv
import functools
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from hazardmill.files import FileKind, kind_of
from hazardmill.ingest.sources import InputRefusal, read_text

DEFINITIONS: Final = "activity_definitions"
TABLE: Final = "synsets.csv"
_PHRASES: Final = {
    "breakable": "is breakable",
    "flammable": "is flammable",
    "heatSource": "is a heat source",
    "coldSource": "is a cold source",
    "slicer": "can cut",
    "fillable": "can be filled",
}
_MAX_BYTES: Final = 8 << 20
"""Maximum size of the table in bytes. That of release 3.6.0 has 284 kB."""

Properties = Mapping[str, tuple[str, ...]]
"""Synset to its properties, as far as they bear on danger."""


def table_of(definitions: Path) -> Path | None:
    """Return the table that belongs to a folder of activities; null if there is none."""
    table = definitions.parent / "generated_data" / TABLE
    return table if definitions.name == DEFINITIONS and kind_of(table) is not FileKind.MISSING else None


def read_properties(table: Path) -> Properties | InputRefusal:
    """Read the properties of all synsets, or say why the table cannot be used. Unknown columns are ignored."""
    try:
        known = table.stat()
    except OSError as error:
        return InputRefusal("unreadable", f"it cannot be read: {error.strerror}", "check its permissions")
    return _read(table, known.st_mtime_ns, known.st_size)


# A thousand activities share one table, which may change between two runs of one process.
@functools.lru_cache(maxsize=4)
def _read(table: Path, mtime_ns: int, size: int) -> Properties | InputRefusal:
    text = read_text(table, limit=_MAX_BYTES)
    if isinstance(text, InputRefusal):
        return text
    rows = csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)
    try:
        columns = [column for column in _PHRASES if column in (rows.fieldnames or ())]
        if "synset" not in (rows.fieldnames or ()) or not columns:
            return InputRefusal("properties", "it has no column synset, or none of a property", "give it as published")
        return {
            (row["synset"] or "").strip().lower(): tuple(
                _PHRASES[column] for column in columns if (row[column] or "").strip() == "1"
            )
            for row in rows
        }
    except csv.Error as error:
        return InputRefusal("properties", f"it is no CSV after line {rows.line_num}: {error}", "give it as published")
