"""Changes of rates. From 40 % to 50 % is 10 points up and 25 % up: two types that cannot be added or confused."""

from __future__ import annotations

from typing import Annotated, Literal

from hazardmill.records import FrozenModel
from hazardmill.statistics.estimate import Estimate, JsonNames, Method


class Points(Estimate):
    """An absolute change of a rate in percentage points; its interval has the same unit."""

    unit: Literal["points"] = "points"


PointsOrNull = Annotated[
    Points, JsonNames(or_null=True, points="value", low="low", high="high", unit="unit", method="method")
]


class PerCentOfBase(FrozenModel):
    """A relative change of a rate, in per cent of its value before."""

    per_cent: float
    unit: Literal["per cent of base"] = "per cent of base"


class RateChange(FrozenModel):
    """The change from one rate to another.

    Attributes:
        before: The first rate in per cent; None where it is unknown.
        after: The second rate in per cent; None where it is unknown.
        absolute: The change in points.
        relative: The change in per cent of ``before``; None where a rate is unknown, or ``before`` is zero.
        why: Why a change is unknown, or why the absolute one has no interval.
    """

    before: float | None
    after: float | None
    absolute: PointsOrNull
    relative: PerCentOfBase | None
    why: str | None = None


def change(before: float | None, after: float | None, interval: tuple[float, float] | None = None) -> RateChange:
    """Return the change between two rates.

    Args:
        before: The first rate in per cent.
        after: The second rate in per cent.
        interval: 95 % interval of ``after - before`` by Newcombe's method, in points.
    """
    if before is None or after is None:
        why = "one of the rates is not known"
        return RateChange(before=before, after=after, absolute=Points(value=None, why=why), relative=None, why=why)
    low, high = interval or (None, None)
    method: Method | None = None if interval is None else "newcombe"
    absolute = Points(value=after - before, low=low, high=high, method=method)
    reasons = [] if before else ["there is no change relative to zero"]
    reasons += [] if interval else ["there is no interval, because the number of answers is not known"]
    relative = PerCentOfBase(per_cent=100 * (after - before) / before) if before else None
    return RateChange(before=before, after=after, absolute=absolute, relative=relative, why="; ".join(reasons) or None)
