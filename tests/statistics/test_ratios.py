"""Ratios of sums over rows, with intervals over the units that the rows belong to."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from hazardmill.statistics.proportion import rate, wilson_interval
from hazardmill.statistics.ratios import LEFT_OUT, count_deviating, mean_of_estimates, ratios_of_sums, wilson_over_units


def most(units: float) -> float:
    """The share of all units that may deviate if none of so many does."""
    return wilson_interval(0, units)[1]


def test_a_ratio_is_pooled_and_its_interval_is_over_units() -> None:
    found = ratios_of_sums(["a", "a", "b"], {"x": [(1, 1), (0, 1), (1, 2)], "y": [(1, 1), (1, 1), LEFT_OUT]})
    assert (found["x"].value, found["x"].n) == (0.5, 4)
    assert (found["y"].value, found["y"].n, found["y"].high) == (1, 2, 1)
    # Both units of x are half true, and y has a single unit of two rows: resamples show no spread.
    assert found["x"].method == found["y"].method == "wilson"
    assert found["y"].low == pytest.approx(rate(1, 1).low)


def test_units_of_a_cluster_count_as_one_unit() -> None:
    rows = {"x": [(1.0, 1.0), (0.0, 1.0)]}
    apart = ratios_of_sums(["a", "b"], rows)["x"]
    assert (apart.low, apart.high) == pytest.approx(wilson_interval(1, 2))
    one = ratios_of_sums(["a", "b"], rows, clusters={"a": "s", "b": "s"})["x"]
    assert (one.low, one.high) == pytest.approx((0.5 - most(1) / 2, 0.5 + most(1) / 2)) and one.method == "wilson"


@pytest.mark.parametrize(("hits", "of"), [(14, 14), (0, 20), (1, 1)])
def test_where_all_units_agree_the_interval_is_wilsons(hits: int, of: int) -> None:
    found = ratios_of_sums([f"t{place}" for place in range(of)], {"x": [(float(hits > 0), 1.0)] * of})["x"]
    other = binomtest(hits, of).proportion_ci(method="wilson")
    assert (found.low, found.high) == pytest.approx((other.low, other.high), abs=1e-12)
    assert (found.method, found.n, found.value) == ("wilson", of, hits / of)


def test_answers_to_one_task_are_one_unit_and_a_large_cluster_is_no_more() -> None:
    five_each = ratios_of_sums([f"t{place % 4}" for place in range(20)], {"x": [(1.0, 1.0)] * 20})["x"]
    assert (five_each.n, five_each.low) == (20, pytest.approx(rate(4, 4).low))
    tasks = [f"t{place}" for place in range(100)]
    of_source = {task: "small" if task in ("t0", "t1") else "large" for task in tasks}
    found = ratios_of_sums(tasks, {"x": [(1.0, 1.0)] * 100}, clusters=of_source)["x"]
    # Kish's effective number: 100^2 / (98^2 + 2^2), hardly more than one source.
    assert found.low == pytest.approx(1 - most(100**2 / (98**2 + 2**2))) and found.low < rate(2, 2).low


def test_the_interval_of_a_mean_of_two_figures_has_the_means_of_their_ends_and_is_named_averaged() -> None:
    found = mean_of_estimates(rate(14, 14), rate(5, 10), "unknown")
    low, high = rate(14, 14).low + rate(5, 10).low, 1 + rate(5, 10).high
    assert (found.value, found.n, found.method) == (0.75, 24, "averaged")
    assert (found.low, found.high) == pytest.approx((low / 2, high / 2))
    assert mean_of_estimates(rate(1, 1), rate(0, 0), "no second").model_dump(exclude_none=True) == {"why": "no second"}


@pytest.mark.parametrize("failing", range(5))
def test_fewer_than_five_tasks_that_deviate_have_wilsons_interval_over_tasks(failing: int) -> None:
    # Of five answers to each of 14 tasks, one fails in some tasks.
    tasks = [(4.0 if task < failing else 5.0, 5.0) for task in range(14)]
    found = ratios_of_sums([f"t{task}" for task in range(14)], {"x": tasks})["x"]
    assert (found.low, found.high) == pytest.approx(wilson_interval(14 - failing / 5, 14))
    assert (found.n, found.method) == (70, "wilson")


def test_with_five_tasks_that_deviate_resamples_show_the_spread() -> None:
    tasks = [(4.0 if task < 5 else 5.0, 5.0) for task in range(14)]
    found = ratios_of_sums([f"t{task}" for task in range(14)], {"x": tasks})["x"]
    assert found.method == "bootstrap" and 0.87 < found.low < 0.9 and 0.96 < found.high < 0.98


@pytest.mark.parametrize(
    ("off", "deviating"), [([0.0] * 9, 0), ([0.0] * 8 + [1.0], 1), ([0.0] * 5 + [1.0] * 2 + [-1.0] * 2, 4)]
)
def test_a_difference_of_shares_may_be_bounded_on_both_sides(off: list[float], deviating: int) -> None:
    below, above = (sum(each == way for each in off) for way in (-1, 1))
    lost, gained = wilson_interval(below, len(off)), wilson_interval(above, len(off))
    values, ones = np.array(off), np.ones(len(off))
    found = wilson_over_units(values, ones, (-1.0, 1.0))
    assert found == pytest.approx((gained[0] - lost[1], gained[1] - lost[0]))
    assert count_deviating(values, ones) == deviating


@settings(max_examples=60)
@given(st.integers(1, 40), st.integers(1, 6), st.integers(0, 6), st.booleans())
def test_one_answer_that_deviates_makes_the_interval_at_most_a_tenth_narrower(
    tasks: int, answers: int, right: int, more: bool
) -> None:
    right = min(right, answers)
    changed = min(right + 1, answers) if more else max(right - 1, 0)
    units = [f"t{place}" for place in range(tasks)]
    alike = [(float(right), float(answers))] * tasks
    rows = {"alike": alike, "changed": [*alike[1:], (float(changed), float(answers))]}
    found = ratios_of_sums(units, rows, resamples=50)
    before, after = (each.high - each.low for each in found.values())  # type: ignore[operator]  # all have intervals
    assert after > 0.9 * before


def test_a_mean_without_limits_has_no_interval_where_few_units_deviate() -> None:
    rows = {
        "four": [(float(place < 4), 1.0) for place in range(14)],
        "five": [(float(place < 5), 1.0) for place in range(14)],
    }
    found = ratios_of_sums([f"t{place}" for place in range(14)], rows, unlimited=rows)
    assert found["four"].low is None and "fewer than 5 differ" in (found["four"].why or "")
    assert found["five"].method == "bootstrap"


def test_a_mean_without_limits_has_no_interval_where_all_units_agree() -> None:
    rows = {"beyond": [(2.0, 1.0)] * 3, "share": [(1.0, 1.0)] * 3}
    found = ratios_of_sums(["a", "b", "c"], rows, unlimited=["beyond"])
    assert (found["beyond"].value, found["beyond"].low) == (2, None) and "no spread" in (found["beyond"].why or "")
    assert found["share"].low is not None


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 2)), min_size=1, max_size=9),
    st.integers(1, 40),
)
def test_a_ratio_has_an_interval_of_some_width_around_it_whatever_the_rows(
    rows: list[tuple[int, int, int]], resamples: int
) -> None:
    sides = [(float(min(hits, of)), float(of)) for hits, of, _ in rows]
    clusters = {f"t{place}": f"s{cluster}" for place, (_, _, cluster) in enumerate(rows)}
    for by in (None, clusters):
        found = ratios_of_sums([*clusters], {"x": sides}, clusters=by, resamples=resamples)["x"]
        if found.value is None:
            assert (found.n, found.low, found.high) == (0, None, None)
        else:
            assert found.low is not None and found.high is not None and found.high - found.low > 1e-6
            assert -1e-9 <= found.low <= found.high <= 1 + 1e-9


def test_a_ratio_without_a_denominator_says_why() -> None:
    found = ratios_of_sums(["a"], {"x": [LEFT_OUT], "y": [LEFT_OUT]}, resamples=10, why={"x": "nobody succeeded"})
    assert {name: (each.value, each.low, each.n, each.why) for name, each in found.items()} == {
        "x": (None, None, 0, "nobody succeeded"),
        "y": (None, None, 0, None),
    }
    assert all(each.method is None for each in found.values())
    assert ratios_of_sums([], {"x": []}, resamples=10)["x"].value is None
