from __future__ import annotations

import pytest

from hazardmill.report.html import render_report
from hazardmill.report.markdown import render_markdown
from hazardmill.report.report_data import gather
from hazardmill.store.store import Store
from tests.figures_once import figures_drawn

from .pages import Tables
from .support import call, connect, mill, outcome, task


@pytest.mark.full
def test_two_renders_of_a_real_store_are_the_same_bytes(offline_store: Store) -> None:
    pages = []
    for _ in range(2):
        with figures_drawn(), offline_store.connect() as connection:
            pages.append((render_report(connection, ["all", "few"]), render_markdown(connection, ["all", "few"])))
    assert pages[0] == pages[1]


def test_tasks_of_two_runs_count_once(offline_store: Store) -> None:
    with offline_store.connect() as connection:
        both, one = gather(connection, ["all", "few"]), gather(connection, ["all"])
    assert both.corpus == one.corpus and len(both.tasks) == len(one.tasks)
    assert both.funnel.total.records == one.funnel.total.records + 6
    assert both.offline


def test_a_run_without_any_accepted_task() -> None:
    tables = mill()
    tables["tasks"] = []
    tables["outcomes"] = [outcome(f"neiss:{n}", "execution_failed", "timeout") for n in range(1, 6)]
    tables["runs"][0]["selection"] = None
    found = gather(connect(**tables), ["r"])
    drawn = {figure.name: figure for figure in found.figures}
    for name in ("groups", "types", "flows", "effort"):
        assert "no accepted tasks" in drawn[name].svg and "(n = 0 tasks)" in drawn[name].title
    assert "n = 5 records lost" in drawn["losses"].title
    assert found.headline[-1] == ("-", "USD per validated task")
    assert {gate.passed for gate in found.corpus.gates} == {None}
    shown = Tables(render_report(connect(**tables), ["r"])).found
    assert [line[1] for line in shown["Gates of the corpus"][1:3]] == ["unknown: there is no task"] * 2


def test_costs_that_nobody_knows_are_unknown_and_not_zero() -> None:
    tables = mill()
    tables["llm_calls"] = [call("a", "neiss:1", "author", usd=None, prompt_tokens=None, completion_tokens=None)]
    shown = Tables(render_report(connect(**tables), ["r"])).found
    (stages,) = (rows for name, rows in shown.items() if name.startswith("Cost by stage"))
    assert stages[1:] == [[stage, "1", "0", "0", "unknown", "unknown", "unknown"] for stage in ("author", "all")]
    assert shown["Cost of a validated task"][1][0] == "unknown"
    assert [row[2] for row in shown["Other published figures"] if row[0] == "USD per validated task"] == ["unknown"]


def test_the_gates_know_the_plans_and_dangers_of_the_store() -> None:
    tables = mill()
    slow = '{"cause_of_danger": "It was not reduced.", "robot_task": "bring it"}'
    tables["tasks"][0] = task("neiss:1", "neiss-1", danger=slow)
    found = gather(connect(**tables), ["r"]).corpus
    (ways,) = (gate for gate in found.gates if gate.name == "leaking_ways")
    assert (ways.tasks, ways.examples) == (3, ("neiss-1: reduce_speed",))
    page = render_report(connect(**tables), ["r"])
    assert "<code>neiss-1: reduce_speed</code>" in page and '<td class="harm">FAILED</td>' in page
