"""Sort tasks into bins of difficulty. A bin with few tasks says little, so it is merged with a neighbour."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hazardmill.records import FrozenModel

BINS: Final = 10
LEAST: Final = 100
"""Minimum number of tasks per bin, unless there is only one bin."""


class Bin(FrozenModel):
    """Tasks with ``low <= difficulty < high``; the last bin includes ``high``.

    Attributes:
        low: Lower bound of difficulty, from 0 to 1.
        high: Upper bound of difficulty, from 0 to 1.
        tasks: Number of tasks.
    """

    low: float
    high: float
    tasks: int

    @property
    def words(self) -> str:
        """The bounds in words: ``0.2 to 0.4``."""
        return f"{self.low:.1f} to {self.high:.1f}"


def bins(difficulty: NDArray[Any], least: int = LEAST) -> list[Bin]:
    """Return ten bins of equal width from 0 to 1, merged until each has enough tasks, from easy to hard.

    The smallest bin is merged first (of equal ones the easiest), with its smaller neighbour (of equal ones the easier).

    Args:
        difficulty: Difficulty of each task, from 0 to 1, without NaN.
        least: Minimum number of tasks per bin.
    """
    # Exact tenths: numpy's own bounds are slightly off, and would put a difficulty of 3/10 into the bin below.
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
    """Return the index of each task's bin.

    Args:
        difficulty: Difficulty of each task.
        of: The bins, from easy to hard.
    """
    inner = [each.low for each in of[1:]]
    return np.searchsorted(inner, difficulty, side="right").astype(np.int64)
