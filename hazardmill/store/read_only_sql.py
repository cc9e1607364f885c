"""SQL on a store that can change nothing, and read nothing else, whoever wrote it."""

from __future__ import annotations

import glob
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import duckdb
from duckdb import DuckDBPyConnection, DuckDBPyRelation

from hazardmill.errors import InputError
from hazardmill.store.maintenance.findings import command
from hazardmill.store.store import Store
from hazardmill.text.printable import printable_lines

T = TypeVar("T")

_READING: Final = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"})
"""Kinds of query that read. A WITH can hold others: INSERT, UPDATE, DELETE, and COPY, which writes files."""

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
"""Functions that may stand where a table does. Others switch on logs or take SQL as text, and some take addresses."""

_READ: Final = "use select, from, describe, show or summarize"


def query_rows(store: Store, sql: str) -> list[Any]:
    """Run one query that can change nothing, and read nothing but the store's views.

    Returns:
        The rows as JSON objects; of columns with one name, the later ones get a number behind it.

    Raises:
        InputError: The query does something else than read, is several, or fails.
        StoreError: The store cannot be read.
    """
    return _ask(store, sql, _rows)


def query_table(store: Store, sql: str) -> str:
    """Run a query as ``query_rows`` does, and draw a table of its answer, cut to fit a terminal."""
    return _ask(store, sql, str)


def _ask(store: Store, sql: str, read: Callable[[DuckDBPyRelation], T]) -> T:
    def ask(views: DuckDBPyConnection) -> T:
        _shut_in(views, store.path)
        _check_only_reads(views, sql)
        return read(views.sql(sql))

    try:
        return store.query(ask)
    except duckdb.Error as error:
        raise InputError(
            f"the query failed: {printable_lines(str(error))}", remedy=_remedy(error, store.path)
        ) from error


def _shut_in(connection: DuckDBPyConnection, store: Path) -> None:
    """See that it reaches no file but the store's, runs no code from elsewhere, and stays so."""
    # The views read the parts when they are asked, so the store's folder stays open, also under its name in patterns.
    folder = str(store.absolute())
    places = ", ".join("'{}/'".format(name.replace("'", "''")) for name in (folder, glob.escape(folder)))
    connection.execute(f"SET allowed_directories = [{places}]; SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def _check_only_reads(connection: DuckDBPyConnection, sql: str) -> None:
    """Refuse all but one query that reads.

    The folder of the store is open to DuckDB, for writing too: what keeps it as it is are these checks.

    Raises:
        InputError: It is none, several, or one that does something else.
        duckdb.Error: It cannot be parsed.
    """
    try:
        sql.encode()
    except UnicodeEncodeError:
        raise InputError("the query is no text in UTF-8", remedy="write it in UTF-8") from None
    statements = connection.extract_statements(sql)
    if any(statement.type is duckdb.StatementType.MULTI for statement in statements):
        raise InputError("the pivot does not say of which values", remedy="pivot ... on column in ('value', ...) ...")
    # COPY and EXPORT would write files, ATTACH could open a store's DuckDB file.
    if any(statement.type is not duckdb.StatementType.SELECT for statement in statements):
        raise InputError("the query does something else than read", remedy=_READ)
    if len(statements) != 1:
        raise InputError(
            f"one query is wanted, and {len(statements) or 'none'} given", remedy="ask one after the other"
        )
    ((tree,),) = connection.execute("SELECT json_serialize_sql(?::VARCHAR)", [sql]).fetchall()
    try:
        waiting: list[Any] = [json.loads(tree)]
    except RecursionError:
        raise InputError("the query is nested too deeply", remedy="break it up with WITH") from None
    if waiting[0]["error"]:
        raise InputError("the query does something else than read", remedy=_READ)
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            _check_part(part)
            part = list(part.values())
        if isinstance(part, list):
            waiting += part


def _check_part(part: dict[str, Any]) -> None:
    kind = part.get("type")
    if isinstance(kind, str) and kind.endswith("_NODE") and kind not in _READING:
        raise InputError("the query does something else than read, within WITH", remedy=_READ)
    if kind == "TABLE_FUNCTION":
        name = part["function"]["function_name"].lower()
        if name not in _FUNCTIONS:
            raise InputError(
                f"the query calls {name}, which is no function that only reads a table",
                remedy=f"those that do: {', '.join(sorted(_FUNCTIONS))}",
            )


def _remedy(error: duckdb.Error, store: Path) -> str:
    if isinstance(error, duckdb.ParserException | duckdb.BinderException | duckdb.CatalogException):
        return "see `show tables`, and docs/queries.md"
    if isinstance(error, duckdb.PermissionException):
        return "a query reads the store and nothing else"
    # Damaged parts fail in many ways, not all of which name the file.
    return f"if the query is as it should be, see: {command('store verify', store)}"


def _rows(answer: DuckDBPyRelation) -> list[Any]:
    # By DuckDB: Python has no date after 9999, no interval of months, and one value a name.
    named = answer.set_alias("_the_whole_row").project("to_json(_the_whole_row)")
    return [json.loads(text) for (text,) in named.fetchall()]
