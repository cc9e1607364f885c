"""Sends what a run waits for as batches, and brings the answers into its ledger.

A batch is in the store before anything is sent: its row and the attempts of its lines are written together. Then it is
created, and its id is written down. A process that is killed anywhere between leaves a batch that the next one finds by
its name, so that no batch is created twice, and none is forgotten.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt, wait_exponential_jitter

from hazardmill.errors import (
    ModelRefused,
    PromptRefused,
    ProviderError,
    RateLimited,
    RequestRefused,
    RunStopped,
    RunWaiting,
)
from hazardmill.llm.batches.booking import Booking, Failed
from hazardmill.llm.batches.outbox import Outbox
from hazardmill.llm.batches.provider import BatchProvider, BatchState, BatchStatus, LineResult
from hazardmill.llm.batches.sent import (
    TABLE,
    SentBatch,
    SentLine,
    attempt_at,
    last_number,
    new_batch_name,
    open_batches_of,
)
from hazardmill.llm.client import Client
from hazardmill.llm.ledger import Channel, Ledger
from hazardmill.llm.limits.budget import Budget
from hazardmill.llm.prices import Prices
from hazardmill.llm.requests import Backend
from hazardmill.reporting.numbers import duration

if TYPE_CHECKING:
    from hazardmill.store.store import Store
    from hazardmill.store.writer import Writer

MAX_ATTEMPTS: Final = 6
"""Attempts at a line before the run stops, or its fallbacks are asked; the same number as for single requests."""

_LARGEST: Final = 5_000
"""Most lines of a batch, whatever the provider takes: all of them are written down together."""

_CALLS: Final = 5
"""Attempts at a call to a provider, such as a look at a batch."""

_DOWNLOADS: Final = 3
"""Downloads of the results of a batch if lines are missing."""

_ANOTHER_MAY: Final = (ModelRefused, PromptRefused)
"""Errors that do not go away with another attempt, and of which another model may know nothing."""

_log = logging.getLogger(__name__)
_T = TypeVar("_T")
_exponential = wait_exponential_jitter(initial=1, max=60, jitter=1)

_REFUSED_S: Final = 30.0
"""First pause after a batch that was refused as a whole."""

_LOOKS: Final = (0.0, 5.0, 15.0)
"""Pauses before each look for a batch whose id was lost: the provider may still be creating it."""

_FRESH_S: Final = 900.0
"""Age in seconds up to which a creation may still be under way at the provider."""

_SHORT_S: Final = 1.0
"""First pause before something is tried again."""


@dataclass(frozen=True)
class BatchRules:
    """How a run sends its batches, and how long it waits for them.

    Attributes:
        channel: ``batch`` or ``exchange``.
        place: Address of the provider, or the exchange folder; null is the provider's own address.
        fallbacks: Models that are asked the ordinary way if a line's own model cannot answer.
        max_age_s: Age of a batch, in seconds, from which on waiting for it makes no sense any more.
        wait: Whether to wait until answers are there, instead of ending the process.
        first_pause_s: Seconds until the first look at a batch; later pauses grow up to ``last_pause_s``.
    """

    channel: Channel = "batch"
    place: str | None = None
    fallbacks: tuple[str, ...] = ()
    max_age_s: float = 48 * 3600.0
    wait: bool = False
    first_pause_s: float = 5.0
    last_pause_s: float = 300.0


class BatchDispatch:
    """Sends the requests in an outbox as batches, looks at them, and books their answers.

    Args:
        store: Where the batches of the run are found again.
        writer: The run's writer.
        ledger: The run's ledger.
        client: The run's client, which asks fallbacks.
        outbox: What the client puts requests into.
        backend: Whose name and host are part of every identity; it sends nothing here, but for fallbacks.
        provider: Opens the provider of batches; called with channel and place, as ``BatchRules`` has them, and model.
        prices: Prices of the models.
        budget: What may be spent; null for no limit.
        rules: How to send and to wait.
        sleep: Coroutine function that waits.
        now: The time.
    """

    def __init__(
        self,
        store: Store,
        writer: Writer,
        ledger: Ledger,
        client: Client,
        outbox: Outbox,
        backend: Backend,
        provider: Callable[[Channel, str | None, str], BatchProvider],
        *,
        prices: Prices,
        budget: Budget | None = None,
        rules: BatchRules | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._store = store
        self._writer = writer
        self._run_id = writer.run_id
        self._ledger = ledger
        self._client = client
        self._outbox = outbox
        self._backend = backend
        self._open_provider = provider
        self._providers: dict[tuple[Channel, str | None, str], BatchProvider] = {}
        self._booking = Booking(ledger, prices, budget)
        self._rules = rules or BatchRules()
        self._sleep = sleep
        self._now = now
        self._pauses = self._growing_pauses()
        self._last = 0
        self._refused: str | None = None
        """What a provider said about a batch that it has just refused as a whole."""
        self._refusals = 0
        self.open: list[SentBatch] = []
        """The batches whose answers are not all in the ledger."""

    def open_providers(self, models: Iterable[str]) -> None:
        """Open who takes the batches of some models.

        Args:
            models: The models.

        Raises:
            SettingsError: A provider has no batches.
        """
        for model in models:
            self._provider(self._rules.channel, self._rules.place, model)

    @property
    def has_requests(self) -> bool:
        """Whether requests wait to be sent."""
        return len(self._outbox) > 0

    async def begin(self) -> None:
        """Find the batches that earlier processes of the run have left open.

        Raises:
            StoreError: The store cannot be read.
        """
        self._last = await asyncio.to_thread(last_number, self._store, self._run_id)
        self.open = await asyncio.to_thread(open_batches_of, self._store, self._run_id, self._rules.fallbacks)
        self._booking.take_up(self.open)

    async def round(self) -> None:
        """Send what is in the outbox, and return when answers to look at have come.

        Raises:
            RunWaiting: All batches are still being answered, and the run does not wait for them.
            RunStopped: A batch is too old, or nobody can tell whether it exists.
            BudgetReached: There is no money left for any of the requests, and no batch is under way.
            ProviderError: The provider cannot be asked, or has failed the same request too often.
        """
        unsent: ProviderError | RunStopped | None = None
        if not (self._refused is not None and self._rules.wait and self.open):
            await self._after_refusal()
            try:
                await self.send()
            except (ProviderError, RunStopped) as error:
                # What other batches brought is booked first.
                unsent = error
        while self.open:
            progress = await self.collect()
            if unsent is not None and not self._is_mended(unsent):
                raise unsent
            unsent = None
            if progress:
                self._pauses = self._growing_pauses()
                return
            self._refuse_old()
            if not self._rules.wait:
                raise self._waiting()
            await self._sleep(next(self._pauses))
        if unsent is not None:
            raise unsent

    def _is_mended(self, unsent: ProviderError | RunStopped) -> bool:
        """Whether a batch that could not be created was created meanwhile; what is left is asked for again."""
        exist = bool(self.open) and all(batch.state == "sent" for batch in self.open)
        return exist and isinstance(unsent, ProviderError) and unsent.retryable

    async def _after_refusal(self) -> None:
        """Do not send again at once what was refused as a whole: the provider may have too much in its queue.

        While other batches are open, they are waited for; the records that can go on have done so.

        Raises:
            RunWaiting: The run does not wait.
        """
        refused, self._refused = self._refused, None
        if refused is None:
            self._refusals = 0
            return
        self._refusals += 1
        if not self._rules.wait:
            raise RunWaiting(refused, remedy="look again later: its requests are sent again then")
        await self._sleep(min(_REFUSED_S * 2 ** (self._refusals - 1), self._rules.last_pause_s))

    async def finish(self) -> None:
        """Book all that earlier sessions have sent together, before requests are sent one by one.

        Raises:
            RunWaiting: As ``round``: what was sent is not asked for in another way.
            RunStopped: As ``round``.
            ProviderError: As ``round``.
        """
        await self.begin()
        while self.open:
            # Nothing of what was refused is sent in a batch again.
            self._refused = None
            await self.round()

    async def send(self) -> None:
        """Send the requests of the outbox, as one batch per model or several if they are too many.

        Raises:
            BudgetReached: As ``round``.
            ProviderError: As ``round``.
            RunStopped: As ``round``.
        """
        under_way = {identity for batch in self.open for identity in batch.lines}
        asked = {identity: one for identity, one in self._outbox.take().items() if identity not in under_way}
        by_model: dict[str, list[SentLine]] = {}
        for line in self._booking.reserve(asked, self._rules.channel, others=bool(self.open)):
            by_model.setdefault(line.request.model, []).append(line)
        left = {line.identity: line for lines in by_model.values() for line in lines}
        try:
            for model, lines in by_model.items():
                provider = self._provider(self._rules.channel, self._rules.place, model)
                # In a thread, because it writes every line.
                for part in await asyncio.to_thread(_split, lines, provider):
                    batch = await self._begin(model, part)
                    for line in part:
                        del left[line.identity]
                    # One after the other: of a batch that nobody tried to create, it is certain that there is none.
                    await self._create(batch)
        finally:
            self._booking.release(left.values())

    async def collect(self) -> bool:
        """Look at each open batch once, and book the answers that are there.

        Returns:
            Whether the run can go on: a batch is done, or it brought answers early.

        Raises:
            ProviderError: As ``round``; answers that were there are booked.
            RunStopped: As ``round``.
        """
        progress, errors = False, list[Exception]()
        for batch in tuple(self.open):
            try:
                if batch.state == "intended":
                    await self._create(batch)
                progress |= await self._look(batch)
            except (ProviderError, RunStopped) as error:
                errors.append(error)
        if errors:
            raise errors[0]
        return progress

    async def close(self) -> None:
        """Release the connections of all providers."""
        for provider in self._providers.values():
            await provider.close()

    def _provider_of(self, batch: SentBatch) -> BatchProvider:
        """Return who has a batch, which an earlier session may have sent elsewhere than this one sends."""
        return self._provider(batch.channel, batch.place, batch.model)

    def _provider(self, channel: Channel, place: str | None, model: str) -> BatchProvider:
        key = (channel, place, model)
        if key not in self._providers:
            self._providers[key] = self._open_provider(*key)
        return self._providers[key]

    async def _begin(self, model: str, lines: Sequence[SentLine]) -> SentBatch:
        """Write a batch down with all of its lines, before anything is sent."""
        self._last += 1
        numbered = [
            SentLine(line.identity, line.request, line.attempt, number, line.usd_upper)
            for number, line in enumerate(lines, start=1)
        ]
        batch = SentBatch(
            name=new_batch_name(self._run_id, self._last),
            number=self._last,
            channel=self._rules.channel,
            model=model,
            backend=self._backend.name,
            host=self._backend.host,
            place=self._rules.place,
            created_at=self._now(),
            requests=len(numbered),
            lines={line.identity: line for line in numbered},
            ids=frozenset(line.identity for line in numbered),
        )
        attempts = [(attempt_at(batch, line), line.attempt) for line in numbered]
        await asyncio.wrap_future(self._ledger.hand_over_all(attempts, {TABLE: [batch.row(self._run_id)]}))
        self.open.append(batch)
        return batch

    async def _create(self, batch: SentBatch) -> None:
        """Create a batch at its provider, once, and write its id down."""
        provider = self._provider_of(batch)
        lines = [line.line for line in batch.lines.values()]
        for attempt in itertools.count(1):
            if batch.may_exist:
                if not provider.can_find:
                    raise self._lost(batch)
                batch.batch_id = await self._find(batch, provider, is_fresh=attempt > 1)
            if batch.batch_id is None:
                try:
                    batch.batch_id = await provider.create(batch.name, lines)
                except ProviderError as error:
                    if not error.retryable:
                        refused = RequestRefused(error.message, remedy=error.remedy)
                        await self._give_up(batch, refused)
                        raise refused from None
                    # Turned away means that nothing was begun. Otherwise only the provider knows.
                    batch.may_exist = batch.may_exist or not isinstance(error, RateLimited)
                    if attempt == _CALLS:
                        if not batch.may_exist:
                            await self._give_up(batch, error)
                        raise
                    _log.warning("batch %s: %s", batch.name, error)
                    await self._sleep(error.retry_after or _SHORT_S * 2 ** (attempt - 1))
                    continue
            batch.state = "sent"
            await self._write(batch)
            return

    async def _find(self, batch: SentBatch, provider: BatchProvider, *, is_fresh: bool) -> str | None:
        """Look for a batch by its name, several times if it may have been created in the last minutes."""
        is_fresh = is_fresh or batch.age_s(self._now()) < _FRESH_S
        for pause in _LOOKS if is_fresh else _LOOKS[:1]:
            if pause:
                await self._sleep(pause)
            found = await self._patiently(lambda: provider.find(batch.name))
            if found is not None:
                return found
        return None

    async def _look(self, batch: SentBatch) -> bool:
        """Look at a batch, and book what is there; whether the run can go on with it."""
        assert batch.batch_id is not None, "a batch without id is created first"
        provider, batch_id = self._provider_of(batch), batch.batch_id
        before, failures = len(batch.lines), Failed()
        try:
            status = await self._patiently(lambda: provider.status(batch_id))
            batch.seen = status.answered
            if not status.state.is_final and not status.answered_early:
                return False
            if status.state is not BatchState.FAILED:
                await self._book_results(batch, status, failures)
        except ProviderError as error:
            if not error.retryable:
                raise
            # The provider has the batch, so that there is time.
            _log.warning("batch %s cannot be looked at now: %s", batch.name, error)
            await self._ask_others(failures)
            return len(batch.lines) < before
        if status.state.is_final:
            batch.end, batch.message = status.state, status.message
            if status.state is BatchState.FAILED:
                self._refused = (
                    f"{batch.channel} {batch_id} was refused as a whole: {status.message or 'no reason given'}"
                )
            failures += await self._booking.book_missing(batch, status)
            batch.state = "collected"
            self.open.remove(batch)
        elif len(batch.lines) == before:
            return False
        await self._write(batch)
        await self._ask_others(failures)
        return True

    async def _book_results(self, batch: SentBatch, status: BatchStatus, failed: Failed) -> None:
        """Book what the provider has for the lines of a batch, and add those that ended in an error."""
        for attempt in range(1, _DOWNLOADS + 1):
            if not batch.lines:
                # A session that was killed has booked all of them.
                return
            found = list((await self._patiently(lambda: self._download(batch))).values())
            failed += await self._booking.book(batch, found)
            told = None if status.answered is None else min(status.answered, batch.requests)
            if told is None or batch.requests - len(batch.lines) >= told or attempt == _DOWNLOADS:
                return
            # The provider has more lines than came: what is asked again would be paid for twice.
            _log.warning("batch %s: lines are missing in its results; downloading them again", batch.name)
            await self._sleep(_SHORT_S)

    async def _download(self, batch: SentBatch) -> dict[str, LineResult]:
        """Return the results of the lines that have none yet; of two results of one line, the one with an answer."""
        assert batch.batch_id is not None
        found: dict[str, LineResult] = {}
        strange = 0
        lines = [line.line for line in batch.lines.values()]
        async for result in self._provider_of(batch).results(batch.batch_id, lines, batch.requests):
            if result.custom_id not in batch.lines:
                # Of a file that is answered in parts, earlier answers come again.
                strange += result.custom_id not in batch.ids
                continue
            known = found.get(result.custom_id)
            if known is None or known.completion is None:
                found[result.custom_id] = result
        if strange:
            _log.warning("batch %s: %d results belong to none of its lines", batch.name, strange)
        return found

    async def _ask_others(self, failures: Failed) -> None:
        """Ask fallbacks where a line's own model cannot answer, and stop the run where nobody can."""
        hopeless, elsewhere = list[BaseException](), list[SentLine]()
        for line, error in failures:
            has_tried_enough = error.retryable and line.attempt % MAX_ATTEMPTS == 0
            if line.request.fallbacks and (has_tried_enough or isinstance(error, _ANOTHER_MAY)):
                elsewhere.append(line)
            elif has_tried_enough or not error.retryable:
                hopeless.append(error)
        # All at once, as far as the limits on requests allow.
        asked = (self._client.ask_fallbacks(line.identity, line.request) for line in elsewhere)
        ended = await asyncio.gather(*asked, return_exceptions=True)
        for failed in (*(each for each in ended if isinstance(each, BaseException)), *hopeless):
            raise failed

    async def _give_up(self, batch: SentBatch, error: ProviderError) -> None:
        """Write down that a batch does not exist."""
        await self._booking.never_sent(batch, error)
        self.open.remove(batch)

    async def _write(self, batch: SentBatch) -> None:
        await asyncio.wrap_future(self._writer.hand_over({TABLE: [batch.row(self._run_id)]}))

    async def _patiently(self, call: Callable[[], Awaitable[_T]]) -> _T:
        """Return the result of a call, repeated a few times after errors that another attempt may not meet."""
        retrying = AsyncRetrying(
            retry=retry_if_exception(lambda error: isinstance(error, ProviderError) and error.retryable),
            stop=stop_after_attempt(_CALLS),
            wait=_pause,
            sleep=self._sleep,
            reraise=True,
        )

        async def attempt() -> _T:
            return await call()

        return await retrying(attempt)

    def _growing_pauses(self) -> Iterator[float]:
        pause = self._rules.first_pause_s
        while True:
            yield pause
            pause = min(1.5 * pause, self._rules.last_pause_s)

    def _refuse_old(self) -> None:
        """Stop the run if a batch is too old to be waited for."""
        now = self._now()
        for batch in self.open:
            # Whoever answers a folder may take longer.
            if batch.channel == "batch" and batch.age_s(now) > self._rules.max_age_s:
                raise RunStopped(
                    f"{self._said(batch)}, which is more than {duration(self._rules.max_age_s)}",
                    remedy="look for it at the provider; cancel it there if it hangs: what it answered is booked then, "
                    "and the rest is asked again; or wait longer with a larger --batch-max-age",
                )

    def _waiting(self) -> RunWaiting:
        return RunWaiting(
            f"waiting for {'; '.join(map(self._said, self.open))}",
            remedy="look again later, or wait for the answers with --wait",
        )

    def _said(self, batch: SentBatch) -> str:
        done = max(batch.requests - len(batch.lines), batch.seen or 0)
        where = "" if batch.place is None else f" {'in' if batch.channel == 'exchange' else 'at'} {batch.place}"
        return (
            f"{batch.channel} {batch.batch_id or batch.name}{where} ({done} of "
            f"{batch.requests} requests are answered, {duration(batch.age_s(self._now()))} old)"
        )

    def _lost(self, batch: SentBatch) -> RunStopped:
        tell = f"hazardmill run batch {batch.name}"
        return RunStopped(
            f"nobody can tell whether {batch.model} has the batch {batch.name}: it was about to be created on "
            f"{batch.created_at:%Y-%m-%d %H:%M} UTC with {batch.requests} requests, and this provider does not list "
            "batches by name",
            remedy=f"look for it at the provider, then say `{tell} --is ID`, or `{tell} --none` if there is none",
        )


def _split(lines: Sequence[SentLine], provider: BatchProvider) -> list[list[SentLine]]:
    """Divide lines into batches that a provider takes."""
    most, size = min(_LARGEST, provider.limits.requests), 0
    parts: list[list[SentLine]] = [[]]
    for line in lines:
        more = provider.size(line.line)
        if parts[-1] and (len(parts[-1]) == most or size + more > provider.limits.bytes):
            parts.append([])
            size = 0
        parts[-1].append(line)
        size += more
    return parts


def _pause(state: RetryCallState) -> float:
    error = None if state.outcome is None else state.outcome.exception()
    wanted = error.retry_after if isinstance(error, ProviderError) else None
    return _exponential(state) if wanted is None else wanted
