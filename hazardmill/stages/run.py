"""A generation run on a store: its records in order, batch by batch, resumable at any point.

Files are the progress: a record is done when its outcome is committed, in one atomic group with all its rows.
Records of a batch are worked on together and committed in record order, so that which of two equal tasks is the
``duplicate`` never depends on timing. LLM answers reach the ledger as they come, so what a killed batch had asked is
not asked again.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from hazardmill import __version__
from hazardmill.errors import InputError, UsageError
from hazardmill.formalism.expressions import canonical_json
from hazardmill.llm.client import Client
from hazardmill.llm.ledger import Ledger
from hazardmill.llm.limiter import Limiter
from hazardmill.llm.prices import Prices
from hazardmill.records import Outcome, Record
from hazardmill.sandbox.jail import Jail
from hazardmill.stages.backend import open_backend
from hazardmill.stages.config import RunConfig
from hazardmill.stages.crosscheck import cross_checked, wants_cross_check
from hazardmill.stages.ids import new_run_id
from hazardmill.stages.intake import Intake, Shelf, stored, take_in
from hazardmill.stages.mill import Mill, Prompts
from hazardmill.stages.refine import Milled, refine
from hazardmill.stages.rows import record_rows, task_id_of
from hazardmill.stages.sources import load_source
from hazardmill.store.store import Store
from hazardmill.store.writer import Writer

RunState = Literal["running", "completed", "stopped", "failed"]
OnRecord = Callable[[str, Outcome], None]
"""Called after each committed record with its id and outcome."""


class Run:
    """One generation run. Make it with ``Run.start`` or, to go on with one, ``Run.load``."""

    def __init__(self, store: Store, run_id: str, config: RunConfig, selection: Sequence[str]) -> None:
        self.store = store
        self.run_id = run_id
        self.config = config
        self.selection = tuple(selection)
        """Record ids of the run, in order."""

    @classmethod
    def start(cls, store: Store, config: RunConfig, run_id: str | None = None) -> tuple[Run, tuple[Intake, ...]]:
        """Take in the inputs and write down what the run is going to do.

        Raises:
            InputError: An input cannot be read, or none holds a record.
            UsageError: There is a run of that id, or an input's ``where`` makes no sense for its source.
            StoreError: The store cannot be written.
        """
        run_id = run_id or new_run_id("generate")
        if store.rows("runs", {"run_id": run_id}, ["run_id"]):
            raise UsageError(f"there is a run {run_id} already", remedy="resume it, or choose another id")
        intakes: list[Intake] = []
        selection: list[str] = []
        inputs = [(item, load_source(item.source)) for item in config.inputs]
        with store.writer(run_id) as writer:
            for item, source in inputs:
                if item.path is not None:
                    intake = take_in(store, writer, source, item.path, where=item.where, limit=item.limit)
                    intakes.append(intake)
                    selection.extend(intake.record_ids)
                else:
                    selection.extend(stored(store, source, item.where, item.limit))
            selection = list(dict.fromkeys(selection))
            if not selection:
                names = ", ".join(sorted({item.source for item in config.inputs}))
                raise InputError(
                    f"there is no record of {names} to work on", remedy="name an input, or ingest one into this store"
                )
            run = cls(store, run_id, config, selection)
            writer.append_sync({"runs": [run._state_row("running", 0, run.counts(), selection)]})
        return run, tuple(intakes)

    @classmethod
    def load(cls, store: Store, run_id: str) -> Run:
        """A run of the store, as it was started.

        Raises:
            InputError: The store holds no such run, or it is no generation run.
        """
        rows = store.rows("runs", {"run_id": run_id})
        first = next((row for row in rows if row["sequence"] == 0), None)
        if first is None or first["kind"] != "generate":
            raise InputError(f"there is no generation run {run_id} here", remedy="see: hazardmill run list")
        return cls(store, run_id, RunConfig.model_validate_json(first["config"]), json.loads(first["selection"]))

    def pending(self) -> list[int]:
        """Ordinals of the records that have no outcome yet."""
        done = {row["record_id"] for row in self.store.rows("outcomes", {"run_id": self.run_id}, ["record_id"])}
        return [ordinal for ordinal, record_id in enumerate(self.selection) if record_id not in done]

    def batches(self) -> list[list[int]]:
        """What is pending, in batches."""
        pending = self.pending()
        size = self.config.batch_size
        return [pending[start : start + size] for start in range(0, len(pending), size)]

    def counts(self) -> dict[str, int]:
        """Records by outcome, pending ones included."""
        rows = self.store.rows("outcomes", {"run_id": self.run_id}, ["outcome"])
        counts = Counter(row["outcome"] for row in rows)
        result = {outcome.value: counts.get(outcome.value, 0) for outcome in Outcome}
        result[Outcome.PENDING.value] = len(self.selection) - sum(counts.values())
        return result

    def finish(self, state: RunState) -> dict[str, int]:
        """Write down how the run ended, and its counts."""
        counts = self.counts()
        with self.store.writer(self.run_id) as writer:
            sequence = len(self.store.rows("runs", {"run_id": self.run_id}, ["sequence"]))
            writer.append_sync({"runs": [self._state_row(state, sequence, counts, None)]})
        return counts

    @asynccontextmanager
    async def session(self) -> AsyncIterator[Session]:
        """Open everything the run needs; close it again, with all rows in parts.

        Raises:
            StoreLocked: Another process works on this run.
            JailUnavailable: The jail cannot contain untrusted code here.
        """
        prompts = Prompts.load()
        with Jail(profile=self.config.jail) as jail, self.store.writer(self.run_id) as writer:
            backend = open_backend(self.config, self.store)
            client = Client(
                backend,
                Ledger(self.store, writer, self.run_id),
                limiter=Limiter(max_in_flight=self.config.concurrency),
                prices=Prices.load(),
            )
            mill = Mill(
                client=client,
                prompts=prompts,
                models=self.config.models,
                jail=jail,
                sample=self.config.sample,
                search_limit=self.config.search_limit,
            )
            try:
                yield Session(self, writer, mill)
            finally:
                await backend.close()

    def _by_source(self) -> dict[str, int]:
        return dict(Counter(record_id.partition(":")[0] for record_id in self.selection))

    def _state_row(
        self, state: RunState, sequence: int, counts: dict[str, int], selection: Sequence[str] | None
    ) -> dict[str, Any]:
        return {
            "run_id": self.run_id,
            "sequence": sequence,
            "kind": "generate",
            "state": state,
            "config": canonical_json(self.config.model_dump(mode="json")),
            "selection": None if selection is None else canonical_json(list(selection)),
            "counts": canonical_json({"records": self._by_source(), "outcomes": counts}),
            "at": datetime.now(UTC),
            "hazardmill_version": __version__,
        }


@dataclass
class Session:
    """A run with its writer and mill open."""

    run: Run
    writer: Writer
    mill: Mill

    def __post_init__(self) -> None:
        self._shelf = Shelf(self.run.store)
        rows = self.run.store.rows("tasks", {"run_id": self.run.run_id}, ["document_hash", "task_id"])
        self._first: dict[str, str] = {row["document_hash"]: row["task_id"] for row in rows}

    async def work(self, batch: Sequence[int], on_record: OnRecord | None = None) -> Counter[str]:
        """Work on one batch and commit its records in order.

        Returns:
            Records by outcome.

        Raises:
            ProviderError: The provider cannot be asked; what was committed stays, the rest stays pending.
        """
        records = self._records(batch)
        room = asyncio.Semaphore(self.run.config.concurrency)

        async def one(record: Record) -> tuple[Milled, dict[str, Any] | None]:
            async with room:
                milled = await refine(record, self.mill)
                return milled, await self._cross_check(milled)

        tasks = [asyncio.create_task(one(record)) for record in records]
        counts: Counter[str] = Counter()
        try:
            for ordinal, task in zip(batch, tasks, strict=True):
                milled, crossed = await task
                outcome = await self._commit(ordinal, milled, crossed)
                counts[outcome.value] += 1
                if on_record is not None:
                    on_record(milled.record.record_id, outcome)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.to_thread(self.writer.roll)
        return counts

    def _records(self, batch: Sequence[int]) -> list[Record]:
        wanted = [self.run.selection[ordinal] for ordinal in batch]
        found = self._shelf.take(wanted)
        missing = [record_id for record_id in wanted if record_id not in found]
        if missing:
            raise InputError(
                f"the store no longer holds {len(missing)} record(s) of run {self.run.run_id}",
                record_id=missing[0],
                remedy="ingest the run's inputs again",
            )
        return [found[record_id] for record_id in wanted]

    async def _cross_check(self, milled: Milled) -> dict[str, Any] | None:
        attempt = milled.accepted
        if attempt is None or attempt.execution is None or attempt.execution.certificate is None:
            return None
        document = attempt.execution.document
        if document is None or not wants_cross_check(document, self.run.config.cross_check):
            return None
        return await asyncio.to_thread(cross_checked, document, attempt.execution.certificate.solution)

    async def _commit(self, ordinal: int, milled: Milled, crossed: dict[str, Any] | None) -> Outcome:
        outcome, reason, message, task_id = milled.outcome, milled.reason, milled.message, None
        if milled.accepted is not None:
            task_id = task_id_of(milled)
            assert milled.accepted.execution is not None and milled.accepted.execution.document is not None
            first = self._first.setdefault(milled.accepted.execution.document.hash, task_id)
            if first is not task_id:
                outcome, reason, task_id = Outcome.DUPLICATE, "same_document", first
                message = f"its task is the same as {first}, which an earlier record gave"
        rows = record_rows(
            milled,
            self.mill,
            run_id=self.run.run_id,
            ordinal=ordinal,
            outcome=outcome,
            task_id=task_id,
            reason=reason,
            message=message,
            cross_check=crossed,
        )
        await self.writer.append(rows)
        return outcome


def run_states(store: Store) -> Iterator[dict[str, Any]]:
    """The latest state of each run, oldest run first."""
    latest: dict[str, dict[str, Any]] = {}
    started: dict[str, datetime] = {}
    for row in sorted(store.rows("runs"), key=lambda row: (row["run_id"], row["sequence"])):
        latest[row["run_id"]] = row
        started.setdefault(row["run_id"], row["at"])
    for run_id in sorted(latest, key=lambda run_id: started[run_id]):
        yield {**latest[run_id], "started": started[run_id]}
