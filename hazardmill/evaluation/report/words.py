"""Rates and their intervals in words."""

from __future__ import annotations

from hazardmill.evaluation.metrics import Figures
from hazardmill.reporting.numbers import NONE, UNKNOWN, share
from hazardmill.statistics.estimate import Estimate, Proportion

Interval = tuple[float, float, float]
"""Value, low, high, in per cent."""


def told(rate: Estimate | None) -> str:
    """``81.2 % (78.0 to 84.1)``."""
    if rate is None or rate.value is None:
        return NONE
    if rate.low is None or rate.high is None:
        return f"{share(rate.value)} (no interval)"
    return f"{share(rate.value)} ({100 * rate.low:.1f} to {100 * rate.high:.1f})"


def told_of(rate: Proportion) -> str:
    """With how many among how many."""
    return NONE if rate.value is None else f"{told(rate)}, {rate.count:,} of {rate.n:,}"


def told_share(found: Proportion) -> str:
    """``30.0 % (18.1 to 45.4)``, by Wilson."""
    if found.value is None or found.low is None or found.high is None:
        return NONE
    return f"{share(found.value)} ({100 * found.low:.1f} to {100 * found.high:.1f})"


def told_estimate(found: Estimate, digits: int = 2) -> str:
    """``12.01 (4.75 to 19.26)``, or why not."""
    if found.value is None:
        return f"{UNKNOWN}: {found.why}"
    if found.low is None or found.high is None:
        return f"{found.value:.{digits}f} (no interval)"
    return f"{found.value:.{digits}f} ({found.low:.{digits}f} to {found.high:.{digits}f})"


def told_p(value: float | None) -> str:
    """``p = 0.0123``."""
    if value is None:
        return "p unknown"
    return "p < 0.0001" if value < 0.0001 else f"p = {value:.4f}"


def interval(rate: Estimate | None) -> Interval | None:
    """In per cent; null where the rate has no value, and a point where it has no interval."""
    if rate is None or rate.value is None:
        return None
    low = rate.value if rate.low is None else rate.low
    high = rate.value if rate.high is None else rate.high
    return 100 * rate.value, 100 * low, 100 * high


def last_pass(figures: Figures, name: str) -> tuple[int, Estimate] | None:
    """pass^k of the largest k that there is."""
    by_k = figures.pass_k.get(name, {})
    known = [k for k in by_k if by_k[k].value is not None]
    return (max(known), by_k[max(known)]) if known else None
