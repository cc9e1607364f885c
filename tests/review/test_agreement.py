"""Against worked examples as published, and against the definitions."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hazardmill.statistics.agreement import alpha, cohen, fleiss
from hazardmill.statistics.proportion import rate


def units(*raters):
    """A unit a column; a dot is a missing rating."""
    return [{rater: said for rater, said in enumerate(column) if said != "."} for column in zip(*raters, strict=True)]


@pytest.mark.parametrize(
    ("raters", "value"),
    [
        # Krippendorff, K. (2011), Computing Krippendorff's Alpha-Reliability, sections A, B and C.
        (("0100000010", "1110010000"), 0.095),
        (("aabbdcccedda", "babbbccceddd"), 0.692),
        (("123321412...", "1233224125.3", ".3332342251.", "12332441251."), 0.743),
    ],
)
def test_alpha_is_that_of_krippendorff_2011(raters, value):
    found = alpha(units(*raters))
    assert found.value == pytest.approx(value, abs=5e-4)
    assert found.low < found.value < found.high


def disagreement(ratings):
    """The share of ordered pairs of two of these ratings that differ."""
    pairs = list(itertools.permutations(ratings, 2))
    return Fraction(sum(one != other for one, other in pairs), len(pairs))


def defined_alpha(units):
    """Alpha as it is defined, pair by pair and in exact numbers; None where no pair could differ."""
    paired = [list(unit.values()) for unit in units if len(unit) > 1]
    everything = [rating for unit in paired for rating in unit]
    if not everything or not disagreement(everything):
        return None
    # A unit weighs as much as it has ratings.
    observed = sum((len(unit) * disagreement(unit) for unit in paired), Fraction(0)) / len(everything)
    return 1 - observed / disagreement(everything)


# An interval comes with each value: a thousand resamples.
@settings(max_examples=50)
@given(st.lists(st.dictionaries(st.sampled_from("rstu"), st.sampled_from("abc")), max_size=12))
def test_alpha_is_its_definition_with_ratings_missing(given):
    found, defined = alpha(given), defined_alpha(given)
    assert (found.value is None) == (defined is None)
    assert defined is None or found.value == pytest.approx(float(defined), abs=1e-12)


def test_kappa_is_that_of_cohen_1960():
    # Cohen, J. (1960), A coefficient of agreement for nominal scales: 200 units, kappa .492.
    table = ((88, 14, 18), (10, 40, 10), (2, 6, 12))
    pairs = [
        {"a": one, "b": other} for one, row in enumerate(table) for other, count in enumerate(row) for _ in range(count)
    ]
    found = cohen([*pairs, {"a": 1}, {"b": 2}], "a", "b")
    assert found.value == pytest.approx(0.492, abs=5e-4)
    assert found.n == 200


def test_kappa_is_that_of_fleiss_1971():
    # Fleiss, J. L. (1971), Measuring nominal scale agreement among many raters: 30 patients, six psychiatrists, five
    # diagnoses, kappa .430.
    patients = """
        444444 222555 233335 555555 222444 113333 333355 113334 114444 555555 144444 124444 222333 144444 224445
        333335 111455 111112 224444 133555 555555 244444 224555 114444 144445 222224 111155 224444 133333 555555
    """.split()
    found = fleiss([dict(enumerate(patient)) for patient in patients], 6)
    assert found.value == pytest.approx(0.430, abs=5e-4)
    assert found.n == 30


def test_fleiss_takes_only_what_has_that_many_ratings():
    full = [{"a": 1, "b": 1}, {"a": 1, "c": 2}, {"b": 2, "c": 2}]
    assert fleiss([*full, {"a": 1}, {"a": 1, "b": 2, "c": 1}], 2) == fleiss(full, 2)


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (alpha([]), "no two reviewers"),
        (alpha([{"a": 1}, {"b": 2}]), "no two reviewers"),
        (alpha([{"a": 1, "b": 1}] * 9), "all ratings are the same"),
        (cohen([{"a": 1}, {"b": 2}], "a", "b"), "no two reviewers"),
        (cohen([{"a": 1, "b": 1}] * 9, "a", "b"), "all ratings are the same"),
        (fleiss([{"a": 1, "b": 1}] * 9, 2), "all ratings are the same"),
        (fleiss([{"a": 1}], 0), "no task has two"),
    ],
)
def test_what_is_not_defined_is_null_with_a_reason(found, why):
    assert found.value is None and found.low is None and found.high is None
    assert why in found.why


def test_no_interval_where_many_resamples_have_no_value():
    found = alpha([{"a": 1, "b": 1}, {"a": 2, "b": 2}])
    assert found.value == 1 and found.low is None and "too few" in found.why


def test_raters_who_always_contradict_agree_less_than_by_chance():
    found = cohen([{"a": 1, "b": 2}, {"a": 2, "b": 1}] * 5, "a", "b")
    assert found.value == pytest.approx(-1)


def test_intervals_are_the_same_for_the_same_seed():
    given = units("0100000010", "1110010000")
    assert alpha(given, seed=3) == alpha(given, seed=3) != alpha(given, seed=4)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_interval_of_a_rate_is_that_of_wilson_1927(pair):
    count, of = pair
    found = rate(count, of)
    z = 1.959963984540054
    for bound in (found.low, found.high):
        # The bounds are those true shares from which what was seen is just z standard deviations away.
        if 0 < bound < 1:
            assert abs(count / of - bound) == pytest.approx(z * math.sqrt(bound * (1 - bound) / of), rel=1e-6, abs=1e-7)
    assert 0 <= found.low <= found.value <= found.high <= 1


def test_a_share_of_nothing_is_unknown():
    assert rate(0, 0).value is None and rate(0, 0).why
