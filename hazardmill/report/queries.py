"""SQL on the store's DuckDB views. Reports read nothing else, so that any connection with these views will do."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Row = dict[str, Any]
T = TypeVar("T")


class Readable(Protocol):
    """What a report needs from a store.

    ``hazardmill.store.store.Store`` implements it.
    """

    def connect(self) -> DuckDBPyConnection:
        """Return a DuckDB connection with one view per table, each with the latest row per key."""
        ...

    def query(self, asking: Callable[[DuckDBPyConnection], T], tables: Collection[str] | None = None) -> T:
        """Return what ``asking`` returns for such a connection.

        If a compaction removes parts meanwhile, ``asking`` is called again with a new connection.

        Args:
            asking: Runs queries on the connection.
            tables: The tables that ``asking`` reads; null for all.
        """
        ...


def latest_tasks(connection: DuckDBPyConnection, run_ids: Sequence[str], columns: str) -> list[Row]:
    """Return the tasks of some runs, each once, ordered by id.

    Args:
        connection: A connection with one view per table.
        run_ids: The runs, oldest first. If several accepted the same task, the last one's row is returned.
        columns: The columns to read, as SQL.
    """
    return select(connection, _LATEST.format(columns=columns, table="tasks", key="task_id"), run_ids)


def latest_others(connection: DuckDBPyConnection, run_ids: Sequence[str], columns: str) -> list[Row]:
    """Return the scenarios and hazard tasks of some runs, each once, ordered by id; see ``latest_tasks``."""
    return [
        row
        for table, key in (("scenarios", "scenario_id"), ("hazard_tasks", "hazard_task_id"))
        for row in select(connection, _LATEST.format(columns=columns, table=table, key=key), run_ids)
    ]


def each_latest_task(connection: DuckDBPyConnection, run_ids: Sequence[str], columns: str) -> Iterator[Row]:
    """Yield the rows of ``latest_tasks`` a hundred at a time, in no particular order.

    For wide columns such as documents: sorting them would take gigabytes. The connection cannot run another query
    until the last row was read.

    Args:
        connection: A connection with one view per table.
        run_ids: The runs, oldest first.
        columns: The columns to read, as SQL.
    """
    latest = {row["task_id"]: row["run_id"] for row in latest_tasks(connection, run_ids, "task_id, run_id")}
    cursor = connection.execute(*_bind(_EACH.format(columns=columns), run_ids))
    names = [column[0] for column in cursor.description or ()][2:]
    while rows := cursor.fetchmany(_AT_A_TIME):
        for task_id, run_id, *values in rows:
            if latest[task_id] == run_id:
                yield dict(zip(names, values, strict=True))


_AT_A_TIME: Final = 100
"""Tasks held in memory at a time."""

_EACH: Final = "SELECT task_id, run_id, {columns} FROM tasks WHERE list_contains($runs, run_id)"

_LATEST: Final = """
    SELECT DISTINCT ON ({key}) {columns} FROM {table} WHERE list_contains($runs, run_id)
    ORDER BY {key}, list_position($runs, run_id) DESC
"""


def select(connection: DuckDBPyConnection, sql: str, run_ids: Sequence[str], **parameters: object) -> list[Row]:
    """Return the rows of a query as dictionaries.

    Args:
        connection: A connection with one view per table.
        sql: The query; ``$runs`` in it stands for the list of run ids.
        run_ids: The runs.
        parameters: Values of further ``$name`` parameters; those that the query does not mention are dropped.
    """
    cursor = connection.execute(*_bind(sql, run_ids, **parameters))
    names = [column[0] for column in cursor.description or ()]
    return [dict(zip(names, values, strict=True)) for values in cursor.fetchall()]


def _bind(sql: str, run_ids: Sequence[str], **parameters: object) -> tuple[str, dict[str, object]]:
    bound = {"runs": list(run_ids), **parameters}
    return sql, {name: value for name, value in bound.items() if f"${name}" in sql}


def copy_columns(
    connection: DuckDBPyConnection, run_ids: Sequence[str], columns: Mapping[str, str]
) -> DuckDBPyConnection:
    """Copy some columns of some runs into a new in-memory database, which is cheap to query repeatedly.

    Args:
        connection: A connection with one view per table.
        run_ids: The runs whose rows are copied; of the table ``rejects`` the rows of all runs are.
        columns: For each table to copy its columns, as SQL. The other tables exist, but are empty.

    Returns:
        A connection to the copy, with tables in place of views.
    """
    import duckdb

    copied = duckdb.connect()
    for table in (*_WITH_SOURCE, "llm_calls", "runs"):
        sql = f"SELECT {columns.get(table, '*')} FROM {table}"
        if table not in columns:
            sql += " LIMIT 0"
        elif table != "rejects":
            sql += " WHERE list_contains($runs, run_id)"
        asked, bound = _bind(sql, run_ids)
        copied.register("copied", connection.sql(asked, params=bound).to_arrow_table())
        copied.execute(f"CREATE TABLE {table} AS SELECT * FROM copied")
        copied.unregister("copied")
    return copied


_WITH_SOURCE: Final = (
    "records",
    "rejects",
    "dangers",
    "drafts",
    "checks",
    "tasks",
    "scenarios",
    "hazard_tasks",
    "outcomes",
)


def narrow(connection: DuckDBPyConnection, sources: Sequence[str]) -> None:
    """Restrict a connection's tables to the rows of some sources, and the selections of runs to their records.

    Requests that were made for no single record belong to no source, and are left out.

    Args:
        connection: A connection with one view per table, used by nobody else: it stays restricted.
        sources: Names of the sources to keep.
    """
    # The catalog must be named: otherwise each view would read the temporary view of the same name, itself.
    ((catalog,),) = connection.execute("SELECT current_database()").fetchall()
    whole = f"{_quote(catalog)}.main"
    among = f"[{', '.join(map(_literal, sources))}]"
    for table in _WITH_SOURCE:
        connection.execute(
            f"CREATE TEMP VIEW {table} AS SELECT * FROM {whole}.{table} WHERE list_contains({among}, source)"
        )
    connection.execute(
        f"CREATE TEMP VIEW llm_calls AS SELECT * FROM {whole}.llm_calls"
        f" WHERE list_contains({among}, split_part(record_id, ':', 1))"
    )
    selections = connection.execute(f"SELECT run_id, sequence, selection FROM {whole}.runs").fetchall()
    connection.execute("CREATE TEMP TABLE narrowed (run_id VARCHAR, sequence BIGINT, selection VARCHAR)")
    for run_id, sequence, selection in selections:
        if selection is not None:
            kept = [record for record in json.loads(selection) if record.partition(":")[0] in sources]
            connection.execute("INSERT INTO narrowed VALUES (?, ?, ?)", [run_id, sequence, json.dumps(kept)])
    connection.execute(
        f"CREATE TEMP VIEW runs AS SELECT whole.* REPLACE (narrowed.selection AS selection) FROM {whole}.runs AS whole"
        " LEFT JOIN narrowed ON narrowed.run_id = whole.run_id AND narrowed.sequence = whole.sequence"
    )


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
