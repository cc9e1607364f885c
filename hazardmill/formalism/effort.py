"""How much work a search may be: expansions, actions tried, and states kept, so that it refuses rather than hangs."""

from __future__ import annotations

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


class Effort:
    """Counts the work of one search in units that are the same on every machine.

    Args:
        limit: Most expansions. ``TRIES`` times as many actions may be tried, ``KEPT`` times as many states kept.
        width: Ground actions tried in each expansion.
    """

    __slots__ = ("_width", "expanded", "limit", "tried")

    def __init__(self, limit: int, width: int) -> None:
        self.limit = limit
        self._width = width
        self.expanded = 0
        self.tried = 0

    def expand(self, kept: int) -> None:
        """Count one more expansion, before it is made.

        Args:
            kept: States kept so far.

        Raises:
            SearchLimitReached: It would be beyond the limit.
        """
        if self.expanded >= self.limit:
            raise self._refusal(f"{self.limit} expansions")
        if self.tried >= self.limit * TRIES:
            raise self._refusal(f"{self.tried} actions tried in {self.expanded} states, {self._width} in each")
        if kept > max(KEPT * self.limit, _SMALL):
            raise self._refusal(f"{kept} states")
        self.expanded += 1
        self.tried += self._width

    @staticmethod
    def _refusal(after: str) -> SearchLimitReached:
        return SearchLimitReached(
            f"no answer after {after}",
            remedy="use fewer objects, parameters or fluents, raise the limit, or use a fallback engine",
        )
