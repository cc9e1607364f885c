from __future__ import annotations

import math

import numpy as np
import pytest

from hazardmill.comparison.figures import ComparisonOptions, PairedFigure, Quotient, figures, share
from hazardmill.statistics.bootstrap import bootstrap
from hazardmill.statistics.mcnemar import exact_p
from hazardmill.statistics.proportion import rate

HOW = ComparisonOptions(resamples=2000, seed=3)


def worked_out(quotient: Quotient) -> PairedFigure:
    (found,) = figures([quotient], HOW)
    return found


def test_p_is_that_of_the_binomial_worked_out_by_hand() -> None:
    assert exact_p(0, 0) == 1
    assert exact_p(0, 6) == pytest.approx(2 / 2**6)
    assert exact_p(7, 1) == pytest.approx(2 * (1 + 8) / 2**8)


def test_the_interval_of_a_share_is_that_of_the_paired_differences() -> None:
    a, b = [1.0] * 6 + [0.0] * 14, [1.0] * 3 + [0.0] * 3 + [1.0] * 9 + [0.0] * 5
    found = worked_out(share("x", a, b))
    off = (np.array(b) - np.array(a))[:, None]
    same = bootstrap(off, np.ones_like(off), resamples=HOW.resamples, seed=HOW.seed)
    assert (found.low, found.high) == pytest.approx((same.low[0], same.high[0]))
    assert (found.only_a, found.only_b) == (3, 9) and found.p == pytest.approx(2 * (1 + 12 + 66 + 220) / 2**12)


def test_runs_that_agree_in_each_pair_show_no_spread_however_pairs_differ() -> None:
    drafts, tasks = [1.0, 5.0, 2.0, 0.0], [1.0, 0.0, 1.0, 0.0]
    found = worked_out(Quotient("x", "drafts", drafts, drafts, tasks, tasks))
    assert (found.a, found.difference, found.low, found.high) == (4, 0, None, None)
    assert found.why is not None and "no spread" in found.why


def test_shares_have_intervals_also_where_no_record_changed() -> None:
    found = worked_out(share("x", [1.0] * 6 + [0.0] * 4 + [None], [1.0] * 6 + [0.0] * 4 + [1.0]))
    most = rate(0, 10).high
    assert (found.difference, found.method, found.why) == (0, "wilson", None)
    assert (found.low, found.high) == pytest.approx((-most, most))
    assert found.share_a == found.share_b == rate(6, 10)
    gained = worked_out(share("x", [0.0] * 10, [1.0] * 10))
    assert (gained.difference, gained.high, gained.method) == (1, 1, "wilson") and 0 < gained.low < 1


def test_few_records_that_changed_do_not_make_a_difference_certain() -> None:
    def of(changed: int) -> PairedFigure:
        return worked_out(share("x", [1.0] * 20, [0.0] * changed + [1.0] * (20 - changed)))

    none, one, five = of(0), of(1), of(5)
    assert none.high is not None and none.low is not None and one.high is not None and one.low is not None
    assert one.method == "wilson" and one.high - one.low > none.high - none.low
    assert five.method == "bootstrap"
    costs = [1.0] * 20
    for changed, method in ((4, None), (5, "bootstrap")):
        other = [2.0 + place for place in range(changed)] + costs[changed:]
        found = worked_out(Quotient("x", "USD", costs, other, costs, costs))
        assert found.method == method and ("fewer than 5" in (found.why or "")) is (method is None)


def test_shares_are_bounded_at_the_level_asked_for() -> None:
    same = share("x", [1.0] * 9, [1.0] * 9)
    (narrow,), (wide,) = (figures([same], ComparisonOptions(resamples=50, level=level)) for level in (0.5, 0.99))
    assert narrow.low is not None and wide.low is not None and wide.low < 2 * narrow.low
    assert narrow.share_a == rate(9, 9, 0.5) and wide.share_a == rate(9, 9, 0.99)


def test_what_is_not_known_is_left_out_as_a_pair() -> None:
    found = worked_out(Quotient("x", "USD", [1.0, None, 3.0], [2.0, 2.0, None], [1.0] * 3, [1.0] * 3))
    assert (found.pairs, found.unknown, found.a, found.b) == (1, 2, 1, 2)
    assert worked_out(share("x", [None, 1.0], [1.0, None])).p is None


def test_without_a_task_there_is_no_price_of_one() -> None:
    found = worked_out(Quotient("x", "USD", [1.0, 2.0], [1.0, 2.0], [1.0, 0.0], [0.0, 0.0]))
    assert (found.a, found.b, found.difference, found.low, found.high) == (3, None, None, None, None)
    assert found.why == "nothing to divide by in run B"
    nothing = worked_out(Quotient("x", "USD", [], [], [], []))
    assert (nothing.pairs, nothing.a, nothing.low) == (0, None, None) and nothing.why == "no pair has both values"


def test_intervals_are_wider_where_there_are_fewer_records() -> None:
    a, b = [1.0, 0.0, 1.0, 0.0], [1.0, 1.0, 0.0, 1.0]
    few, many = worked_out(share("x", a, b)), worked_out(share("x", a * 25, b * 25))
    assert few.high - few.low > 2 * (many.high - many.low)
    assert not math.isnan(few.low)


def test_figures_are_drawn_together_as_each_by_itself() -> None:
    one = Quotient("one", "USD", [1.0, 2.0, 4.0], [2.0, 2.0, 1.0], [1.0] * 3, [1.0, 0.0, 1.0])
    other = share("other", [1.0, None, 0.0], [1.0, 1.0, 1.0])
    assert figures([one, other], HOW) == [worked_out(one), worked_out(other)]
    assert figures([], HOW) == []
