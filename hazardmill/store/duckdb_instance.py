"""One DuckDB instance for the short queries of a process: to start one takes longer than most of them."""

from __future__ import annotations

import itertools
import os
import threading
import weakref
from collections import deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


class SharedInstance:
    """A DuckDB instance that is started when first needed, and whose connections have an in-memory database each.

    Settings of the instance hold for all of its connections, so what restricts or locks settings needs an instance of
    its own.
    """

    def __init__(self) -> None:
        """Start nothing yet."""
        self._numbers = itertools.count(1)
        self._inherited: list[DuckDBPyConnection] = []
        self._begin()

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._instance: DuckDBPyConnection | None = None
        self._unused: deque[str] = deque()
        """Databases whose connections were garbage collected."""

    def connect(self) -> DuckDBPyConnection:
        """Return a connection whose current database is a new, empty one in memory.

        The database is detached some time after the connection was garbage collected; a result that still reads it must
        keep the connection alive.

        Raises:
            duckdb.Error: DuckDB cannot open another database.
        """
        import duckdb

        with self._lock:
            try:
                return self._attach()
            except duckdb.FatalException:
                # After an internal error, DuckDB refuses everything to all connections of the instance.
                self._instance = None
                return self._attach()

    def _attach(self) -> DuckDBPyConnection:
        import duckdb

        if self._instance is None:
            self._instance = duckdb.connect()
            self._unused.clear()
            # It would keep the bytes of parts in memory for later queries, up to most of the machine's memory.
            self._instance.execute("SET enable_external_file_cache = false")
        while self._unused:
            self._instance.execute(f"DETACH {self._unused.popleft()}")
        name = f"views_{next(self._numbers)}"
        connection = self._instance.cursor()
        connection.execute(f"ATTACH ':memory:' AS {name}")
        # Only noted here: garbage is collected at any moment, also while a connection is made.
        weakref.finalize(connection, self._unused.append, name).atexit = False
        connection.execute(f"USE {name}")
        return connection

    def forget(self) -> None:
        """Begin anew in a forked process, which has none of the instance's threads.

        The inherited instance stays in memory: closing it would wait for these threads.
        """
        if self._instance is not None:
            self._inherited.append(self._instance)
        self._begin()


SHARED: Final = SharedInstance()
"""The instance of this process."""

os.register_at_fork(after_in_child=SHARED.forget)
