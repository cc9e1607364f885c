"""A straight line by ordinary least squares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from hazardmill.records import FrozenModel
from hazardmill.statistics.estimate import LEVEL, Estimate, IntervalOrNull, interval_around

Floats = NDArray[np.float64]

FEWEST: Final = 3
"""Points below which a line has no interval."""


class RegressionLine(FrozenModel):
    """``y = intercept + slope * x``, with intervals from Student's t on n - 2 degrees of freedom."""

    n: int
    slope: IntervalOrNull
    intercept: IntervalOrNull
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
    reach = float(stats.t.ppf((1 + LEVEL) / 2, n - 2))
    slope = interval_around(float(found.slope), float(reach * found.stderr), n=n, method="student")
    intercept = interval_around(float(found.intercept), float(reach * found.intercept_stderr), n=n, method="student")
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
    estimate = Estimate(value=None, n=n, why=why)
    return RegressionLine(n=n, slope=estimate, intercept=estimate, r_squared=None, p=None, why=why)


def slopes(x: Floats, y: Floats) -> Floats:
    """The least-squares slope of each row; NaN where all its x are one."""
    off = x - x.mean(axis=1, keepdims=True)
    # Equal x leave rounding errors behind, not zero.
    square = np.where(np.ptp(x, axis=1) == 0, np.nan, (off**2).sum(axis=1))
    found: Floats = (off * y).sum(axis=1) / square
    return found
