"""Ratios of sums over rows, with intervals over the units that the rows belong to, such as tasks.

The interval is a percentile bootstrap over units, except where fewer than ``FEWEST_DEVIATING`` units differ from the
others, as in 14 safe plans of 14, or 13. What few units show of the spread is too little: resamples without them are
all the same, and percentiles would claim that the ratio is known (almost) exactly. Such a ratio has Wilson's interval
over units instead, and its ``method`` says so.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from hazardmill.statistics.bootstrap import NO_SPREAD, RESAMPLES, bootstrap, has_no_width, sum_clusters
from hazardmill.statistics.estimate import LEVEL, Estimate
from hazardmill.statistics.proportion import wilson_interval

if TYPE_CHECKING:
    from hazardmill.statistics.bootstrap import Floats

Sides = tuple[float, float]
"""What a row adds to numerator and denominator; a denominator of 0 leaves the row out."""

LEFT_OUT: Sides = (0.0, 0.0)
"""What a row adds to a ratio that it does not belong to."""

Limits = tuple[float, float]
"""The least and the greatest value that the ratio of a single unit can have."""

SHARE: Final[Limits] = (0.0, 1.0)
"""The limits of a share, and of a mean of scores from 0 to 1."""

FEWEST_DEVIATING: Final = 5
"""With fewer units that differ from the others than this, resamples show too little of the spread."""

FEW_DEVIATE: Final = f"fewer than {FEWEST_DEVIATING} differ from the others, too few to show the spread"
"""Why a ratio without limits has no interval although its units do not all agree."""

_DIGITS: Final = 9
"""Ratios of units, as parts of the range between the limits, are the same if they agree in so many decimal places."""


def ratios_of_sums(
    units: Sequence[str],
    columns: Mapping[str, Sequence[Sides]],
    *,
    clusters: Mapping[str, str] | None = None,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
    seed: int = 0,
    why: Mapping[str, str] | None = None,
    unlimited: Collection[str] = (),
) -> dict[str, Estimate]:
    """Return each ratio of sums with its interval over units.

    Args:
        units: The unit of each row; a resample takes all rows of a unit or none.
        columns: By the name of a ratio, what each row adds to it.
        clusters: The cluster of each unit; a resample then takes all units of a cluster or none. ``None`` draws units.
        resamples: Number of resamples.
        level: Confidence level of the intervals.
        seed: Seed of the bootstrap.
        why: By the name of a ratio, why it has no value if it has none.
        unlimited: Names of the ratios that are not between 0 and 1; they have no interval where fewer than
            ``FEWEST_DEVIATING`` units differ from the others.

    Returns:
        The estimates by name; one without a denominator has no value.
    """
    import numpy as np

    places = {name: place for place, name in enumerate(sorted(set(units)))}
    where = np.array([places[unit] for unit in units], dtype=np.intp)
    sums = np.zeros((2, len(places), len(columns)))
    for place, pairs in enumerate(columns.values()):
        for side in range(2):
            np.add.at(sums[side, :, place], where, np.array([pair[side] for pair in pairs], dtype=np.float64))
    found = estimate_ratios(
        sums[0],
        sums[1],
        clusters=None if clusters is None else [clusters[unit] for unit in places],
        resamples=resamples,
        level=level,
        seed=seed,
        limits=[None if name in unlimited else SHARE for name in columns],
    )
    reasons = why or {}
    return {
        name: each.model_copy(update={"why": reasons.get(name)}) if each.value is None else each
        for name, each in zip(columns, found, strict=True)
    }


def estimate_ratios(
    numerators: Floats,
    denominators: Floats,
    *,
    clusters: Sequence[object] | None = None,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
    seed: int = 0,
    limits: Sequence[Limits | None] | None = None,
) -> list[Estimate]:
    """Return ratios of sums with their intervals, all from the same resamples.

    Args:
        numerators: One row per unit, one column per ratio; shape ``(units, ratios)``.
        denominators: The same shape; a unit with a denominator of 0 does not belong to the ratio.
        clusters: The cluster of each unit; a resample takes all units of a cluster or none. ``None`` draws units.
        resamples: Number of resamples.
        level: Confidence level of the intervals.
        seed: Seed of the bootstrap.
        limits: The limits of each ratio, ``None`` for one without; ``None`` in place of all: ``SHARE``.

    Returns:
        One estimate per ratio, whose ``n`` is the rounded sum of its denominators; without a value if that sum is 0. A
        ratio without limits has no interval, but the reason, where fewer than ``FEWEST_DEVIATING`` units differ from
        the others.
    """
    if clusters is not None:
        numerators, denominators = sum_clusters(numerators, clusters), sum_clusters(denominators, clusters)
    ends = bootstrap(numerators, denominators, resamples=resamples, level=level, seed=seed)
    of_each = [SHARE] * numerators.shape[1] if limits is None else limits
    return [
        _estimate(
            numerators[:, place], denominators[:, place], (ends.low[place], ends.high[place]), level, of_each[place]
        )
        for place in range(numerators.shape[1])
    ]


def _estimate(above: Floats, below: Floats, ends: tuple[float, float], level: float, limits: Limits | None) -> Estimate:
    total = float(below.sum())
    n = round(total)
    if not total:
        return Estimate(value=None, n=n)
    value = float(above.sum()) / total
    low, high = map(float, ends)
    deviating = count_deviating(above, below)
    # With few resamples, these can be the same although many units deviate.
    same = math.isnan(low) or has_no_width(low, high)
    if deviating >= FEWEST_DEVIATING and not same:
        return Estimate(value=value, low=low, high=high, n=n, method="bootstrap")
    if limits is None:
        return Estimate(value=value, n=n, why=FEW_DEVIATE if deviating and not same else NO_SPREAD)
    low, high = wilson_over_units(above, below, limits, level)
    return Estimate(value=value, low=low, high=high, n=n, method="wilson")


def mean_of_estimates(first: Estimate, second: Estimate, why: str) -> Estimate:
    """Return the mean of two figures, with the mean of both lower and of both upper ends as its interval.

    The standard deviation of a sum is at most the sum of the standard deviations, so that the interval is wide enough
    whether or not the two figures depend on each other.

    Args:
        first: A figure, with an interval if it has a value.
        second: Another one, likewise.
        why: Why the mean has no value if one of the two has none.
    """
    if first.value is None or second.value is None:
        return Estimate(value=None, why=why)
    assert None not in (first.low, first.high, second.low, second.high), "what has a value has an interval"
    return Estimate(
        value=(first.value + second.value) / 2,
        low=((first.low or 0.0) + (second.low or 0.0)) / 2,
        high=((first.high or 0.0) + (second.high or 0.0)) / 2,
        n=(first.n or 0) + (second.n or 0),
        method="averaged",
    )


def count_deviating(above: Floats, below: Floats) -> int:
    """Return how many units have another ratio than the one that most units have.

    Args:
        above: What each unit adds to the numerator, shape ``(units,)``.
        below: What each adds to the denominator; units with 0 do not count.
    """
    ratios = above[below != 0] / below[below != 0]
    if not len(ratios):
        return 0
    scale = float(abs(ratios).max()) or 1.0
    return len(ratios) - _commonest(ratios / scale)[1]


def _commonest(values: Floats) -> tuple[float, int]:
    """Return the value that occurs most often, of several their mean, and how often it occurs."""
    import numpy as np

    found, counts = np.unique(np.round(values, _DIGITS), return_counts=True)
    return float(found[counts == counts.max()].mean()), int(counts.max())


def wilson_over_units(
    above: Floats, below: Floats, limits: Limits = SHARE, level: float = LEVEL
) -> tuple[float, float]:
    """Return Wilson's interval of a ratio over units, for units that agree or almost agree.

    For ratios of units between 0 and 1, of which most are 0 or 1, this is Wilson's interval of the ratio for as many
    trials as there are units: with the same mean, no values between 0 and 1 vary more than those that are only 0 or 1.

    In general, most units have one ratio, and the others lie below or above it. Wilson's interval bounds how far they
    lie below it on average, as a part of the way to the lower limit, and likewise above. The lower end of the ratio's
    interval takes the most below and the least above. If no unit deviates, this is where the ratio would be if as many
    units as Wilson's interval of 0 of k allows lay at a limit.

    The units are what is resampled (tasks, or clusters of tasks), and not the answers: five answers to one task say
    little more than one does. Units of unequal size count by Kish's effective number, (sum of sizes)^2 / sum of
    squared sizes (Kish, 1965), which is k for equal ones: a source of 1,000 tasks beside one of 2 is not two sources.

    Args:
        above: What each unit adds to the numerator, shape ``(units,)``.
        below: What each adds to the denominator; units with 0 do not count, and at least one does.
        limits: Limits of the ratio of one unit.
        level: Confidence level.

    Returns:
        Lower and upper end, on either side of the ratio; they differ.
    """
    import numpy as np

    least, greatest = limits
    sizes = below[below != 0]
    whole = float(sizes.sum())
    # From 0 at one limit to 1 at the other; rounding must not take a ratio past a limit.
    places = np.clip((above[below != 0] / sizes - least) / (greatest - least), 0.0, 1.0)
    common, _ = _commonest(places)
    units = whole**2 / float(sizes @ sizes)

    def bound(off: Floats, way: float) -> tuple[float, float]:
        """Return the least and the greatest mean distance to one side."""
        mean = min(1.0, float(sizes @ np.clip(off, 0.0, None)) / whole / way) if way else 0.0
        low, high = wilson_interval(units * mean, units, level)
        return way * low, way * high

    (least_below, most_below), (least_above, most_above) = (
        bound(common - places, common),
        bound(places - common, 1 - common),
    )
    low = least + (common - most_below + least_above) * (greatest - least)
    high = least + (common - least_below + most_above) * (greatest - least)
    # The ratio lies between both, but for rounding.
    value = float(above.sum()) / whole
    return max(least, min(low, value)), min(greatest, max(high, value))
