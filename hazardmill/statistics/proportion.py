"""Shares with Wilson's interval (Wilson, 1927; statsmodels)."""

from __future__ import annotations

from typing import Annotated

from hazardmill.errors import ExtraMissing
from hazardmill.statistics.estimate import LEVEL, JsonNames, Proportion

Share = Annotated[
    Proportion,
    JsonNames(count="count", of="n", share="value", low="low", high="high", method="method", why="why"),
]
"""A proportion as reviews and statistics write it to JSON."""


def rate(count: int, of: int, level: float = LEVEL) -> Proportion:
    """Return the share ``count / of`` with Wilson's interval.

    Args:
        count: How many things have the property.
        of: How many things there are.
        level: Confidence level.

    Returns:
        The share; its value and interval are ``None`` if ``of`` is 0.
    """
    if not of:
        return Proportion(count=0, n=0, value=None, why="there is nothing to count yet")
    low, high = wilson_interval(count, of, level)
    return Proportion(count=count, n=of, value=count / of, low=low, high=high, method="wilson")


def wilson_interval(count: float, of: float, level: float = LEVEL) -> tuple[float, float]:
    """Return Wilson's interval of the share ``count / of``.

    Args:
        count: How many things have the property; need not be a whole number.
        of: How many independent things there are, more than 0; need not be a whole number.
        level: Confidence level.

    Returns:
        Lower and upper end, from 0 to 1; they differ, whatever the counts.

    Raises:
        ExtraMissing: statsmodels is not installed.
    """
    try:
        from statsmodels.stats.proportion import proportion_confint
    except ImportError as error:
        raise ExtraMissing("an interval needs statsmodels, which is not installed", extra="mill") from error

    low, high = proportion_confint(count, of, alpha=1 - level, method="wilson")
    share = count / of
    # If none or all have the property, rounding can put an end of the interval past the share itself.
    return min(float(low), share), max(float(high), share)
