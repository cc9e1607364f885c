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
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import ValidationError

from hazardmill import __version__
from hazardmill.errors import InputError, ProviderError, StoreError, StoreLocked, UsageError
from hazardmill.formalism.expressions import canonical_json
from hazardmill.llm.client import Client, Retry
from hazardmill.llm.ledger import Ledger
from hazardmill.llm.limiter import Limiter
from hazardmill.llm.prices import Prices
from hazardmill.records import Outcome, Record
from hazardmill.sandbox.jail import Jail
from hazardmill.stages.backend import open_backend
from hazardmill.stages.config import RunConfig, RunInput
from hazardmill.stages.crosscheck import cross_checked, wants_cross_check
from hazardmill.stages.ids import new_run_id
from hazardmill.stages.ingest import Ingestion, ingest
from hazardmill.stages.intake import Intake, Shelf, first_of, nothing_read, stored, take_in
from hazardmill.stages.mill import Mill, Prompts
from hazardmill.stages.refine import Milled, refine
from hazardmill.stages.rows import record_rows, task_id_of
from hazardmill.stages.sources import load_source
from hazardmill.store.layout import Layout
from hazardmill.store.locks import Lock, is_held
from hazardmill.store.store import Store
from hazardmill.store.writer import Writer

KILLED: Final = "stopped (killed)"
"""How a run is shown whose last state is ``running`` and on which nobody works."""

RunState = Literal["running", "completed", "stopped", "failed"]
OnRecord = Callable[[str, Outcome], None]
"""Called after each committed record with its id and outcome."""


class Run:
    """One generation run. Make it with ``Run.start`` or, to go on with one, ``Run.load``."""

    def __init__(self, store: Store, run_id: str, config: RunConfig, content: Mapping[str, str | None]) -> None:
        self.store = store
        self.run_id = run_id
        self.config = config
        self.content = dict(content)
        """Record id to the content hash it had when the run was started, in order; null where that is not known."""
        self.selection = tuple(content)
        """Record ids of the run, in order."""

    @classmethod
    def start(cls, store: Store, config: RunConfig, run_id: str | None = None) -> tuple[Run, tuple[Intake, ...]]:
        """Take in the inputs and write down what the run is going to do.

        Nothing is written before it is sure that the run can begin: everything it needs has been opened once, and
        some input holds a record.

        Raises:
            InputError: An input cannot be read, or none holds a record: then it says why the first was refused.
            SettingsError: The configuration cannot work.
            JailUnavailable: The jail cannot contain untrusted code here.
            UsageError: There is a run of that id, or an input's ``where`` makes no sense for its source.
            StoreError: The store cannot be written.
        """
        config.check()
        run_id = run_id or new_run_id("generate")
        if store.rows("runs", {"run_id": run_id}, ["run_id"]):
            raise UsageError(f"there is a run {run_id} already", remedy="resume it, or choose another id")
        open_backend(config, store)
        Prompts.load()
        Jail(profile=config.jail).close()
        _find_records(store, config)
        inputs = [(_ingestion(item), item) for item in config.inputs]
        intakes: list[Intake] = []
        content: dict[str, str] = {}
        with store.writer(run_id) as writer:
            for ingestion, item in inputs:
                if ingestion is not None:
                    intakes.append(take_in(store, writer, ingestion))
                    content |= intakes[-1].content
                else:
                    content |= stored(store, load_source(item.source), item.where, item.limit)
            run = cls(store, run_id, config, content)
            writer.append_sync({"runs": [run._state_row("running", 0, run.counts(), content)]})
        return run, tuple(intakes)

    @classmethod
    def load(cls, store: Store, run_id: str) -> Run:
        """A run of the store, as it was started.

        Raises:
            InputError: The store holds no such run, it is no generation run, or another version started it.
        """
        rows = store.rows("runs", {"run_id": run_id})
        first = next((row for row in rows if row["sequence"] == 0), None)
        if first is None or first["kind"] != "generate":
            raise InputError(f"there is no generation run {run_id} here", remedy="see: hazardmill run list")
        try:
            config = RunConfig.model_validate_json(first["config"])
        except ValidationError as error:
            wrong = error.errors(include_url=False, include_input=False)[0]
            raise InputError(
                f"run {run_id} was started by hazardmill {first['hazardmill_version']}, whose configuration this one "
                f"cannot read: {'.'.join(map(str, wrong['loc']))}: {wrong['msg']}",
                remedy="resume it with that version, or start a new run: what was paid for is in the ledger",
            ) from error
        content = json.loads(first["selection"])
        # The first stores listed ids alone.
        return cls(store, run_id, config, content if isinstance(content, dict) else dict.fromkeys(content))

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
        with self.store.writer(self.run_id) as writer:
            return self._change(state, writer)

    @contextmanager
    def under_way(self) -> Iterator[None]:
        """Keep others off the run while it is worked on, then write down how that ended, whatever ended it.

        It is ``completed`` with its last record, ``stopped`` by an interruption or a provider that cannot be asked,
        and ``failed`` by any other error, bugs included. A run that somebody else works on stays as it is.

        Raises:
            StoreLocked: Another process works on this run.
        """
        presence = Lock.acquire(_presence(self.store, self.run_id))
        if presence is None:
            raise StoreLocked(
                f"another process works on run {self.run_id}",
                file=str(self.store.path),
                remedy="wait for it to end, or stop it; then resume the run",
            )
        try:
            yield
            self.finish("stopped" if self.pending() else "completed")
        except StoreLocked:
            raise
        except BaseException as error:
            failed = isinstance(error, Exception) and not isinstance(error, ProviderError | asyncio.CancelledError)
            try:
                self.finish("failed" if failed else "stopped")
            except StoreError as more:
                # What went wrong first is what is to be mended.
                error.add_note(f"how the run ended could not be written down: {more}")
            raise
        finally:
            presence.release()

    @asynccontextmanager
    async def session(self, on_retry: Callable[[Retry], None] | None = None) -> AsyncIterator[Session]:
        """Open everything the run needs; close it again, with all rows in parts.

        Args:
            on_retry: Told of each pause before a request is sent again.

        Raises:
            StoreLocked: Another process works on this run.
            JailUnavailable: The jail cannot contain untrusted code here.
        """
        prompts = Prompts.load()
        with Jail(profile=self.config.jail) as jail, self.store.writer(self.run_id) as writer:
            backend = open_backend(self.config, self.store)
            if self._state() != "running":
                self._change("running", writer)
            ledger = Ledger(self.store, writer, self.run_id)
            client = Client(
                backend,
                ledger,
                limiter=Limiter(max_in_flight=self.config.concurrency),
                prices=Prices.load(),
                on_retry=on_retry,
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
                yield Session(self, writer, mill, ledger)
            finally:
                await backend.close()

    def _state(self) -> str | None:
        rows = self.store.rows("runs", {"run_id": self.run_id}, ["sequence", "state"])
        return max(rows, key=lambda row: row["sequence"])["state"] if rows else None

    def _change(self, state: RunState, writer: Writer) -> dict[str, int]:
        counts = self.counts()
        sequence = len(self.store.rows("runs", {"run_id": self.run_id}, ["sequence"]))
        writer.append_sync({"runs": [self._state_row(state, sequence, counts, None)]})
        return counts

    def _by_source(self) -> dict[str, int]:
        return dict(Counter(record_id.partition(":")[0] for record_id in self.selection))

    def _state_row(
        self, state: RunState, sequence: int, counts: dict[str, int], content: Mapping[str, str] | None
    ) -> dict[str, Any]:
        return {
            "run_id": self.run_id,
            "sequence": sequence,
            "kind": "generate",
            "state": state,
            "config": canonical_json(self.config.model_dump(mode="json")),
            # Not sorted: the order is that of the run.
            "selection": None if content is None else json.dumps(content, separators=(",", ":"), ensure_ascii=False),
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
    ledger: Ledger

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
        # Others may have paid meanwhile for what this batch is going to ask.
        await asyncio.to_thread(self.ledger.refresh)
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
        found = self._shelf.take({record_id: self.run.content[record_id] for record_id in wanted})
        missing = [record_id for record_id in wanted if record_id not in found]
        if missing:
            raise InputError(
                f"the store no longer holds {len(missing)} record(s) as they were when run {self.run.run_id} began",
                record_id=missing[0],
                remedy="ingest the run's inputs again, unchanged, or start a new run",
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


def _ingestion(item: RunInput) -> Ingestion | None:
    """The reading of an input that has a path."""
    source = load_source(item.source)
    return None if item.path is None else ingest(source, item.path, where=item.where, limit=item.limit)


def _find_records(store: Store, config: RunConfig) -> None:
    """Make sure that some input holds a record, writing nothing."""
    inputs = [(_ingestion(item), item) for item in config.inputs]
    if any(ingestion is None and stored(store, load_source(item.source), item.where, 1) for ingestion, item in inputs):
        return
    found = first_of([ingestion for ingestion, _ in inputs if ingestion is not None])
    if not isinstance(found, Record):
        raise nothing_read([item.source for item in config.inputs], found)


def _presence(store: Store, run_id: str) -> Path:
    """What is locked while a run is under way: its writer's lock is free between two batches of a flow."""
    return Layout(store.path).journal / f"{run_id}.present"


def run_states(store: Store) -> Iterator[dict[str, Any]]:
    """The latest state of each run, oldest run first."""
    latest: dict[str, dict[str, Any]] = {}
    started: dict[str, datetime] = {}
    for row in sorted(store.rows("runs"), key=lambda row: (row["run_id"], row["sequence"])):
        latest[row["run_id"]] = row
        started.setdefault(row["run_id"], row["at"])
    for run_id in sorted(latest, key=lambda run_id: started[run_id]):
        yield {**latest[run_id], "started": started[run_id]}


def shown_state(store: Store, row: Mapping[str, Any]) -> str:
    """A run's state for people: one that says ``running`` while nobody works on it was killed."""
    if row["state"] != "running":
        return str(row["state"])
    locks = (_presence(store, row["run_id"]), Layout(store.path).run_lock(row["run_id"]))
    return "running" if any(map(is_held, locks)) else KILLED
