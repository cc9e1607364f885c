"""Write numbers as text: counts, shares, dollars."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

UNKNOWN: Final = "unknown"
NONE: Final = "-"
"""Stands where a figure is not defined, such as a share of nothing or a price per task without tasks."""

_TWO_DIGITS: Final = 10


def count(number: int) -> str:
    """Write a count as ``12,345``."""
    return f"{number:,}"


def share(value: float | None, digits: int = 1) -> str:
    """Return a share as ``46.0 %``.

    Args:
        value: Between 0 and 1; null for a share of nothing, which is written as a dash.
        digits: How many digits follow the point.
    """
    return NONE if value is None else f"{100 * value:.{digits}f} %"


def share_of(part: float, whole: float) -> str:
    """Write the share of a part in a whole as ``46.0 %``, or a dash where the whole is zero."""
    return share(part / whole if whole else None)


def per_cent(value: float) -> str:
    """Return a share as ``46.0%``, without the blank that ``share`` puts before the sign.

    Args:
        value: Between 0 and 1.
    """
    return f"{value:.1%}"


def points(value: float) -> str:
    """Return a difference in percentage points as ``+3.0``.

    Args:
        value: In per cent already, not a share.
    """
    return f"{value:+.1f}"


def decimals(digits: int) -> Callable[[float], str]:
    """Return a function that writes numbers with a fixed number of decimals.

    Args:
        digits: How many digits follow the point.
    """
    return lambda value: f"{value:.{digits}f}"


def usd(value: float | None) -> str:
    """Write an amount of US dollars, such as ``$12.50`` or ``$0.0112``.

    Args:
        value: Dollars; null is written as ``unknown``.

    Returns:
        Two decimals from a dollar on, three significant figures below it.
    """
    if value is None:
        return UNKNOWN
    if value == 0 or value >= 1:
        return f"${value:,.2f}"
    return f"${value:.{min(2 - math.floor(math.log10(value)), 12)}f}"


def hours(value: float) -> str:
    """Write a time span in the unit that suits it: ``40 s``, ``12 min``, ``3.5 h``, ``22 days``.

    Args:
        value: Hours.

    Returns:
        Two significant figures below 10 of a unit, whole units above.
    """
    for unit, size, most in (("s", 1 / 3600, 90), ("min", 1 / 60, 90), ("h", 1.0, 48)):
        if value / size < most:
            return f"{value / size:.2g} {unit}" if value / size < _TWO_DIGITS else f"{value / size:.0f} {unit}"
    return f"{value / 24:,.0f} days"


def plural(number: int, noun: str) -> str:
    """Return a count with its noun: ``1 task``, ``1,200 tasks``.

    Args:
        number: The count.
        noun: In the singular; its plural must end in a plain ``s``.
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def duration(seconds: float) -> str:
    """Write a length of time in its largest whole unit: ``40 s``, ``12 min``, ``3 h``, ``2 days``.

    Args:
        seconds: The length.

    Returns:
        The number of whole units, rounded down.
    """
    for unit, length in (("day", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= (2 if unit == "day" else 1) * length:
            number = int(seconds // length)
            return plural(number, unit) if unit == "day" else f"{number} {unit}"
    return f"{int(seconds)} s"
