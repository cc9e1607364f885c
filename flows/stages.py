"""The stages of a run's waves as Prefect tasks, which are what the graph of a flow run shows.

Tasks are awaited in the flow's own event loop, because the stages share a session that belongs to it; submitted tasks
would each run in a loop of their own, and take ten times as much of a processor. Each takes one ``WaveStep`` and
returns a new one: Prefect draws an edge where a task is given what another one returned, once per parameter.

Nothing is persisted or cached. A stage that runs again asks nothing that the ledger knows, and a result that the server
kept would be older than the store.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeVar, cast

from prefect import flow, runtime, task
from prefect.cache_policies import NO_CACHE
from prefect.client.orchestration import get_client
from prefect.task_engine import run_task_async
from prefect.tasks import Task

from flows.wave_log import WaveLog
from hazardmill.errors import RunStopped
from hazardmill.runs.run import Run
from hazardmill.runs.session import Session
from hazardmill.runs.waves import AT_ONCE, Stage, WaveStages, WaveStep

Result = TypeVar("Result")

MOST_WAVES: Final = 10
"""The most waves in one graph. Each has up to 17 tasks, and above 500 edges the UI hides all arrows."""


async def run_as_tasks(run: Run, session: Session, waves: Sequence[Sequence[int]], log: WaveLog) -> None:
    """Take waves through all stages, each stage of each wave as a task.

    More waves than one graph can show are worked on in groups, one after the other, each a flow run within this one.

    Args:
        run: The run.
        session: An open session of the run.
        waves: Ordinals of the records of each wave.
        log: Counts what stages return.

    Raises:
        RunStopped: As ``Session.run_steps``, like every other error.
    """

    @task(name="plan", task_run_name="plan", persist_result=False, cache_policy=NO_CACHE)
    async def plan(run: Run) -> list[WaveStep]:
        """Divide what is pending into waves, numbered on from those that are committed."""
        return session.plan(waves, len(log.committed) + 1)

    steps = await plan(run)
    log.begin(steps)
    stages = _stage_tasks(run, session, log, await _limited_tags())
    if len(steps) <= MOST_WAVES:
        await session.run_steps(steps, stages)
        return

    # The server keeps parameters of flow runs: numbers of waves, no records.
    async def work_on_group(first: int, last: int) -> RunStopped | None:
        try:
            await session.run_steps([step for step in steps if first <= step.wave <= last], stages)
        except RunStopped as error:
            return error
        return None

    for start in range(0, len(steps), AT_ONCE):
        group = steps[start : start + AT_ONCE]
        first, last = group[0].wave, group[-1].wave
        as_flow = flow(name="waves", flow_run_name=f"{first} to {last}", persist_result=False)
        _raise_if_stopped(await as_flow(work_on_group)(first, last))


async def _limited_tags() -> set[str]:
    """Return the tags on which the server has a limit.

    Stages have no other tags. For each that has some, Prefect asks the server whether it may begin, limit or not. With
    SQLite, a server that is writing refuses many of these requests, and Prefect waits two seconds before the next one.
    """
    async with get_client() as client:
        limits = await client.read_global_concurrency_limits(limit=200)  # the most that a server lists at once
    return {limit.name.removeprefix("tag:") for limit in limits if limit.name.startswith("tag:")}


def _stage_tasks(run: Run, session: Session, log: WaveLog, limited: set[str]) -> WaveStages:
    """Return the stages of a session as tasks, with those of their tags on which there is a limit."""
    models, stages = run.config.models, session.stages
    return WaveStages(
        extract=_stage_task("extract", stages.extract, log, _llm(models.extract) & limited),
        author=_stage_task("author", stages.author, log, _llm(models.author) & limited),
        execute=_stage_task("execute", stages.execute, log, {"jail"} & limited),
        judge=_stage_task("judge", stages.judge, log, _llm(models.judge) & limited),
        commit=_stage_task("commit", stages.commit, log, set()),
    )


def _stage_task(name: str, stage: Stage, log: WaveLog, tags: set[str]) -> Stage:
    @task(name=name, task_run_name=_task_run_name, tags=tags, persist_result=False, cache_policy=NO_CACHE)
    async def work(step: WaveStep) -> WaveStep | RunStopped:
        try:
            done = await stage(step)
        except RunStopped as error:
            # A budget that is reached, or another wave that failed, is no failure of this stage.
            return error
        log.add(name, done)
        return done

    async def work_or_stop(step: WaveStep) -> WaveStep:
        return _raise_if_stopped(await (work(step) if tags else _run_at_once(work, step)))

    return work_or_stop


async def _run_at_once(stage: Task[[WaveStep], Any], step: WaveStep) -> WaveStep | RunStopped:
    """Run a stage that waits for no place, without its state Pending, which would make a third of its rows."""
    given = {"step": step}
    begun = await stage.create_local_run(parameters=given)
    return cast("WaveStep | RunStopped", await run_task_async(stage, task_run=begun, parameters=given))


def _raise_if_stopped(result: Result | RunStopped) -> Result:
    if isinstance(result, RunStopped):
        raise result
    return result


def _task_run_name() -> str:
    """Return the name of a task run: wave, stage and, where there is one, number of the draft."""
    name, step = runtime.task_run.task_name, runtime.task_run.parameters["step"]
    if name in ("extract", "commit"):
        return f"wave {step.wave:02d} {name}"
    return f"wave {step.wave:02d} {name}-{step.draft + 1 if name == 'author' else step.draft}"


def _llm(model: str) -> set[str]:
    provider, slash, _ = model.partition("/")
    return {"llm", f"llm:{provider}"} if slash else {"llm"}
