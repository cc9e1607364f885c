"""A share with its interval: Wilson, 1927 (statsmodels)."""

from __future__ import annotations

from typing import Annotated

from hazardmill.statistics.estimate import LEVEL, JsonNames, Proportion

Share = Annotated[
    Proportion, JsonNames(count="count", of="n", share="value", low="low", high="high", why="why")
]  # fmt: skip
"""A proportion as reviews and statistics write it."""


def rate(count: int, of: int) -> Proportion:
    """The share ``count / of`` with its 95 % interval."""
    if not of:
        return Proportion(count=0, n=0, value=None, method="wilson", why="there is nothing to count yet")
    from statsmodels.stats.proportion import proportion_confint

    low, high = proportion_confint(count, of, alpha=1 - LEVEL, method="wilson")
    share = count / of
    # Of none or of all, rounding puts a bound past the share.
    return Proportion(
        count=count, n=of, value=share, low=min(float(low), share), high=max(float(high), share), method="wilson"
    )
