"""Ratios of sums over rows, with intervals over the units that the rows belong to, such as tasks.

The interval is a percentile bootstrap over units, except where all units agree, as in 14 safe plans of 14. There every
resample is the same, and its percentiles would claim that the ratio is known exactly. Such a ratio has Wilson's
interval instead, and its ``method`` says so.
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

_ROUNDING: Final = 1e-9
"""Ratios of units that differ by no more than this are the same."""


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
        unlimited: Names of the ratios that are not between 0 and 1; they have no interval where all units agree.

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
        ratio without limits has no interval, but the reason, where all units agree.
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
        return Estimate(value=None, n=n, method="bootstrap")
    value = float(above.sum()) / total
    low, high = map(float, ends)
    if not math.isnan(low) and not has_no_width(low, high):
        return Estimate(value=value, low=low, high=high, n=n, method="bootstrap")
    if limits is None:
        return Estimate(value=value, n=n, why=NO_SPREAD)
    low, high = agreeing_interval(value, above, below, limits, level)
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
        method=first.method if first.method == second.method else "wilson",
    )


def agreeing_interval(
    value: float, above: Floats, below: Floats, limits: Limits = SHARE, level: float = LEVEL
) -> tuple[float, float]:
    """Return the interval of a ratio whose units agree, so that resampling them shows no spread.

    None of k independent units deviates from the ratio. Wilson's interval of 0 of k says what share of all units may
    deviate, and at worst all of these lie at one of the limits. For a share of 0 or 1 this is Wilson's interval itself.

    The units are what is resampled (tasks, or clusters of tasks), and not the answers: five answers to one task say
    little more than one does. Units of unequal size count by Kish's effective number, (sum of sizes)^2 / sum of
    squared sizes (Kish, 1965), which is k for equal ones: a source of 1,000 tasks beside one of 2 is not two sources.

    Args:
        value: The ratio.
        above: What each unit adds to the numerator, shape ``(units,)``.
        below: What each adds to the denominator; units with 0 do not count.
        limits: Limits of the ratio of one unit.
        level: Confidence level.

    Returns:
        Lower and upper end; they differ.
    """
    import numpy as np

    sizes = below[below != 0]
    units = float(sizes.sum() ** 2 / (sizes**2).sum())
    # With few resamples, these can be the same although some units deviate.
    deviates = np.abs(above[below != 0] / sizes - value) > _ROUNDING
    _, most = wilson_interval(units * float(sizes[deviates].sum() / sizes.sum()), units, level)
    least, greatest = limits
    return value - most * (value - least), value + most * (greatest - value)
