"""How much work a search may be: expansions, actions tried, and states kept, so that it refuses rather than hangs."""

from __future__ import annotations

import math
import time
from typing import Final

from hazardmill.errors import SearchLimitReached

DEFAULT_LIMIT: Final = 1_000_000
"""Expansions after which a search refuses to go on."""
DRAFT_LIMIT: Final = 200_000
"""The same for drafts of generated tasks: some seconds and some hundred megabytes at the most."""
TRIES: Final = 20
"""Actions that may be tried an expansion, on average: a task of thousands of ground actions meets its limit early."""
KEPT: Final = 2
"""States that may be kept an expansion; each takes some 300 bytes."""
_SMALL: Final = 10_000
_LOOK_EVERY: Final = 2_000
"""Actions tried between two looks at the clock."""
_REMEDY: Final = "use fewer objects, parameters or fluents, raise the limit, or use a fallback engine"


class Effort:
    """Counts the work of one search in units that are the same on every machine.

    Args:
        limit: Most expansions. ``TRIES`` times as many actions may be tried, ``KEPT`` times as many states kept.
        width: Ground actions tried in each expansion.
        timeout_s: Seconds after which to refuse as well, for callers who promised an answer in time. What is found
            within them depends on the machine: never set for what ends up in a dataset.
    """

    __slots__ = (
        "_deadline",
        "_most_kept",
        "_most_tried",
        "_next_look",
        "_width",
        "expanded",
        "limit",
        "timed_out",
        "tried",
    )

    def __init__(self, limit: int, width: int, timeout_s: float | None = None) -> None:
        self.limit = limit
        self.expanded = 0
        self.tried = 0
        self.timed_out = False
        """Whether it was the time that ended the search."""
        self._width = width
        self._next_look = 0
        self._most_tried = limit * TRIES
        self._most_kept = max(limit * KEPT, _SMALL)
        self._deadline = math.inf if timeout_s is None else time.monotonic() + timeout_s

    def widen(self, width: int) -> None:
        """Say how many ground actions each expansion tries, once that is known."""
        self._width = width

    def expand(self, kept: int) -> None:
        """Count one more expansion in which every action is tried, before it is made.

        Args:
            kept: States kept so far.

        Raises:
            SearchLimitReached: It would be beyond the limit.
        """
        if self.expanded >= self.limit or self.tried >= self._most_tried or kept > self._most_kept:
            raise self._refusal(kept)
        if self.tried >= self._next_look:
            self._next_look = self.tried + _LOOK_EVERY
            self.watch_the_clock()
        self.expanded += 1
        self.tried += self._width

    def revisit(self, kept: int) -> None:
        """Count one more expansion of a state whose successors are known already.

        Args:
            kept: States kept so far.

        Raises:
            SearchLimitReached: It would be beyond the limit.
        """
        if self.expanded >= self.limit or kept > self._most_kept:
            raise self._refusal(kept)
        if not self.expanded & 63:
            self.watch_the_clock()
        self.expanded += 1

    def watch_the_clock(self) -> None:
        """Refuse once the time is over.

        Raises:
            SearchLimitReached: It is.
        """
        if time.monotonic() > self._deadline:
            self.timed_out = True
            raise SearchLimitReached("no answer in the time that was given", remedy="give it more time")

    def _refusal(self, kept: int) -> SearchLimitReached:
        if self.expanded >= self.limit:
            after = f"{self.limit} expansions"
        elif kept > self._most_kept:
            after = f"{kept} states"
        else:
            after = f"{self.tried} actions tried in {self.expanded} states, {self._width} in each"
        return SearchLimitReached(f"no answer after {after}", remedy=_REMEDY)
