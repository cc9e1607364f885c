"""Sends what a run waits for as batches, and brings the answers into its ledger.

A batch is in the store before anything is sent: its row and the attempts of its lines are written together. Then it is
created, and its id is written down. A process that is killed anywhere between leaves a batch that the next one finds by
its name, so that no batch is created twice, and none is forgotten. Where a provider lists none, the run stops and asks.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from hazardmill.errors import (
    AnswerTooLarge,
    ModelRefused,
    PromptRefused,
    ProviderError,
    RunStopped,
    RunWaiting,
)
from hazardmill.llm.batches.booking import Booking, Failed
from hazardmill.llm.batches.creation import BatchCreation, split
from hazardmill.llm.batches.exchange.problems import AnswerProblem, ProblemKind, ProblemLog
from hazardmill.llm.batches.open_providers import OpenProvider, OpenProviders
from hazardmill.llm.batches.outbox import Outbox
from hazardmill.llm.batches.provider import BatchState, BatchStatus, LineResult
from hazardmill.llm.batches.rules import BatchRules
from hazardmill.llm.batches.sent import (
    TABLE,
    SentBatch,
    SentLine,
    last_number,
    open_batches_of,
)
from hazardmill.llm.batches.stops import too_old, waiting_for
from hazardmill.llm.client import Client
from hazardmill.llm.ledger import Ledger
from hazardmill.llm.limits.budget import Budget
from hazardmill.llm.prices import Prices
from hazardmill.llm.requests import Backend

if TYPE_CHECKING:
    from hazardmill.store.store import Store
    from hazardmill.store.writer import Writer

MAX_ATTEMPTS: Final = 6
"""Attempts at a line before the run stops, or its fallbacks are asked; the same number as for single requests."""

_DOWNLOADS: Final = 3
"""Downloads of the results of a batch if lines are missing."""

_ANOTHER_MAY: Final = (ModelRefused, PromptRefused)
"""Errors that do not go away with another attempt, and of which another model may know nothing."""

_log = logging.getLogger(__name__)

_REFUSED_S: Final = 30.0
"""First pause after a batch that was refused as a whole."""

_SHORT_S: Final = 1.0
"""First pause before something is tried again."""


class BatchDispatch:
    """Sends the requests in an outbox as batches, looks at them, and books their answers.

    Args:
        store: Where the batches of the run are found again.
        writer: The run's writer.
        ledger: The run's ledger.
        client: The run's client, which asks fallbacks.
        outbox: What the client puts requests into.
        backend: Whose name and host are part of every identity; it sends nothing here, but for fallbacks.
        provider: Opens who takes batches.
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
        provider: OpenProvider,
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
        self._client = client
        self._outbox = outbox
        self._rules = rules or BatchRules()
        self._providers = OpenProviders(provider, sleep)
        self._ledger = ledger
        self._problems = ProblemLog()
        self._booking = Booking(ledger, prices, budget)
        self._creation = BatchCreation(writer, ledger, backend, self._providers, self._booking, self._rules, sleep, now)
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
            self._providers.find(self._rules.channel, self._rules.place, model)

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
        """  # noqa: DOC501  # the helper makes a RunWaiting
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
                raise waiting_for(self.open, self._now())
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
                provider = self._providers.find(self._rules.channel, self._rules.place, model)
                # In a thread, because it writes every line.
                for part in await asyncio.to_thread(split, lines, provider):
                    self._last += 1
                    batch = await self._creation.begin(model, self._last, part)
                    self.open.append(batch)
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
        await self._providers.close()

    async def _create(self, batch: SentBatch) -> None:
        try:
            await self._creation.create(batch)
        finally:
            if batch.state == "never_sent":
                self.open.remove(batch)

    async def _look(self, batch: SentBatch) -> bool:
        """Look at a batch, and book what is there; whether the run can go on with it."""
        assert batch.batch_id is not None, "a batch without id is created first"
        provider, batch_id = self._providers.that_has(batch), batch.batch_id
        before, failures = len(batch.lines), Failed()
        try:
            status = await self._providers.call(lambda: provider.status(batch_id))
            batch.seen = status.answered
            if not status.state.is_final and not status.answered_early and batch.lines:
                return False
            if status.state is not BatchState.FAILED:
                await self._book_results(batch, status, failures)
        except ProviderError as error:
            if not error.retryable or isinstance(error, AnswerTooLarge):
                raise
            # The provider has the batch, so that there is time.
            _log.warning("batch %s cannot be checked now: %s", batch.name, error)
            await self._ask_others(failures)
            return len(batch.lines) < before
        if not status.state.is_final and not batch.lines:
            # Whoever answers a folder may write a file anew, with the missing answers only.
            status = replace(status, state=BatchState.ENDED)
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
            found = list((await self._providers.call(lambda: self._download(batch))).values())
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
        strange, changed = 0, list[LineResult]()
        lines = [line.line for line in batch.lines.values()]
        async for result in self._providers.that_has(batch).results(batch.batch_id, lines, batch.requests):
            if result.custom_id not in batch.lines:
                # Of a file that is answered in parts, earlier answers come again.
                strange += result.custom_id not in batch.ids
                if batch.channel == "exchange" and result.custom_id in batch.ids:
                    changed.append(result)
                continue
            known = found.get(result.custom_id)
            if known is None or known.completion is None:
                found[result.custom_id] = result
        self._report_changed(batch, changed)
        if strange:
            _log.warning("batch %s: %d results match none of its lines", batch.name, strange)
        return found

    def _report_changed(self, batch: SentBatch, results: Iterable[LineResult]) -> None:
        """Log the answers in an exchange folder that differ from what is booked for the same request."""
        problems: list[AnswerProblem] = []
        for result in results:
            if result.completion is None:
                continue
            name = result.custom_id
            if (booked := self._ledger.lookup(name)) is None:
                said = f"{result.place} comes too late for {name}, which is already recorded as failed in this file"
                remedy = "answer it in the later file, which asks for it again"
            elif booked.text != result.completion.text:
                said = f"{result.place} differs from the answer to {name} that is already recorded, which stays"
                remedy = "put the first answer back; for other answers, start another run with a folder of its own"
            else:
                continue
            problems.append(AnswerProblem(ProblemKind.BOOKED, name, said, remedy))
        self._problems.report(f"{batch.place}: answers to {batch.batch_id}", problems)

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

    async def _write(self, batch: SentBatch) -> None:
        await asyncio.wrap_future(self._writer.hand_over({TABLE: [batch.row(self._run_id)]}))

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
                raise too_old(batch, now, self._rules.max_age_s)
