"""Asks a backend, pays once: ledger first, then the limiter, then attempts until one brings an answer."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, wait_exponential_jitter

from hazardmill.errors import ConnectionFailed, HazardmillError, ProviderError, RateLimited, RequestRefused
from hazardmill.llm.ledger import Attempt, Ledger, Recorded
from hazardmill.llm.limiter import Limiter, Slot
from hazardmill.llm.prices import Prices, max_tokens, prompt_bytes
from hazardmill.llm.requests import Answer, Backend, Completion, Request
from hazardmill.llm.scrub import scrub

_BYTES_A_TOKEN: Final = 4
"""For the limiter's estimate only: English text has four bytes a token or more."""


@dataclass(frozen=True, slots=True)
class Retry:
    """A pause that begins, before one more attempt at a request."""

    request: Request
    error: ProviderError
    """What ended the last attempt, secrets removed."""
    attempt: int
    """Number of the attempt to come, from 2."""
    max_attempts: int
    wait_s: float


class Client:
    """What stages ask. Safe to share by all coroutines of one event loop.

    A request that the ledger has answered is not sent again; coroutines that ask the same at the same time share one
    request. Every attempt, failed and cancelled ones too, is in the ledger, on disk, before its answer is used.

    Args:
        backend: Who answers.
        ledger: Where attempts are written down and answers are found again.
        limiter: Requests under way, and requests and tokens a minute.
        prices: What the models cost.
        deadline_s: Seconds for all attempts at one request and the pauses between them; the wait for the limiter does
            not count, because a long queue is no fault of the request.
        max_attempts: Most attempts at one request in one call of ``ask``.
        sleep: What waits between attempts.
        clock: Seconds, monotonic.
        on_retry: Told of each pause before another attempt; must not raise.
    """

    def __init__(
        self,
        backend: Backend,
        ledger: Ledger,
        *,
        limiter: Limiter,
        prices: Prices,
        deadline_s: float = 600.0,
        max_attempts: int = 6,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
        on_retry: Callable[[Retry], None] | None = None,
    ) -> None:
        self._backend = backend
        self._ledger = ledger
        self._limiter = limiter
        self._prices = prices
        self._deadline_s = deadline_s
        self._max_attempts = max_attempts
        self._sleep = sleep
        self._clock = clock
        self._on_retry = on_retry
        self._flights: dict[str, _Flight] = {}
        # A replayed answer was paid for by the run that is replayed.
        self._charges = bool(getattr(backend, "charges", True))

    async def ask(self, request: Request) -> Answer:
        """The answer to one request.

        An answer that is cut off, empty or a refusal is returned like any other: it was paid for, and what to make of
        it is the caller's to decide (``structured``). It is ``paid`` if this run paid for it, be it earlier, in a
        process that was killed.

        Raises:
            ProviderError: No attempt brought an answer. Retryable errors were tried again up to the limits.
            StoreError: The ledger could not be written; the answer is withheld.
        """
        identity = request.identity(self._backend.name, self._backend.host)
        recorded = self._ledger.lookup(identity)
        if recorded is not None:
            return self._answer(recorded)
        flight = self._flights.get(identity)
        if flight is None:
            flight = self._flights[identity] = _Flight(asyncio.ensure_future(self._pay(identity, request)))
            flight.task.add_done_callback(lambda _: self._flights.pop(identity, None))
        return self._answer(await flight.join())

    def _answer(self, recorded: Recorded) -> Answer:
        return recorded.answer(paid=self._charges and self._ledger.is_own(recorded))

    async def _pay(self, identity: str, request: Request) -> Recorded:
        deadline = _Deadline(self._deadline_s, self._clock)
        retrying = AsyncRetrying(
            retry=retry_if_exception(lambda error: isinstance(error, ProviderError) and error.retryable),
            stop=lambda state: self._give_up(state, deadline),
            wait=_pause,
            sleep=self._sleep,
            before_sleep=lambda state: self._tell(request, state),
            reraise=True,
        )
        return await retrying(self._attempt, identity, request, deadline)

    def _give_up(self, state: RetryCallState, deadline: _Deadline) -> bool:
        return state.attempt_number >= self._max_attempts or state.upcoming_sleep >= deadline.left()

    def _tell(self, request: Request, state: RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome is not None else None
        if self._on_retry is not None and isinstance(error, ProviderError):
            self._on_retry(Retry(request, error, state.attempt_number + 1, self._max_attempts, state.upcoming_sleep))

    async def _attempt(self, identity: str, request: Request, deadline: _Deadline) -> Recorded:
        completion: Completion | None = None
        error: BaseException | None = None
        queued = self._clock()
        async with self._limiter.slot(_estimate(request)) as slot:
            began = self._clock()
            deadline.excuse(began - queued)
            try:
                completion = await self._complete(request, deadline)
            except (Exception, asyncio.CancelledError) as caught:
                error = _cleaned(caught, request)
            ended = self._clock()
            _settle(slot, completion)
        recorded = await _to_the_end(
            self._ledger.record(
                Attempt(
                    identity=identity,
                    request=request,
                    backend=self._backend.name,
                    host=self._backend.host,
                    completion=completion,
                    error=error,
                    usd=None if completion is None else self._prices.usd(request.model, completion.usage),
                    usd_upper=self._usd_upper(request, completion, error),
                    latency_s=ended - began,
                )
            )
        )
        if error is not None:
            raise error
        assert recorded is not None, "an attempt without error has a completion"
        return recorded

    async def _complete(self, request: Request, deadline: _Deadline) -> Completion:
        try:
            async with asyncio.timeout(deadline.left()):
                return await self._backend.complete(request)
        except TimeoutError:
            # Raised below, outside of the handler: a chained error could carry what scrubbing takes out.
            pass
        raise ConnectionFailed(
            f"no answer from {request.model} within {self._deadline_s:g} s, retries included",
            remedy="raise the deadline, or look at the provider's status",
        )

    def _usd_upper(self, request: Request, completion: Completion | None, error: BaseException | None) -> float | None:
        """Most that the attempt can have cost: what it did cost if that is known, else what was reserved for it.

        The model asked for sets the price: that is what the provider was hired for, whatever it calls itself.
        """
        # Turned away at the door, or answered by the ledger of an earlier run: nothing was generated.
        if not self._charges or isinstance(error, RateLimited | RequestRefused):
            return 0.0
        usd = None if completion is None else self._prices.usd(request.model, completion.usage)
        return self._prices.upper(request) if usd is None else usd


class _Flight:
    """A request under way, and how many wait for it. It is called off when nobody does."""

    def __init__(self, task: asyncio.Task[Recorded]) -> None:
        self.task = task
        self._waiting = 0

    async def join(self) -> Recorded:
        self._waiting += 1
        try:
            # One who is cancelled must not take the answer from the others.
            return await asyncio.shield(self.task)
        finally:
            self._waiting -= 1
            if not self._waiting and not self.task.done():
                self.task.cancel()
                # The attempt is written down before the cancelled one goes on.
                await _ended(self.task)


class _Deadline:
    """Seconds that are left, waits that were excused not counted."""

    def __init__(self, seconds: float, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._end = clock() + seconds

    def excuse(self, seconds: float) -> None:
        self._end += seconds

    def left(self) -> float:
        return self._end - self._clock()


_T = TypeVar("_T")

_exponential = wait_exponential_jitter(initial=1, max=60, jitter=1)


def _pause(state: RetryCallState) -> float:
    """Seconds before the next attempt: what the provider asked for and up to a tenth more, else exponential."""
    error = state.outcome.exception() if state.outcome is not None else None
    if isinstance(error, ProviderError) and error.retry_after is not None:
        # The tenth keeps a crowd that was turned away together from coming back together.
        return error.retry_after * random.uniform(1.0, 1.1)
    return _exponential(state)


def _estimate(request: Request) -> int:
    return prompt_bytes(request) // _BYTES_A_TOKEN + (max_tokens(request) or 0)


def _settle(slot: Slot, completion: Completion | None) -> None:
    """Tell the limiter what was used; where nobody knows, the estimate stays."""
    if completion is None:
        return
    usage = completion.usage
    if usage.prompt_tokens is not None and usage.completion_tokens is not None:
        slot.settle(usage.prompt_tokens + usage.completion_tokens)


def _cleaned(error: BaseException, request: Request) -> BaseException:
    """The error with secrets out of its message and the record in its place, where it has none."""
    if isinstance(error, HazardmillError):
        error.message = scrub(error.message)
        error.args = (error.message,)
        error.record_id = error.record_id or request.record_id
    return error


async def _to_the_end(work: Coroutine[Any, Any, _T]) -> _T:
    """Await ``work``; if cancelled meanwhile, see it to its end first, so that what was paid for is written down."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await _ended(task)
        raise


async def _ended(task: asyncio.Task[Any]) -> None:
    """Wait for a task whose result nobody will take: its caller is being cancelled, and that is what it is told."""
    await asyncio.wait([task])
    if not task.cancelled():
        # Looked at, so that asyncio does not report an exception that nobody saw.
        task.exception()
