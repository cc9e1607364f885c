"""Parts: immutable Parquet files of one table each, with zstd where it makes them smaller."""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from hazardmill.errors import CorruptStore, PartGone, StoreError
from hazardmill.store.files.footers import PAGE_CHECKSUMS, PICKING, READ_ERRORS, dataset, open_part
from hazardmill.store.files.fsync_io import disk_errors, sync_file
from hazardmill.store.files.manifests import Part
from hazardmill.store.maintenance.findings import damage_remedy
from hazardmill.store.schemas import Table

COMPRESSION: Final[dict[str, Any]] = {
    "compression": "zstd",
    "use_dictionary": True,
    "write_statistics": True,
    "write_page_checksum": True,
}
"""Options for pyarrow's Parquet writers."""

Condition = Mapping[str, Sequence[object]]
"""Column to the values of which a row must have one."""

_SMALL_COLUMN_BYTES: Final = 2**10
"""Size in bytes below which a column of a new part is not compressed.

Setting up zstd takes more time than reading such a column, and hardly anything is saved.
"""

_LARGE_BYTES: Final = 2**18
"""Size in bytes above which a part's row groups are searched for a value before other columns are read."""


_MANY_ROWS: Final = 2**15
"""Rows from which on several threads find the latest of each key sooner than one."""

_ROWS_AT_ONCE: Final = 1024
"""Rows of a part held in memory at a time when all of it is read."""


def write_part(table: Table, data: pa.Table, path: Path, file: str) -> Part:
    """Write a part durably.

    Args:
        table: The table that the rows belong to.
        data: The rows, with the table's schema.
        path: Where to write.
        file: Name of the part, for the manifest.

    Returns:
        Its entry for a manifest.

    Raises:
        StoreError: The part cannot be written.
    """
    with disk_errors(path, "write the part"):
        pq.write_table(data, path, **{**COMPRESSION, "compression": _compression(data)})
        sync_file(path)
        return Part(table.name, file, data.num_rows, path.stat().st_size, hash_file(path))


def _compression(data: pa.Table) -> dict[str, str]:
    return {
        name: COMPRESSION["compression"] if column.nbytes >= _SMALL_COLUMN_BYTES else "none"
        for name, column in zip(data.column_names, data.columns, strict=True)
    }


def hash_file(path: Path) -> str:
    """Return the SHA-256 (hex) of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def schema_version(schema: pa.Schema) -> int | None:
    """Return the schema version stored in a part; null if there is none."""
    text = (schema.metadata or {}).get(b"hazardmill_schema")
    return None if text is None else int(text)


def read_parts(table: Table, paths: Sequence[Path], columns: Sequence[str], where: Condition | None = None) -> pa.Table:
    """Return the rows of several parts, in the order of ``paths`` and within each as written.

    Parts and row groups that cannot contain matching rows, according to their statistics, are not read.

    Args:
        table: The table that the parts belong to.
        paths: The files.
        columns: Columns to read.
        where: Condition on the rows; null for all rows.

    Raises:
        CorruptStore: A part is gone or damaged.
    """  # the helpers make a CorruptStore
    nothing = table.no_rows.select(list(columns))
    try:
        return pa.concat_tables([nothing, _read(table, paths, columns, where or {})])
    except READ_ERRORS as error:
        # Arrow does not say which file it was.
        damage = first_gone(paths) or next(filter(None, map(_damage, paths)), None)
        raise damage or _unreadable(paths[0].parent, paths[0].parents[1]) from error


def _read(table: Table, paths: Sequence[Path], columns: Sequence[str], where: Condition) -> pa.Table:
    """The rows of some parts that meet a condition."""
    schema, condition = table.schema, expression(where)
    is_picking = not PICKING.isdisjoint(where)
    fragments: list[ds.ParquetFileFragment] = []
    for footer, fragment in map(open_part, paths):
        if not footer.may_hold(where):
            continue
        if is_picking and footer.size > _LARGE_BYTES:
            # Few rows are wanted: skip row groups without a match after reading only the columns of the condition.
            groups = fragment.split_by_row_group(condition, schema)
            fragments += [group for group in groups if dataset([group], schema).count_rows(filter=condition)]
        else:
            fragments.append(fragment)
    return dataset(fragments, schema).to_table(columns=list(columns), filter=condition)


def batches(path: Path, columns: Sequence[str], chosen: pa.Array) -> Iterator[pa.Table]:
    """Yield the chosen rows of a part in batches; row groups without any are not read.

    Args:
        path: The file.
        columns: Columns to read.
        chosen: Boolean array with one entry per row of the part: whether to return it.

    Raises:
        CorruptStore: The part is gone or damaged, or has another number of rows.
    """  # noqa: DOC501  # the helpers make a CorruptStore
    try:
        with pq.ParquetFile(path, **PAGE_CHECKSUMS) as file:
            if file.metadata.num_rows != len(chosen):
                raise _unreadable(path, path.parents[1])
            start = 0
            for number in range(file.num_row_groups):
                end = start + file.metadata.row_group(number).num_rows
                if chosen.slice(start, end - start).true_count:
                    for batch in file.iter_batches(_ROWS_AT_ONCE, row_groups=[number], columns=list(columns)):
                        data = pa.Table.from_batches([batch]).filter(chosen.slice(start, batch.num_rows))
                        start += batch.num_rows
                        if data.num_rows:
                            yield data.select(list(columns))
                    if start != end:
                        # No checksum covers the header of a page, and Arrow skips a page whose kind it does not know.
                        raise _unreadable(path, path.parents[1])
                start = end
    except FileNotFoundError as error:
        raise gone_error(path) from error
    except StoreError:
        raise
    except READ_ERRORS as error:
        raise _unreadable(path, path.parents[1]) from error


def first_gone(paths: Sequence[Path]) -> PartGone | None:
    """Return the error for the first of these parts that does not exist; null if all exist."""
    return next((gone_error(path) for path in paths if not path.exists()), None)


def first_damaged(parts: Iterable[tuple[Path, Part]]) -> CorruptStore | None:
    """Return the error for the first of these parts that is missing or not as its manifest says; null if all are.

    Args:
        parts: The files, which are read whole, with their entries in a manifest.
    """
    for path, part in parts:
        try:
            if path.stat().st_size != part.size or hash_file(path) != part.sha256:
                return CorruptStore(
                    "the part is damaged: it is not as it was written",
                    file=str(path),
                    remedy=damage_remedy(path.parents[1]),
                )
        except FileNotFoundError:
            return gone_error(path)
        except OSError:
            return _unreadable(path, path.parents[1])
    return None


def gone_error(path: Path) -> PartGone:
    """Return the error for a part that does not exist."""
    return PartGone("the part is gone", file=str(path), remedy=damage_remedy(path.parents[1]))


def _damage(path: Path) -> CorruptStore | None:
    try:
        pq.read_table(path, **PAGE_CHECKSUMS)
    except FileNotFoundError:
        return gone_error(path)
    except READ_ERRORS:
        return _unreadable(path, path.parents[1])
    return None


def _unreadable(path: Path, store: Path) -> CorruptStore:
    return CorruptStore("the part is damaged: it cannot be read", file=str(path), remedy=damage_remedy(store))


def expression(condition: Condition) -> pc.Expression | None:
    """Return a condition as an Arrow expression in which null equals null; null for an empty condition."""
    terms = [_among(column, values) for column, values in condition.items()]
    return reduce(operator.and_, terms) if terms else None


def _among(column: str, values: Sequence[object]) -> pc.Expression:
    if len(values) == 1:
        return pc.field(column).is_null() if values[0] is None else pc.field(column) == pa.scalar(values[0])
    return pc.field(column).isin(list(values))


def latest(data: pa.Table, key: Sequence[str]) -> pa.Table:
    """Return the last row of each key, in the order of ``data``.

    Args:
        data: Rows in commit order.
        key: Names of the key columns.
    """
    last = _last_positions(data, key)
    if len(last) == data.num_rows:
        return data
    # A mask instead of take(): it keeps the chunks, so that string columns beyond 2 GB do not overflow.
    return data.filter(_mask(data, last))


def is_latest(data: pa.Table, key: Sequence[str], among: pa.Array | None = None) -> pa.Array:
    """Return a Boolean array: whether each row is the last one of its key.

    Args:
        data: Rows in commit order.
        key: Names of the key columns.
        among: Boolean array of the rows that are considered; null for all. Other rows are not the last.
    """
    return _mask(data, _last_positions(data, key, among))


def having_keys_of(data: pa.Table, others: pa.Table, key: Sequence[str]) -> pa.Table:
    """Return the rows of ``data`` whose keys also occur in ``others``, in their order.

    Args:
        data: The rows, without duplicate keys.
        others: Other rows, without duplicate keys.
        key: Names of the key columns.
    """
    keys = [table.select(list(key)).combine_chunks() for table in (data, others)]
    # A key that occurs twice in the concatenation is in both tables; its lower position is the one in ``data``.
    both = pa.concat_tables(keys).append_column("__position", pa.array(range(data.num_rows + others.num_rows)))
    grouped = both.group_by(list(key)).aggregate([("__position", "min"), ("__position", "count")])
    return data.filter(_mask(data, grouped.filter(pc.field("__position_count") == 2)["__position_min"]))


def own_key(table: Table) -> list[str]:
    """Return the columns that are unique within any part: the run and the key.

    Within the part of a single commit, the key alone is unique.
    """
    return list(dict.fromkeys(["run_id", *table.key]))


def _last_positions(data: pa.Table, key: Sequence[str], among: pa.Array | None = None) -> pa.ChunkedArray:
    positions = pa.array(range(data.num_rows), pa.int64())
    numbered = data.select(list(key)).append_column("__position", positions)
    if among is not None:
        numbered = numbered.filter(among)
    grouped = numbered.group_by(list(key), use_threads=numbered.num_rows >= _MANY_ROWS)
    return grouped.aggregate([("__position", "max")])["__position_max"]


def _mask(data: pa.Table, last: pa.ChunkedArray) -> pa.Array:
    return pc.is_in(pa.array(range(data.num_rows), pa.int64()), value_set=last.combine_chunks())
