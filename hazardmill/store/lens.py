"""DuckDB views over the parts: one a table, the latest row of each key, and ``latest_tasks`` over all runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hazardmill.errors import StoreError
from hazardmill.store.durable import remove, rename, sync_file
from hazardmill.store.rows import TIME
from hazardmill.store.schemas import BOOL, INT, REAL, STR, TABLES, TASKS, Table
from hazardmill.store.snapshot import Snapshot

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_SQL_TYPES: Final = {STR: "VARCHAR", INT: "BIGINT", REAL: "DOUBLE", BOOL: "BOOLEAN", TIME: "TIMESTAMPTZ"}

_ROWS_A_COMMIT: Final = 2**32
"""A row's place in the order of commits is sequence * this + its position in the part."""

PLACE_VARIABLE: Final = "hazardmill_store"
"""DuckDB variable that tells a lens file where its store lies now, if it was moved."""


def open_views(snapshot: Snapshot) -> DuckDBPyConnection:
    """An in-memory DuckDB connection with the views, rows still in the journal included."""
    import duckdb

    connection = duckdb.connect()
    _create_parts_table(connection, snapshot)
    for table in TABLES.values():
        pending = snapshot.pending_table(table)
        if pending.num_rows:
            connection.register(_pending_name(table), pending)
        _create_view(connection, snapshot, table, _literal(str(snapshot.layout.root.absolute())), pending.num_rows > 0)
    _create_latest_tasks(connection)
    return connection


def write_lens(snapshot: Snapshot, path: Path) -> None:
    """Write a DuckDB file whose views read the parts now visible (rows still in the journal are not among them).

    The views name the parts by absolute path. After a move, ``SET VARIABLE hazardmill_store = 'new folder'``
    points them to the new place. The caller holds the file's lock: two at once would write into one another's.

    Raises:
        StoreError: If the file cannot be written.
    """
    import duckdb

    staged = path.with_name(f".{path.name}.new")
    remove(staged)
    place = f"coalesce(getvariable('{PLACE_VARIABLE}'), {_literal(str(snapshot.layout.root.absolute()))})"
    try:
        with duckdb.connect(str(staged)) as connection:
            _create_parts_table(connection, snapshot)
            for table in TABLES.values():
                _create_view(connection, snapshot, table, place, pending=False)
            _create_latest_tasks(connection)
        sync_file(staged)
    except (duckdb.Error, OSError) as error:
        raise StoreError(f"cannot write the DuckDB file: {error}", file=str(path)) from error
    rename(staged, path)


def _create_parts_table(connection: DuckDBPyConnection, snapshot: Snapshot) -> None:
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("CREATE TABLE parts (table_name VARCHAR, part VARCHAR, sequence BIGINT, row_count BIGINT)")
    rows = [(p.table, p.file, m.sequence, p.rows) for m in snapshot.manifests for p in m.parts]
    if rows:
        connection.executemany("INSERT INTO parts VALUES (?, ?, ?, ?)", rows)


def _create_view(connection: DuckDBPyConnection, snapshot: Snapshot, table: Table, place: str, pending: bool) -> None:
    ordered = _ordered(table, place, [path.name for _, path in snapshot.parts(table.name)], pending)
    connection.execute(f"CREATE VIEW {_ordered_name(table)} AS {ordered}")
    connection.execute(f"CREATE VIEW {_quote(table.name)} AS {_latest(table, table.key, _ordered_name(table))}")


def _create_latest_tasks(connection: DuckDBPyConnection) -> None:
    connection.execute(f"CREATE VIEW latest_tasks AS {_latest(TASKS, ['task_id'], _ordered_name(TASKS))}")


def _ordered(table: Table, place: str, files: Sequence[str], pending: bool) -> str:
    """Every row with its place in the order of commits."""
    columns = ", ".join(_quote(column.name) for column in table.columns)
    sources = []
    if files:
        # Only literals and variables may name files in a view. In a glob, [[] stands for a bracket.
        pattern = f"regexp_replace({place}, '([*?\\[])', '[\\1]', 'g') || {_literal(f'/{table.name}/')}"
        paths = ", ".join(f"{pattern} || {_literal(file)}" for file in files)
        stored = ", ".join(f"stored.{_quote(column.name)}" for column in table.columns)
        sources.append(
            f"SELECT {stored}, parts.sequence * {_ROWS_A_COMMIT} + stored.file_row_number AS _order "
            f"FROM read_parquet([{paths}], filename = true, file_row_number = true) AS stored "
            f"JOIN parts ON parts.table_name = {_literal(table.name)} AND parts.part = parse_filename(stored.filename)"
        )
    if pending:
        last = 2**62
        sources.append(f"SELECT {columns}, {last} + row_number() OVER () AS _order FROM {_quote(_pending_name(table))}")
    if not sources:
        typed = ", ".join(f"CAST(NULL AS {_SQL_TYPES[c.type]}) AS {_quote(c.name)}" for c in table.columns)
        sources.append(f"SELECT {typed}, CAST(NULL AS BIGINT) AS _order WHERE false")
    return " UNION ALL ".join(sources)


def _latest(table: Table, key: Sequence[str], ordered: str) -> str:
    columns = ", ".join(_quote(column.name) for column in table.columns)
    keys = ", ".join(map(_quote, key))
    # Not a window over all columns: only keys and places are grouped, wide columns are read once and as needed.
    return f"SELECT {columns} FROM {ordered} WHERE _order IN (SELECT max(_order) FROM {ordered} GROUP BY {keys})"


def _ordered_name(table: Table) -> str:
    return _quote(f"_{table.name}_in_order")


def _pending_name(table: Table) -> str:
    return f"_{table.name}_in_journal"


def _quote(name: str) -> str:
    return f'"{name}"'


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
