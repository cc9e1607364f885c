from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hazardmill.runs.status import KILLED, RETRACTED, Paid, RunSummary, summarize_runs
from hazardmill.store.store import Store

BEGAN = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)


def state(run_id: str, sequence: int, state: str, minutes: float, **fields: Any) -> dict[str, Any]:
    counts = {"records": {"notes": 3, "salt": 2}, "outcomes": {"accepted": 0, "pending": 5}}
    return {
        "run_id": run_id,
        "sequence": sequence,
        "kind": "generate",
        "state": state,
        "config": "{}",
        "selection": "{}",
        "counts": json.dumps(counts),
        "at": BEGAN + timedelta(minutes=minutes),
        "hazardmill_version": "0",
        **fields,
    }


def ended(run_id: str, record_id: str, outcome: str) -> dict[str, Any]:
    return {
        "run_id": run_id,
        "record_id": record_id,
        "source": "notes",
        "ordinal": 0,
        "outcome": outcome,
        "drafts": 1,
        "hazardmill_version": "0",
    }


def call(run_id: str, identity: str, minutes: float = 1, **fields: Any) -> dict[str, Any]:
    row = {
        "run_id": run_id,
        "identity": identity,
        "attempt": 1,
        "stage": "extract",
        "sample": 0,
        "request": "{}",
        "answered": True,
        "prompt_tokens": 100,
        "completion_tokens": 10,
        "usd": 0.5,
        "usd_upper": 0.5,
        "at": BEGAN + timedelta(minutes=minutes),
        "hazardmill_version": "0",
    }
    return {**row, **fields}


def write(store: Store, **tables: list[dict[str, Any]]) -> None:
    with store.writer("run") as writer:
        writer.append_sync(tables)


def one(store: Store) -> RunSummary:
    (run,) = summarize_runs(store)
    return run


def test_an_empty_store_lists_nothing(store: Store) -> None:
    assert summarize_runs(store) == []


def test_outcomes_are_those_of_the_table_not_of_the_last_word(store: Store) -> None:
    write(
        store,
        runs=[state("run", 0, "running", 0)],
        outcomes=[
            ended("run", "notes:1", "accepted"),
            ended("run", "notes:2", "duplicate"),
            ended("other", "notes:1", "accepted"),
        ],
    )
    run = one(store)
    assert (run.state, run.records) == (KILLED, 5)
    assert run.counts["records"] == {"notes": 3, "salt": 2}
    assert {name: count for name, count in run.counts["outcomes"].items() if count} == {
        "accepted": 1,
        "duplicate": 1,
        "pending": 3,
    }


def test_runs_are_listed_oldest_first_with_their_parents(store: Store) -> None:
    write(
        store,
        runs=[
            state("b", 0, "running", 0),
            state("b", 1, "completed", 5),
            state("a", 0, "stopped", 7, parent_run_id="b"),
            state("i", 0, "completed", 1, kind="ingest", counts='{"records":4,"new":4}'),
        ],
    )
    runs = {run.run_id: run for run in summarize_runs(store)}
    assert list(runs) == ["b", "i", "a"]
    assert [run.parent_run_id for run in runs.values()] == [None, None, "b"]
    assert (runs["i"].records, runs["i"].counts) == (4, {"records": 4, "new": 4})
    assert runs["i"].paid == Paid()
    assert (runs["b"].started, runs["b"].changed) == (BEGAN, BEGAN + timedelta(minutes=5))


def test_a_run_lasts_to_its_last_sign_of_life(store: Store) -> None:
    write(store, runs=[state("run", 0, "running", 0), state("run", 1, "stopped", 5)])
    assert one(store).duration_s == 300
    # Killed after it was resumed: of that it has said nothing itself.
    write(store, llm_calls=[call("run", "x", minutes=7)])
    assert one(store).duration_s == 420
    with store.writer("run") as writer:
        writer.append_sync({"runs": [state("run", 2, "running", 8)]})
        assert one(store).state == "running"
        assert one(store).duration_s > 1000


def paid(store: Store, *calls: dict[str, Any]) -> Paid:
    write(store, runs=[state("run", 0, "completed", 0)], llm_calls=list(calls))
    return one(store).paid


def test_what_a_run_paid_is_what_its_own_attempts_cost(store: Store) -> None:
    seen = paid(store, call("run", "x"), call("run", "y"), call("other", "z"))
    assert (seen.calls, seen.usd, seen.usd_upper) == (2, 1.0, 1.0)
    assert (seen.prompt_tokens, seen.completion_tokens) == (200, 20)
    assert seen.last == BEGAN + timedelta(minutes=1)


@pytest.mark.parametrize("upper", [0.75, None])
def test_an_unknown_price_makes_the_sum_unknown_and_leaves_the_bound(upper: float | None, store: Store) -> None:
    seen = paid(store, call("run", "x"), call("run", "y", usd=None, usd_upper=upper))
    assert (seen.usd, seen.usd_upper) == (None, None if upper is None else 1.25)


def test_an_unknown_number_of_tokens_makes_the_sum_unknown(store: Store) -> None:
    seen = paid(store, call("run", "x"), call("run", "y", prompt_tokens=None))
    assert (seen.prompt_tokens, seen.completion_tokens) == (None, 20)


def test_what_was_turned_away_cost_nothing_and_has_no_tokens(store: Store) -> None:
    nothing = {"answered": False, "prompt_tokens": None, "completion_tokens": None, "usd": None}
    seen = paid(store, call("run", "x"), call("run", "y", usd_upper=0.0, **nothing))
    assert (seen.calls, seen.usd, seen.usd_upper, seen.prompt_tokens) == (2, 0.5, 0.5, 100)
    # One that was cut off may have cost something.
    seen = paid(store, call("run", "z", usd_upper=0.25, **nothing))
    assert (seen.calls, seen.usd, seen.usd_upper) == (3, None, 0.75)


@pytest.mark.parametrize("usd", [0.5, None])
def test_a_replayed_answer_is_none_of_the_run_s_costs(usd: float | None, store: Store) -> None:
    seen = paid(store, call("run", "x", usd=usd, usd_upper=0.0))
    assert seen == Paid(last=BEGAN + timedelta(minutes=1))


def test_an_answer_for_nothing_is_one_that_the_run_asked_for(store: Store) -> None:
    seen = paid(store, call("run", "x", usd=0.0, usd_upper=0.0))
    assert (seen.calls, seen.usd, seen.prompt_tokens) == (1, 0.0, 100)


def test_a_completed_run_with_records_that_a_rebuild_took_back_is_not_called_completed(store: Store) -> None:
    write(store, runs=[state("run", 0, "running", 0), state("run", 1, "completed", 5)])
    assert one(store).state == RETRACTED
    write(store, outcomes=[ended("run", f"notes:{number}", "accepted") for number in range(5)])
    assert one(store).state == "completed"
