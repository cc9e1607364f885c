"""One DuckDB instance for many short queries: each as alone as with an instance of its own."""

from __future__ import annotations

import gc
import weakref

import duckdb
import pytest

from hazardmill.store.duckdb_instance import SharedInstance


@pytest.fixture
def shared() -> SharedInstance:
    return SharedInstance()


def databases(shared: SharedInstance) -> list[str]:
    names = "SELECT database_name FROM duckdb_databases() WHERE NOT internal ORDER BY ALL"
    return [name for (name,) in shared.connect().execute(names).fetchall()]


def test_connections_see_nothing_of_each_other(shared: SharedInstance) -> None:
    connections = [shared.connect() for _ in range(3)]
    for number, connection in enumerate(connections):
        connection.execute("SET TimeZone = 'UTC'" if number else "SET TimeZone = 'Asia/Tokyo'")
        connection.execute(f"CREATE TABLE tasks AS SELECT {number} AS n")
        connection.execute(f"CREATE TEMP TABLE mine AS SELECT {number} AS n")
    asked = "SELECT tasks.n, mine.n, current_setting('TimeZone') FROM tasks, mine"
    answers = [connection.execute(asked).fetchall() for connection in connections]
    assert answers == [[(0, 0, "Asia/Tokyo")], [(1, 1, "UTC")], [(2, 2, "UTC")]]


def test_a_database_is_detached_once_nothing_reads_it(shared: SharedInstance) -> None:
    kept = shared.connect().execute("SELECT * FROM range(5000)")
    assert len(kept.fetchmany(1)) == 1
    for _ in range(5):
        shared.connect().execute("CREATE TABLE tasks AS SELECT 1").fetchall()
        gc.collect()
    assert len(databases(shared)) <= 4, "its own, that of `kept`, that of the instance, and the last one"
    assert len(kept.fetchall()) == 4999


def test_parts_stay_in_no_cache(shared: SharedInstance) -> None:
    asked = "SELECT current_setting('enable_external_file_cache')"
    assert shared.connect().execute(asked).fetchall() == [(False,)]


def test_a_forked_process_begins_anew(shared: SharedInstance) -> None:
    before = shared.connect()
    before.execute("CREATE TABLE tasks AS SELECT 1")
    number = before.execute("SELECT current_database()").fetchall()
    inherited = weakref.ref(shared._instance)
    shared.forget()
    gc.collect()
    assert inherited() is not None, "to close it would wait for threads that the process does not have"
    # The memory of another instance; databases keep their numbers, so that none of the old ones is detached here.
    assert databases(shared) != number
    assert before.execute("FROM tasks").fetchall() == [(1,)]


def test_an_instance_that_failed_is_replaced(shared: SharedInstance) -> None:
    class Failed:
        def cursor(self) -> None:
            raise duckdb.FatalException("database has been invalidated because of a previous fatal error")

    shared._instance = Failed()  # type: ignore[assignment]
    assert shared.connect().execute("SELECT 1").fetchall() == [(1,)]
