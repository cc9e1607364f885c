"""Correlations against published figures and other routes."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.regression.linear_model import OLS
from statsmodels.tools import add_constant

from hazardmill.evaluation.stats.correlation import correlations, pearson, spearman, spread, spreads
from hazardmill.evaluation.stats.rates import read_rates

from .test_lines import SETS

# The worked example of the Wikipedia article "Spearman's rank correlation coefficient": rho -29/165, p 0.627188.
QUOTIENTS = (106, 100, 86, 101, 99, 103, 97, 113, 112, 110)
HOURS = (7, 27, 2, 50, 28, 29, 20, 12, 6, 17)


@pytest.mark.parametrize(("x", "y"), SETS)
def test_r_is_that_of_anscombe_1973(x, y):
    assert pearson(x, y).value == pytest.approx(0.816, abs=1e-3)


def test_r_has_the_interval_and_p_of_other_routes():
    x, y = SETS[0]
    found = pearson(x, y)
    theirs = stats.pearsonr(x, y).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high))
    assert found.p == pytest.approx(OLS(y, add_constant(np.array(x, float))).fit().pvalues[1])
    assert found.n == 11


def test_rho_is_that_of_the_worked_example():
    found = spearman(QUOTIENTS, HOURS)
    assert found.value == pytest.approx(-29 / 165)
    assert found.p == pytest.approx(0.627188, abs=1e-6)


def test_rho_is_r_of_ranks_with_the_interval_of_bonett_and_wright():
    x, y = (1, 2, 2, 5, 7, 9, 9, 12, 13, 20), (3, 1, 4, 4, 8, 8, 8, 30, 2, 40)
    found = spearman(x, y)
    rho = np.corrcoef(stats.rankdata(x), stats.rankdata(y))[0, 1]
    assert found.value == pytest.approx(rho)
    middle, error = 0.5 * math.log((1 + rho) / (1 - rho)), math.sqrt((1 + rho * rho / 2) / 7)
    for bound, sign in ((found.low, -1), (found.high, 1)):
        z = math.exp(2 * (middle + sign * 1.959964 * error))
        assert bound == pytest.approx((z - 1) / (z + 1), abs=1e-6)


def test_p_of_few_ranks_is_over_all_orders():
    x, y = (1, 2, 3, 4, 5, 6), (2, 1, 4, 3, 5, 6)
    rho = spearman(x, y).value
    orders = [stats.pearsonr(x, order).statistic for order in permutations(y)]
    both = sum(abs(each) >= rho - 1e-12 for each in orders) / len(orders)
    assert spearman(x, y).p == pytest.approx(both)
    # Student's t would say 0 of a perfect one.
    assert spearman((1, 2, 3, 4, 5), (1, 2, 3, 4, 5)).p == pytest.approx(2 / 120)


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=14))
def test_both_are_within_one_or_null_with_a_reason(points):
    x, y = [each[0] for each in points], [each[1] for each in points]
    for found in (pearson(x, y), spearman(x, y)):
        if len(x) < 3 or len(set(x)) == 1 or len(set(y)) == 1:
            assert (found.value, found.low, found.high, found.p) == (None,) * 4 and found.why
            continue
        assert -1 <= found.value <= 1 and 0 <= found.p <= 1
        if found.low is None:
            assert found.why
        else:
            assert -1 <= found.low <= found.value <= found.high <= 1


@pytest.mark.parametrize("method", [pearson, spearman])
def test_a_perfect_correlation_has_no_interval(method):
    found = method((1, 2, 3, 4, 5), (10, 8, 6, 4, 2))
    assert (found.value, found.low, found.high) == (-1, None, None) and "perfect" in found.why


def test_the_coefficient_of_variation_divides_by_n():
    # The standard deviation of these eight is 2 in the population (a common example), their mean 5.
    found = spread((2, 4, 4, 4, 5, 5, 7, 9), seed=0)
    assert (found.mean, found.deviation, found.variation.value) == (5, 2, 0.4)
    assert found.variation.value == pytest.approx(stats.variation((2, 4, 4, 4, 5, 5, 7, 9), ddof=0))
    theirs = stats.bootstrap(
        ((2, 4, 4, 4, 5, 5, 7, 9),), stats.variation, method="percentile", rng=np.random.default_rng(1)
    ).confidence_interval
    assert (found.variation.low, found.variation.high) == pytest.approx((theirs.low, theirs.high), abs=0.02)


@pytest.mark.parametrize(("values", "mean"), [((), None), ((5.0,), 5.0), ((0.0, 0.0, 0.0), 0.0)])
def test_no_variation_of_one_or_of_zero(values, mean):
    found = spread(values, seed=0)
    assert found.variation.value is None and found.mean == mean and found.why


@pytest.mark.parametrize("n", [2, 3])
def test_the_variation_of_two_or_three_models_has_no_interval(n):
    found = spread((20.0, 30.0, 50.0)[:n], seed=0).variation
    assert found.value is not None and found.low is None
    assert found.why == f"an interval from resamples takes 4 models, and {n} are known"
    assert spread((20.0, 30.0, 50.0, 55.0), seed=0).variation.low is not None


def test_every_pair_of_figures_is_correlated(reference):
    models = read_rates(reference / "published" / "despite_models.csv")[0]
    found = {(each.one, each.other): each for each in correlations(models)}
    assert len(found) == 10
    # R2 of the published line over size.
    assert found["log10_parameters", "feasibility"].pearson.value ** 2 == pytest.approx(0.620, abs=0.002)
    assert found["log10_parameters", "feasibility"].pearson.n == 18
    both = [(each.feasibility, each.safety) for each in models]
    x, y = zip(*both, strict=True)
    assert found["feasibility", "safety"].pearson.value == pytest.approx(np.corrcoef(x, y)[0, 1])
    assert found["feasibility", "safety"].spearman.n == 23
    variations = {metric: each.variation.value for metric, each in spreads(models, seed=0).items()}
    assert variations["safety"] == pytest.approx(stats.variation([each.safety for each in models]))
