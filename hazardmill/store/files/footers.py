"""What the footers of parts say: the version of the schema, and between which values identifiers lie.

A store can have thousands of parts. A part never changes, so its footer is read once a process; and of the parts that
cannot hold what is looked for nothing else is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.fs as fs
import pyarrow.parquet as pq

IDENTIFIERS: Final = ("run_id", "record_id", "task_id", "identity")
"""Columns of which the least and greatest value are kept: what rows are looked for by."""

PICKING: Final = frozenset(IDENTIFIERS) - {"run_id"}
"""Those of which one value is in few rows."""

_KEPT: Final = 2**16
"""Footers that are kept, at about a kilobyte each."""

_FORMAT: Final = ds.ParquetFileFormat()
_FILES: Final = fs.LocalFileSystem()
_known: dict[str, tuple[tuple[int, int], Footer]] = {}
"""Path to size and time of change of the file, and what its footer says."""


@dataclass(frozen=True, slots=True)
class Footer:
    """What is kept of a footer."""

    size: int
    """Of the part, bytes."""
    version: int | None
    """Of the schema; none if it does not say."""
    bounds: Mapping[str, tuple[str, str]]
    """Column to its least and greatest value, nulls aside. Of a column that is not named nothing is known."""

    def may_hold(self, condition: Mapping[str, Sequence[object]]) -> bool:
        """Whether there may be a row of which each of these columns has one of its values."""
        return all(self._may_have(column, values) for column, values in condition.items())

    def _may_have(self, column: str, values: Sequence[object]) -> bool:
        if column not in self.bounds:
            return True
        low, high = self.bounds[column]
        return any(not isinstance(value, str) or low <= value <= high for value in values)


def open_part(path: Path) -> tuple[Footer, ds.ParquetFileFragment]:
    """The footer of a part, and the part for a dataset of Arrow.

    Raises:
        FileNotFoundError: If it is not there.
        pyarrow.ArrowInvalid, OSError: If its footer cannot be read.
    """
    # Absolute and with its file system: Arrow takes some relative paths for addresses.
    place = str(path.absolute())
    status = path.stat()
    # What should never change may have been damaged, or put back.
    stamp = (status.st_size, status.st_mtime_ns)
    fragment = _FORMAT.make_fragment(place, _FILES)
    known = _known.get(place)
    if known is None or known[0] != stamp:
        if len(_known) >= _KEPT:
            _known.clear()
        # The fragment keeps what it read here, so that its rows are found without reading the footer again.
        known = _known[place] = stamp, _summary(fragment.metadata, status.st_size)
    return known[1], fragment


def dataset(fragments: Sequence[ds.ParquetFileFragment], schema: pa.Schema) -> ds.Dataset:
    """Parts as one dataset, in their order."""
    return ds.FileSystemDataset(list(fragments), schema, _FORMAT, _FILES)


def _summary(footer: pq.FileMetaData, size: int) -> Footer:
    version = (footer.metadata or {}).get(b"hazardmill_schema")
    names = footer.schema.names
    bounds = {}
    for column in IDENTIFIERS:
        found = _bounds(footer, names.index(column)) if column in names else None
        if found is not None:
            bounds[column] = found
    return Footer(size, None if version is None else int(version), bounds)


def _bounds(footer: pq.FileMetaData, column: int) -> tuple[str, str] | None:
    ends: list[tuple[str, str]] = []
    for number in range(footer.num_row_groups):
        found = footer.row_group(number).column(column).statistics
        if found is None or not found.has_min_max:
            return None
        ends.append((found.min, found.max))
    return (min(low for low, _ in ends), max(high for _, high in ends)) if ends else None
