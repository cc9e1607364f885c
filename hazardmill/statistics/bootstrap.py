"""Percentile bootstrap over tasks, clusters of tasks, or models.

Every figure over tasks is a ratio of two sums (the rate of feasible plans, the rate of safe plans among feasible ones,
a mean). A resample weighs each task by how often it was drawn, so that one matrix product yields all figures of all
models on the same tasks, from the same draws.

Models are few, and figures over models are not ratios of sums: ``draws`` says which models each resample holds. The
same seed gives the same draws for the same number of models, which makes the figures of one table paired.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from hazardmill.statistics.estimate import LEVEL, Estimate

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

RESAMPLES: Final = 10_000
UNDEFINED: Final = 0.05
"""A figure has no interval if more than this share of its resamples have no value."""

NO_SPREAD: Final = "all resamples have the same value, so they show no spread"
"""Why a figure whose resamples agree has no interval, unless its range gives it one (``ratios``)."""

ROUNDING: Final = 1e-9
"""Two numbers that are no further apart, relative to their size, differ by the rounding of floating point only."""

_CELLS: Final = 4_000_000
"""Weights held in memory at a time: 32 MB of floats."""


class Bounds(NamedTuple):
    """Lower and upper ends of the intervals of several figures.

    Attributes:
        low: Lower ends, one per figure, shape ``(figures,)``; NaN where a figure has no interval.
        high: Upper ends, of the same shape.
    """

    low: Floats
    high: Floats


def bootstrap(
    numerators: Floats,
    denominators: Floats,
    *,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
    seed: int = 0,
) -> Bounds:
    """Return percentile intervals of ratios of sums.

    Args:
        numerators: One row per unit (a task, or a cluster of tasks), one column per figure; shape ``(units, figures)``.
            With few units the intervals are too narrow.
        denominators: The same shape.
        resamples: Number of resamples.
        level: Share of the resamples between both ends.
        seed: Seed of the draws.

    Returns:
        One interval per figure. Resamples whose denominator is 0 are left out of a figure; NaN if no others remain.
    """
    return bounds(resample(numerators, denominators, resamples=resamples, seed=seed), level)


def resample(numerators: Floats, denominators: Floats, *, resamples: int = RESAMPLES, seed: int = 0) -> Floats:
    """Draw units with replacement and return the ratios of each resample.

    Args:
        numerators: One row per unit that is drawn, one column per figure; shape ``(units, figures)``.
        denominators: The same shape.
        resamples: Number of resamples.
        seed: Seed of the draws.

    Returns:
        Ratios of shape ``(resamples, figures)``; all figures of a row come from the same draw. NaN where a denominator
        is 0, and everywhere if there are no units.
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
    """Return the percentile interval of each column of resampled values.

    Args:
        ratios: Resampled values of shape ``(resamples, figures)``; NaN values are left out.
        level: Share of the remaining values between both ends.

    Returns:
        One interval per column; NaN if a column has no value at all.
    """
    import numpy as np

    tail = (1 - level) / 2
    ends = np.full((2, ratios.shape[1]), np.nan)
    defined = ~np.isnan(ratios).all(axis=0)
    ends[:, defined] = np.nanquantile(ratios[:, defined], (tail, 1 - tail), axis=0)
    return Bounds(ends[0], ends[1])


def has_no_width(low: float, high: float) -> bool:
    """Return whether both ends of an interval are the same, apart from rounding.

    Percentiles of a bootstrap are the same where all units agree: 14 of 14 give 14 of 14 in every resample. This says
    nothing about how close the figure is to the truth, so that no such interval is ever reported.
    """
    return high - low <= ROUNDING * max(1.0, abs(low), abs(high))


def _weights(generator: np.random.Generator, count: int, units: int) -> Floats:
    """Return how often each unit is drawn in each of ``count`` resamples, as a matrix ``(count, units)``."""
    import numpy as np

    drawn = generator.integers(0, units, (count, units))
    # A single bincount over all resamples, each with its own range of indices, is many times as fast as one per row.
    drawn += np.arange(count)[:, None] * units
    return np.bincount(drawn.ravel(), minlength=count * units).reshape(count, units).astype(np.float64)


def sum_clusters(values: Floats, clusters: Sequence[object]) -> Floats:
    """Add up the rows of each cluster.

    Args:
        values: One row per task, of any number of columns.
        clusters: The cluster of each task.

    Returns:
        One row per cluster, in the order in which the clusters first occur.
    """
    import numpy as np

    places: dict[object, int] = {}
    codes = np.array([places.setdefault(cluster, len(places)) for cluster in clusters], dtype=np.intp)
    sums = np.zeros((len(places), values.shape[1]))
    np.add.at(sums, codes, values)
    return sums


def draws(n: int, seed: int, resamples: int = RESAMPLES) -> npt.NDArray[np.int64]:
    """Return which of ``n`` models each resample holds.

    Returns:
        Indices from 0 to ``n - 1`` of shape ``(resamples, n)``, drawn with replacement.
    """
    import numpy as np

    return np.random.default_rng(seed).integers(n, size=(resamples, n))


def percentile_interval(values: Floats, level: float = LEVEL) -> tuple[float, float] | None:
    """Return the percentile interval of one figure's resampled values.

    Args:
        values: The figure in each resample; values that are not finite are left out.
        level: Share of the remaining values between both ends.

    Returns:
        Lower and upper end; ``None`` if more than ``UNDEFINED`` of the values are not finite.
    """
    import numpy as np

    known = values[np.isfinite(values)]
    if len(known) < (1 - UNDEFINED) * len(values):
        return None
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def percentile_estimate(value: float, resampled: Floats, *, n: int, too_few: str) -> Estimate:
    """Return a figure with the percentile interval of its resampled values, or with the reason why it has none.

    Args:
        value: The figure.
        resampled: The figure in each resample; values that are not finite are left out.
        n: Number of things that the figure is computed from.
        too_few: The reason where too many resamples have no value.
    """
    interval = percentile_interval(resampled)
    if interval is None:
        return Estimate(value=value, n=n, why=too_few)
    low, high = interval
    if has_no_width(low, high):
        return Estimate(value=value, n=n, why=NO_SPREAD)
    return Estimate(value=value, low=low, high=high, n=n, method="bootstrap")
