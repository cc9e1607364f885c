"""Salvages a damaged journal segment: every line that matches its checksum is as it was written."""

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
"""The beginning of a row in a line; the remains of a damaged line may still show its tables."""


@dataclass(frozen=True)
class Salvage:
    """A segment without its damaged lines.

    Attributes:
        path: The damaged segment.
        segment: The intact groups.
    """

    path: Path
    segment: Segment
    content: bytes
    """The whole file as it should become."""
    lines_lost: tuple[int, ...]
    """Numbers of the damaged lines, from 1."""
    rows_lost: Counter[str]
    """Number of rows by table that begin in these lines, as far as the damage left them readable."""
    unknown: int
    """Damaged lines whose content is unknown; the header does not count, because it holds no row."""


def salvage(path: Path) -> Salvage | None:
    """Return the intact lines of a segment; null if all of it is intact.

    Args:
        path: The segment.

    Raises:
        SchemaMismatch: A newer hazardmill wrote it.
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
