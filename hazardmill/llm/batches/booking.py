"""Books what batches cost and brought: money is reserved before a line is sent, and its end goes into the ledger."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Final

from hazardmill.errors import ConnectionFailed, PromptRefused, ProviderDown, ProviderError, SettingsError
from hazardmill.llm.batches.provider import BatchState, BatchStatus, LineResult
from hazardmill.llm.batches.sent import SentBatch, SentLine, attempt_at, forget
from hazardmill.llm.client import settled_refusal
from hazardmill.llm.ledger import CallAttempt, Channel, Ledger
from hazardmill.llm.limits.budget import Budget, Reservation
from hazardmill.llm.prices import Prices
from hazardmill.llm.requests import Request

Failed = list[tuple[SentLine, ProviderError]]
"""Lines that ended in an error."""

_MANY_REFUSALS: Final = 10
"""Refused lines of different records, with no answered one among them, from which on the fault lies with all of them;
the same number opens the breaker for single requests."""

_AT_ONCE: Final = 200
"""Results that are written down together."""


class Booking:
    """Reserves money for lines, and puts what became of them into the ledger.

    Args:
        ledger: The run's ledger.
        prices: Prices of the models.
        budget: What may be spent; null for no limit.
    """

    def __init__(self, ledger: Ledger, prices: Prices, budget: Budget | None) -> None:
        self._ledger = ledger
        self._prices = prices
        self._budget = budget
        self._reservations: dict[str, Reservation] = {}

    def take_up(self, batches: Iterable[SentBatch]) -> None:
        """Reserve anew what earlier sessions have reserved for lines that are still open."""
        for line in (line for batch in batches for line in batch.lines.values()):
            if self._budget is not None and line.usd_upper is not None:
                self._reservations[line.identity] = self._budget.take_up(line.usd_upper)

    def reserve(self, asked: dict[str, Request], channel: Channel, *, others: bool) -> list[SentLine]:
        """Reserve money for as many requests as the budget covers, in order.

        Args:
            asked: Requests by identity.
            channel: How they are going to travel.
            others: Whether batches are under way, so that there may be more money later.

        Returns:
            The lines to send, without their places in a batch. What is left out is asked for again.

        Raises:
            BudgetReached: The budget covers none of them, and no batch is under way.
            SettingsError: Nothing bounds what a request may cost.
        """  # noqa: DOC501  # the helper makes a SettingsError
        lines: list[SentLine] = []
        for identity, request in asked.items():
            tokens = None if self._budget is None else self._budget.prompt_tokens(request)
            upper = self._prices.upper_usd(request, tokens, batch=channel == "batch")
            if self._budget is not None:
                if upper is None:
                    raise _unbounded(request)
                reservation = self._budget.reserve_now(upper)
                if reservation is None:
                    if not lines and not others:
                        raise self._budget.end(upper)
                    break
                self._reservations[identity] = reservation
            lines.append(SentLine(identity, request, self._ledger.number(identity), 0, upper))
        return lines

    def release(self, lines: Iterable[SentLine]) -> None:
        """Give back what was reserved for lines that were not sent."""
        for line in lines:
            if (reservation := self._reservations.pop(line.identity, None)) is not None:
                reservation.settle(0.0)

    async def book(self, batch: SentBatch, results: Sequence[LineResult]) -> Failed:
        """Put what became of some open lines of a batch into the ledger.

        A refused line gets an empty answer, so that it is not asked again, unless the fault seems to lie with all.

        Args:
            batch: The batch.
            results: One result per line.

        Returns:
            The lines that ended in an error.

        Raises:
            StoreError: The ledger cannot be written.
        """  # the ledger raises it
        failed: Failed = []
        settles = not _all_refused(batch, results)
        for start in range(0, len(results), _AT_ONCE):
            failed += await self._book(batch, results[start : start + _AT_ONCE], settles=settles)
        return failed

    async def book_missing(self, batch: SentBatch, status: BatchStatus) -> Failed:
        """Book the lines that a batch ended without.

        Args:
            batch: The batch.
            status: How it ended.

        Returns:
            These lines.
        """
        booked = batch.requests - len(batch.lines)
        # Whoever ends without a trace of a line that is counted, or should have an answer, may have charged for it.
        charged = status.state is BatchState.ENDED or (status.answered or 0) > booked
        results = [
            LineResult(line.identity, error=_error_of_missing(batch, line, status), charged=charged)
            for line in batch.lines.values()
        ]
        return await self.book(batch, results)

    async def never_sent(self, batch: SentBatch, error: ProviderError) -> None:
        """Write down that a batch does not exist, and that none of its lines was sent.

        Args:
            batch: The batch.
            error: Why.
        """
        batch.message = error.message
        self.release(batch.lines.values())
        await asyncio.wrap_future(forget(batch, self._ledger, error))
        batch.lines.clear()

    async def _book(self, batch: SentBatch, results: Sequence[LineResult], *, settles: bool) -> Failed:
        failed: Failed = []
        written, settled = [], list[tuple[Reservation, float | None]]()
        for result in results:
            line = batch.lines.pop(result.custom_id)
            ended, bound = self._ended(batch, line, result)
            if settles and not line.request.fallbacks:
                ended = settled_refusal(ended)
            written.append(self._ledger.hand_over(ended, line.attempt))
            if (reservation := self._reservations.pop(line.identity, None)) is not None:
                settled.append((reservation, bound))
            if ended.completion is not None:
                batch.answered += 1
            elif result.error is not None:
                failed.append((line, result.error))
        await asyncio.gather(*map(self._ledger.record, written))
        for reservation, bound in settled:
            reservation.settle(bound)
        return failed

    def _ended(self, batch: SentBatch, line: SentLine, result: LineResult) -> tuple[CallAttempt, float | None]:
        """Return the attempt at a line with its end, and the most that it has cost; null if nobody knows."""
        usd: float | None = None if result.charged else 0.0
        bound = usd
        if (completion := result.completion) is not None:
            model, inside = completion.model_sent or line.request.model, batch.channel == "batch"
            usd = self._prices.usd(model, completion.usage, batch=inside)
            bound = usd if usd is not None else self._prices.most_usd(model, completion.usage, batch=inside)
        ended = replace(
            attempt_at(batch, line),
            completion=completion,
            error=result.error,
            usd=usd,
            usd_upper=line.usd_upper if bound is None else bound,
            usd_overrun=None if bound is None or line.usd_upper is None else max(0.0, bound - line.usd_upper) or None,
        )
        return ended, bound


def _all_refused(batch: SentBatch, results: Collection[LineResult]) -> bool:
    """Whether the fault lies with all requests: many records are refused, and none is answered."""
    refused = {
        batch.lines[result.custom_id].request.record_id for result in results if isinstance(result.error, PromptRefused)
    }
    return len(refused) >= _MANY_REFUSALS and not any(result.completion is not None for result in results)


def _unbounded(request: Request) -> SettingsError:
    return SettingsError(
        f"the budget cannot be enforced: {request.stage} requests to {request.model} have no upper bound "
        "on their cost in a batch",
        record_id=request.record_id,
        remedy="set max_tokens in the prompt's front matter and the model's prices of batches in prices.yaml, "
        "or run without a budget",
    )


def _error_of_missing(batch: SentBatch, line: SentLine, status: BatchStatus) -> ProviderError:
    said = f": {status.message}" if status.message else ""
    what = {
        BatchState.ENDED: "ended without an answer to this request",
        BatchState.EXPIRED: "expired before this request was answered",
        BatchState.CANCELLED: "was cancelled before this request was answered",
        BatchState.FAILED: f"was refused as a whole{said}",
    }[status.state]
    kind = ConnectionFailed if status.state is BatchState.ENDED else ProviderDown
    return kind(
        f"{line.request.model}: the batch {batch.batch_id} {what}",
        record_id=line.request.record_id,
        remedy="resume the run: the request is sent again",
    )
