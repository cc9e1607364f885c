"""How many requests may be under way, start in a minute, and use tokens in a minute; in this process only."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from contextlib import asynccontextmanager
from typing import Final

WINDOW_S: Final = 60.0
_LONGEST_SLEEP_S: Final = 1.0
"""A settled request frees tokens before its minute is over; whoever waits looks again this often."""

_SEVERAL: Final = 4
"""So many requests under way are a crowd."""

_shared: dict[tuple[Hashable, ...], dict[asyncio.AbstractEventLoop, Limiter]] = {}
"""The limiters of this process that are shared, by what they limit, and the event loop that they are used in."""

_sharing = threading.Lock()


class Slot:
    """One admitted request: when it started and how many tokens it counts for."""

    __slots__ = ("_limiter", "at", "number", "tokens")

    def __init__(self, limiter: Limiter, at: float, tokens: int, number: int) -> None:
        self._limiter = limiter
        self.at = at
        self.tokens = tokens
        self.number = number

    def settle(self, tokens: int) -> None:
        """Replace the estimate by what the provider counted."""
        self._limiter._correct(self, tokens)

    def note_answer(self) -> None:
        """Tell that the provider took the request."""
        self._limiter._grow()

    def note_refusal(self, retry_after: float | None = None) -> None:
        """Tell that the provider had too much to do, and how many seconds it asked to be left alone, if it did."""
        self._limiter._reduce(self, retry_after)


class Limiter:
    """Admits requests in the order in which they came.

    Over any 60 seconds at most ``requests_per_minute`` requests are admitted, with at most ``tokens_per_minute``
    tokens between them (a sliding window, exact; null is no limit). A request larger than the whole token limit is
    admitted when nothing else is in the window, for it could never be otherwise.

    At most ``max_in_flight`` requests are under way. A request that is turned away halves that number, or that of the
    requests under way if they were several but fewer, once for all that were under way at the time; as many
    answers as it allows add one to it again, up to the maximum. While a provider asks to be left alone, nobody is
    admitted.

    Args:
        max_in_flight: Requests under way at once.
        requests_per_minute: Requests started in any 60 s.
        tokens_per_minute: Tokens, by estimate until settled, of requests started in any 60 s.
        longest_hold_s: Most seconds that one request turned away can keep everybody waiting.
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
        longest_hold_s: float = 600.0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        for limit in (max_in_flight, requests_per_minute, tokens_per_minute):
            if limit is not None and limit < 1:
                raise ValueError(f"a limit must be at least 1, or null for none; got {limit}")
        self._requests = requests_per_minute
        self._tokens = tokens_per_minute
        self._longest_hold_s = longest_hold_s
        self._clock = clock
        self._sleep = sleep
        self._places = _Places(max_in_flight)
        self._gate = asyncio.Lock()
        self._window: deque[Slot] = deque()
        self._used = 0
        self._admitted = 0
        self._uncut_from = 0
        """Number of the first slot that was admitted after the last cut."""
        self._held_until = float("-inf")

    @classmethod
    def for_provider(
        cls,
        whom: Hashable,
        max_in_flight: int = 16,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
    ) -> Limiter:
        """The limiter of all who ask the same provider the same from the running event loop, now or after each other.

        It knows what was sent in the last minute, and how much the provider bore, also where the session that found
        that out is over: flows of several sources share a process. Runs side by side keep to the limits together.

        Args:
            whom: Who is asked: address of the API and models, say.
            max_in_flight: As above. Whoever gives other limits shares with nobody here.
            requests_per_minute: As above.
            tokens_per_minute: As above.

        Raises:
            ValueError: If a limit is below 1.
            RuntimeError: If no event loop runs.
        """
        loop = asyncio.get_running_loop()
        limits = (max_in_flight, requests_per_minute, tokens_per_minute)
        with _sharing:
            alike = _shared.setdefault((whom, *limits), {})
            if loop not in alike:
                over = next((other for other in alike if other.is_closed()), None)
                alike[loop] = cls(*limits) if over is None else alike.pop(over)._vacate()
            return alike[loop]

    def _vacate(self) -> Limiter:
        """The same without anybody in it: its event loop is closed, with all that was under way or waited there."""
        self._gate = asyncio.Lock()
        self._places = self._places.vacate()
        return self

    @property
    def in_flight_limit(self) -> int:
        """How many requests may be under way at this moment."""
        return self._places.limit

    @asynccontextmanager
    async def slot(self, tokens: int = 0) -> AsyncIterator[Slot]:
        """Wait for a place, and hold it for the body. ``tokens`` is what the request may use, prompt and answer."""
        async with self._places.one():
            # Both serve in order of arrival, so whoever sleeps at the gate is the next in line.
            async with self._gate:
                while (wait := self._wait(tokens)) > 0:
                    await self._sleep(min(wait, _LONGEST_SLEEP_S))
                slot = self._admit(tokens)
            yield slot

    def _admit(self, tokens: int) -> Slot:
        slot = Slot(self, self._clock(), tokens, self._admitted)
        self._admitted += 1
        self._window.append(slot)
        self._used += tokens
        return slot

    def _correct(self, slot: Slot, tokens: int) -> None:
        if slot in self._window:
            self._used += tokens - slot.tokens
        slot.tokens = tokens

    def _grow(self) -> None:
        self._places.success()

    def _reduce(self, slot: Slot, retry_after: float | None) -> None:
        if retry_after is not None:
            self._held_until = max(self._held_until, self._clock() + min(retry_after, self._longest_hold_s))
        if slot.number >= self._uncut_from:
            # The others that are under way were sent at the old rate: what becomes of them says nothing of the new one.
            self._uncut_from = self._admitted
            self._places.halve()

    def _wait(self, tokens: int) -> float:
        """Seconds until a request of so many tokens can be admitted, as far as is known now."""
        now = self._clock()
        while self._window and self._window[0].at + WINDOW_S <= now:
            self._used -= self._window.popleft().tokens
        until = max(now, self._held_until)
        if self._requests is not None and len(self._window) >= self._requests:
            until = max(until, self._window[-self._requests].at + WINDOW_S)
        if self._tokens is not None:
            excess = self._used + tokens - self._tokens
            for slot in self._window:
                if excess <= 0:
                    break
                excess -= slot.tokens
                until = max(until, slot.at + WINDOW_S)
        return until - now


class _Places:
    """Places for requests under way, given out in order of arrival; how many there are changes as answers come."""

    def __init__(self, most: int) -> None:
        self.limit = most
        self._most = most
        self._taken = 0
        self._successes = 0
        self._queue: deque[asyncio.Future[None]] = deque()

    def vacate(self) -> _Places:
        """As many places, all of them free."""
        places = _Places(self._most)
        places.limit = self.limit
        return places

    @asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        await self._take()
        try:
            yield
        finally:
            self._taken -= 1
            self._hand_out()

    def success(self) -> None:
        self._successes += 1
        if self._successes >= self.limit:
            self._successes = 0
            self.limit = min(self.limit + 1, self._most)
            self._hand_out()

    def halve(self) -> None:
        self._successes = 0
        # Of what was under way, if that was less than allowed: else the first cuts would change nothing. But a few say
        # little of how many would be too many.
        under_way = self._taken if self._taken >= _SEVERAL else self.limit
        self.limit = max(1, min(self.limit, under_way) // 2)

    async def _take(self) -> None:
        if self._taken < self.limit and not self._queue:
            self._taken += 1
            return
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                # Given a place and cancelled in the same turn: the next in line has it.
                self._taken -= 1
                self._hand_out()
            elif place in self._queue:
                self._queue.remove(place)
            raise

    def _hand_out(self) -> None:
        while self._queue and self._taken < self.limit:
            place = self._queue.popleft()
            if not place.done():
                self._taken += 1
                place.set_result(None)
