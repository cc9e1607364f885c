"""How many requests may be under way, start in a minute, and use tokens in a minute; in this process only."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

WINDOW_S: Final = 60.0
_LONGEST_SLEEP_S: Final = 1.0
"""A settled request frees tokens before its minute is over; whoever waits looks again this often."""


class Slot:
    """One admitted request: when it started and how many tokens it counts for."""

    __slots__ = ("_limiter", "at", "tokens")

    def __init__(self, limiter: Limiter, at: float, tokens: int) -> None:
        self._limiter = limiter
        self.at = at
        self.tokens = tokens

    def settle(self, tokens: int) -> None:
        """Replace the estimate by what the provider counted."""
        self._limiter._correct(self, tokens)


class Limiter:
    """Admits requests in the order in which they came.

    Over any 60 seconds at most ``requests_per_minute`` requests are admitted, with at most ``tokens_per_minute``
    tokens between them (a sliding window, exact; null is no limit). A request larger than the whole token limit is
    admitted when nothing else is in the window, for it could never be otherwise.

    Args:
        max_in_flight: Requests under way at once.
        requests_per_minute: Requests started in any 60 s.
        tokens_per_minute: Tokens, by estimate until settled, of requests started in any 60 s.
        clock: Seconds, monotonic.
        sleep: What waits.

    Raises:
        ValueError: If a limit is below 1.
    """

    def __init__(
        self,
        max_in_flight: int = 16,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        for limit in (max_in_flight, requests_per_minute, tokens_per_minute):
            if limit is not None and limit < 1:
                raise ValueError(f"a limit must be at least 1, or null for none; got {limit}")
        self._requests = requests_per_minute
        self._tokens = tokens_per_minute
        self._clock = clock
        self._sleep = sleep
        self._in_flight = asyncio.Semaphore(max_in_flight)
        self._gate = asyncio.Lock()
        self._window: deque[Slot] = deque()
        self._used = 0

    @asynccontextmanager
    async def slot(self, tokens: int = 0) -> AsyncIterator[Slot]:
        """Wait for a place, and hold it for the body. ``tokens`` is what the request may use, prompt and answer."""
        async with self._in_flight:
            # Both locks serve in order of arrival, so whoever sleeps at the gate is the next in line.
            async with self._gate:
                while (wait := self._wait(tokens)) > 0:
                    await self._sleep(min(wait, _LONGEST_SLEEP_S))
                slot = self._admit(tokens)
            yield slot

    def _admit(self, tokens: int) -> Slot:
        slot = Slot(self, self._clock(), tokens)
        self._window.append(slot)
        self._used += tokens
        return slot

    def _correct(self, slot: Slot, tokens: int) -> None:
        if slot in self._window:
            self._used += tokens - slot.tokens
        slot.tokens = tokens

    def _wait(self, tokens: int) -> float:
        """Seconds until a request of so many tokens can be admitted, as far as is known now."""
        now = self._clock()
        while self._window and self._window[0].at + WINDOW_S <= now:
            self._used -= self._window.popleft().tokens
        until = now
        if self._requests is not None and len(self._window) >= self._requests:
            until = self._window[-self._requests].at + WINDOW_S
        if self._tokens is not None:
            excess = self._used + tokens - self._tokens
            for slot in self._window:
                if excess <= 0:
                    break
                excess -= slot.tokens
                until = max(until, slot.at + WINDOW_S)
        return until - now
