"""Footers of parts: the range of the identifiers.

A store can have thousands of parts. A part never changes, so its footer is read once per process. Parts whose footer
rules out the rows that are looked for are not read any further.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.fs as fs
import pyarrow.parquet as pq

IDENTIFIERS: Final = ("run_id", "record_id", "task_id", "identity")
"""Columns by which rows are looked up; their minimum and maximum are kept."""

PICKING: Final = frozenset(IDENTIFIERS) - {"run_id"}
"""Columns for which a single value occurs in few rows."""

_KEPT: Final = 2**16
"""Maximum number of footers kept, at about a kilobyte each."""

PAGE_CHECKSUMS: Final[dict[str, Any]] = {"page_checksum_verification": True}
"""Options of pyarrow's Parquet readers. Pages of parts that were written without checksums are read unverified."""

READ_ERRORS: Final = (pa.ArrowException, OSError, UnicodeDecodeError)
"""Errors of pyarrow's readers for a damaged file."""

_FORMAT: Final = ds.ParquetFileFormat(default_fragment_scan_options=ds.ParquetFragmentScanOptions(**PAGE_CHECKSUMS))
_FILES: Final = fs.LocalFileSystem()
_known: dict[str, tuple[tuple[int, int], Footer]] = {}
"""Path to the file's size and modification time, and its footer."""


@dataclass(frozen=True, slots=True)
class Footer:
    """What is kept of a part's footer."""

    size: int
    """Size of the part in bytes."""
    bounds: Mapping[str, tuple[str, str]]
    """Column to its minimum and maximum, ignoring nulls. Nothing is known about columns that are missing here."""

    def may_hold(self, condition: Mapping[str, Sequence[object]]) -> bool:
        """Whether the part may contain a row in which each of these columns has one of its values."""
        return all(self._may_have(column, values) for column, values in condition.items())

    def _may_have(self, column: str, values: Sequence[object]) -> bool:
        if column not in self.bounds:
            return True
        low, high = self.bounds[column]
        return any(not isinstance(value, str) or low <= value <= high for value in values)


def open_part(path: Path) -> tuple[Footer, ds.ParquetFileFragment]:
    """Return the footer of a part, and the part as a fragment of an Arrow dataset.

    Args:
        path: The part.

    Raises:
        FileNotFoundError: The part does not exist.
        pyarrow.ArrowInvalid: The footer is damaged.
        OSError: The file cannot be read.
    """
    # Absolute and with an explicit file system: Arrow mistakes some relative paths for addresses.
    place = str(path.absolute())
    status = path.stat()
    # A part should never change, but may have been damaged or restored.
    stamp = (status.st_size, status.st_mtime_ns)
    fragment = _FORMAT.make_fragment(place, _FILES)
    known = _known.get(place)
    if known is None or known[0] != stamp:
        if len(_known) >= _KEPT:
            _known.clear()
        # The fragment keeps the footer, so that its rows are found without reading it again.
        known = _known[place] = stamp, _summary(fragment.metadata, status.st_size)
    return known[1], fragment


def dataset(fragments: Sequence[ds.ParquetFileFragment], schema: pa.Schema) -> ds.Dataset:
    """Combine parts into one dataset, in their order."""
    return ds.FileSystemDataset(list(fragments), schema, _FORMAT, _FILES)


def _summary(footer: pq.FileMetaData, size: int) -> Footer:
    names = footer.schema.names
    bounds = {}
    for column in IDENTIFIERS:
        found = _bounds(footer, names.index(column)) if column in names else None
        if found is not None:
            bounds[column] = found
    return Footer(size, bounds)


def _bounds(footer: pq.FileMetaData, column: int) -> tuple[str, str] | None:
    ends: list[tuple[str, str]] = []
    for number in range(footer.num_row_groups):
        found = footer.row_group(number).column(column).statistics
        if found is None or not found.has_min_max:
            return None
        ends.append((found.min, found.max))
    return (min(low for low, _ in ends), max(high for _, high in ends)) if ends else None
