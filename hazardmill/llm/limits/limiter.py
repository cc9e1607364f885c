"""Rate limits within one process: requests under way, requests per minute and tokens per minute."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from contextlib import asynccontextmanager
from typing import Final

from hazardmill.llm.limits.shared_limits import WINDOW_S, SharedLimits

_LONGEST_SLEEP_S: Final = 1.0
"""A settled request frees tokens before its minute is over, so waiters look again this often."""

_SEVERAL: Final = 4
"""With at least this many requests under way, their number is halved instead of the limit."""

_shared: dict[tuple[Hashable, ...], dict[asyncio.AbstractEventLoop, Limiter]] = {}
"""Limiters shared within this process, by what they limit and by the event loop that uses them."""

_sharing = threading.Lock()


class Slot:
    """One admitted request: when it started and how many tokens it counts for.

    Attributes:
        at: Time of admission, in seconds of the limiter's clock.
        tokens: Tokens that the request counts for; an estimate until settled.
        number: How many requests were admitted before it.
    """

    __slots__ = ("_limiter", "_shared", "at", "number", "tokens")

    def __init__(
        self, limiter: Limiter, at: float, tokens: int, number: int, shared: tuple[SharedLimits, int] | None
    ) -> None:
        self._limiter = limiter
        self._shared = shared
        self.at = at
        self.tokens = tokens
        self.number = number

    def settle(self, tokens: int) -> None:
        """Replace the estimate by the number of tokens that the provider counted."""
        self._limiter._correct(self, tokens)
        if self._shared is not None:
            limits, place = self._shared
            limits.settle(place, tokens)

    def note_answer(self) -> None:
        """Report that the provider accepted the request."""
        self._limiter._grow()

    def note_refusal(self, retry_after: float | None = None) -> None:
        """Report that the provider was too busy.

        Args:
            retry_after: Seconds that the provider asked clients to wait; null if it named none.
        """
        self._limiter._reduce(self, retry_after)
        if self._shared is not None and retry_after is not None:
            self._shared[0].hold(min(retry_after, self._limiter._longest_hold_s))


class Limiter:
    """Admits requests in the order in which they arrive.

    In any 60 seconds at most ``requests_per_minute`` requests are admitted, with at most ``tokens_per_minute`` tokens
    in total (an exact sliding window; null means no limit). A request that is larger than the whole token limit is
    admitted when the window is empty, because it could never be admitted otherwise.

    At most ``max_in_flight`` requests are under way. A request rejected for overload halves this limit; if several but
    fewer requests were under way, the limit becomes half of their number. This happens once for all requests that were
    under way at the time. After as many answers as the current limit, the limit grows by one, up to the maximum. While
    a provider asks clients to wait, nothing is admitted.

    Args:
        max_in_flight: Maximum number of requests under way.
        requests_per_minute: Maximum number of requests started in any 60 s.
        tokens_per_minute: Maximum number of tokens, estimated until settled, of requests started in any 60 s.
        longest_hold_s: Maximum seconds for which one rejected request can hold up all others.
        clock: Monotonic clock in seconds.
        sleep: Coroutine function that waits.

    Raises:
        ValueError: A limit is below 1.
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
        self._under_way = 0
        self._uncut_from = 0
        """Number of the first slot that was admitted after the last reduction."""
        self._held_until = float("-inf")

    @classmethod
    def for_provider(
        cls,
        whom: Hashable,
        max_in_flight: int = 16,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
    ) -> Limiter:
        """Return the limiter shared by all who ask the same provider from the running event loop.

        The limiter remembers what was sent in the last minute and how much the provider tolerated, even after the
        session that found it out has ended: flows of several sources share a process. Concurrent runs keep to the
        limits together.

        Args:
            whom: Who is asked, for example the address of the API and the models.
            max_in_flight: As above. Callers with different limits get different limiters.
            requests_per_minute: As above.
            tokens_per_minute: As above.

        Raises:
            ValueError: A limit is below 1.
            RuntimeError: No event loop is running.
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
        """Empty the limiter: its event loop is closed, with everything that ran or waited there."""
        self._gate = asyncio.Lock()
        self._places = self._places.vacate()
        self._under_way = 0
        return self

    @property
    def in_flight_limit(self) -> int:
        """How many requests may be under way at this moment."""
        return self._places.limit

    @asynccontextmanager
    async def slot(
        self, tokens: int = 0, shared: SharedLimits | None = None, abandoned: Callable[[], bool] = lambda: False
    ) -> AsyncIterator[Slot]:
        """Wait for a slot and hold it for the body.

        Args:
            tokens: Tokens that the request may use, prompt and answer together.
            shared: Limits to keep besides, together with other processes.
            abandoned: Whether nothing is going to be sent. From then on, those who wait are let through, as long as
                the body sends nothing.

        Yields:
            The slot, which counts for ``tokens`` tokens until it is settled.

        Raises:
            StoreError: The file of the shared limits cannot be written, or it is damaged.
        """
        place: int | None = None
        async with self._places.one():
            try:
                # Places and gate both serve in order of arrival, so the one who sleeps at the gate is next in line.
                async with self._gate:
                    while not (gone := abandoned()):
                        if (wait := self._wait(tokens)) > 0:
                            await self._sleep(min(wait, _LONGEST_SLEEP_S))
                        elif shared is None or place is not None:
                            break
                        else:
                            # The provider may ask to wait meanwhile: look again.
                            place = await shared.take(tokens, abandoned)
                    if gone:
                        # Counts for no window, because nothing is sent.
                        slot = Slot(self, self._clock(), 0, self._admitted, None)
                    else:
                        slot = self._admit(tokens, None if shared is None or place is None else (shared, place))
                self._under_way += 1
                try:
                    yield slot
                finally:
                    self._under_way -= 1
            finally:
                if shared is not None and place is not None:
                    shared.leave(place)

    def _admit(self, tokens: int, shared: tuple[SharedLimits, int] | None) -> Slot:
        slot = Slot(self, self._clock(), tokens, self._admitted, shared)
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
            # The others under way were sent at the old rate: their outcome says nothing about the new one.
            self._uncut_from = self._admitted
            self._places.halve(self._under_way)

    def _wait(self, tokens: int) -> float:
        """Seconds until a request of this size can be admitted, as far as is known now."""
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
    """Places for requests under way, given out in order of arrival. Their number changes as answers arrive."""

    def __init__(self, most: int) -> None:
        self.limit = most
        self._most = most
        self._taken = 0
        self._successes = 0
        self._queue: deque[asyncio.Future[None]] = deque()

    def vacate(self) -> _Places:
        """The same number of places, all of them free."""
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

    def halve(self, sent: int) -> None:
        self._successes = 0
        # Halve the number under way if that is below the limit: otherwise the first reductions would change nothing.
        # A handful under way, however, says little about how many would be too many.
        under_way = sent if sent >= _SEVERAL else self.limit
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
                # Given a place and cancelled in the same iteration of the loop: pass the place on.
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
