"""One figure of two runs on the same records: both values, their difference, and how sure it is.

The interval is that of a paired bootstrap: records are drawn with what both runs made of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from hazardmill.records import FrozenModel
from hazardmill.statistics.bootstrap import RESAMPLES, bounds, resample
from hazardmill.statistics.estimate import LEVEL
from hazardmill.statistics.mcnemar import exact_p

if TYPE_CHECKING:
    from hazardmill.statistics.bootstrap import Floats

Unit = Literal["share", "drafts", "USD", "seconds"]
Values = Sequence[float | None]


class PairedFigure(FrozenModel):
    """A figure of both runs over the pairs of records where both are known."""

    name: str
    unit: Unit
    pairs: int
    unknown: int
    """Pairs left out, because one of their values is not known."""
    a: float | None
    """Null where there is nothing to divide by: a price a task without a task."""
    b: float | None
    difference: float | None
    """``b`` less ``a``."""
    low: float | None
    high: float | None
    """95 % interval of the difference."""
    only_a: int | None
    """Of a share: records that only the first run has in it. Null of other figures, as the two below."""
    only_b: int | None
    p: float | None
    """Exact McNemar test, two-sided."""


class ComparisonOptions(FrozenModel):
    """How intervals are drawn."""

    resamples: int = RESAMPLES
    level: float = LEVEL
    seed: int = 0


@dataclass(frozen=True)
class Quotient:
    """A sum over records, by another one: a share, a mean, a price per task. One value per record in each run."""

    name: str
    unit: Unit
    a: Values
    """What is added up in the first run; null leaves out the pair."""
    b: Values
    of_a: Values
    """What it is divided by."""
    of_b: Values


def share(name: str, a: Values, b: Values) -> Quotient:
    """The share of records for which something holds (1) or does not (0); null where that is not known."""
    return Quotient(name, "share", a, b, [1.0] * len(a), [1.0] * len(b))


def figures(quotients: Sequence[Quotient], how: ComparisonOptions) -> list[PairedFigure]:
    """Work figures out; all are drawn anew together.

    Args:
        quotients: Of the same records, in the same order.
        how: How intervals are drawn.
    """
    import numpy as np

    tables = [_table(each) for each in quotients]
    if not tables:
        return []
    # One product of matrices for all of them: to draw is what takes the time.
    numerators, denominators = (np.hstack([table[:, sides] for table in tables]) for sides in ((0, 1), (2, 3)))
    drawn = resample(numerators, denominators, resamples=how.resamples, seed=how.seed)
    ends = bounds(drawn[:, 1::2] - drawn[:, ::2], how.level)
    return [
        _figure(each, table, (float(ends.low[place]), float(ends.high[place])))
        for place, (each, table) in enumerate(zip(quotients, tables, strict=True))
    ]


def _table(of: Quotient) -> Floats:
    """One row per pair: both numerators, both denominators; all are 0 where one of them is not known."""
    import numpy as np

    rows = [(0.0,) * 4 if None in row else row for row in zip(of.a, of.b, of.of_a, of.of_b, strict=True)]
    return np.array(rows, dtype=np.float64).reshape(-1, 4)


def _figure(of: Quotient, table: Floats, interval: tuple[float, float]) -> PairedFigure:
    known = [pair for pair in zip(of.a, of.b, strict=True) if None not in pair]
    one, other = (_divide(table[:, side].sum(), table[:, side + 2].sum()) for side in (0, 1))
    difference = None if one is None or other is None else other - one
    low, high = (None, None) if difference is None else interval
    only_a = only_b = p = None
    if of.unit == "share" and known:
        only_a, only_b = known.count((1, 0)), known.count((0, 1))
        p = exact_p(only_b, only_a)
    return PairedFigure(
        name=of.name,
        unit=of.unit,
        pairs=len(known),
        unknown=len(of.a) - len(known),
        a=one,
        b=other,
        difference=difference,
        low=low,
        high=high,
        only_a=only_a,
        only_b=only_b,
        p=p,
    )


def _divide(above: float, below: float) -> float | None:
    return float(above / below) if below else None
