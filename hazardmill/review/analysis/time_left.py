"""How long a reviewer's open tasks will take, by the reviewer's own pace."""

from __future__ import annotations

import statistics
from collections.abc import Collection
from typing import Final

from hazardmill.reporting.numbers import UNKNOWN, hours

FEWEST: Final = 5
"""Decisions with a known time that an estimate needs: the first tasks take longer than all others."""


def minutes_left(waiting: int, seconds: Collection[float]) -> float | None:
    """Return how many minutes a reviewer will need for what is left: the number of slips times the median time.

    Args:
        waiting: Number of slips that are to be decided yet.
        seconds: Times of the reviewer's decisions in seconds, as far as they are known.

    Returns:
        Minutes at work, without pauses; 0 if nothing is left, None if fewer than ``FEWEST`` times are known.
    """
    if not waiting:
        return 0.0
    if len(seconds) < FEWEST:
        return None
    return waiting * statistics.median(seconds) / 60


def render_minutes_left(minutes: float | None) -> str:
    """Return the time left as text: ``about 25 min``, ``none``, or ``unknown``."""
    if minutes is None:
        return UNKNOWN
    return f"about {hours(max(minutes, 1 / 60) / 60)}" if minutes else "none"
