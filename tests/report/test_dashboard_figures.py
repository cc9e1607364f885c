from __future__ import annotations

from xml.etree import ElementTree

import pytest

from hazardmill.report.dashboard.figures import Bar, cache_shares, money_line, stacked_cost, usd_per_task_bars
from hazardmill.report.dashboard.history import Past, SpendPoint, SpendTally, SpendTotals
from hazardmill.reporting.svg.drawing import Figure

pytestmark = pytest.mark.usefixtures("drawn_anew")

SVG = "{http://www.w3.org/2000/svg}"


def texts(figure: Figure) -> list[str]:
    return [node.text or "" for node in ElementTree.fromstring(figure.standalone).iter(f"{SVG}text")]


def spent(attempts: int, total: float = 0.0, *, unknown: int = 0, tokens: int = 0, cached: int = 0) -> SpendTotals:
    known = attempts - unknown
    return SpendTotals(
        attempts=attempts,
        usd=SpendTally(total, known, attempts),
        usd_upper=SpendTally(total, known, attempts),
        tokens=SpendTally(tokens, known, attempts),
        prompt=tokens,
        cached=cached,
        whole=SpendTally(total, known, attempts),
    )


def past(run_id: str, tasks: int, whole: SpendTotals) -> Past:
    return Past(run_id, f"began {run_id}", 10, 10, tasks, tasks, whole, {"author": whole})


def test_stacked_cost_says_what_each_row_paid_by_stage_and_what_is_in_no_bar() -> None:
    bars = [
        Bar("neiss", {"extract": spent(2, 0.5), "author": spent(3, 1.25, unknown=1)}),
        Bar("bddl", {"author": spent(1, 0.25)}),
    ]
    figure = stacked_cost(bars, "by source")
    assert figure.title == "Cost by stage in USD, by source (n = 6 attempts)"
    assert figure.grid.head == ("", "extract", "author", "all")
    assert figure.grid.rows == (
        ("neiss", "$0.500", "$1.25 + 1 unknown", "$1.75 + 1 unknown"),
        ("bddl", "-", "$0.250", "$0.250"),
    )
    assert figure.note == "The price of 1 attempt is unknown and not in any bar."
    assert {"neiss", "bddl", "extract", "author", "USD", "$1.75 + 1 unknown"} <= set(texts(figure))


def test_stacked_cost_is_in_tokens_where_nothing_was_paid() -> None:
    figure = stacked_cost([Bar("neiss", {"extract": spent(2, tokens=1200), "author": spent(1, tokens=300)})], "one run")
    assert figure.title == "Cost by stage in tokens, one run (n = 3 attempts)"
    assert figure.grid.rows == (("neiss", "1,200", "300", "1,500"),)
    assert figure.note == "Tokens in and out: nothing was paid, or no price is known."
    assert "no request was paid for yet" in stacked_cost([Bar("neiss", {})], "one run").alt


def test_the_money_line_is_held_against_the_budget() -> None:
    figure = money_line([SpendPoint(10, 0.5, 0.75), SpendPoint(20, 1.0, 1.5)], 2.0, "this run")
    assert figure.title == "Cumulative cost, this run (n = 20 attempts)"
    assert figure.grid.rows == (("20", "$1.00", "$1.50", "$2.00"),)
    assert {"known", "at most", "budget $2.00", "USD"} <= set(texts(figure))
    assert figure.note == "At most: an attempt of unknown cost counts with what was reserved for it."


def test_the_money_line_says_what_it_does_not_know() -> None:
    figure = money_line([SpendPoint(1, 0.5, 0.5), SpendPoint(2, 0.5, None)], None, "all runs")
    assert figure.grid.rows == (("2", "$0.500", "not bounded", "none"),)
    assert figure.note == "The cost of some attempts has no upper bound."
    assert not any("budget" in text for text in texts(figure))
    assert "at most" not in texts(figure)


def test_a_line_without_any_price_does_not_say_that_nothing_was_paid() -> None:
    figure = money_line([SpendPoint(1, 0.0, None), SpendPoint(2, 0.0, None)], None, "all runs")
    assert figure.grid.rows == (("2", "unknown", "not bounded", "none"),)
    assert "what was paid is unknown" in figure.alt and "nothing was paid" not in figure.alt


def test_a_budget_is_shown_before_anything_is_spent_and_said_to_be_shared() -> None:
    figure = money_line([], 3.0, "this run", "winter")
    assert "budget $3.00" in texts(figure)
    assert figure.note == "Other runs spend from this budget too: the line shows only this run."
    assert "nothing was paid" in money_line([], None, "this run").alt


def test_cache_shares_tell_unknown_from_nothing() -> None:
    figure = cache_shares([("extract", spent(2, tokens=400, cached=100)), ("judge", spent(1))], "this run")
    assert figure.title == "Cache-hit share of input, this run (n = 400 tokens)"
    assert figure.grid.rows == (
        ("extract", "400", "100", "25.0 %"),
        ("judge", "unknown", "unknown", "unknown"),
    )
    assert {"25.0 %", "unknown", "% of input tokens"} <= set(texts(figure))
    assert "no provider has said yet" in cache_shares([("extract", spent(0))], "this run").alt


def test_usd_a_task_is_a_lower_bound_while_a_price_is_unknown() -> None:
    runs = [past("a", 4, spent(4, 1.0)), past("b", 2, spent(3, 1.0, unknown=1)), past("c", 0, spent(1, 1.0))]
    figure = usd_per_task_bars(runs, [run.began for run in runs], "b", "the last 3 runs")
    assert figure.title == "USD per validated task, the last 3 runs (n = 6 tasks)"
    assert [line[3] for line in figure.grid.rows] == ["$0.250", "at least $0.500", "-"]
    assert figure.note is not None and "Blue: the run that wrote this." in figure.note
    assert figure.standalone.count("#0072b2") == 1
    assert "no task was accepted yet" in usd_per_task_bars(runs[2:], ["c"], "c", "one run").alt
    free = [past("a", 4, spent(4, 0.0))]
    assert "nothing was paid" in usd_per_task_bars(free, ["a"], "a", "one run").alt
