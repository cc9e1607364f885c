"""A straight line by ordinary least squares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from scipy import stats

from hazardmill.records import FrozenModel
from hazardmill.statistics.proportion import CONFIDENCE

FEWEST: Final = 3
"""Points below which a line has no interval."""


class IntervalEstimate(FrozenModel):
    """A value with its 95 % interval, as far as there is one."""

    value: float
    low: float | None = None
    high: float | None = None


class RegressionLine(FrozenModel):
    """``y = intercept + slope * x``, with intervals from Student's t on n - 2 degrees of freedom."""

    n: int
    slope: IntervalEstimate | None
    intercept: IntervalEstimate | None
    r_squared: float | None
    p: float | None
    """Of the hypothesis that the slope is zero, two-sided."""
    why: str | None = None
    """Why something is not known."""


def fit(x: Sequence[float], y: Sequence[float]) -> RegressionLine:
    """The line through points; null where they are too few or do not spread."""
    n = len(x)
    if n < FEWEST:
        return _unknown(n, too_few("a line", n))
    if len(set(x)) == 1:
        return _unknown(n, "there is no spread to fit a line along")
    found = stats.linregress(x, y)
    reach = float(stats.t.ppf((1 + CONFIDENCE) / 2, n - 2))
    slope = _estimate(found.slope, reach * found.stderr)
    intercept = _estimate(found.intercept, reach * found.intercept_stderr)
    if np.ptp(y) == 0:
        why = "the values do not vary: nothing is to be explained"
        return RegressionLine(n=n, slope=slope, intercept=intercept, r_squared=None, p=None, why=why)
    return RegressionLine(
        n=n, slope=slope, intercept=intercept, r_squared=float(found.rvalue) ** 2, p=float(found.pvalue)
    )


def too_few(what: str, n: int) -> str:
    """Why there is no line, or no correlation, of so few models."""
    return f"{what} takes {FEWEST} models, and {n} {'is' if n == 1 else 'are'} known"


def _unknown(n: int, why: str) -> RegressionLine:
    return RegressionLine(n=n, slope=None, intercept=None, r_squared=None, p=None, why=why)


def _estimate(value: float, reach: float) -> IntervalEstimate:
    return IntervalEstimate(value=float(value), low=float(value - reach), high=float(value + reach))
