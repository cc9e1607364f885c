from __future__ import annotations

import json
from typing import Any, cast

import pytest

from hazardmill.report.cost import cost
from hazardmill.report.funnel import FunnelCounts, funnel
from hazardmill.report.queries import each_latest_task, latest_tasks, narrow
from hazardmill.store.store import Store

from .support import call, connect, mill, task


@pytest.mark.parametrize("name", ["neiss", "bddl"])
def test_a_narrow_store_reads_as_one_that_never_had_the_rest(name: str) -> None:
    tables = mill()
    tables["llm_calls"].append(call("x", None, "evaluate"))
    alone = {
        table: [row for row in rows if (row.get("record_id") or row.get("source") or "").partition(":")[0] == name]
        for table, rows in tables.items()
    }
    kept = [record for record in json.loads(tables["runs"][0]["selection"]) if record.startswith(f"{name}:")]
    alone["runs"] = [{**tables["runs"][0], "selection": json.dumps(kept)}, tables["runs"][1]]
    connection = connect(**tables)
    narrow(connection, [name])
    assert funnel(connection, ["r"]) == funnel(connect(**alone), ["r"])
    assert cost(connection, ["r"]) == cost(connect(**alone), ["r"])


def test_a_source_of_an_odd_name_is_no_sql() -> None:
    connection = connect(**mill())
    narrow(connection, ["x' OR '1'='1", "neiss"])
    assert list(funnel(connection, ["r"]).sources) == ["neiss"]
    connection = connect(**mill())
    narrow(connection, ["x'] OR true --"])
    assert funnel(connection, ["r"]).total == FunnelCounts()


def test_a_real_store_is_narrowed_for_one_reader_only(offline_store: Store) -> None:
    with offline_store.connect() as whole, offline_store.connect() as connection:
        narrow(connection, ["neiss"])
        everything, found = funnel(whole, ["all"]), funnel(connection, ["all"])
        assert found.sources == {"neiss": everything.sources["neiss"]} and found.balance() == ()
        assert sum(spend.attempts for spend in cost(connection, ["all"]).by_source.values()) == (
            cost(whole, ["all"]).by_source["neiss"].attempts
        )


def test_each_task_comes_once_and_from_the_last_run_that_accepted_it() -> None:
    tasks = [
        task(f"neiss:{number}", f"neiss-{number}", run_id=run_id, draft=draft)
        for draft, run_id in enumerate(("new", "old", "other"), 1)
        for number in range(250)
        if run_id != "new" or number % 2
    ]
    connection, runs = connect(tasks=tasks), ["old", "new"]
    found = sorted(each_latest_task(connection, runs, "task_id, draft"), key=lambda row: row["task_id"])
    assert found == latest_tasks(connection, runs, "task_id, draft")
    assert {row["draft"] for row in found} == {1, 2} and len(found) == 250


def test_documents_are_not_sorted_to_be_read() -> None:
    """A sort, or one row a group, holds all of them at once."""
    connection = connect(tasks=[task("neiss:1", "neiss-1")])
    asked: list[str] = []

    class Watched:
        def execute(self, sql: str, parameters: object = None) -> Any:
            asked.append(sql)
            return connection.execute(sql, parameters)

    assert [list(row) for row in each_latest_task(cast(Any, Watched()), ["r"], "document")] == [["document"]]
    assert [("ORDER BY" in sql or "DISTINCT" in sql) for sql in asked if "document" in sql] == [False]
