"""SQL on the store's DuckDB views. A report reads the views only, so that any connection that has them will do."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Row = dict[str, Any]
T = TypeVar("T")


class Readable(Protocol):
    """What a report needs of a store."""

    def connect(self) -> DuckDBPyConnection:
        """A DuckDB connection with one view a table, of each key the latest row."""
        ...

    def query(self, asking: Callable[[DuckDBPyConnection], T]) -> T:
        """What ``asking`` makes of such a connection; of a later one if parts were taken away meanwhile."""
        ...


def latest_tasks(connection: DuckDBPyConnection, run_ids: Sequence[str], columns: str) -> list[Row]:
    """The tasks of some runs by id, each once: of a task that several runs accepted, the last run's row.

    Args:
        connection: Has one view a table.
        run_ids: The runs, oldest first.
        columns: What to read, as SQL.
    """
    return select(connection, _LATEST.format(columns=columns), run_ids)


def each_latest_task(connection: DuckDBPyConnection, run_ids: Sequence[str], columns: str) -> Iterator[Row]:
    """As ``latest_tasks``, some at a time and in whatever order they lie: to sort what is as large takes gigabytes.

    The connection is taken until the last one.
    """
    latest = {row["task_id"]: row["run_id"] for row in latest_tasks(connection, run_ids, "task_id, run_id")}
    cursor = connection.execute(*_bind(_EACH.format(columns=columns), run_ids))
    names = [column[0] for column in cursor.description or ()][2:]
    while rows := cursor.fetchmany(_AT_A_TIME):
        for task_id, run_id, *values in rows:
            if latest[task_id] == run_id:
                yield dict(zip(names, values, strict=True))


_AT_A_TIME: Final = 100
"""Tasks that are held at a time."""

_EACH: Final = "SELECT task_id, run_id, {columns} FROM tasks WHERE list_contains($runs, run_id)"

_LATEST: Final = """
    SELECT DISTINCT ON (task_id) {columns} FROM tasks WHERE list_contains($runs, run_id)
    ORDER BY task_id, list_position($runs, run_id) DESC
"""


def select(connection: DuckDBPyConnection, sql: str, run_ids: Sequence[str], **parameters: object) -> list[Row]:
    """The rows of a query as dictionaries; ``$runs`` in it stands for the run ids."""
    cursor = connection.execute(*_bind(sql, run_ids, **parameters))
    names = [column[0] for column in cursor.description or ()]
    return [dict(zip(names, values, strict=True)) for values in cursor.fetchall()]


def _bind(sql: str, run_ids: Sequence[str], **parameters: object) -> tuple[str, dict[str, object]]:
    bound = {"runs": list(run_ids), **parameters}
    return sql, {name: value for name, value in bound.items() if f"${name}" in sql}


def copy_columns(
    connection: DuckDBPyConnection, run_ids: Sequence[str], columns: Mapping[str, str]
) -> DuckDBPyConnection:
    """Some columns of some runs in a connection of its own, where reading them again costs little.

    Args:
        connection: Has one view a table.
        run_ids: The runs; of the table ``rejects`` there are those of all.
        columns: Table to its columns, as SQL. The other tables are there, and empty.
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


_WITH_SOURCE: Final = ("records", "rejects", "dangers", "drafts", "checks", "tasks", "outcomes")


def narrow(connection: DuckDBPyConnection, sources: Sequence[str]) -> None:
    """Let the connection's tables hold the rows of some sources only, and of runs the records of these.

    Requests for no one record are of no source: they are left out.

    Args:
        connection: Has one view a table, and is the caller's alone: it stays narrow.
        sources: Names of sources.
    """
    # The catalog must be named: without it, a view by the same name would be read through itself.
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
