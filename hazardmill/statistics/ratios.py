"""Ratios of sums over rows, with intervals over the units that the rows belong to, such as tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hazardmill.statistics.bootstrap import RESAMPLES, bootstrap, interval_end
from hazardmill.statistics.estimate import LEVEL, Estimate

Sides = tuple[float, float]
"""What a row adds to numerator and denominator; a denominator of 0 leaves the row out."""

LEFT_OUT: Sides = (0.0, 0.0)
"""What a row adds to a ratio that it does not belong to."""


def ratios_of_sums(
    units: Sequence[str],
    columns: Mapping[str, Sequence[Sides]],
    *,
    clusters: Mapping[str, str] | None = None,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
    seed: int = 0,
    why: Mapping[str, str] | None = None,
) -> dict[str, Estimate]:
    """Return each ratio of sums with its bootstrap interval over units.

    Args:
        units: The unit of each row; a resample takes all rows of a unit or none.
        columns: By the name of a ratio, what each row adds to it.
        clusters: The cluster of each unit; a resample then takes all units of a cluster or none. ``None`` draws units.
        resamples: Number of resamples.
        level: Confidence level of the intervals.
        seed: Seed of the bootstrap.
        why: By the name of a ratio, why it has no value if it has none.

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
    bounds = bootstrap(
        sums[0],
        sums[1],
        clusters=None if clusters is None else [clusters[unit] for unit in places],
        resamples=resamples,
        level=level,
        seed=seed,
    )
    totals = sums.sum(axis=1)
    reasons = why or {}
    return {
        name: Estimate(
            value=float(totals[0, place] / totals[1, place]) if totals[1, place] else None,
            low=interval_end(bounds.low[place]),
            high=interval_end(bounds.high[place]),
            n=round(totals[1, place]),
            method="bootstrap",
            why=None if totals[1, place] else reasons.get(name),
        )
        for place, name in enumerate(columns)
    }
