"""Percentile bootstrap of ratios, many at once: what is drawn anew are tasks, or clusters of tasks.

Every figure here is a ratio of two sums over tasks (the rate of feasible plans, of safe ones among feasible ones, a
mean). A resample weighs each task by how often it was drawn, so that all figures of all models on the same tasks come
of one product of matrices, and are drawn together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

RESAMPLES: Final = 10_000
LEVEL: Final = 0.95

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
    return bounds(resampled(numerators, denominators, resamples=resamples, seed=seed), level)


def resampled(numerators: Floats, denominators: Floats, *, resamples: int = RESAMPLES, seed: int = 0) -> Floats:
    """The ratios of each resample, one row each; all figures of a row are of the same draw.

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
