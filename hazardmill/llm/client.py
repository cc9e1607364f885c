"""Client for language models: looks in the ledger first, then sends attempts within budget and rate limits.

If the model asked for cannot answer, its fallbacks are asked in turn. Their attempts count towards the same identity.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, wait_exponential_jitter

from hazardmill.errors import (
    AnswerPending,
    BreakerOpen,
    ConnectionFailed,
    HazardmillError,
    ModelRefused,
    NothingListens,
    PromptRefused,
    ProviderDown,
    ProviderError,
    RateLimited,
    RequestRefused,
    RunStopped,
    SettingsError,
)
from hazardmill.llm.batches.outbox import Outbox
from hazardmill.llm.ledger import REFUSED_REQUEST, CallAttempt, Ledger, LedgerAnswer, PendingAttempt
from hazardmill.llm.limits.breaker import Breaker
from hazardmill.llm.limits.budget import Budget, Reservation
from hazardmill.llm.limits.limiter import Limiter, Slot
from hazardmill.llm.limits.shared_limits import SharedLimits
from hazardmill.llm.prices import Prices, max_tokens, prompt_bytes
from hazardmill.llm.redact import scrub
from hazardmill.llm.requests import Answer, Backend, Completion, Request, Usage

_BYTES_A_TOKEN: Final = 4
"""Used only for the limiter's estimate: English text has four bytes per token or more."""

_MOST_UNHEARD: Final = 2
"""Attempts at an address on this machine where nothing listens. The second is for a server that restarts."""

_ANOTHER_MAY: Final = (ProviderDown, ConnectionFailed, RateLimited, ModelRefused, PromptRefused, BreakerOpen)
"""Errors of one model that do not predict what another model will do with the same request."""


@dataclass(frozen=True, slots=True)
class Retry:
    """A pause before another attempt at a request, as reported to ``on_retry``.

    Attributes:
        request: The request that is tried again.
        wait_s: Length of the pause in seconds.
    """

    request: Request
    error: ProviderError
    """What ended the last attempt, with secrets removed."""
    attempt: int
    """Number of the next attempt, from 2."""
    max_attempts: int | None
    """Maximum number of attempts; null if only the deadline limits them."""
    wait_s: float


class Client:
    """Sends requests to language models and pays for each distinct request only once.

    All coroutines of one event loop can share a client. A request that the ledger has already answered is not sent
    again, and coroutines that ask the same thing at the same time share one request. Every attempt, including failed
    and cancelled ones, is in the ledger and on disk before its answer is used.

    Args:
        backend: Who answers.
        ledger: Where attempts are recorded and earlier answers are found.
        limiter: Limits requests under way, requests per minute and tokens per minute.
        shared_limits: Keeps the same limits over several processes; null if this one asks alone.
        prices: Prices of the models.
        budget: What may be spent; null for no limit.
        breaker: Makes the circuit breaker of one model; nothing more is sent to a model whose breaker has opened.
        deadline_s: Seconds for all attempts of one model at one request and the pauses between them. Waiting for the
            budget and the limiter does not count, because a long queue is not the request's fault.
        max_attempts: Maximum number of attempts of one model at one request per call of ``ask``. Attempts that were
            rate limited (429) do not count: they are repeated until the deadline. Where nothing listens on this
            machine, the second attempt is the last.
        sleep: Coroutine function that waits between attempts.
        clock: Monotonic clock in seconds.
        on_retry: Called before each pause; must not raise.
        outbox: Where requests are put that the ledger does not answer, to be sent together; null sends each at once.
    """

    def __init__(
        self,
        backend: Backend,
        ledger: Ledger,
        *,
        limiter: Limiter,
        prices: Prices,
        budget: Budget | None = None,
        shared_limits: SharedLimits | None = None,
        breaker: Callable[[], Breaker] | None = None,
        deadline_s: float = 600.0,
        max_attempts: int = 6,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
        on_retry: Callable[[Retry], None] | None = None,
        outbox: Outbox | None = None,
    ) -> None:
        self._backend = backend
        self._ledger = ledger
        self._limiter = limiter
        self._shared_limits = shared_limits
        self._prices = prices
        self._budget = budget
        self._make_breaker = breaker or (lambda: Breaker(clock=clock))
        self._breakers: dict[str, Breaker] = {}
        self._deadline_s = deadline_s
        self._max_attempts = max_attempts
        self._sleep = sleep
        self._clock = clock
        self._on_retry = on_retry
        self._outbox = outbox
        self._flights: dict[str, _Flight] = {}
        self._closing = asyncio.Event()
        # A replayed answer was paid for by the run being replayed.
        self._charges = bool(getattr(backend, "charges", True))
        self._metered = bool(getattr(backend, "metered", False))

    def close(self) -> None:
        """Stop sending.

        Requests already sent may finish; coroutines that pause or queue are woken and get ``RunStopped``.
        """
        self._closing.set()

    def reopen(self) -> None:
        """Allow sending again after ``close``."""
        self._closing.clear()

    async def ask(self, request: Request) -> Answer:
        """Return the answer to one request, from the ledger or from a model.

        An answer that is cut off, empty or a refusal is returned like any other: it was paid for, and the caller
        decides what to make of it (see ``structured``). If the last of the models rejects the request itself, the
        result is an empty answer that cost nothing; it depends on this record, and is not asked for again.

        Args:
            request: The request, with the models that may answer it.

        Returns:
            The answer. It is ``paid`` if this run paid for it, possibly in an earlier process that was killed.

        Raises:
            ProviderError: No attempt brought an answer. Retryable errors were retried up to the limits, and each
                fallback was asked.
            BreakerOpen: Neither the model nor a fallback has answered any request for a while.
            BudgetReached: The rest of the budget cannot pay for the request.
            RunStopped: The client is closed.
            SettingsError: There is a budget, but nothing bounds what the request may cost.
            StoreError: The ledger could not be written, so the answer is withheld.
            AnswerPending: The request was put into the outbox.
        """
        self._check_open(request)
        identity = request.identity(self._backend.name, self._backend.host)
        recorded = self._ledger.lookup(identity)
        if recorded is not None:
            return self._answer(recorded, request)
        if self._outbox is not None:
            self._outbox.put(identity, request)
            raise AnswerPending("the request waits to be sent with others", record_id=request.record_id)
        flight = self._flights.get(identity)
        if flight is None:
            flight = self._flights[identity] = _Flight(
                asyncio.ensure_future(self._pay(identity, request, request.models))
            )
            flight.task.add_done_callback(lambda _: self._flights.pop(identity, None))
        return self._answer(await flight.join(), request)

    async def ask_fallbacks(self, identity: str, request: Request) -> None:
        """Ask the fallbacks of a request whose own model cannot answer, each at once, whatever the outbox.

        Args:
            identity: The identity of the request, which the answer gets in the ledger.
            request: The request; it has fallbacks.

        Raises:
            ProviderError: None of them brought an answer.
            RunStopped: The client is closed, or there is no money left.
        """
        await self._pay(identity, request, request.models[1:])

    @property
    def defers(self) -> bool:
        """Whether requests are put into an outbox instead of being sent at once."""
        return self._outbox is not None

    def knows(self, request: Request) -> bool:
        """Whether the ledger holds the answer, so that nothing would be sent."""
        return self._ledger.knows(request.identity(self._backend.name, self._backend.host))

    def _answer(self, recorded: LedgerAnswer, request: Request) -> Answer:
        return recorded.answer(paid=self._charges and self._ledger.is_own(recorded), repair=request.repair)

    async def _pay(self, identity: str, request: Request, models: Sequence[str]) -> LedgerAnswer:
        """Return the answer of the first of some of the request's models that can give one."""
        asked: list[ProviderError] = []
        for model in models:
            try:
                return await self._insist(identity, request, request.sent_to(model))
            except _ANOTHER_MAY as error:
                asked.append(error)
        *before, last = asked
        if before:
            last.message += "; models asked before: " + "; ".join(error.message for error in before)
            last.args = (last.message,)
        raise last

    async def _insist(self, identity: str, request: Request, sent: Request) -> LedgerAnswer:
        """Return the answer of one model, with as many attempts as the limits allow."""
        deadline = _Deadline(self._deadline_s, self._clock)
        patience = _Patience(self._max_attempts, deadline)
        breaker = self._breakers.get(sent.model)
        if breaker is None:
            breaker = self._breakers[sent.model] = self._make_breaker()
        retrying = AsyncRetrying(
            retry=retry_if_exception(lambda error: isinstance(error, ProviderError) and error.retryable),
            stop=patience.ends,
            wait=patience.pause,
            sleep=lambda seconds: self._rest(seconds, breaker),
            before_sleep=lambda state: self._tell(request, state, patience),
            reraise=True,
        )
        return await retrying(self._attempt, identity, request, sent, deadline, breaker)

    async def _rest(self, seconds: float, breaker: Breaker) -> None:
        """Pause, but wake up early if the breaker opens or the client closes."""
        pause = asyncio.ensure_future(self._sleep(seconds))
        opened = asyncio.ensure_future(breaker.wait_until_open())
        closing = asyncio.ensure_future(self._closing.wait())
        try:
            await asyncio.wait((pause, opened, closing), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for waited in (pause, opened, closing):
                waited.cancel()

    def _tell(self, request: Request, state: RetryCallState, patience: _Patience) -> None:
        error = _error_of(state)
        if self._on_retry is not None and isinstance(error, ProviderError):
            most = None if isinstance(error, RateLimited) else patience.most_attempts(error)
            self._on_retry(Retry(request, error, state.attempt_number + 1, most, state.upcoming_sleep))

    def _check_open(self, sent: Request) -> None:
        if self._closing.is_set():
            raise RunStopped("the run is about to end: no more requests are sent", record_id=sent.record_id)

    async def _attempt(
        self, identity: str, request: Request, sent: Request, deadline: _Deadline, breaker: Breaker
    ) -> LedgerAnswer:
        breaker.check()
        self._check_open(sent)
        upper = self._upper(sent)
        reservation = await self._reserve(sent, upper, deadline)
        # An attempt that ends before anything is sent costs nothing.
        cost: float | None = 0.0
        try:
            async with self._slot(sent, deadline, breaker) as slot:
                breaker.check()
                self._check_open(sent)
                number = self._ledger.number(identity)
                attempt = CallAttempt(
                    identity, request, self._backend.name, self._backend.host, sent.model, usd_upper=upper
                )
                ended = await self._send(attempt, number, sent, deadline)
                # An answer goes to the ledger before anything else happens, in particular before any await.
                handed, cost = (None, cost) if ended.completion is None else self._hand_over(ended, upper, number)
                _settle(slot, ended)
            breaker.note(ended.error, request)
            if ended.completion is not None and self._budget is not None:
                self._budget.learn(sent, ended.completion.usage)
            if sent.model == request.models[-1] and not breaker.is_open:
                ended = settled_refusal(ended)
            if handed is None:
                handed, cost = self._hand_over(ended, upper, number)
            recorded = await _finish_shielded(self._ledger.record(handed))
        finally:
            if reservation is not None:
                reservation.settle(cost)
        if ended.error is not None:
            if isinstance(ended.error, PromptRefused):
                # If this rejection opened the breaker, the fault lies with all requests, not with this one.
                breaker.check()
            raise ended.error
        assert recorded is not None, "an attempt without error has a completion"
        return recorded

    async def _send(self, attempt: CallAttempt, number: int, sent: Request, deadline: _Deadline) -> CallAttempt:
        """Send one attempt and return how it ended, whatever ended it.

        If it may cost money, the attempt is recorded before it is sent.

        Returns:
            The attempt with its answer or its error, and with its cost and duration where known.
        """
        completion: Completion | None = None
        error: BaseException | None = None
        began: float | None = None
        try:
            if self._metered:
                await _finish_shielded(self._ledger.record(self._ledger.hand_over(attempt, number)))
            began = self._clock()
            completion = await self._complete(sent, deadline)
        except (Exception, asyncio.CancelledError) as caught:
            error = _clean_error(caught, attempt.request)
        model = sent.model if completion is None or completion.model_sent is None else completion.model_sent
        return replace(
            attempt,
            model_sent=model,
            completion=completion,
            error=error,
            usd=None if completion is None else self._prices.usd(model, completion.usage),
            latency_s=None if began is None else self._clock() - began,
        )

    def _hand_over(self, ended: CallAttempt, upper: float | None, number: int) -> tuple[PendingAttempt, float | None]:
        """Hand a finished attempt to the ledger; return it with its cost, null if the cost is unknown."""
        cost = 0.0 if self._is_free(ended) else self._cost(ended)
        overrun = None if cost is None or upper is None or cost <= upper else cost - upper
        bound = upper if cost is None else cost
        return self._ledger.hand_over(replace(ended, usd_upper=bound, usd_overrun=overrun), number), cost

    def _is_free(self, ended: CallAttempt) -> bool:
        """Whether nothing was charged: not sent, rejected on arrival, or answered from a ledger."""
        return ended.latency_s is None or not self._charges or isinstance(ended.error, RateLimited | RequestRefused)

    def _cost(self, ended: CallAttempt) -> float | None:
        """What was charged, or the maximum that the counted tokens can have cost; null if nobody counted them."""
        if ended.usd is not None or ended.completion is None:
            return ended.usd
        return self._prices.most_usd(ended.model_sent, ended.completion.usage)

    def _upper(self, sent: Request) -> float | None:
        """The maximum that an attempt can cost; null if nothing bounds it."""
        if not self._charges:
            return 0.0
        return self._prices.upper_usd(sent, None if self._budget is None else self._budget.prompt_tokens(sent))

    async def _reserve(self, sent: Request, upper: float | None, deadline: _Deadline) -> Reservation | None:
        if self._budget is None:
            return None
        if upper is None:
            raise SettingsError(
                f"the budget cannot be enforced: {sent.stage} requests to {sent.model} have no upper bound "
                "on their cost",
                record_id=sent.record_id,
                remedy="set max_tokens in the prompt's front matter and the model's price in prices.yaml, "
                "or run without a budget",
            )
        queued = self._clock()
        reservation = await self._budget.reserve(upper)
        deadline.excuse(self._clock() - queued)
        return reservation

    @asynccontextmanager
    async def _slot(self, sent: Request, deadline: _Deadline, breaker: Breaker) -> AsyncIterator[Slot]:
        queued = self._clock()

        def abandoned() -> bool:
            return self._closing.is_set() or breaker.is_open

        async with self._limiter.slot(_estimate(sent), self._shared_limits, abandoned) as slot:
            deadline.excuse(self._clock() - queued)
            yield slot

    async def _complete(self, sent: Request, deadline: _Deadline) -> Completion:
        try:
            async with asyncio.timeout(deadline.left()):
                return await self._backend.complete(sent)
        except TimeoutError:
            # Raised below, outside of the handler: a chained error could carry the secrets that scrubbing removes.
            pass
        raise ConnectionFailed(
            f"no answer from {sent.model} within {self._deadline_s:g} s, retries included",
            remedy="raise --deadline, or check the provider's status",
        )


class _Flight:
    """A request under way and the number of coroutines waiting for it. It is cancelled when nobody waits any more."""

    def __init__(self, task: asyncio.Task[LedgerAnswer]) -> None:
        self.task = task
        self._waiting = 0

    async def join(self) -> LedgerAnswer:
        self._waiting += 1
        try:
            # A cancelled waiter must not take the answer from the others.
            return await asyncio.shield(self.task)
        finally:
            self._waiting -= 1
            if not self._waiting and not self.task.done():
                self.task.cancel()
                # The attempt is recorded before the cancelled coroutine continues.
                await _wait_for_end(self.task)


class _Deadline:
    """The remaining seconds, not counting waits that were excused."""

    def __init__(self, seconds: float, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._end = clock() + seconds

    def excuse(self, seconds: float) -> None:
        self._end += seconds

    def left(self) -> float:
        return self._end - self._clock()


_T = TypeVar("_T")

_exponential = wait_exponential_jitter(initial=1, max=60, jitter=1)


class _Patience:
    """How long to wait before the next attempt of one model at one request, and when to give up."""

    def __init__(self, max_attempts: int, deadline: _Deadline) -> None:
        self._max_attempts = max_attempts
        self._deadline = deadline
        self._turned_away = 0
        """Attempts that were rate limited: they only show that the provider is busy."""

    def pause(self, state: RetryCallState) -> float:
        """Seconds before the next attempt: what the provider asked for plus up to a tenth, otherwise exponential."""
        error = _error_of(state)
        self._turned_away += isinstance(error, RateLimited)
        if not isinstance(error, ProviderError) or error.retry_after is None:
            return _exponential(state)
        # The extra tenth keeps requests that were rejected together from coming back together.
        wanted = error.retry_after * random.uniform(1.0, 1.1)
        # Otherwise a provider that keeps answering "now" would be asked without end.
        return wanted if state.attempt_number < self._max_attempts else max(wanted, _exponential(state))

    def most_attempts(self, error: BaseException | None) -> int:
        """Number of the last possible attempt after one that ended like this, if no more are rate limited."""
        most = min(self._max_attempts, _MOST_UNHEARD) if isinstance(error, NothingListens) else self._max_attempts
        return most + self._turned_away

    def ends(self, state: RetryCallState) -> bool:
        """Whether to give up after this attempt."""
        error = _error_of(state)
        tired = not isinstance(error, RateLimited) and state.attempt_number >= self.most_attempts(error)
        return tired or state.upcoming_sleep >= self._deadline.left()


def _error_of(state: RetryCallState) -> BaseException | None:
    return None if state.outcome is None else state.outcome.exception()


def settled_refusal(ended: CallAttempt) -> CallAttempt:
    """Turn a rejected attempt into an empty answer, because the same request would be rejected again.

    Args:
        ended: An attempt at the last of the request's models.

    Returns:
        The attempt with an empty answer if it was rejected, otherwise the attempt as it is.
    """
    if not isinstance(ended.error, PromptRefused):
        return ended
    nothing = Completion(
        text="",
        model_answered=ended.model_sent,
        finish_reason="content_filter" if ended.error.filtered else REFUSED_REQUEST,
        # Known to be zero: nothing was generated, and nothing is charged.
        usage=Usage(prompt_tokens=0, cached_tokens=0, completion_tokens=0, written_tokens=0),
    )
    return replace(ended, completion=nothing, error=None, refusal=ended.error, usd=0.0)


def _estimate(request: Request) -> int:
    return prompt_bytes(request) // _BYTES_A_TOKEN + (max_tokens(request) or 0)


def _settle(slot: Slot, ended: CallAttempt) -> None:
    """Report to the limiter how the attempt ended and how many tokens it used; if unknown, the estimate stays."""
    if isinstance(ended.error, RateLimited):
        slot.note_refusal(ended.error.retry_after)
    if ended.completion is None:
        return
    slot.note_answer()
    usage = ended.completion.usage
    if usage.prompt_tokens is not None and usage.completion_tokens is not None:
        slot.settle(usage.prompt_tokens + usage.completion_tokens)


def _clean_error(error: BaseException, request: Request) -> BaseException:
    """Return the error with secrets removed from its message, and with the record's id if it had none."""
    if isinstance(error, HazardmillError):
        error.message = scrub(error.message)
        error.args = (error.message,)
        error.record_id = error.record_id or request.record_id
    return error


async def _finish_shielded(work: Coroutine[Any, Any, _T]) -> _T:
    """Await ``work`` to its end even if cancelled meanwhile, so that whatever was paid for is recorded."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await _wait_for_end(task)
        raise


async def _wait_for_end(task: asyncio.Task[Any]) -> None:
    """Wait for a task whose result nobody will use, because its caller is being cancelled."""
    await asyncio.wait([task])
    if not task.cancelled():
        # Retrieve the exception, so that asyncio does not report it as never retrieved.
        task.exception()
