"""Changes of rates. From 40 % to 50 % is 10 points up and 25 % up: two types, which neither add nor swap."""

from __future__ import annotations

from typing import Literal

from hazardmill.records import FrozenModel


class Points(FrozenModel):
    """An absolute change of a rate, in percentage points."""

    points: float
    low: float | None = None
    high: float | None = None
    """95 % interval, in points."""
    unit: Literal["points"] = "points"


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
    absolute: Points | None
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
        return RateChange(before=before, after=after, absolute=None, relative=None, why="one of the rates is not known")
    low, high = interval or (None, None)
    absolute = Points(points=after - before, low=low, high=high)
    if before == 0:
        return RateChange(
            before=before, after=after, absolute=absolute, relative=None, why="nothing is relative to a rate of zero"
        )
    relative = PerCentOfBase(per_cent=100 * (after - before) / before)
    return RateChange(before=before, after=after, absolute=absolute, relative=relative)
