"""Writes batches down, and creates them at their provider: once, and found again if their id was lost."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from hazardmill.errors import ProviderError, RateLimited, RequestRefused
from hazardmill.llm.batches.booking import Booking
from hazardmill.llm.batches.open_providers import CALLS, OpenProviders
from hazardmill.llm.batches.provider import BatchProvider
from hazardmill.llm.batches.rules import BatchRules
from hazardmill.llm.batches.sent import TABLE, SentBatch, SentLine, attempt_at, new_batch_name
from hazardmill.llm.batches.stops import lost
from hazardmill.llm.ledger import Ledger
from hazardmill.llm.requests import Backend

if TYPE_CHECKING:
    from hazardmill.store.writer import Writer

_LARGEST: Final = 5_000
"""Most lines of a batch, whatever the provider takes: all of them are written down together."""

_LOOKS: Final = (0.0, 5.0, 15.0)
"""Pauses before each look for a batch whose id was lost: the provider may still be creating it."""

_FRESH_S: Final = 900.0
"""Age in seconds up to which a creation may still be under way at the provider."""

_SHORT_S: Final = 1.0
"""First pause before a creation is tried again."""

_log = logging.getLogger(__name__)


class BatchCreation:
    """Creates the batches of a run.

    Args:
        writer: The run's writer.
        ledger: The run's ledger.
        backend: Whose name and host are part of every identity.
        providers: Who takes the batches.
        booking: Books lines of batches that were refused.
        rules: Where batches are sent.
        sleep: Coroutine function that waits.
        now: The time.
    """

    def __init__(
        self,
        writer: Writer,
        ledger: Ledger,
        backend: Backend,
        providers: OpenProviders,
        booking: Booking,
        rules: BatchRules,
        sleep: Callable[[float], Awaitable[None]],
        now: Callable[[], datetime],
    ) -> None:
        self._writer = writer
        self._run_id = writer.run_id
        self._ledger = ledger
        self._backend = backend
        self._providers = providers
        self._booking = booking
        self._rules = rules
        self._sleep = sleep
        self._now = now

    async def begin(self, model: str, number: int, lines: Sequence[SentLine]) -> SentBatch:
        """Write a batch down with all of its lines, before anything is sent.

        Args:
            model: The model that all of them ask.
            number: Number of the batch in its run.
            lines: The lines.

        Returns:
            The batch.
        """
        numbered = [
            SentLine(line.identity, line.request, line.attempt, place, line.usd_upper)
            for place, line in enumerate(lines, start=1)
        ]
        batch = SentBatch(
            name=new_batch_name(self._run_id, number),
            number=number,
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
        return batch

    async def create(self, batch: SentBatch) -> None:
        """Create a batch at its provider, once, and write its id down.

        Args:
            batch: The batch; its state is ``sent`` then, or ``never_sent`` if it is certain that it does not exist.

        Raises:
            ProviderError: It could not be created.
            RunStopped: Nobody can tell whether it exists.
        """  # noqa: DOC501  # the helpers make a RunStopped
        provider = self._providers.that_has(batch)
        lines = [line.line for line in batch.lines.values()]
        for attempt in itertools.count(1):
            if batch.may_exist:
                if not provider.can_find:
                    raise lost(batch)
                batch.batch_id = await self._find(batch, provider, is_fresh=attempt > 1)
            if batch.batch_id is None:
                try:
                    batch.batch_id = await provider.create(batch.name, lines)
                except ProviderError as error:
                    if not error.retryable:
                        refused = RequestRefused(error.message, remedy=error.remedy)
                        await self._booking.never_sent(batch, refused)
                        raise refused from None
                    # Turned away means that nothing was begun. Otherwise only the provider knows.
                    batch.may_exist = batch.may_exist or not isinstance(error, RateLimited)
                    if attempt == CALLS:
                        if not batch.may_exist:
                            await self._booking.never_sent(batch, error)
                        raise
                    _log.warning("batch %s: %s", batch.name, error)
                    await self._sleep(error.retry_after or _SHORT_S * 2 ** (attempt - 1))
                    continue
            batch.state = "sent"
            await asyncio.wrap_future(self._writer.hand_over({TABLE: [batch.row(self._run_id)]}))
            return

    async def _find(self, batch: SentBatch, provider: BatchProvider, *, is_fresh: bool) -> str | None:
        """Look for a batch by its name, several times if it may have been created in the last minutes."""
        is_fresh = is_fresh or batch.age_s(self._now()) < _FRESH_S
        for pause in _LOOKS if is_fresh else _LOOKS[:1]:
            if pause:
                await self._sleep(pause)
            found = await self._providers.call(lambda: provider.find(batch.name))
            if found is not None:
                return found
        return None


def split(lines: Sequence[SentLine], provider: BatchProvider) -> list[list[SentLine]]:
    """Divide lines into batches that a provider takes.

    Args:
        lines: The lines, at least one.
        provider: The provider, which writes each line to know its size.

    Returns:
        The lines of each batch, in order.
    """
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
