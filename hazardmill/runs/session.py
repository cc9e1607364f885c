"""A session on a run: records worked on together, committed in record order, made parts of batch by batch."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from hazardmill.errors import InputError, NotRecorded, ProviderError, RunStopped
from hazardmill.generation.context import StageContext
from hazardmill.generation.refine import RecordResult, refine
from hazardmill.generation.rows import record_rows, task_id_of
from hazardmill.ingest.intake import RecordReader
from hazardmill.llm.ledger import Ledger
from hazardmill.llm.limits.budget import Budget
from hazardmill.quality.duplicates import structure_or_null
from hazardmill.records import Outcome, Record
from hazardmill.runs.cross_check import run_cross_check, wants_cross_check
from hazardmill.runs.duplicates import KeptTasks, texts_of
from hazardmill.runs.malloc import in_one_thread, set_thresholds, trim
from hazardmill.runs.ordered_pool import OrderedPool
from hazardmill.store.writer import Writer

if TYPE_CHECKING:
    from hazardmill.runs.run import Run

OnRecord = Callable[[str, Outcome], None]
"""Called after each committed record with its id and outcome."""

_AT_ONCE: Final = 2
"""Records worked on per request that may be under way: while one is executed, proved, or waits for its prefix to be
cached, another one asks."""


@dataclass
class Session:
    """A run with its writer, its stages and its ledger open.

    Attributes:
        run: The run.
        writer: Writes its rows.
        context: What the stages work with.
        ledger: Its ledger.
        budget: What it may spend; None for no limit.
    """

    run: Run
    writer: Writer
    context: StageContext
    ledger: Ledger
    budget: Budget | None = None

    def __post_init__(self) -> None:
        set_thresholds()
        self.unrecorded: list[NotRecorded] = []
        """Why records without a recorded answer stay pending, in the order of the records."""
        self._shelf = RecordReader(self.run.store)
        self._kept = KeptTasks(self.run.store, self.run.run_id)

    async def work(self, batch: Sequence[int], on_record: OnRecord | None = None) -> Counter[str]:
        """Work on one batch, as ``work_through`` does."""
        return await self.work_through([batch], on_record)

    async def work_through(self, batches: Iterable[Sequence[int]], on_record: OnRecord | None = None) -> Counter[str]:
        """Work on batches and commit their records in order; after each batch its rows become parts.

        The first records of a batch are started while the last of the previous one are still waiting for answers, so
        that there is always something to ask.

        Args:
            batches: Ordinals of records.
            on_record: Called after each committed record.

        Returns:
            Records by outcome. Records without a recorded answer have none; the reasons are in ``unrecorded``.

        Raises:
            ProviderError: The provider cannot be asked; what was committed stays, the rest stays pending.
            BudgetReached: There is no money left for the next request; otherwise the same.
            InputError: The store no longer holds the records of a batch; earlier ones are committed.
        """  # noqa: DOC501  # a RunStopped here is a BudgetReached
        self.context.client.reopen()
        counts: Counter[str] = Counter()
        await self._refresh_ledger()
        pool = OrderedPool(self._records_of(batches), self._work_on, _AT_ONCE * self.run.config.concurrency)
        try:
            async for done in pool:
                if done is None:
                    await in_one_thread(self.writer.roll)
                    await self._refresh_ledger()
                    await in_one_thread(trim)
                    continue
                (ordinal, record), worked = done
                if isinstance(worked, NotRecorded):
                    self.unrecorded.append(worked)
                    continue
                outcome = await self._commit(ordinal, *worked)
                counts[outcome.value] += 1
                if on_record is not None:
                    on_record(record.record_id, outcome)
        except (ProviderError, RunStopped) as error:
            # Requests under way are paid for: they may end, so that the next session can use their answers.
            self.context.client.close()
            await pool.drain()
            self._add_progress(error)
            raise
        finally:
            await pool.call_off()
        return counts

    async def _refresh_ledger(self) -> None:
        # While the journal is empty, because everything in it is read again each time.
        await in_one_thread(self.ledger.refresh)

    async def _records_of(self, batches: Iterable[Sequence[int]]) -> AsyncIterator[list[tuple[int, Record]]]:
        for batch in batches:
            yield [*zip(batch, await asyncio.to_thread(self._records, batch), strict=True)]

    async def _work_on(self, numbered: tuple[int, Record]) -> tuple[RecordResult, dict[str, Any] | None] | NotRecorded:
        try:
            result = await refine(numbered[1], self.context)
        except NotRecorded as error:
            return error
        return result, await self._cross_check(result)

    def _add_progress(self, error: ProviderError | RunStopped) -> None:
        left = f"{len(self.run.pending())} of {len(self.run.selection)} records are left"
        if self.budget is not None:
            left = f"{self.budget.reserved_usd:.4f} USD are reserved for requests under way; {left}"
        error.message = f"{error.message}; {left}"
        error.args = (error.message,)

    def _records(self, batch: Sequence[int]) -> list[Record]:
        wanted = [self.run.selection[ordinal] for ordinal in batch]
        found = self._shelf.take({record_id: self.run.content[record_id] for record_id in wanted})
        missing = [record_id for record_id in wanted if record_id not in found]
        if missing:
            raise InputError(
                f"the store no longer holds {len(missing)} record(s) as they were when run {self.run.run_id} began",
                record_id=missing[0],
                remedy="ingest the run's inputs again, unchanged, or start a new run",
            )
        return [found[record_id] for record_id in wanted]

    async def _cross_check(self, result: RecordResult) -> dict[str, Any] | None:
        attempt = result.accepted
        if attempt is None or attempt.execution is None or attempt.execution.certificate is None:
            return None
        document = attempt.execution.document
        if document is None or not wants_cross_check(document, self.run.config.cross_check):
            return None
        return await asyncio.to_thread(run_cross_check, document, attempt.execution.certificate.solution)

    async def _commit(self, ordinal: int, result: RecordResult, crossed: dict[str, Any] | None) -> Outcome:
        outcome, reason, message, task_id = result.outcome, result.reason, result.message, None
        structure: str | None = None
        if result.accepted is not None:
            task_id = task_id_of(result)
            assert result.accepted.execution is not None and result.accepted.execution.document is not None
            assert result.extraction.danger is not None  # what was accepted has all of these
            document, danger = result.accepted.execution.document, result.extraction.danger
            # For very regular documents it takes seconds, during which other records go on asking.
            structure = await asyncio.to_thread(structure_or_null, document.to_json())
            texts = texts_of(document.to_json(), danger.model_dump(mode="json"))
            # In a thread, because it may have to read texts; commits are sequential, so it has one caller at a time.
            repeated = await asyncio.to_thread(self._kept.add, task_id, document.hash, structure, texts)
            if repeated is not None:
                outcome, reason, task_id = Outcome.DUPLICATE, repeated.reason, repeated.task_id
                message = repeated.message
        rows = record_rows(
            result,
            self.context,
            run_id=self.run.run_id,
            ordinal=ordinal,
            outcome=outcome,
            task_id=task_id,
            reason=reason,
            message=message,
            cross_check=crossed,
            structure_id=structure,
        )
        await self.writer.append(rows)
        return outcome
