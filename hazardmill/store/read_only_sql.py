"""Read-only SQL on a store: queries, whoever wrote them, cannot change anything and can read only the store."""

from __future__ import annotations

import glob
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import duckdb
from duckdb import DuckDBPyConnection, DuckDBPyRelation

from hazardmill.errors import InputError
from hazardmill.store.duckdb_views import PARTS, TASKS_LATEST, add_views, ask_views, damage_behind
from hazardmill.store.maintenance.findings import command
from hazardmill.store.schemas import TABLES, TASKS
from hazardmill.store.snapshot import Snapshot
from hazardmill.store.store import Store
from hazardmill.text.printable import printable_lines

T = TypeVar("T")

_READING: Final = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"})
"""Kinds of query nodes that read. A WITH can contain others: INSERT, UPDATE, DELETE, and COPY, which writes files."""

_FUNCTIONS: Final = frozenset(
    """
    duckdb_columns duckdb_databases duckdb_functions duckdb_keywords duckdb_memory duckdb_schemas duckdb_settings
    duckdb_tables duckdb_types duckdb_views generate_series glob histogram histogram_values json_each json_tree
    parquet_file_metadata parquet_full_metadata parquet_kv_metadata parquet_metadata parquet_scan parquet_schema
    pragma_platform pragma_show pragma_table_info pragma_version query_table range read_blob read_csv read_csv_auto
    read_json read_json_auto read_json_objects read_json_objects_auto read_ndjson read_ndjson_auto read_ndjson_objects
    read_parquet read_text repeat repeat_row sniff_csv summary unnest
    """.split()
)
"""Table functions that are allowed. Others switch on logs, take SQL as text, or accept addresses."""

_WITHOUT_TABLES: Final = frozenset({"generate_series", "json_each", "json_tree", "range", "unnest"})
"""Those of them whose answer never depends on which views there are, or on the store's files."""

_VIEWS: Final = {**{name: {name} for name in TABLES}, TASKS_LATEST: {TASKS.name}, PARTS: set[str]()}
"""Lower-case name of what a query can read to the tables behind it."""

_MISWRITTEN: Final = (
    duckdb.ParserException,
    duckdb.BinderException,
    duckdb.CatalogException,
    duckdb.ConversionException,
    duckdb.PermissionException,
)
"""Errors of DuckDB that the words of a query cause: the parts are not hashed, which takes long for a large store.

A cast can also fail on a damaged value. That is rare, and its remedy names ``store verify`` anyway.
"""

_READ: Final = "use select, from, describe, show or summarize"


def query_rows(store: Store, sql: str) -> list[Any]:
    """Run one query that cannot change anything, and can read nothing but the store's views.

    Args:
        store: The store.
        sql: One SELECT, FROM, DESCRIBE, SHOW or SUMMARIZE statement of DuckDB.

    Returns:
        The rows as JSON objects. Columns with the same name are numbered.

    Raises:
        InputError: The query does something other than read, holds several statements, or fails.
        StoreError: The store cannot be read.
    """
    return _ask(store, sql, _rows)


def query_table(store: Store, sql: str) -> str:
    """Return the answer to a query, run as by ``query_rows``, drawn as a table that is cut to fit a terminal.

    Raises:
        InputError: The query does something other than read, holds several statements, or fails.
        StoreError: The store cannot be read.
    """
    return _ask(store, sql, str)


def _ask(store: Store, sql: str, read: Callable[[DuckDBPyRelation], T]) -> T:
    def ask(snapshot: Snapshot) -> T:
        def answer(connection: DuckDBPyConnection) -> T:
            # Nothing is run before the configuration is locked: these checks only parse.
            tables = _check_only_reads(connection, sql)
            add_views(connection, snapshot, tables)
            _shut_in(connection, store.path)
            try:
                return read(connection.sql(sql))
            except _MISWRITTEN:
                raise
            except duckdb.Error as error:
                damage = damage_behind(snapshot, tables)
                if damage is None:
                    raise
                raise damage from error

        return ask_views(snapshot, answer, tables=(), alone=True)

    try:
        return store.read(ask)
    except duckdb.Error as error:
        raise InputError(
            f"the query failed: {printable_lines(str(error))}", remedy=_remedy(error, store.path)
        ) from error


def _shut_in(connection: DuckDBPyConnection, store: Path) -> None:
    """Restrict a connection to the store's files, without extensions, and lock this configuration."""
    # The views read the parts when queried, so the store's folder stays accessible, also escaped as in glob patterns.
    folder = str(store.absolute())
    places = ", ".join("'{}/'".format(name.replace("'", "''")) for name in (folder, glob.escape(folder)))
    connection.execute(f"SET allowed_directories = [{places}]; SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def _check_only_reads(connection: DuckDBPyConnection, sql: str) -> set[str] | None:
    """Refuse anything but one query that reads.

    DuckDB may access the store's folder, for writing too; only these checks protect it.

    Returns:
        The tables that the query names; null if it may depend on others, too, as ``show tables`` does.

    Raises:
        InputError: There is no query, more than one, or one that does something else.
        duckdb.Error: It cannot be parsed.
    """
    try:
        sql.encode()
    except UnicodeEncodeError:
        raise InputError("the query is not valid UTF-8", remedy="write it in UTF-8") from None
    statements = connection.extract_statements(sql)
    if any(statement.type is duckdb.StatementType.MULTI for statement in statements):
        raise InputError("the pivot does not list its values", remedy="write pivot ... on column in ('value', ...) ...")
    # COPY and EXPORT would write files, ATTACH could open a store's DuckDB file.
    if any(statement.type is not duckdb.StatementType.SELECT for statement in statements):
        raise InputError("the query does something other than read", remedy=_READ)
    if len(statements) != 1:
        raise InputError(
            f"one query is expected, but {len(statements) or 'none'} given", remedy="run them one after the other"
        )
    ((tree,),) = connection.execute("SELECT json_serialize_sql(?::VARCHAR)", [sql]).fetchall()
    try:
        waiting: list[Any] = [json.loads(tree)]
    except RecursionError:
        raise InputError("the query is nested too deeply", remedy="break it up with WITH") from None
    if waiting[0]["error"]:
        raise InputError("the query does something other than read", remedy=_READ)
    tables: set[str] = set()
    is_sure = True
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            _check_part(part)
            named = _tables_of(part)
            is_sure = is_sure and named is not None
            tables |= named or set()
            part = list(part.values())
        if isinstance(part, list):
            waiting += part
    return tables if is_sure else None


def _check_part(part: dict[str, Any]) -> None:
    kind = part.get("type")
    if isinstance(kind, str) and kind.endswith("_NODE") and kind not in _READING:
        raise InputError("the query does something other than read, within WITH", remedy=_READ)
    if kind == "TABLE_FUNCTION":
        name = part["function"]["function_name"].lower()
        if name not in _FUNCTIONS:
            raise InputError(
                f"the query calls {name}, which is not among the functions that only read",
                remedy=f"use one of: {', '.join(sorted(_FUNCTIONS))}",
            )


def _tables_of(part: dict[str, Any]) -> set[str] | None:
    """Return the tables that one part of a query reads; null if that cannot be said of it."""
    match part.get("type"):
        case "BASE_TABLE":
            name = part["table_name"].lower()
            # Any other name is that of a file, a WITH, a catalog or a mistake, for which DuckDB suggests a view.
            return _VIEWS.get(name)
        case "TABLE_FUNCTION":
            return set() if part["function"]["function_name"].lower() in _WITHOUT_TABLES else None
        case "SHOW_REF":
            return set() if part["show_type"] in ("DESCRIBE", "SUMMARY") else None
        case _:
            return set()


def _remedy(error: duckdb.Error, store: Path) -> str:
    if isinstance(error, duckdb.ParserException | duckdb.BinderException | duckdb.CatalogException):
        return "see `show tables`, and docs/queries.md"
    if isinstance(error, duckdb.PermissionException):
        return "a query can read only the store"
    # Damaged parts fail in many ways, not all of which name the file.
    return f"if the query is correct, check the store: {command('store verify', store)}"


def _rows(answer: DuckDBPyRelation) -> list[Any]:
    # Let DuckDB convert: Python has no dates after 9999, no intervals of months, and one value per name.
    named = answer.set_alias("_the_whole_row").project("to_json(_the_whole_row)")
    return [json.loads(text) for (text,) in named.fetchall()]
