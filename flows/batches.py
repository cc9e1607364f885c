"""The Prefect tasks of a generation run: one that begins it, and one a batch; and the way through them."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from uuid import UUID

from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from pydantic import BaseModel, Field

from flows.budget import Thresholds, spent_by_others, teller
from flows.endings import budget_reached, completed, in_words, may_be_accident, resumable
from flows.publishing import PUBLISH_EVERY_S, Progress, looked_at, publish
from hazardmill.commands.options import lens_of
from hazardmill.errors import BudgetReached
from hazardmill.stages.config import RunConfig
from hazardmill.stages.run import Run
from hazardmill.store.store import Store


class Generated(BaseModel):
    """How a generation run ended."""

    run_id: str
    store: Path
    counts: dict[str, int] = Field(description="Records by outcome.")


class Batch(BaseModel):
    """What came of a batch."""

    counts: dict[str, int]
    """Records by outcome."""
    out_of_money: str | None = None
    """What the budget said, where it was reached."""


@task(name="start-run", persist_result=False, cache_policy=NO_CACHE)
async def start_run(store: Store, config: RunConfig, run_id: str) -> Run:
    """Take in the inputs and write down what is to be done."""
    run, _ = await asyncio.to_thread(Run.start, store, config, run_id)
    return run


@task(
    name="mill-batch",
    task_run_name="batch-{number}",
    retries=1,
    retry_condition_fn=may_be_accident,
    persist_result=False,
    cache_policy=NO_CACHE,
)
async def mill_batch(run: Run, number: int, ordinals: list[int], progress_id: UUID | None = None) -> Batch:
    """Work on one batch. What it has done stays in the store, so a retry goes on where it stopped."""
    pending = set(run.pending())
    progress = Progress(progress_id, len(run.selection) - len(pending), len(run.selection))
    tell, others = await teller(run), spent_by_others(run)
    async with run.session() as session:
        budget = session.budget
        watch = None if budget is None else Thresholds(budget.limit_usd, others + budget.spent_usd, tell)

        def look() -> None:
            if watch is not None and budget is not None:
                watch.see(others + budget.spent_usd)

        try:
            async with looked_at(progress, look):
                counts = await session.work([ordinal for ordinal in ordinals if ordinal in pending], progress)
        except BudgetReached as error:
            if watch is not None and budget is not None:
                watch.reached(others + budget.spent_usd)
            return Batch(counts={}, out_of_money=error.message)
    return Batch(counts=dict(counts))


async def work_through(run: Run) -> State[Generated]:
    """Work on what is pending, and say how that ended."""
    progress, said, published = await Progress.begin(run), None, time.monotonic()
    try:
        with resumable(run), run.under_way():
            for number, ordinals in enumerate(run.batches(), 1):
                if time.monotonic() - published > PUBLISH_EVERY_S:
                    await publish(run, page=False)
                    published = time.monotonic()
                batch = await mill_batch(run, number, ordinals, progress.artifact_id)
                if batch.out_of_money is not None:
                    said = batch.out_of_money
                    break
    finally:
        await publish(run)
    lens_of(run.store)
    result = Generated(run_id=run.run_id, store=run.store.path, counts=run.counts())
    return completed(run, in_words(result.counts), result) if said is None else budget_reached(run, said, result)
