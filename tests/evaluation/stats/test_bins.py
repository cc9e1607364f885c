from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hazardmill.evaluation.stats.answers import answers
from hazardmill.evaluation.stats.bins import Bin, bins, places

from .rows import row, table


def test_bins_are_ten_where_each_has_enough():
    found = bins(np.repeat(np.arange(10) / 10 + 0.05, 100))
    assert [(round(each.low, 1), round(each.high, 1), each.tasks) for each in found] == [
        (place / 10, (place + 1) / 10, 100) for place in range(10)
    ]


def test_a_bin_of_99_goes_to_its_smaller_neighbour():
    counts = (150, 99, 120, 200, 100, 100, 100, 100, 100, 100)
    found = bins(np.repeat(np.arange(10) / 10 + 0.05, counts))
    assert [each.tasks for each in found] == [150, 219, 200, 100, 100, 100, 100, 100, 100]
    assert (found[1].low, found[1].high) == pytest.approx((0.1, 0.3))


def test_of_equals_the_easier_bin_goes_first_and_to_the_easier_one():
    assert [each.tasks for each in bins(np.repeat([0.05, 0.15, 0.25, 0.95], [3, 2, 3, 2]), least=3)] == [5, 5]
    # All the empty ones go first, each to the easier of equal neighbours; then the two at the ends have nowhere to go.
    assert [each.tasks for each in bins(np.array([0.05, 0.95]), least=100)] == [2]


def test_the_last_bin_holds_one_and_inner_bounds_belong_to_the_harder():
    of = [Bin(low=0, high=0.5, tasks=2), Bin(low=0.5, high=1, tasks=2)]
    assert places(np.array([0, 0.49, 0.5, 1]), of).tolist() == [0, 0, 1, 1]
    assert bins(np.array([1.0]), least=1)[-1].tasks == 1


@given(
    st.lists(st.one_of(st.floats(0, 1), st.integers(0, 10).map(lambda tenths: tenths / 10)), max_size=300),
    st.integers(1, 60),
)
def test_bins_cover_everything_once(difficulty, least):
    values = np.array(difficulty, dtype=float)
    found = bins(values, least)
    assert (found[0].low, found[-1].high) == (0, 1)
    assert all(one.high == other.low for one, other in pairwise(found))
    assert len(found) == 1 or all(each.tasks >= least for each in found)
    assert np.bincount(places(values, found), minlength=len(found)).tolist() == [each.tasks for each in found]


@pytest.mark.parametrize("failing", range(11))
def test_as_many_models_in_ten_are_in_the_bin_of_that_share(failing):
    rows = [row(f"m{model}", feasible=model >= failing, safe=model >= failing) for model in range(10)]
    found = answers(table(rows)).tasks["difficulty"].to_numpy()
    of = [each for each in bins(found, least=0) if each.tasks]
    assert [each.low for each in of] == [min(failing, 9) / 10]
