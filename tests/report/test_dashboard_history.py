"""What DuckDB adds up is what the report adds up, whatever is in the ledger."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hazardmill.report.cost import Sum, cost
from hazardmill.report.dashboard.history import LAST, History, Past
from hazardmill.report.funnel import funnel
from hazardmill.report.queries import narrow

from .support import Row, call, connect, danger, draft, mill, outcome, row, task

RUNS = ("one", "two", "three")
RECORDS = ("neiss:1", "neiss:2", "bddl:a")
AT = datetime(2026, 1, 2, tzinfo=UTC)


def run_row(run_id: str, day: int, **given: Any) -> Row:
    known = {"sequence": 0, "kind": "generate", "state": "running", "config": "{}", "at": AT + timedelta(days=day)}
    return row("runs", run_id=run_id, **{**known, "selection": json.dumps(RECORDS), **given})


MADE_FOR = {"a": "neiss:1", "b": "neiss:2", "c": "bddl:a", "d": None}
"""The record that each identity is asked for."""

numbers = st.none() | st.integers(0, 1000)
# Sixteenths: exact as floats, so that no sum hangs on the order of its parts.
dollars = st.none() | st.integers(0, 64).map(lambda n: n / 16)
attempts = st.lists(
    st.tuples(
        st.sampled_from(RUNS),
        st.sampled_from("abcd"),
        st.integers(1, 2),
        st.sampled_from(("extract", "author", "judge")),
        st.booleans(),
        numbers,
        numbers,
        dollars,
        dollars,
        st.integers(0, 5),
    ),
    max_size=10,
    unique_by=lambda made: made[:3],
)
using = st.lists(
    st.tuples(st.sampled_from(RUNS), st.sampled_from("abc"), st.booleans()),
    max_size=6,
    unique_by=lambda used: used[:2],
)


def tables(made: list[tuple[Any, ...]], used: list[tuple[Any, ...]]) -> dict[str, list[Row]]:
    calls = [
        call(
            identity,
            MADE_FOR[identity],
            stage,
            run_id=run,
            attempt=attempt,
            answered=answered,
            error=None if answered else "RateLimited",
            prompt_tokens=prompt,
            cached_tokens=cached,
            completion_tokens=prompt,
            usd=usd,
            usd_upper=upper,
            at=AT + timedelta(seconds=second),
        )
        for run, identity, attempt, stage, answered, prompt, cached, usd, upper, second in made
    ]
    drafts = [
        draft(str(MADE_FOR[identity]), run_id=run, identities=json.dumps([identity])) for run, identity, _ in used
    ]
    tasks = [task(str(MADE_FOR[identity]), identity, run_id=run, draft=1) for run, identity, good in used if good]
    runs = [run_row(run, day) for day, run in enumerate(RUNS)]
    return {"runs": runs, "llm_calls": calls, "drafts": drafts, "tasks": tasks}


def figures(past: Past) -> tuple[Any, ...]:
    spent = past.spent
    return (spent.attempts, spent.usd.sum, spent.usd_upper.sum, spent.cache_hit_share, spent.whole.sum, past.tasks)


@pytest.mark.full
@settings(max_examples=25)
@given(attempts, using)
def test_it_adds_up_as_the_report_does(made: list[tuple[Any, ...]], used: list[tuple[Any, ...]]) -> None:
    views = connect(**tables(made, used))
    narrowed = views.cursor()
    narrow(narrowed, ["neiss"])
    history = History(views.cursor(), "two")
    whole = [(history.whole(), cost(views, RUNS)), (history.whole("neiss"), cost(narrowed, RUNS))]
    single = [
        (history.of(run, source), cost(look, (run,)))
        for run in RUNS
        for source, look in ((None, views), ("neiss", narrowed))
    ]
    for past, told in [*whole, *single]:
        paid = told.paid
        assert figures(past) == (
            paid.attempts,
            paid.usd,
            paid.usd_upper,
            paid.cache_hit_share,
            told.whole,
            told.accepted,
        )
        assert past.usd_per_task == told.usd_per_task
        by_stage = {stage: spent.usd.sum for stage, spent in past.by_stage.items() if spent.attempts}
        assert by_stage == {stage: spent.usd for stage, spent in told.by_stage.items()}


def test_outcomes_records_and_drafts_are_those_of_the_funnel() -> None:
    history = History(connect(**mill()), "r")
    for source in (None, "neiss", "bddl"):
        views = connect(**mill())
        if source is not None:
            narrow(views, [source])
        lost = funnel(views, ["r"])
        past = history.of("r", source)
        assert (past.records, past.finished, past.accepted) == (
            lost.total.records,
            lost.total.finished,
            lost.total.accepted,
        )
        made = [told for told in lost.drafts if told.made]
        assert [told for told in history.yields("r", source) if told.made] == made


def test_a_lost_selection_is_unknown_and_the_counts_of_the_start_stand_for_one() -> None:
    counts = json.dumps({"records": {"neiss": 7}, "outcomes": {}})
    inputs = json.dumps({"inputs": [{"source": "neiss"}]})
    rows = [
        run_row("lost", 0, selection=None, config=inputs),
        run_row("counted", 1, selection=None, counts=counts),
    ]
    history = History(connect(runs=rows), "lost")
    assert history.of("lost").records is None and history.of("lost", "neiss").records is None
    assert history.of("counted").records == history.of("counted", "neiss").records == 7
    assert history.whole().records is None
    assert history.sources == ["neiss"]


def test_the_last_runs_are_told_and_the_one_looked_at_is_among_them() -> None:
    rows = [run_row(f"run-{n:02d}", n) for n in range(LAST + 5)]
    ended = [outcome("neiss:1", "accepted", run_id=f"run-{n:02d}") for n in range(LAST + 5)]
    views = {"runs": rows, "outcomes": ended, "tasks": [task("neiss:1", "t", run_id="run-00", draft=1)]}
    newest = History(connect(**views), "run-24").last()
    assert [past.run_id for past in newest] == [f"run-{n:02d}" for n in range(5, 25)]
    oldest = History(connect(**views), "run-00").last("neiss")
    assert [past.run_id for past in oldest] == ["run-00", *(f"run-{n:02d}" for n in range(6, 25))]
    assert (oldest[0].accepted, oldest[0].tasks, oldest[1].tasks) == (1, 1, 0)


def test_the_line_is_short_and_ends_with_all_that_was_paid() -> None:
    calls = [
        call(
            f"i{n}",
            "neiss:1" if n % 2 else "bddl:a",
            "author",
            run_id="one",
            usd=None if n == 700 else 1 / 16,
            usd_upper=1 / 8,
            at=AT + timedelta(seconds=n),
        )
        for n in range(1000)
    ]
    # Replayed: it has a price, and was not paid.
    calls.append(call("x", "neiss:1", "author", run_id="one", usd=9.0, usd_upper=0.0, at=AT))
    history = History(connect(runs=[run_row("one", 0)], llm_calls=calls), "one")
    line = history.line("one")
    assert 100 < len(line) < 330
    assert [point.attempts for point in line] == sorted(point.attempts for point in line)
    assert (line[-1].attempts, line[-1].usd, line[-1].upper) == (1000, 999 / 16, 125.0)
    assert history.line("one", "neiss")[-1].attempts == 500
    assert history.line("two") == []


def test_the_line_has_no_bound_after_an_attempt_without_one() -> None:
    uppers = (0.5, None, 0.5)
    calls = [
        call(f"i{n}", "neiss:1", "author", run_id="one", usd=0.25, usd_upper=upper, at=AT + timedelta(seconds=n))
        for n, upper in enumerate(uppers)
    ]
    history = History(connect(runs=[run_row("one", 0)], llm_calls=calls), "one")
    assert [point.upper for point in history.line("one")] == [0.5, None, None]
    assert history.of("one").spent.usd_upper.sum == Sum(known=1.0, unknown=1)


@pytest.mark.parametrize("table", ["drafts", "dangers", "llm_calls"])
def test_an_offline_answer_shows_wherever_it_is_written_down(table: str) -> None:
    written: dict[str, Any] = {"run_id": "two", "model_answered": "offline-author"}
    made = {
        "drafts": draft("neiss:1", **written),
        "dangers": danger("neiss:1", **written),
        "llm_calls": call("i", "neiss:1", "extract", **written),
    }
    rows = {table: [made[table]]}
    runs = [run_row(run, day) for day, run in enumerate(RUNS)]
    assert History(connect(runs=runs, **rows), "two").offline
    assert not History(connect(runs=runs, **rows), "one").offline
