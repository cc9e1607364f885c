"""Least squares against Anscombe's published figures and against statsmodels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.regression.linear_model import OLS
from statsmodels.tools import add_constant

from hazardmill.reporting.estimates import render_estimate
from hazardmill.statistics.regression import fit

# Anscombe, F. J. (1973), Graphs in statistical analysis: four sets with one line, y = 3 + 0.5 x, R2 0.667 (0.666 to
# 0.667 as rounded), standard error of the slope 0.118.
X = (10, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5)
SETS = (
    (X, (8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68)),
    (X, (9.14, 8.14, 8.74, 8.77, 9.26, 8.10, 6.13, 3.10, 9.13, 7.26, 4.74)),
    (X, (7.46, 6.77, 12.74, 7.11, 7.81, 8.84, 6.08, 5.39, 8.15, 6.42, 5.73)),
    ((8, 8, 8, 8, 8, 8, 8, 19, 8, 8, 8), (6.58, 5.76, 7.71, 8.84, 8.47, 7.04, 5.25, 12.50, 5.56, 7.91, 6.89)),
)


@pytest.mark.parametrize(("x", "y"), SETS)
def test_the_line_is_that_of_anscombe_1973(x, y):
    found = fit(x, y)
    assert found.n == 11
    assert found.slope.value == pytest.approx(0.5, abs=5e-4)
    assert found.intercept.value == pytest.approx(3.0, abs=5e-3)
    assert found.r_squared == pytest.approx(0.667, abs=1e-3)
    # Student's t of 9 degrees of freedom, 97.5 %: 2.262.
    assert (found.slope.high - found.slope.low) / 2 == pytest.approx(2.262 * 0.118, abs=1e-3)


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(-50, 50), st.integers(-50, 50)), min_size=4, max_size=30))
def test_everything_is_as_statsmodels_has_it(points):
    x, y = zip(*points, strict=True)
    found = fit(x, y)
    if len(set(points)) < 4 or len(set(x)) == 1:
        assert found.slope.value is None and found.why
        return
    if len(set(y)) == 1:
        assert (found.slope.value, found.slope.low, found.r_squared, found.p) == (0, None, None, None) and found.why
        return
    fitted = OLS(np.array(y, float), add_constant(np.array(x, float))).fit()
    if fitted.ssr < 1e-9:
        assert found.r_squared == pytest.approx(1)
        assert (found.slope.low, found.intercept.high) == (None, None) and "on the line" in found.why
        return
    (low_0, high_0), (low_1, high_1) = fitted.conf_int()
    assert (found.intercept.value, found.slope.value) == pytest.approx(tuple(fitted.params), abs=1e-7)
    assert (found.intercept.low, found.intercept.high) == pytest.approx((low_0, high_0), abs=1e-6)
    assert (found.slope.low, found.slope.high) == pytest.approx((low_1, high_1), abs=1e-6)
    assert found.r_squared == pytest.approx(fitted.rsquared, abs=1e-9)
    assert found.p == pytest.approx(fitted.pvalues[1], abs=1e-8)


@settings(max_examples=50)
@given(
    st.lists(st.integers(-50, 50), min_size=4, max_size=12, unique=True),
    st.floats(-9, 9).filter(lambda slope: abs(slope) > 0.01),
    st.floats(-99, 99),
)
def test_points_on_a_line_have_no_interval_whatever_the_rounding(x, slope, start):
    found = fit(x, [start + slope * each for each in x])
    assert (found.slope.low, found.intercept.low) == (None, None) and "on the line" in found.why
    assert found.slope.value == pytest.approx(slope) and found.r_squared == pytest.approx(1)


@pytest.mark.parametrize("level", [0.1, 40.0, 100 / 3])
def test_equal_values_have_no_interval_and_none_is_shown(level):
    found = fit([1.0, 2.0, 3.0, 4.5, 7.0], [level] * 5)
    for each, value in ((found.slope, 0), (found.intercept, level)):
        assert (each.value, each.low, each.high, each.method) == (value, None, None, None) and each.why == found.why
    assert found.why == "the values do not vary: there is nothing to explain"
    assert render_estimate(found.slope, "{:.2f}".format) == f"0.00 (no interval: {found.why})"
    assert render_estimate(found.intercept, "{:.2f}".format) == f"{level:.2f} (no interval: {found.why})"


@pytest.mark.parametrize(
    ("x", "y"),
    [((), ()), ((1,), (2,)), ((1, 2, 4), (3, 4, 4)), ((1, 2, 4, 4), (3, 4, 5, 5)), ((5, 5, 5, 5), (1, 2, 3, 4))],
)
def test_too_few_points_or_no_spread_give_null_and_a_reason(x, y):
    found = fit(x, y)
    assert (found.slope.value, found.intercept.value, found.r_squared, found.p) == (None, None, None, None)
    assert found.n == len(x) and found.why
