from __future__ import annotations

import json
from datetime import UTC, datetime
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hazardmill.report.cost import Spend, Sum, cost

from .support import Row, call, connect, danger, mill, task


def test_the_ledger_adds_up_by_stage_source_and_draft() -> None:
    found = cost(connect(**mill()), ["r"])
    assert (found.paid.attempts, found.paid.failed) == (5, 1)
    assert found.paid.prompt_tokens == Sum(known=700, unknown=1)
    assert found.paid.completion_tokens == Sum(known=85, unknown=1)
    assert list(found.by_stage) == ["extract", "author", "judge"]
    assert found.by_stage["author"].usd == Sum(known=0.05, unknown=1)
    assert {source: spend.attempts for source, spend in found.by_source.items()} == {"bddl": 1, "neiss": 4}
    assert {number: spend.attempts for number, spend in found.by_draft.items()} == {1: 3, 2: 1, None: 1}


def test_the_price_of_a_task_takes_every_attempt() -> None:
    found = cost(connect(**mill()), ["r"])
    assert found.accepted == 3
    assert found.whole == Sum(known=0.1, unknown=1)
    assert found.usd_per_task == pytest.approx(0.1 / 3)


def test_answers_that_other_runs_paid_for_are_part_of_the_price_but_not_paid_again() -> None:
    tables = mill()
    tables["llm_calls"] += [
        call("old", "neiss:1", "extract", run_id="before", answered=False, usd=None),
        call("old", "neiss:1", "extract", run_id="before", attempt=2, usd=0.5),
        call("foreign", "neiss:1", "extract", run_id="before", usd=9.0),
    ]
    tables["dangers"].append(danger("neiss:9", identities='["old", "e1"]'))
    found = cost(connect(**tables), ["r"])
    assert found.paid == cost(connect(**mill()), ["r"]).paid
    assert (found.reused.attempts, found.reused.usd) == (2, Sum(known=0.5, unknown=1))
    assert found.whole == Sum(known=0.6, unknown=2)


def test_the_cache_hit_share_is_over_attempts_where_both_counts_are_known() -> None:
    assert cost(connect(**mill()), ["r"]).paid.cache_hit_share == 100 / 400


def test_a_task_that_two_runs_accepted_is_one_task() -> None:
    tables = mill()
    tables["tasks"].append(task("neiss:1", "neiss-1", run_id="s"))
    tables["tasks"].append(task("neiss:9", "neiss-9", run_id="s"))
    assert cost(connect(**tables), ["r", "s"]).accepted == 4
    assert cost(connect(**tables), ["s"]).accepted == 2


def test_of_two_runs_that_paid_for_the_same_answer_each_pays_its_own_and_a_third_the_first() -> None:
    def paid(run_id: str, hour: int, usd: float) -> Row:
        at = datetime(2026, 1, 2, hour, tzinfo=UTC)
        return call("e", "neiss:1", "extract", run_id=run_id, at=at, usd=usd, usd_upper=usd)

    calls = [paid("b", 2, 0.25), paid("a", 1, 0.5)]
    dangers = [danger("neiss:1", run_id=run_id, identities='["e"]') for run_id in "abc"]
    spent = {run_id: cost(connect(llm_calls=calls, dangers=dangers), [run_id]) for run_id in "abc"}
    assert {run_id: found.paid.usd.known for run_id, found in spent.items()} == {"a": 0.5, "b": 0.25, "c": 0}
    assert {run_id: found.reused.usd.known for run_id, found in spent.items()} == {"a": 0, "b": 0, "c": 0.5}
    assert cost(connect(llm_calls=calls, dangers=dangers), ["a", "b"]).whole == Sum(known=0.75, unknown=0)


def test_a_replayed_answer_has_a_price_but_was_paid_before() -> None:
    calls = [
        call("a", "neiss:1", "extract", usd=0.5, usd_upper=0.0),
        call("b", "neiss:1", "extract", usd=None, usd_upper=0.0),
        call("c", "neiss:1", "extract", usd=0.0, usd_upper=0.0),
        call("d", "neiss:1", "extract", usd=None, usd_upper=0.0, answered=False, error="RateLimited"),
    ]
    found = cost(connect(llm_calls=calls), ["r"])
    # Turned away at the door: that is known to have cost nothing.
    assert (found.paid.attempts, found.paid.failed, found.paid.usd) == (2, 1, Sum(known=0.0, unknown=0))
    assert found.reused.usd == Sum(known=0.5, unknown=1)


def test_what_is_in_flight_has_not_failed_and_may_have_cost_what_was_reserved() -> None:
    unknown = {"answered": False, "usd": None}
    calls = [
        call("a", "neiss:1", "author", **unknown, error="in_flight", usd_upper=0.5),
        call("b", "neiss:1", "author", **unknown, error="ProviderDown", usd_upper=0.25),
        call("c", "neiss:1", "author", usd=2.0, usd_upper=2.0, usd_overrun=0.75),
    ]
    paid = cost(connect(llm_calls=calls), ["r"]).paid
    assert (paid.attempts, paid.failed, paid.in_flight) == (3, 1, 1)
    assert paid.usd == Sum(known=2.0, unknown=2)
    assert paid.usd_upper == Sum(known=2.75, unknown=0)
    assert (paid.overruns, paid.usd_overrun) == (1, Sum(known=0.75, unknown=0))


def test_a_task_takes_its_share_of_every_attempt_by_stage_source_and_draft() -> None:
    found = cost(connect(**mill()), ["r"])
    assert {stage: spent.usd.known for stage, spent in found.task_by_stage.items()} == pytest.approx(
        {"extract": 0.01, "author": 0.05, "judge": 0.04}
    )
    assert sum(spent.usd_per_task or 0 for spent in found.task_by_stage.values()) == pytest.approx(found.usd_per_task)
    assert {source: spent.tasks for source, spent in found.task_by_source.items()} == {"neiss": 2, "bddl": 1}
    assert found.task_by_source["neiss"].usd_per_task == pytest.approx(0.06 / 2)
    drafts = {spent.number: (spent.made, spent.tasks, spent.usd) for spent in found.task_by_draft}
    assert drafts == {
        1: (7, 1, Sum(known=0.05, unknown=1)),
        2: (3, 1, Sum(known=0.04, unknown=0)),
        3: (2, 1, Sum(known=0, unknown=0)),
        4: (1, 0, Sum(known=0, unknown=0)),
        5: (1, 0, Sum(known=0, unknown=0)),
    }
    assert [spent.usd_per_task for spent in found.task_by_draft] == [0.05, 0.04, 0.0, None, None]


def test_an_unknown_price_is_not_zero() -> None:
    tables = mill()
    tables["llm_calls"] = [call("a", "neiss:1", "author", usd=None)]
    found = cost(connect(**tables), ["r"])
    assert found.paid.usd == Sum(known=None, unknown=1)
    assert found.usd_per_task is None


def test_no_tasks_no_price_a_task() -> None:
    tables = mill()
    tables["tasks"] = []
    assert cost(connect(**tables), ["r"]).usd_per_task is None


def test_nothing_asked_cost_nothing() -> None:
    found = cost(connect(), ["r"])
    assert found.paid == Spend.of([])
    assert found.paid.usd == Sum(known=0, unknown=0)
    assert found.paid.cache_hit_share is None


def test_requests_for_no_record_are_not_given_a_source() -> None:
    found = cost(connect(llm_calls=[call("a", None, "evaluate", usd=1.0)]), ["r"])
    assert list(found.by_source) == [None]
    assert found.to_json()["by_source"]["none"]["usd"] == {"known": 1.0, "unknown": 0}


def test_json_round_trips() -> None:
    value = cost(connect(**mill()), ["r"]).to_json()
    assert json.loads(json.dumps(value)) == value
    assert list(value["by_draft"]) == ["1", "2", "none"]


@given(st.lists(st.none() | st.floats(0, 1e6)), st.randoms(use_true_random=False))
def test_the_order_of_parts_does_not_change_a_sum(parts: list[float | None], random: Random) -> None:
    shuffled = list(parts)
    random.shuffle(shuffled)
    assert Sum.of(shuffled) == Sum.of(parts)
    assert Sum.of(parts).unknown == parts.count(None)
