"""The Prefect tasks of a generation run, one to start it and one per batch, and the loop over its batches."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType

from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from pydantic import BaseModel, Field

from flows.afterwards import write_views
from flows.budget import Thresholds, spent_by_others, threshold_emitter
from flows.endings import complete_run, in_words, may_be_accident, resumable, stop_run, warn_unrecorded
from flows.publishing import PUBLISH_EVERY_S, Progress, publish, watch_progress
from hazardmill.errors import BudgetReached
from hazardmill.runs.config import RunConfig
from hazardmill.runs.run import Run
from hazardmill.runs.session import Session
from hazardmill.store.store import Store


class Generated(BaseModel):
    """How a generation run ended."""

    run_id: str
    store: Path
    counts: dict[str, int] = Field(description="Records by outcome.")


class Batch(BaseModel):
    """The result of a batch: records by outcome, and the message of the budget if it was reached."""

    counts: dict[str, int]
    out_of_money: str | None = None


@task(name="start-run", persist_result=False, cache_policy=NO_CACHE)
async def start_run(store: Store, config: RunConfig, run_id: str) -> Run:
    """Read the inputs and write down what the run is going to do."""
    run, _ = await asyncio.to_thread(Run.start, store, config, run_id)
    return run


class Milling:
    """A run at work: one session for all its batches, and a new one after any error.

    Opening a session takes longer the more the store holds. It is not reused after an error, because it may count rows
    as done that were never written.

    Args:
        run: The run, locked by ``Run.under_way``.
        progress: Counts its records.
    """

    def __init__(self, run: Run, progress: Progress) -> None:
        self._run = run
        self._progress = progress
        self._open = AsyncExitStack()
        self._session: Session | None = None
        self._pending: set[int] = set()
        self._watch: Thresholds | None = None

    async def __aenter__(self) -> Milling:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            warn_unrecorded(self._run, self._session.unrecorded)
        self._session = None
        await self._open.__aexit__(kind, error, trace)
        await self._progress.show()

    async def work(self, ordinals: list[int]) -> Counter[str]:
        """Work on the pending records of a batch, and return its records by outcome."""
        try:
            session = self._session or await self._open_session()
            others = await asyncio.to_thread(spent_by_others, self._run)
            return await self._work_in(session, [each for each in ordinals if each in self._pending], others)
        except BaseException as error:
            await self.__aexit__(type(error), error, error.__traceback__)
            raise

    async def _open_session(self) -> Session:
        session = await self._open.enter_async_context(self._run.session())
        self._pending = set(self._run.pending())
        self._progress.done = self._progress.total - len(self._pending)
        self._session = session
        return session

    async def _work_in(self, session: Session, ordinals: list[int], others: float) -> Counter[str]:
        budget = session.budget
        if budget is None:
            async with watch_progress(self._progress, lambda: None):
                return await session.work(ordinals, self._progress)
        if self._watch is None:
            self._watch = Thresholds(budget.limit_usd, others + budget.spent_usd, await threshold_emitter(self._run))
        watch = self._watch
        try:
            async with watch_progress(self._progress, lambda: watch.see(others + budget.spent_usd)):
                return await session.work(ordinals, self._progress)
        except BudgetReached:
            watch.reached(others + budget.spent_usd)
            raise


@task(
    name="mill-batch",
    task_run_name="batch-{number}",
    retries=1,
    retry_condition_fn=may_be_accident,
    persist_result=False,
    cache_policy=NO_CACHE,
)
async def mill_batch(milling: Milling, number: int, ordinals: list[int]) -> Batch:
    """Work on one batch. Finished records stay in the store, so a retry resumes where it stopped."""
    try:
        return Batch(counts=dict(await milling.work(ordinals)))
    except BudgetReached as error:
        return Batch(counts={}, out_of_money=error.message)


async def work_through(run: Run) -> State[Generated]:
    """Work on everything pending, and return the state that describes how the run ended."""
    progress, said, published = await Progress.begin(run), None, time.monotonic()
    try:
        with resumable(run), run.under_way():
            async with Milling(run, progress) as milling:
                for number, ordinals in enumerate(run.batches(), 1):
                    if time.monotonic() - published > PUBLISH_EVERY_S:
                        await publish(run, page=False)
                        published = time.monotonic()
                    said = (await mill_batch(milling, number, ordinals)).out_of_money
                    if said is not None:
                        break
    finally:
        await publish(run)
    write_views(run)
    result = Generated(run_id=run.run_id, store=run.store.path, counts=run.counts())
    return complete_run(run, in_words(result.counts), result) if said is None else stop_run(run, said, result)
