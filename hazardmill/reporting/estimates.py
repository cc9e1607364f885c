"""Estimates in words: a value with its interval behind it, in whatever form its unit takes."""

from __future__ import annotations

from collections.abc import Callable

from hazardmill.reporting.numbers import UNKNOWN, share
from hazardmill.statistics.estimate import Estimate

Form = Callable[[float], str]
"""Writes one number: ``share``, ``per_cent``, ``points``, or so many ``decimals``."""


def render_estimate(
    found: Estimate, form: Form, ends: Form | None = None, *, unknown: str | None = None, without: str | None = None
) -> str:
    """``12.01 (4.75 to 19.26)``, or why not.

    Args:
        found: The estimate.
        form: How its value is written.
        ends: How the ends of its interval are written; as its value if not given.
        unknown: What to say where it has no value; the reason if not given.
        without: What stands in brackets where it has no interval; the reason if not given.
    """
    if found.value is None:
        return f"{UNKNOWN}: {found.why}" if unknown is None else unknown
    if without is None:
        without = "no interval" if found.why is None else f"no interval: {found.why}"
    return f"{form(found.value)} ({render_interval(found, ends or form) or without})"


def render_interval(found: Estimate, form: Form) -> str | None:
    """``4.75 to 19.26``; null where there is none."""
    if found.low is None or found.high is None:
        return None
    return f"{form(found.low)} to {form(found.high)}"


def render_share(found: Estimate, unknown: str) -> str:
    """``81.2 % (78.0 to 84.1)``, or ``unknown`` where it has no value."""
    return render_estimate(found, share, lambda end: f"{100 * end:.1f}", unknown=unknown, without="no interval")
