"""SQL on the store's DuckDB views. A report reads the views only, so that any connection that has them will do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Row = dict[str, Any]


class Readable(Protocol):
    """What a report needs of a store."""

    def connect(self) -> DuckDBPyConnection:
        """A DuckDB connection with one view a table, of each key the latest row."""
        ...


def latest_tasks(connection: DuckDBPyConnection, run_ids: Sequence[str], columns: str) -> list[Row]:
    """The tasks of some runs by id, each once: of a task that several runs accepted, the last run's row.

    Args:
        connection: Has one view a table.
        run_ids: The runs, oldest first.
        columns: What to read, as SQL.
    """
    return select(connection, _LATEST.format(columns=columns), run_ids)


_LATEST: Final = """
    SELECT DISTINCT ON (task_id) {columns} FROM tasks WHERE list_contains($runs, run_id)
    ORDER BY task_id, list_position($runs, run_id) DESC
"""


def select(connection: DuckDBPyConnection, sql: str, run_ids: Sequence[str], **parameters: object) -> list[Row]:
    """The rows of a query as dictionaries; ``$runs`` in it stands for the run ids."""
    bound = {"runs": list(run_ids), **parameters}
    cursor = connection.execute(sql, {name: value for name, value in bound.items() if f"${name}" in sql})
    names = [column[0] for column in cursor.description or ()]
    return [dict(zip(names, values, strict=True)) for values in cursor.fetchall()]
