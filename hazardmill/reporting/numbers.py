"""Numbers as words: counts, shares, dollars."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

UNKNOWN: Final = "unknown"
NONE: Final = "-"
"""Where there is nothing to say: a share of nothing, a price a task without tasks."""


def count(number: int) -> str:
    """``12,345``."""
    return f"{number:,}"


def share(value: float | None) -> str:
    """``46.0 %``, or a dash for a share of nothing."""
    return NONE if value is None else f"{100 * value:.1f} %"


def share_of(part: float, whole: float) -> str:
    """The share of a part, or a dash where there is no whole."""
    return share(part / whole if whole else None)


def per_cent(value: float) -> str:
    """``46.0%``, as terminals have it."""
    return f"{value:.1%}"


def points(value: float) -> str:
    """``+3.0``, of what is in per cent already."""
    return f"{value:+.1f}"


def decimals(digits: int) -> Callable[[float], str]:
    """Writes numbers with so many decimals."""
    return lambda value: f"{value:.{digits}f}"


def usd(value: float | None) -> str:
    """``$0.0112``: two decimals, and below a dollar three significant figures."""
    if value is None:
        return UNKNOWN
    if value == 0 or value >= 1:
        return f"${value:,.2f}"
    return f"${value:.{min(2 - math.floor(math.log10(value)), 12)}f}"


def plural(number: int, noun: str) -> str:
    """``1 task``, ``1,200 tasks``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
