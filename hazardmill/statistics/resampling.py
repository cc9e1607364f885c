"""Bootstrap over models. One seed gives the same draws of as many models, which makes figures of one table paired."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hazardmill.statistics.bootstrap import RESAMPLES
from hazardmill.statistics.proportion import CONFIDENCE

Floats = NDArray[np.float64]

UNDEFINED: Final = 0.05
"""Share of resamples without a value from which on no interval is given."""


def draws(n: int, seed: int) -> NDArray[np.int64]:
    """Which of ``n`` models each resample holds: one row a resample."""
    return np.random.default_rng(seed).integers(n, size=(RESAMPLES, n))


def percentiles(values: NDArray[Any]) -> tuple[float, float] | None:
    """The 95 % interval of resampled values; none where too many of them are not defined."""
    known = values[np.isfinite(values)]
    if len(known) < (1 - UNDEFINED) * len(values):
        return None
    low, high = np.quantile(known, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def slopes(x: Floats, y: Floats) -> Floats:
    """The least-squares slope of each row; NaN where all its x are one."""
    off = x - x.mean(axis=1, keepdims=True)
    # Equal x leave rounding errors behind, not zero.
    square = np.where(np.ptp(x, axis=1) == 0, np.nan, (off**2).sum(axis=1))
    found: Floats = (off * y).sum(axis=1) / square
    return found
