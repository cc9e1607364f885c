"""One figure of two runs on the same records: both values, their difference, and its interval.

The interval comes from a paired bootstrap: each resample draws records together with their outcomes in both runs.
Where fewer than five pairs differ in another way than the others, as where hardly a record changed, resamples show too
little of the spread: the difference of two shares then has an interval from Wilson's of the records that may change all
the same, and other figures have none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from hazardmill.records import FrozenModel
from hazardmill.statistics.bootstrap import NO_SPREAD, RESAMPLES, bounds, has_no_width, resample
from hazardmill.statistics.estimate import LEVEL, Estimate, Method
from hazardmill.statistics.mcnemar import exact_p
from hazardmill.statistics.proportion import Share, rate
from hazardmill.statistics.ratios import FEWEST_DEVIATING, count_deviating, wilson_over_units

if TYPE_CHECKING:
    from hazardmill.statistics.bootstrap import Floats

FEW_CHANGED: Final = f"fewer than {FEWEST_DEVIATING} pairs changed, too few to show the spread"
"""Why a difference of costs or counts has no interval although its pairs do not all agree."""

Unit = Literal["share", "drafts", "USD", "seconds"]
Values = Sequence[float | None]


class PairedFigure(FrozenModel):
    """A figure of both runs, over the pairs of records for which both values are known.

    Attributes:
        name: What the figure is, such as ``accepted`` or ``USD per task``.
        unit: Unit of the values; a share is a fraction of 1.
        pairs: Number of pairs used.
        unknown: Number of pairs left out because one of their values is unknown.
        a: Value of the first run; ``None`` if the denominator is 0, such as the price per task of a run without tasks.
        b: Value of the second run; ``None`` in the same case.
        difference: ``b`` minus ``a``; ``None`` if either is.
        low: Lower end of the interval of the difference; ``None`` without a difference or an interval.
        high: Upper end of that interval; likewise.
        method: How the interval was computed; ``None`` if there is none.
        why: Why there is no difference, or no interval of it; ``None`` if nothing is missing.
        share_a: For a share, its value in the first run with Wilson's interval; else ``None``.
        share_b: For a share, its value in the second run, likewise; else ``None``.
        only_a: For a share, the number of records that have the property in the first run only; else ``None``.
        only_b: For a share, the number of records that have it in the second run only; else ``None``.
        p: For a share, the two-sided p-value of McNemar's exact test; else ``None``.
    """

    name: str
    unit: Unit
    pairs: int
    unknown: int
    a: float | None
    b: float | None
    difference: float | None
    low: float | None
    high: float | None
    method: Method | None = None
    why: str | None = None
    share_a: Share | None = None
    share_b: Share | None = None
    only_a: int | None
    only_b: int | None
    p: float | None


class ComparisonOptions(FrozenModel):
    """How intervals are computed.

    Attributes:
        resamples: Number of bootstrap samples.
        level: Confidence level of the intervals.
        seed: Seed of the bootstrap.
    """

    resamples: int = RESAMPLES
    level: float = LEVEL
    seed: int = 0


@dataclass(frozen=True)
class Quotient:
    """A sum over records divided by another sum: a share, a mean, or a price per task.

    All sequences have one value per compared record, in the same order.

    Attributes:
        name: What the figure is.
        unit: Unit of the numerator.
        a: Values added up in the first run; a pair with ``None`` on either side is left out.
        b: Values added up in the second run.
        of_a: Values whose sum is the denominator in the first run.
        of_b: Values whose sum is the denominator in the second run.
    """

    name: str
    unit: Unit
    a: Values
    b: Values
    of_a: Values
    of_b: Values


def share(name: str, a: Values, b: Values) -> Quotient:
    """Return the share of records that have a property, as a quotient.

    Args:
        name: What the share is called.
        a: One value per record in the first run: 1 with the property, 0 without, ``None`` if unknown.
        b: The same for the second run.
    """
    return Quotient(name, "share", a, b, [1.0] * len(a), [1.0] * len(b))


def figures(quotients: Sequence[Quotient], how: ComparisonOptions) -> list[PairedFigure]:
    """Compute figures from quotients, all from the same resamples.

    Args:
        quotients: Quotients over the same records, in the same order.
        how: How intervals are computed.

    Returns:
        One figure per quotient, in their order.
    """
    import numpy as np

    tables = [_table(each) for each in quotients]
    if not tables:
        return []
    # One matrix product for all figures: drawing the resamples takes most of the time.
    numerators, denominators = (np.hstack([table[:, sides] for table in tables]) for sides in ((0, 1), (2, 3)))
    drawn = resample(numerators, denominators, resamples=how.resamples, seed=how.seed)
    ends = bounds(drawn[:, 1::2] - drawn[:, ::2], how.level)
    return [
        _figure(each, table, (float(ends.low[place]), float(ends.high[place])), how.level)
        for place, (each, table) in enumerate(zip(quotients, tables, strict=True))
    ]


def _table(of: Quotient) -> Floats:
    """Return one row per pair with both numerators and both denominators; all four are 0 if one is unknown."""
    import numpy as np

    rows = [(0.0,) * 4 if None in row else row for row in zip(of.a, of.b, of.of_a, of.of_b, strict=True)]
    return np.array(rows, dtype=np.float64).reshape(-1, 4)


def _figure(of: Quotient, table: Floats, interval: tuple[float, float], level: float) -> PairedFigure:
    known = [pair for pair in zip(of.a, of.b, strict=True) if None not in pair]
    one, other = (_divide(table[:, side].sum(), table[:, side + 2].sum()) for side in (0, 1))
    difference = None if one is None or other is None else other - one
    if difference is None:
        found = Estimate(value=None, why=_why_undefined(one, other, len(known)))
    else:
        found = _with_interval(of, difference, table, interval, level)
    only_a = only_b = p = share_a = share_b = None
    if of.unit == "share" and known:
        only_a, only_b = known.count((1, 0)), known.count((0, 1))
        p = exact_p(only_b, only_a)
        share_a, share_b = (rate(sum(pair[side] == 1 for pair in known), len(known), level) for side in (0, 1))
    return PairedFigure(
        name=of.name,
        unit=of.unit,
        pairs=len(known),
        unknown=len(of.a) - len(known),
        a=one,
        b=other,
        difference=difference,
        low=found.low,
        high=found.high,
        method=found.method,
        why=found.why,
        share_a=share_a,
        share_b=share_b,
        only_a=only_a,
        only_b=only_b,
        p=p,
    )


def _why_undefined(one: float | None, other: float | None, pairs: int) -> str:
    if not pairs:
        return "no pair has both values"
    lacking = " and ".join(run for run, value in (("A", one), ("B", other)) if value is None)
    return f"nothing to divide by in run {lacking}"


def _with_interval(
    of: Quotient, difference: float, table: Floats, interval: tuple[float, float], level: float
) -> Estimate:
    low, high = interval
    if math.isnan(low):
        return Estimate(value=difference, why="no resample has a difference")
    if of.unit == "share":
        off, pairs = table[:, 1] - table[:, 0], table[:, 2]
        if count_deviating(off, pairs) < FEWEST_DEVIATING or has_no_width(low, high):
            low, high = wilson_over_units(off, pairs, (-1.0, 1.0), level)
            return Estimate(value=difference, low=low, high=high, method="wilson")
    elif has_no_width(low, high):
        return Estimate(value=difference, why=NO_SPREAD)
    elif ((table[:, 0] != table[:, 1]) | (table[:, 2] != table[:, 3])).sum() < FEWEST_DEVIATING:
        return Estimate(value=difference, why=FEW_CHANGED)
    return Estimate(value=difference, low=low, high=high, method="bootstrap")


def _divide(above: float, below: float) -> float | None:
    return float(above / below) if below else None
