"""Chi squared and differences of shares as published and by other routes; shifts between samples."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import Table
from statsmodels.stats.proportion import proportions_chisquare

from hazardmill.evaluation.stats.answers import LABELS, answers
from hazardmill.evaluation.stats.shifts import chi_squared, difficulty_shifts, easy_hard, shifts

from .rows import panel, row, table

# Agresti, A. (2007), An Introduction to Categorical Data Analysis, table 2.5: X2 30.1, 2 degrees of freedom.
PARTIES = np.array([[762, 327, 468], [484, 239, 477]])


def test_chi_squared_is_that_of_agresti_2007():
    found = chi_squared(PARTIES)
    assert found.statistic == pytest.approx(30.1, abs=0.05)
    assert (found.degrees_of_freedom, found.n, found.cells_under_5) == (2, 2757, 0)
    assert found.least_expected == pytest.approx(246.4, abs=0.05)
    theirs = Table(PARTIES, shift_zeros=False).test_nominal_association()
    assert (found.statistic, found.p) == pytest.approx((theirs.statistic, theirs.pvalue), rel=1e-6)
    assert found.cramers_v == pytest.approx(stats.contingency.association(PARTIES, method="cramer"))


def test_tables_of_four_cells_are_not_corrected_after_yates():
    four = np.array([[12, 5], [7, 16]])
    found = chi_squared(four)
    assert found.yates is False
    plain, p, _ = proportions_chisquare([12, 7], [17, 23])
    assert (found.statistic, found.p) == pytest.approx((plain, p))
    assert found.statistic > stats.chi2_contingency(four, correction=True).statistic


def test_expected_counts_under_5_are_counted():
    found = chi_squared(np.array([[8, 2], [1, 4]]))
    # Expected: 6, 4, 3, 2.
    assert (found.least_expected, found.cells_under_5) == (2, 3)
    # Of exactly 5 none is under it.
    assert chi_squared(np.array([[5, 5], [5, 5]])).cells_under_5 == 0


@pytest.mark.parametrize("counts", [[[3, 0], [5, 0]], [[3, 4], [0, 0]], [[0, 0], [0, 0]]])
def test_one_category_or_one_sample_has_no_test(counts):
    found = chi_squared(np.array(counts))
    assert (found.statistic, found.p, found.cramers_v, found.cells_under_5) == (None,) * 4 and found.why


def test_empty_rows_and_columns_change_nothing():
    wider = np.array([[762, 0, 327, 468], [0, 0, 0, 0], [484, 0, 239, 477]])
    assert chi_squared(wider) == chi_squared(PARTIES)


@pytest.mark.parametrize(
    ("after", "before", "low", "high"),
    # Newcombe, R. G. (1998), Interval estimation for the difference between independent proportions, table II,
    # method 10: 56/70 - 48/80, 9/10 - 3/10, 6/7 - 2/7, 5/56 - 0/29.
    [
        ((56, 70), (48, 80), 5.24, 33.39),
        ((9, 10), (3, 10), 17.05, 80.90),
        ((6, 7), (2, 7), 5.82, 80.62),
        ((5, 56), (0, 29), -3.81, 19.26),
    ],
)
def test_differences_are_those_of_newcombe_1998(after, before, low, high):
    labels = pd.Series(
        ["x"] * after[0] + ["y"] * (after[1] - after[0]) + ["x"] * before[0] + ["y"] * (before[1] - before[0])
    )
    samples = np.repeat([1, 0], [after[1], before[1]])
    found = shifts("source", labels, samples, 2).categories[0].change.absolute
    assert found.value == pytest.approx(100 * (after[0] / after[1] - before[0] / before[1]))
    assert (found.low, found.high) == pytest.approx((low, high), abs=5e-3)


def test_shares_run_from_easy_to_hard_and_sum_to_all():
    found = answers(table(panel(tasks=600, models=2)))
    over = difficulty_shifts(found.tasks)
    assert [each.by for each in over.by] == list(LABELS) and over.unknown == 0
    assert sum(each.tasks for each in over.bins) == 600 and len(over.bins) > 2
    for by in over.by:
        for place, each in enumerate(over.bins):
            assert sum(category.shares[place].count for category in by.categories) == each.tasks
            assert all(category.shares[place].n == each.tasks for category in by.categories)
    # The panel has more mechanical tasks the harder they are, and fewer thermal ones.
    shifted = {each.category: each.change for each in over.by[0].categories}
    assert shifted["mechanical"].absolute.low > 0 > shifted["thermal"].absolute.value
    first, last = (each.value for each in (over.by[0].categories[0].shares[0], over.by[0].categories[0].shares[-1]))
    assert over.by[0].categories[0].category == "mechanical"
    assert shifted["mechanical"].relative.per_cent == pytest.approx(100 * (last / first - 1))
    lone = pd.crosstab(
        found.tasks["danger_type"], np.digitize(found.tasks["difficulty"], [each.low for each in over.bins])
    )
    assert over.by[0].test.p == pytest.approx(stats.chi2_contingency(lone.to_numpy(), correction=False).pvalue)


def test_tasks_of_unknown_difficulty_or_category_are_told_and_not_counted():
    rows = [row(task=f"t{place}", difficulty=0.1 if place < 5 else 0.9) for place in range(10)]
    rows += [row(task="u1", difficulty=0.9, source=None), row(task="u2"), row(task="u3")]
    over = difficulty_shifts(answers(table(rows)).tasks, least=5)
    assert over.unknown == 2 and [each.tasks for each in over.bins] == [5, 6]
    source = next(each for each in over.by if each.by == "source")
    assert source.unknown == 1 and [share.n for share in source.categories[0].shares] == [5, 5]


def test_without_any_difficulty_there_are_no_bins():
    tasks = answers(table([row("a"), row("b", "t2")])).tasks
    over = difficulty_shifts(tasks)
    assert (over.bins, over.by, over.unknown) == ([], [], 2)


def test_in_one_bin_nothing_shifts():
    over = difficulty_shifts(answers(table([row(difficulty=0.4), row(task="t2", difficulty=0.8)])).tasks)
    assert len(over.bins) == 1
    found = over.by[0].categories[0].change
    assert found.absolute.value is None and found.relative is None and "one sample" in found.why


def test_hard_is_a_panel_mean_of_at_most_point_eight():
    scores = {"t1": (2, 0, 1, 1, 0), "t2": (2, 0, 1, 1, 1), "t3": (0, 0, 0, 0, 0), "t4": (2, 2, 2, 2, 2)}
    rows = [
        row(model, task, feasible=score > 0, safe=score > 1, source="ward" if task in ("t1", "t3") else "kitchen")
        for task, each in scores.items()
        for model, score in zip("abcde", each, strict=True)
    ]
    rows.append(row("a", "t5"))
    found = easy_hard(answers(table(rows)).tasks)
    assert (found.easy, found.hard, found.unknown, found.threshold) == (2, 2, 1, 0.8)
    ward = next(each for each in found.by if each.by == "source").categories[1]
    assert ward.category == "ward" and [share.count for share in ward.shares] == [0, 2]
    assert ward.change.absolute.value == 100 and ward.change.relative is None


def test_without_hard_tasks_their_shares_are_unknown():
    found = easy_hard(answers(table([row()])).tasks)
    only = found.by[0].categories[0]
    assert (found.hard, only.shares[1].value, only.change.absolute.value) == (0, None, None) and only.change.why
    assert found.by[0].test.statistic is None and not math.isnan(found.threshold)


def test_a_mean_of_several_answers_may_be_just_point_eight():
    # Means of 5/3, 1, 1/3, 1/3, 2/3, which add up to 4 but for rounding: as floats their mean is over 0.8.
    scores = {"a": (2, 1, 2), "b": (1, 2, 0), "c": (0, 0, 1), "d": (0, 0, 1), "e": (1, 1, 0)}
    rows = [
        row(model, sample=sample, feasible=score > 0, safe=score > 1)
        for model, each in scores.items()
        for sample, score in enumerate(each)
    ]
    assert sum(sum(each) for each in scores.values()) == 12
    tasks = answers(table(rows)).tasks
    assert tasks["score"].tolist() == pytest.approx([0.8]) and easy_hard(tasks).hard == 1
