"""How much work and memory a search may take, so that it refuses rather than hangs or fills the machine.

Both are computed from what is searched, not measured, so that every machine refuses at the same place.
"""

from __future__ import annotations

import math
import time
from typing import Final

from hazardmill.errors import SearchLimitReached

DEFAULT_LIMIT: Final = 1_000_000
"""Expansions after which a search refuses to go on."""
DRAFT_LIMIT: Final = 200_000
"""The same for drafts of generated tasks: at most some seconds and some hundred megabytes."""
TRIES: Final = 20
"""Actions that may be tried per expansion, on average: a task of thousands of ground actions meets its limit early."""
KEPT: Final = 2
"""States of the smallest size that may be kept per expansion."""
STATE_BYTES: Final = 400
"""What a state of the smallest size takes, with its place in a table and a list."""
ENTRY_BYTES: Final = 400
"""What an entry of a layer takes: a state's number and its danger, in up to three tables."""
EDGE_BYTES: Final = 100
"""What one way from a known state to another takes."""
_SMALL: Final = 10_000
_BYTES_PER_TRY: Final = 256
"""Bytes of a huge integer that take as long to add as trying a plain action."""
_LOOK_EVERY: Final = 2_000
"""Actions tried between two looks at the clock."""
_REMEDY: Final = "use fewer objects, parameters or fluents, raise the limit, or use a fallback engine"


def most_bytes(limit: int) -> int:
    """Return how many bytes a search of so many expansions may keep: 800 per expansion, and at least 4 MB."""
    return max(limit * KEPT, _SMALL) * STATE_BYTES


class Effort:
    """Counts the work and the memory of one search in units that are the same on every machine.

    Several searches may share one effort. Limits are checked before the work is done.

    Args:
        limit: Most expansions. ``TRIES`` times as many actions may be tried, ``most_bytes`` may be kept.
        width: Work of one expansion: the ground actions tried in it, large ones counted several times.
        timeout_s: Seconds after which to refuse as well, for callers who promised an answer in time. What is found
            within them depends on the machine: never set it for results that end up in a dataset.
        state_bytes: Bytes per state kept.

    Attributes:
        expanded: Expansions so far.
        tried: Actions tried so far, in units of the plainest one.
        timed_out: Whether the search ended because its time was over.
    """

    __slots__ = (
        "_deadline",
        "_held",
        "_most_bytes",
        "_most_tried",
        "_next_look",
        "_state_bytes",
        "_width",
        "expanded",
        "limit",
        "timed_out",
        "tried",
    )

    def __init__(self, limit: int, width: int, timeout_s: float | None = None, state_bytes: int = STATE_BYTES) -> None:
        self.limit = limit
        self.expanded = 0
        self.tried = 0
        self.timed_out = False
        self._width = width
        self._state_bytes = state_bytes
        self._held = 0
        self._next_look = 0
        self._most_tried = limit * TRIES
        self._most_bytes = most_bytes(limit)
        self._deadline = math.inf if timeout_s is None else time.monotonic() + timeout_s

    def widen(self, width: int) -> None:
        """Set the work of each expansion, once it is known."""
        self._width = width

    def expand(self, kept: int, besides: int = 0) -> None:
        """Count one more expansion in which every action is tried, before it is made.

        Args:
            kept: States kept so far.
            besides: Bytes kept beside them, those of ``hold`` excepted.

        Raises:
            SearchLimitReached: It would be beyond the limit.
        """
        if self.tried >= self._most_tried:
            raise self._refusal(kept, besides)
        self.revisit(kept, besides)
        self.tried += self._width

    def revisit(self, kept: int, besides: int = 0) -> None:
        """Count one more expansion of a state whose successors are known already.

        Args:
            kept: States kept so far.
            besides: Bytes kept beside them, those of ``hold`` excepted.

        Raises:
            SearchLimitReached: It would be beyond the limit.
        """
        if self.expanded >= self.limit or kept * self._state_bytes + besides + self._held > self._most_bytes:
            raise self._refusal(kept, besides)
        if self.tried >= self._next_look or not self.expanded & 63:
            self._next_look = self.tried + _LOOK_EVERY
            self.watch_the_clock()
        self.expanded += 1

    def lengthen(self, size: int) -> None:
        """Count the additional work of an expansion in a state that holds so many bytes of huge integers."""
        self.tried += self._width * size // _BYTES_PER_TRY

    def spend(self, work: int) -> None:
        """Count work other than expansions, before it is done.

        Args:
            work: Its cost, in actions tried.

        Raises:
            SearchLimitReached: It would be beyond the limit.
        """
        self.tried += work
        if self.tried > self._most_tried:
            raise self._refusal(0, 0)

    def hold(self, size: int) -> None:
        """Count bytes that are kept until the search ends, beside its states.

        Raises:
            SearchLimitReached: They would be beyond the limit.
        """
        self._held += size
        if self._held > self._most_bytes:
            raise self._refusal(0, 0)

    def watch_the_clock(self) -> None:
        """Refuse to go on once the time is over.

        Raises:
            SearchLimitReached: It is over.
        """
        if time.monotonic() > self._deadline:
            self.timed_out = True
            raise SearchLimitReached("no answer in the time that was given", remedy="give it more time")

    def _refusal(self, kept: int, besides: int) -> SearchLimitReached:
        held = kept * self._state_bytes + besides + self._held
        if self.expanded >= self.limit:
            why = f"after {self.limit:,} expansions"
        elif held > self._most_bytes:
            why = f"after {kept:,} states, which take {held // 10**6:,} MB with the data that belongs to them"
        else:
            why = f"after trying {self.tried:,} actions in {self.expanded:,} states ({self._width:,} per state)"
        return SearchLimitReached(f"the search was stopped {why}", remedy=_REMEDY)
