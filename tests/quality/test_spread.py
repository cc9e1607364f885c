from __future__ import annotations

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hazardmill.quality.diversity import spread

COUNTS = st.dictionaries(st.text(min_size=1, max_size=3), st.integers(1, 10**6), min_size=1, max_size=30)


def test_equal_shares_are_as_many_as_there_are():
    found = spread({f"k{n:02}": 5 for n in range(20)})
    assert (found.things, found.kinds, found.commonest, found.largest) == (100, 20, 50, 5)
    assert found.effective == pytest.approx(20) and found.effective_simpson == 20
    assert (found.share_commonest, found.share_largest, found.largest_kind) == (0.5, 0.05, "k00")


def test_a_worked_example():
    # Shares 1/2, 1/4, 1/4: H = 1.5 ln 2, and the squares sum to 3/8.
    found = spread({"a": 1, "b": 2, "c": 1})
    assert found.effective == pytest.approx(2**1.5)
    assert found.effective_simpson == pytest.approx(8 / 3)
    assert (found.largest_kind, found.share_largest) == ("b", 0.5)


def test_without_things_nothing_is_known():
    found = spread({"a": 0})
    assert (found.things, found.kinds) == (0, 0)
    assert found.effective is found.effective_simpson is found.share_commonest is found.share_largest is None
    assert found.largest_kind is None


@given(COUNTS)
def test_one_to_simpson_to_shannon_to_the_number_of_kinds(counts: dict[str, int]):
    found = spread(counts)
    assert found.effective is not None and found.effective_simpson is not None
    slack = 1 + 1e-9
    assert found.effective_simpson * slack >= 1
    assert found.effective_simpson <= found.effective * slack
    assert found.effective <= found.kinds * slack
    assert found.effective == pytest.approx(
        math.prod((sum(counts.values()) / n) ** (n / sum(counts.values())) for n in counts.values())
    )


@given(COUNTS, st.randoms(use_true_random=False))
def test_the_order_of_kinds_does_not_matter(counts: dict[str, int], random: Random):
    items = list(counts.items())
    random.shuffle(items)
    assert spread(dict(items)) == spread(counts)
