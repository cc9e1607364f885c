"""Tasks in bins of difficulty. A bin with few tasks says little: it goes together with its neighbour."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hazardmill.records import FrozenModel

BINS: Final = 10
LEAST: Final = 100
"""Tasks that a bin has to have, unless it is the only one."""


class Bin(FrozenModel):
    """Tasks with ``low <= difficulty < high``; the last bin holds ``high`` too."""

    low: float
    high: float
    tasks: int

    @property
    def words(self) -> str:
        """``0.2 to 0.4``."""
        return f"{self.low:.1f} to {self.high:.1f}"


def bins(difficulty: NDArray[Any], least: int = LEAST) -> list[Bin]:
    """Ten bins of equal width from 0 to 1, merged until each has enough tasks, from easy to hard.

    The smallest bin goes first (of equals the easier one), to its smaller neighbour (of equals the easier one).
    """
    # Tenths as they are written: of three models in ten, numpy's own bounds would put the task into the bin below.
    edges = [place / BINS for place in range(BINS + 1)]
    counts, _ = np.histogram(difficulty, bins=edges)
    found = [
        Bin(low=low, high=high, tasks=int(count))
        for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True)
    ]
    while len(found) > 1:
        place = min(range(len(found)), key=lambda each: found[each].tasks)
        if found[place].tasks >= least:
            break
        beside = [other for other in (place - 1, place + 1) if 0 <= other < len(found)]
        other = min(beside, key=lambda each: found[each].tasks)
        first, second = sorted((place, other))
        found[first : second + 1] = [
            Bin(
                low=found[first].low,
                high=found[second].high,
                tasks=found[first].tasks + found[second].tasks,
            )
        ]
    return found


def places(difficulty: NDArray[Any], of: Sequence[Bin]) -> NDArray[np.int64]:
    """Which bin each task is in."""
    inner = [each.low for each in of[1:]]
    return np.searchsorted(inner, difficulty, side="right").astype(np.int64)
