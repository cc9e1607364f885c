"""What a damaged journal segment still holds: a line that fits its checksum is as it was written."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hazardmill.errors import CorruptStore
from hazardmill.store.files.layout import Layout
from hazardmill.store.journal import JOURNAL_FORMAT, Segment, check_header, frame, parse_group, parse_line
from hazardmill.store.schemas import SCHEMA_VERSION, TABLES

_ROW: Final = re.compile(rb'\["(\w+)",\{')
"""How a row begins in a line; what is left of a damaged one may still tell its tables."""


@dataclass(frozen=True)
class Salvage:
    """A segment without its damaged lines."""

    path: Path
    segment: Segment
    content: bytes
    """The whole file, as it is to be."""
    lines_lost: tuple[int, ...]
    """Their 1-based numbers."""
    rows_lost: Counter[str]
    """Rows that begin in these lines, by table: what the damage left readable of them."""
    unknown: int
    """Damaged lines that tell nothing; the header, which holds no row, is none."""


def salvage(path: Path) -> Salvage | None:
    """Read what is intact of a segment; none if all of it is.

    Raises:
        SchemaMismatch: If a newer hazardmill wrote it.
    """
    *lines, _torn = path.read_bytes().split(b"\n")
    header = {"journal": JOURNAL_FORMAT, "schema": SCHEMA_VERSION, "run_id": Layout.run_of(path.stem)}
    kept, groups, lost = [frame(json.dumps(header).encode())], [], []
    rows: Counter[str] = Counter()
    unknown = 0
    for number, line in enumerate(lines, start=1):
        try:
            payload = parse_line(path, number, line)
            if number == 1:
                check_header(path, payload)
                kept = [line + b"\n"]
            else:
                groups.append(parse_group(path, number, payload))
                kept.append(line + b"\n")
        except CorruptStore:
            lost.append(number)
            begun = Counter(name.decode() for name in _ROW.findall(line) if name.decode() in TABLES)
            rows += begun
            unknown += not begun and number > 1
    if not lost:
        return None
    segment = Segment(path.stem, tuple(groups), torn=False)
    return Salvage(path, segment, b"".join(kept), tuple(lost), rows, unknown)
