"""Rows on their way in and out: checked against the schema, as JSON for the journal, as Arrow for the parts."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import pyarrow as pa

from hazardmill.errors import StoreError
from hazardmill.store.schemas import BOOL, INT, REAL, STR, TABLES, Column, Table

Row = Mapping[str, object]
"""Column to value. A missing column is null."""

Group = Mapping[str, Sequence[Row]]
"""Table to rows: committed together or not at all."""

Packed = dict[str, Any]
"""A checked row as the journal holds it: JSON values only, without nulls."""

TIME: Final = pa.timestamp("us", tz="UTC")


class _Unfit(ValueError):
    """A value that a column cannot hold; its message says what the column accepts."""


def _string(value: object) -> object:
    if not isinstance(value, str):
        raise _Unfit("a string")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise _Unfit("a string without lone surrogates") from None
    return str(value)


def _integer(value: object) -> object:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _Unfit("an integer")
    if not -(2**63) <= value < 2**63:
        raise _Unfit("an integer of 64 bits")
    return int(value)


def _real(value: object) -> object:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise _Unfit("a number")
    if not math.isfinite(value):
        raise _Unfit("a finite number, or null where it is unknown")
    return float(value)


def _boolean(value: object) -> object:
    if not isinstance(value, bool):
        raise _Unfit("a Boolean")
    return value


def _time(value: object) -> object:
    if not isinstance(value, datetime) or value.utcoffset() is None:
        raise _Unfit("a datetime with a time zone")
    return value.astimezone(UTC).isoformat()


_PACK: Final[dict[pa.DataType, Callable[[object], object]]] = {
    STR: _string,
    INT: _integer,
    REAL: _real,
    BOOL: _boolean,
    TIME: _time,
}


def table_named(name: str) -> Table:
    """Return the table with that name.

    Raises:
        StoreError: There is no such table; the remedy lists all tables.
    """
    try:
        return TABLES[name]
    except KeyError:
        raise StoreError(f"there is no table {name!r}", remedy=f"name one of the tables: {', '.join(TABLES)}") from None


def check_columns(table: Table, names: Sequence[str]) -> None:
    """Refuse names that are not columns of ``table``.

    Raises:
        StoreError: Names the unknown columns.
    """
    known = {column.name for column in table.columns}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise StoreError(
            f"table {table.name} has no column {', '.join(map(repr, unknown))}",
            remedy=f"use its columns: {', '.join(column.name for column in table.columns)}",
        )


def check_condition(table: Table, where: Row) -> None:
    """Refuse a condition on an unknown column, or with a value that its column cannot hold.

    Args:
        table: The table.
        where: Value that each named column must have; null suits every column.

    Raises:
        StoreError: Names table, column and type.
    """
    check_columns(table, list(where))
    for column in table.columns:
        value = where.get(column.name)
        if value is not None:
            _pack_value(table, column, value)


def pack(table: Table, row: Row) -> Packed:
    """Return a row as the journal holds it.

    Args:
        table: The table that the row belongs to.
        row: Column to value; missing columns are null.

    Raises:
        StoreError: A column is unknown, a required one is missing, or a value has the wrong type.
    """
    check_columns(table, list(row))
    packed: Packed = {}
    for column in table.columns:
        value = row.get(column.name)
        if value is not None:
            packed[column.name] = _pack_value(table, column, value)
        elif _is_required(table, column):
            raise StoreError(
                f"{table.name}.{column.name} is required, but missing in the row",
                record_id=_record_of(row),
                remedy="give it a value: only columns with unknown values can be null",
            )
    return packed


def _pack_value(table: Table, column: Column, value: object) -> object:
    try:
        return _PACK[column.type](value)
    except (_Unfit, OverflowError) as error:
        wanted = str(error) if isinstance(error, _Unfit) else "a number within range"
        raise StoreError(
            f"{table.name}.{column.name} takes {wanted}, not {type(value).__name__} {value!r:.60}"
        ) from None


def _is_required(table: Table, column: Column) -> bool:
    return column.required or column.name in table.key


def _record_of(row: Row) -> str | None:
    record_id = row.get("record_id")
    return record_id if isinstance(record_id, str) else None


def encode(group: Group) -> bytes | None:
    """Return the JSON of one group, ``{"rows": [[table, row], ...]}``; null if it holds no row.

    Args:
        group: Table to rows.

    Raises:
        StoreError: A table or column is unknown, or a row does not fit its table.
    """
    rows = [[name, pack(table_named(name), row)] for name, rows in group.items() for row in rows]
    if not rows:
        return None
    return json.dumps({"rows": rows}, ensure_ascii=False, separators=(",", ":")).encode()


def to_arrow(table: Table, rows: Sequence[Packed]) -> pa.Table:
    """Return packed rows as an Arrow table with the schema of a part.

    Args:
        table: The table that the rows belong to.
        rows: Rows as ``pack`` returns them.
    """
    arrays = []
    for column in table.columns:
        values = [row.get(column.name) for row in rows]
        if column.type == TIME:
            values = [None if value is None else datetime.fromisoformat(value) for value in values]
        arrays.append(pa.array(values, column.type))
    return pa.Table.from_arrays(arrays, schema=table.schema)


def to_rows(data: pa.Table) -> list[dict[str, Any]]:
    """Return the rows of an Arrow table as dictionaries. Times have the time zone ``datetime.UTC``."""
    times = [name for name, type_ in zip(data.schema.names, data.schema.types, strict=True) if type_ == TIME]
    for name in times:
        # Without this, Arrow would need a time zone database, which small systems lack.
        data = data.set_column(data.schema.get_field_index(name), name, data[name].cast(pa.timestamp("us")))
    rows: list[dict[str, Any]] = data.to_pylist()
    for name in times:
        for row in rows:
            if row[name] is not None:
                row[name] = row[name].replace(tzinfo=UTC)
    return rows
