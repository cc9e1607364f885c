"""Percentile bootstrap: what is drawn anew are tasks, clusters of tasks, or models.

Every figure over tasks is a ratio of two sums (the rate of feasible plans, of safe ones among feasible ones, a mean). A
resample weighs each task by how often it was drawn, so that all figures of all models on the same tasks come of one
product of matrices, and are drawn together.

Models are few, and figures over them are no ratios: ``draws`` says which of them each resample holds. One seed gives
the same draws of as many models, which makes figures of one table paired.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from hazardmill.statistics.estimate import LEVEL

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

RESAMPLES: Final = 10_000
UNDEFINED: Final = 0.05
"""Share of resamples without a value from which on a figure has no interval."""

_CELLS: Final = 4_000_000
"""Weights made at a time: 32 MB."""


class Bounds(NamedTuple):
    """Both ends of the intervals of several figures; NaN where a figure has none."""

    low: Floats
    high: Floats


def bootstrap(
    numerators: Floats,
    denominators: Floats,
    *,
    clusters: Sequence[object] | None = None,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
    seed: int = 0,
) -> Bounds:
    """Intervals of ratios of sums.

    Args:
        numerators: One row a task, one column a figure.
        denominators: The same shape.
        clusters: Of each task, what it is drawn with: all tasks of a cluster or none. Few clusters give intervals
            that are too narrow.
        resamples: How many.
        level: Share of the resamples between both ends.
        seed: Of the draws.

    Returns:
        NaN where no resample has a denominator other than 0; resamples that have 0 are left out of the figure.
    """
    if clusters is not None:
        numerators, denominators = _by_cluster(numerators, clusters), _by_cluster(denominators, clusters)
    return bounds(resample(numerators, denominators, resamples=resamples, seed=seed), level)


def resample(numerators: Floats, denominators: Floats, *, resamples: int = RESAMPLES, seed: int = 0) -> Floats:
    """Draw units anew: the ratios of each resample, one row each; all figures of a row are of the same draw.

    Args:
        numerators: One row a unit that is drawn, one column a figure.
        denominators: The same shape.
        resamples: How many.
        seed: Of the draws.

    Returns:
        NaN where a denominator is 0, and everywhere if there is nothing to draw.
    """
    import numpy as np

    units, figures = numerators.shape
    if not units or not figures:
        return np.full((resamples, figures), np.nan)
    generator = np.random.default_rng(seed)
    ratios = np.empty((resamples, figures))
    at_once = max(1, _CELLS // units)
    for start in range(0, resamples, at_once):
        count = min(at_once, resamples - start)
        weights = _weights(generator, count, units)
        with np.errstate(invalid="ignore", divide="ignore"):
            below = weights @ denominators
            ratios[start : start + count] = np.where(below == 0, np.nan, (weights @ numerators) / below)
    return ratios


def bounds(ratios: Floats, level: float = LEVEL) -> Bounds:
    """Both ends of what was resampled, by column; resamples without a value are left out."""
    import numpy as np

    tail = (1 - level) / 2
    ends = np.full((2, ratios.shape[1]), np.nan)
    defined = ~np.isnan(ratios).all(axis=0)
    ends[:, defined] = np.nanquantile(ratios[:, defined], (tail, 1 - tail), axis=0)
    return Bounds(ends[0], ends[1])


def interval_end(end: float) -> float | None:
    """One end of an interval; null where there is none."""
    return None if math.isnan(end) else float(end)


def _weights(generator: np.random.Generator, count: int, units: int) -> Floats:
    """How often each unit is drawn in each of ``count`` resamples."""
    import numpy as np

    drawn = generator.integers(0, units, (count, units))
    # One count over all resamples, each with places of its own, is many times as fast as one count each.
    drawn += np.arange(count)[:, None] * units
    return np.bincount(drawn.ravel(), minlength=count * units).reshape(count, units).astype(np.float64)


def _by_cluster(values: Floats, clusters: Sequence[object]) -> Floats:
    import numpy as np

    places: dict[object, int] = {}
    codes = np.array([places.setdefault(cluster, len(places)) for cluster in clusters], dtype=np.intp)
    sums = np.zeros((len(places), values.shape[1]))
    np.add.at(sums, codes, values)
    return sums


def draws(n: int, seed: int, resamples: int = RESAMPLES) -> npt.NDArray[np.int64]:
    """Which of ``n`` models each resample holds: one row a resample."""
    import numpy as np

    return np.random.default_rng(seed).integers(n, size=(resamples, n))


def percentile_interval(values: Floats, level: float = LEVEL) -> tuple[float, float] | None:
    """The interval of one figure's resampled values; none where too many of them are not defined."""
    import numpy as np

    known = values[np.isfinite(values)]
    if len(known) < (1 - UNDEFINED) * len(values):
        return None
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
