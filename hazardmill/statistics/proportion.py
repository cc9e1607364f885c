"""A share with its interval: Wilson, 1927 (statsmodels)."""

from __future__ import annotations

from typing import Final

from hazardmill.records import FrozenModel

CONFIDENCE: Final = 0.95


class Proportion(FrozenModel):
    """A share with its 95 % interval (Wilson)."""

    count: int
    of: int
    share: float | None
    low: float | None
    high: float | None
    why: str | None = None
    """Why there is no share."""


def rate(count: int, of: int) -> Proportion:
    """The share ``count / of``."""
    if not of:
        return Proportion(count=0, of=0, share=None, low=None, high=None, why="there is nothing to count yet")
    from statsmodels.stats.proportion import proportion_confint

    low, high = proportion_confint(count, of, alpha=1 - CONFIDENCE, method="wilson")
    share = count / of
    # Of none or of all, rounding puts a bound past the share.
    return Proportion(count=count, of=of, share=share, low=min(float(low), share), high=max(float(high), share))
