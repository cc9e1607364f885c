"""A generation run as a flow: what begins it, the waves, and what ends it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from prefect import get_run_logger, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from pydantic import BaseModel, Field

from flows.afterwards import write_views
from flows.budget import Thresholds, spent_by_others, threshold_emitter
from flows.endings import complete_run, in_words, is_accident, resumable, stop_run, wait_for, warn_unrecorded
from flows.progress import Progress, watch_progress
from flows.publishing import ANNOUNCED_LATER, announce, announce_regularly
from flows.stages import run_as_tasks
from flows.wave_log import WaveLog
from hazardmill.errors import BudgetReached, RunWaiting
from hazardmill.runs.config import RunConfig
from hazardmill.runs.overview.pace import RunPace
from hazardmill.runs.run import Run
from hazardmill.runs.session import Session
from hazardmill.runs.waves import WaveStep
from hazardmill.store.store import Store

OTHERS_EVERY_S: Final = 30.0
"""Seconds between two looks at what other runs spent of a shared budget, which takes a query for each of them."""


class Generated(BaseModel):
    """How a generation run ended."""

    run_id: str
    store: Path
    counts: dict[str, int] = Field(description="Records by outcome.")


@task(name="ingest", task_run_name="ingest", persist_result=False, cache_policy=NO_CACHE)
async def start_run(store: Store, config: RunConfig, run_id: str) -> Run:
    """Read the inputs and write down what the run is going to do."""
    run, _ = await asyncio.to_thread(Run.start, store, config, run_id)
    return run


@task(name="publish", task_run_name="publish", persist_result=False, cache_policy=NO_CACHE)
async def finish_run(run: Run, waves: list[WaveStep], log: WaveLog) -> None:
    """Write the tables of the stages, and announce the results, which the flow ``publish`` shows."""
    try:
        await log.publish()
    finally:
        if not ANNOUNCED_LATER.get():
            announce(run.store, run.run_id)


async def work_through(run: Run) -> State[Generated]:
    """Work on everything pending, and return the state that describes how the run ended."""
    progress, log, said, waits = await Progress.begin(run), WaveLog(run), None, None
    try:
        with resumable(run), run.under_way():
            async with announce_regularly(run):
                said = await _work_twice(run, progress, log)
    except RunWaiting as error:
        waits = error.message
    finally:
        try:
            await finish_run(run, log.committed, log)
        except Exception as error:
            get_run_logger().warning("the results of run %s were not published: %r", run.run_id, error)
    write_views(run)
    result = Generated(run_id=run.run_id, store=run.store.path, counts=run.counts())
    if waits is not None:
        return wait_for(run, waits, result)
    return complete_run(run, in_words(result.counts), result) if said is None else stop_run(run, said, result)


async def _work_twice(run: Run, progress: Progress, log: WaveLog) -> str | None:
    """Work on everything pending, and once more after an error that may have been an accident.

    The session is not used again then, because it may count rows as written that never were.

    Returns:
        The message of the budget, if it was reached.
    """
    try:
        return await _work(run, progress, log)
    except Exception as error:
        if not is_accident(error):
            raise
        get_run_logger().warning("trying once more with what is pending: %r", error)
    return await _work(run, progress, log)


async def _work(run: Run, progress: Progress, log: WaveLog) -> str | None:
    pace = RunPace(run.config, progress.total - progress.done)
    async with run.session(log.on_retry, pace) as session:
        waves = await asyncio.to_thread(run.waves)
        progress.done = progress.total - sum(map(len, waves))
        progress.pace = log.pace = pace
        progress.tally = log.tally = pace.tally = session.ledger.tally
        session.on_record = progress
        try:
            async with _watch_budget(run, session, progress):
                await run_as_tasks(run, session, waves, log)
        except BudgetReached as error:
            return error.message
        finally:
            warn_unrecorded(run, session.unrecorded)
    return None


@asynccontextmanager
async def _watch_budget(run: Run, session: Session, progress: Progress) -> AsyncIterator[None]:
    """Show the progress while the block runs, and emit an event for each threshold of the budget that is passed."""
    budget = session.budget
    if budget is None:
        async with watch_progress(progress):
            yield
        return
    others, read_at = await asyncio.to_thread(spent_by_others, run), time.monotonic()
    watch = Thresholds(budget.limit_usd, others + budget.spent_usd, await threshold_emitter(run))

    async def look() -> None:
        nonlocal others, read_at
        if time.monotonic() - read_at >= OTHERS_EVERY_S:
            others, read_at = await asyncio.to_thread(spent_by_others, run), time.monotonic()
        watch.see(others + budget.spent_usd)

    try:
        async with watch_progress(progress, look):
            yield
    except BudgetReached:
        watch.reached(others + budget.spent_usd)
        raise
