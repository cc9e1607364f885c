"""Straight lines by ordinary least squares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from hazardmill.records import FrozenModel
from hazardmill.statistics.estimate import LEVEL, Estimate, IntervalOrNull, interval_around

Floats = NDArray[np.float64]

FEWEST: Final = 4
"""With fewer distinct points than this there is no line: three leave a single degree of freedom."""

ON_THE_LINE: Final = "the points lie on the line, so nothing shows how far others would be from it"
"""Why the slope and the intercept of points without residuals have no interval."""


NOTHING_VARIES: Final = "the values do not vary: there is nothing to explain"
"""Why the line of equal y has neither intervals nor ``r_squared``."""

_ON_THE_LINE: Final = 1e-9
"""Residuals that are no larger than this part of the range of y are rounding."""


class RegressionLine(FrozenModel):
    """The line ``y = intercept + slope * x``, with 95 % intervals from Student's t on n - 2 degrees of freedom.

    Attributes:
        n: Number of points.
        slope: Slope with its interval; written as null if there is no line.
        intercept: Intercept with its interval; written as null if there is no line.
        r_squared: Share of the variance of y that the line explains; ``None`` if there is no line or y does not vary.
        p: Two-sided p-value of the hypothesis that the slope is zero; ``None`` as ``r_squared``.
        why: Why something is missing; ``None`` if nothing is.
    """

    n: int
    slope: IntervalOrNull
    intercept: IntervalOrNull
    r_squared: float | None
    p: float | None
    why: str | None = None


def fit(x: Sequence[float], y: Sequence[float]) -> RegressionLine:
    """Return the least-squares line through points.

    Args:
        x: First coordinates.
        y: Second coordinates, as many as ``x``.

    Returns:
        The line; without slope and intercept if there are fewer than ``FEWEST`` distinct points or if all x are equal,
        without intervals if the points lie on a line, and also without ``r_squared`` and ``p`` if all y are equal.
    """
    n = len(x)
    distinct = len(set(zip(x, y, strict=True)))
    if distinct < FEWEST:
        return _unknown(n, too_few("a line", distinct, "distinct point"))
    if len(set(x)) == 1:
        return _unknown(n, "there is no spread to fit a line along")
    if len(set(y)) == 1:
        flat, start = (Estimate(value=value, n=n, why=NOTHING_VARIES) for value in (0.0, float(y[0])))
        return RegressionLine(n=n, slope=flat, intercept=start, r_squared=None, p=None, why=NOTHING_VARIES)
    found = stats.linregress(x, y)
    off = np.asarray(y, dtype=np.float64) - (found.intercept + found.slope * np.asarray(x, dtype=np.float64))
    # The standard errors do not tell: they are computed from 1 - r^2, whose rounding leaves 1e-8 after the root.
    exact = float(np.abs(off).max()) <= _ON_THE_LINE * float(np.ptp(y))
    reach = float(stats.t.ppf((1 + LEVEL) / 2, n - 2))
    slope, intercept = (
        Estimate(value=float(value), n=n, why=ON_THE_LINE)
        if exact
        else interval_around(float(value), reach * float(error), n=n, method="student")
        for value, error in ((found.slope, found.stderr), (found.intercept, found.intercept_stderr))
    )
    return RegressionLine(
        n=n,
        slope=slope,
        intercept=intercept,
        r_squared=float(found.rvalue) ** 2,
        p=float(found.pvalue),
        why=slope.why,
    )


def too_few(what: str, n: int, unit: str = "model", fewest: int = FEWEST) -> str:
    """Return the reason why ``n`` models or points are too few for a statistic.

    Args:
        what: The statistic with its article, such as ``a line``.
        n: Number of models with known values, or of points.
        unit: What is counted, in the singular.
        fewest: How many of them the statistic takes.
    """
    return f"{what} takes {fewest} {unit}s, and {n} {'is' if n == 1 else 'are'} known"


def _unknown(n: int, why: str) -> RegressionLine:
    estimate = Estimate(value=None, n=n, why=why)
    return RegressionLine(n=n, slope=estimate, intercept=estimate, r_squared=None, p=None, why=why)


def slopes(x: Floats, y: Floats) -> Floats:
    """Return the least-squares slope of each row of points.

    Args:
        x: First coordinates, one row per set of points; shape ``(rows, points)``.
        y: Second coordinates, of the same shape.

    Returns:
        One slope per row; NaN if all x of a row are equal.
    """
    off = x - x.mean(axis=1, keepdims=True)
    # With equal x, rounding leaves a tiny sum of squares where it should be zero.
    square = np.where(np.ptp(x, axis=1) == 0, np.nan, (off**2).sum(axis=1))
    found: Floats = (off * y).sum(axis=1) / square
    return found
