"""A semaphore that lets the waiter with the lowest number pass first."""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class PrioritySemaphore:
    """Bounds how much is done at once, and gives a free place to whoever is most urgent.

    For the coroutines of one event loop.

    Args:
        limit: Number of places.
    """

    def __init__(self, limit: int) -> None:
        self._free = limit
        self._order = itertools.count()
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []

    @asynccontextmanager
    async def place(self, priority: int) -> AsyncIterator[None]:
        """Hold a place for the body.

        Args:
            priority: Lower numbers pass first; equal ones in order of arrival.
        """
        await self.acquire(priority)
        try:
            yield
        finally:
            self.release()

    async def acquire(self, priority: int) -> None:
        """Wait for a place; ``release`` gives it back."""
        if self._free > 0:
            self._free -= 1
            return
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (priority, next(self._order), place))
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                # Given a place and cancelled in the same iteration of the loop: pass the place on.
                self.release()
            raise

    def release(self) -> None:
        """Give a place back."""
        while self._waiting:
            *_, place = heapq.heappop(self._waiting)
            if not place.done():
                place.set_result(None)
                return
        self._free += 1
