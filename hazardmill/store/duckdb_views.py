"""DuckDB views over the parts: one per table with the latest row of each key, and ``tasks_latest`` over all runs."""

from __future__ import annotations

import glob
from collections.abc import Callable, Collection, Sequence
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from hazardmill.errors import StoreError
from hazardmill.store.duckdb_instance import SHARED
from hazardmill.store.files.fsync_io import remove, rename, sync_file
from hazardmill.store.files.parts import first_damaged, first_gone
from hazardmill.store.maintenance.findings import damage_remedy
from hazardmill.store.rows import TIME
from hazardmill.store.schemas import BOOL, INT, REAL, STR, TABLES, TASKS, Table
from hazardmill.store.snapshot import Snapshot

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

T = TypeVar("T")

_ROWS_A_COMMIT: Final = 2**32
"""A row's position in commit order is sequence * this + its position among the commit's rows of its table."""

_SQL_TYPES: Final = {STR: "VARCHAR", INT: "BIGINT", REAL: "DOUBLE", BOOL: "BOOLEAN", TIME: "TIMESTAMPTZ"}
"""DuckDB's name for each column type."""

TASKS_LATEST: Final = "tasks_latest"
"""Name of the view with the last row of each task over all runs."""

PARTS: Final = "parts"
"""Name of the table of all parts, which every connection has."""

PLACE_VARIABLE: Final = "hazardmill_store"
"""DuckDB variable that gives a lens file the current folder of its store, if the store was moved."""


_SMALL: Final = 2**19
"""Most bytes of all parts of a table that is read once, and not anew by each query."""


def open_views(snapshot: Snapshot, tables: Collection[str] | None = None) -> DuckDBPyConnection:
    """Return an in-memory DuckDB connection with the views, including rows still in the journal.

    Args:
        snapshot: The view of the store to show.
        tables: The tables whose views are created; null for all. ``tasks_latest`` comes with ``tasks``.

    Raises:
        PartGone: A part no longer exists.
        CorruptStore: A part is damaged.
        StoreError: DuckDB cannot read a part.
    """
    import duckdb

    return _open(duckdb.connect(), snapshot, tables, read_small=False)


def _open(
    connection: DuckDBPyConnection, snapshot: Snapshot, tables: Collection[str] | None, *, read_small: bool
) -> DuckDBPyConnection:
    try:
        _create_parts_table(connection, snapshot)
        add_views(connection, snapshot, tables, read_small=read_small)
    except BaseException:
        connection.close()
        raise
    return connection


def add_views(
    connection: DuckDBPyConnection, snapshot: Snapshot, tables: Collection[str] | None, *, read_small: bool = False
) -> None:
    """Create views on a connection that ``open_views`` returned without them.

    Args:
        connection: The connection.
        snapshot: The view of the store that the connection was opened for.
        tables: As in ``open_views``.
        read_small: Whether to read small tables now. A query on a view opens each part several times.

    Raises:
        PartGone: A part no longer exists.
        CorruptStore: A part is damaged.
        StoreError: DuckDB cannot read a part.
    """
    import duckdb

    # DuckDB opens parts to create a view: for all tables, that takes longer than most queries.
    shown = [table for name, table in TABLES.items() if tables is None or name in tables]
    # Nor does it verify page checksums.
    snapshot.verify([table.name for table in shown])
    root = str(snapshot.layout.root.absolute())
    folder = glob.escape(root)
    try:
        for table in shown:
            pending = snapshot.pending_table(table)
            if pending.num_rows:
                connection.register(_pending_name(table), pending)
            # Use literals only: DuckDB would otherwise evaluate thousands of expressions again at each query.
            _create_view(
                connection,
                snapshot,
                table,
                lambda file: _literal(f"{folder}/{file}"),
                pending=pending.num_rows > 0,
                read=read_small and _bytes_of(snapshot, table) <= _SMALL,
            )
    except duckdb.Error as error:
        # DuckDB quotes the view, which says nothing to whoever asked.
        raise damage_behind(snapshot, [table.name for table in shown]) or StoreError(
            f"the parts cannot be read: {_first_line(error)}", file=root, remedy=damage_remedy(snapshot.layout.root)
        ) from error


def ask_views(
    snapshot: Snapshot,
    asking: Callable[[DuckDBPyConnection], T],
    tables: Collection[str] | None = None,
    *,
    alone: bool = False,
) -> T:
    """Return what ``asking`` returns for a connection as of ``open_views``.

    The connection stays open, because the result may be a cursor on it.

    Args:
        snapshot: The view of the store to show.
        asking: Runs queries on the connection.
        tables: As in ``open_views``.
        alone: Whether the connection has a DuckDB instance of its own, because ``asking`` changes settings of it.

    Raises:
        PartGone: A part no longer exists.
        CorruptStore: The query fails, and a part of these tables is damaged.
        StoreError: DuckDB cannot read a part.
        duckdb.Error: The query fails, although these parts are as they were written.
        Exception: Whatever ``asking`` raises.
    """
    import duckdb

    connection = open_views(snapshot, tables) if alone else _open(SHARED.connect(), snapshot, tables, read_small=True)
    try:
        # Left open because the result may be a cursor; the connection closes when it is garbage collected.
        return asking(connection)
    except duckdb.Error as error:
        connection.close()
        damage = damage_behind(snapshot, tables)
        if damage is None:
            raise
        raise damage from error
    except BaseException:
        connection.close()
        raise


def write_lens(snapshot: Snapshot, path: Path) -> None:
    """Write a DuckDB file whose views read the parts now visible, without rows still in the journal.

    The views refer to the parts by absolute path. After a move, ``SET VARIABLE hazardmill_store = 'new folder'`` points
    them to the new place. The caller holds the file's lock: two writers at once would corrupt each other's file.

    Raises:
        PartGone: A part no longer exists.
        StoreError: The file cannot be written.
    """
    import duckdb

    snapshot.bring()
    staged = path.with_name(f".{path.name}.new")
    remove(staged)
    place = f"coalesce(getvariable('{PLACE_VARIABLE}'), {_literal(str(snapshot.layout.root.absolute()))})"
    # File names in a view must be literals or variables. In a glob, [[] stands for a bracket.
    folder = f"regexp_replace({place}, '([*?\\[])', '[\\1]', 'g')"
    try:
        with duckdb.connect(str(staged)) as connection:
            # In one transaction: each statement by itself would be written and synced.
            connection.begin()
            _create_parts_table(connection, snapshot)
            for table in TABLES.values():
                _create_view(connection, snapshot, table, lambda file: f"{folder} || {_literal(f'/{file}')}")
            connection.commit()
        sync_file(staged)
    except (duckdb.Error, OSError) as error:
        raise damage_behind(snapshot) or StoreError(
            f"cannot write the DuckDB file: {_first_line(error)}", file=str(path)
        ) from error
    rename(staged, path)


def damage_behind(snapshot: Snapshot, tables: Collection[str] | None = None) -> StoreError | None:
    """Return what is wrong with the parts that a failed query read; null if they are as their manifests say.

    All bytes of these parts are read: DuckDB has many errors for damage, and not all of them name the file.

    Args:
        snapshot: The view of the store that was queried.
        tables: The tables that were read; null for all.
    """
    snapshot.bring()
    return first_gone([path for path, _ in snapshot.listed()]) or first_damaged(snapshot.listed(tables))


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _create_parts_table(connection: DuckDBPyConnection, snapshot: Snapshot) -> None:
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute(
        f"CREATE TABLE {PARTS} "
        "(table_name VARCHAR, part VARCHAR, sequence BIGINT, row_count BIGINT, first_row BIGINT, schema_version BIGINT)"
    )
    rows = []
    for manifest in snapshot.manifests:
        for name in TABLES:
            parts = [part for part in manifest.parts if part.table == name]
            starts = accumulate((part.rows for part in parts), initial=0)
            # Not strict: starts has one more element, the start of the next part.
            rows += [
                (name, part.file, manifest.sequence, part.rows, start, part.schema)
                for part, start in zip(parts, starts, strict=False)
            ]
    if rows:
        # All columns in one statement: one statement per row takes a millisecond, and there can be 30,000 parts.
        columns = [list(column) for column in zip(*rows, strict=True)]
        connection.execute(f"INSERT INTO parts SELECT {', '.join(['unnest(?)'] * len(columns))}", columns)


def _bytes_of(snapshot: Snapshot, table: Table) -> int:
    return sum(part.size for manifest in snapshot.manifests for part in manifest.parts if part.table == table.name)


def _create_view(
    connection: DuckDBPyConnection,
    snapshot: Snapshot,
    table: Table,
    place: Callable[[str], str],
    *,
    pending: bool = False,
    read: bool = False,
) -> None:
    """Create the views of a table; ``place`` returns the SQL expression for a file, given its path below the store."""
    ordered = _order_query(table, place, snapshot, pending)
    connection.execute(f"CREATE {'TABLE' if read else 'VIEW'} {_ordered_name(table)} AS {ordered}")
    connection.execute(f"CREATE VIEW {_quote(table.name)} AS {_latest(table, table.key, _ordered_name(table))}")
    if table is TASKS:
        connection.execute(f"CREATE VIEW {TASKS_LATEST} AS {_latest(table, ['task_id'], _ordered_name(table))}")


def _order_query(table: Table, place: Callable[[str], str], snapshot: Snapshot, pending: bool) -> str:
    """Return the query for every row with its position in commit order."""
    columns = ", ".join(_quote(column.name) for column in table.columns)
    stored = ", ".join(f"stored.{_quote(column.name)}" for column in table.columns)
    sources = []
    files = [part.file for manifest in snapshot.manifests for part in manifest.parts if part.table == table.name]
    if files:
        paths = ", ".join(place(f"{table.name}/{file}") for file in files)
        sources.append(
            f"SELECT {stored}, parts.sequence * {_ROWS_A_COMMIT} + parts.first_row + stored.file_row_number AS _order "
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
    # No window over all columns: only keys and positions are grouped, and wide columns are read once, as needed.
    return f"SELECT {columns} FROM {ordered} WHERE _order IN (SELECT max(_order) FROM {ordered} GROUP BY {keys})"


def _ordered_name(table: Table) -> str:
    return _quote(f"_{table.name}_in_order")


def _pending_name(table: Table) -> str:
    return f"_{table.name}_in_journal"


def _quote(name: str) -> str:
    return f'"{name}"'


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
