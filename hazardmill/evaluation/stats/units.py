"""Changes of rates. From 40 % to 50 % is 10 points up and 25 % up: two types, which neither add nor swap."""

from __future__ import annotations

from typing import Annotated, Literal

from hazardmill.records import FrozenModel
from hazardmill.statistics.estimate import Estimate, JsonNames


class Points(Estimate):
    """An absolute change of a rate, in percentage points, and so its interval."""

    unit: Literal["points"] = "points"


PointsOrNull = Annotated[Points, JsonNames(or_null=True, points="value", low="low", high="high", unit="unit")]


class PerCentOfBase(FrozenModel):
    """A relative change of a rate, in per cent of what it was before."""

    per_cent: float
    unit: Literal["per cent of base"] = "per cent of base"


class RateChange(FrozenModel):
    """From one rate to another."""

    before: float | None
    """Per cent."""
    after: float | None
    """Per cent."""
    absolute: PointsOrNull
    relative: PerCentOfBase | None
    why: str | None = None
    """Why one of them is not known."""


def change(before: float | None, after: float | None, interval: tuple[float, float] | None = None) -> RateChange:
    """The change between two rates.

    Args:
        before: Per cent.
        after: Per cent.
        interval: 95 % interval of ``after - before``, in points.
    """
    if before is None or after is None:
        why = "one of the rates is not known"
        return RateChange(before=before, after=after, absolute=Points(value=None, why=why), relative=None, why=why)
    low, high = interval or (None, None)
    absolute = Points(value=after - before, low=low, high=high)
    if before == 0:
        return RateChange(
            before=before, after=after, absolute=absolute, relative=None, why="nothing is relative to a rate of zero"
        )
    relative = PerCentOfBase(per_cent=100 * (after - before) / before)
    return RateChange(before=before, after=after, absolute=absolute, relative=relative)
