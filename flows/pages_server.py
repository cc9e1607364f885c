"""What a server of Prefect knows of flow runs and schedules, as far as the pages need it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from prefect.client.orchestration import PrefectClient
from prefect.client.schemas.filters import (
    ArtifactFilter,
    ArtifactFilterFlowRunId,
    ArtifactFilterKey,
    FlowRunFilter,
    FlowRunFilterEndTime,
    FlowRunFilterState,
    FlowRunFilterStateName,
    FlowRunFilterStateType,
)
from prefect.client.schemas.objects import FlowRun, StateType
from prefect.client.schemas.responses import DeploymentResponse
from prefect.client.schemas.sorting import ArtifactSort, FlowRunSort

from flows.endings import BUDGET_REACHED, WAITING
from flows.pages_facts import DAYS, FlowRunFacts, ScheduleFacts, ServerFacts

_AT_ONCE: Final = 200
"""The most that a server lists at once."""

_UNDER_WAY: Final = [StateType.RUNNING, StateType.PENDING, StateType.CANCELLING, StateType.PAUSED]
_NOT_DONE: Final = [StateType.FAILED, StateType.CRASHED, StateType.CANCELLED]
_GROUPS_OF_WAVES: Final = "waves"
"""Flow of the runs within a run that only group its waves (``flows/stages.py``)."""


async def read_server(client: PrefectClient, now: datetime) -> ServerFacts:
    """Read the flow runs and schedules that the pages show.

    Args:
        client: A client of the server.
        now: The time that counts as now.

    Returns:
        At most 200 flow runs of each kind.
    """
    flows = {flow.id: flow.name for flow in await client.read_flows(limit=_AT_ONCE)}
    deployments = await client.read_deployments(limit=_AT_ONCE)
    names = {each.id: f"{flows.get(each.flow_id, '?')}/{each.name}" for each in deployments}
    since = FlowRunFilterEndTime(after_=now - timedelta(days=DAYS))  # type: ignore[arg-type]  # any datetime will do

    async def read(sort: FlowRunSort, ended: FlowRunFilterEndTime | None = None, **state: Any) -> list[FlowRun]:  # noqa: ANN401  # the server's filters
        chosen = FlowRunFilter(state=FlowRunFilterState(**state), end_time=ended)
        found = await client.read_flow_runs(flow_run_filter=chosen, sort=sort, limit=_AT_ONCE)
        return [run for run in found if flows.get(run.flow_id) != _GROUPS_OF_WAVES]

    def by_type(*kinds: StateType) -> FlowRunFilterStateType:
        return FlowRunFilterStateType(any_=list(kinds))

    under_way = await read(FlowRunSort.START_TIME_ASC, type=by_type(*_UNDER_WAY))
    scheduled = await read(FlowRunSort.EXPECTED_START_TIME_ASC, type=by_type(StateType.SCHEDULED))
    not_done = await read(FlowRunSort.END_TIME_DESC, since, type=by_type(*_NOT_DONE))
    # Their type is Completed, because nothing went wrong.
    stopped = FlowRunFilterStateName(any_=[BUDGET_REACHED, WAITING])
    not_done += await read(FlowRunSort.END_TIME_DESC, since, name=stopped)
    progress = await read_progress(client, under_way)

    def facts(runs: Sequence[FlowRun]) -> list[FlowRunFacts]:
        return [_facts(run, flows, names, progress) for run in runs]

    return ServerFacts(
        under_way=facts(under_way),
        scheduled=facts(scheduled),
        not_done=sorted(facts(not_done), key=lambda run: run.ended or now, reverse=True),
        schedules=sorted(_schedules(deployments, names), key=lambda each: each.deployment),
    )


async def read_progress(client: PrefectClient, runs: Sequence[FlowRun]) -> dict[Any, tuple[str, str]]:
    """Return the latest progress artifact of each flow run: id and description, by flow run."""
    if not runs:
        return {}
    chosen = ArtifactFilter(
        flow_run_id=ArtifactFilterFlowRunId(any_=[run.id for run in runs]), key=ArtifactFilterKey(like_="progress-%")
    )
    # A flow run that went on after a crash has several: the latest counts, which comes first here and last below.
    found = await client.read_artifacts(artifact_filter=chosen, limit=_AT_ONCE, sort=ArtifactSort.CREATED_DESC)
    return {each.flow_run_id: (str(each.id), each.description or "") for each in reversed(found)}


def _facts(
    run: FlowRun, flows: Mapping[Any, str], deployments: Mapping[Any, str], progress: Mapping[Any, tuple[str, str]]
) -> FlowRunFacts:
    progress_id, said = progress.get(run.id, (None, ""))
    return FlowRunFacts(
        id=str(run.id),
        name=run.name,
        flow=flows.get(run.flow_id, "?"),
        deployment=deployments.get(run.deployment_id),
        state=run.state_name or "",
        kind=run.state_type or StateType.PENDING,
        message=(run.state.message if run.state else None) or "",
        began=run.start_time,
        ended=run.end_time,
        expected=run.next_scheduled_start_time or run.expected_start_time,
        run_ids=tuple(sorted(tag.removeprefix("run:") for tag in run.tags if tag.startswith("run:"))),
        progress_id=progress_id,
        progress=said,
        is_nested=run.parent_task_run_id is not None,
    )


def _schedules(deployments: Sequence[DeploymentResponse], names: Mapping[Any, str]) -> list[ScheduleFacts]:
    return [
        ScheduleFacts(names[each.id], str(each.id), _say(made.schedule), made.active, each.paused)
        for each in deployments
        for made in each.schedules
    ]


def _say(schedule: object) -> str:
    kinds = {"cron": "{}", "rrule": "{}", "interval": "every {}"}
    said = next((words.format(getattr(schedule, kind)) for kind, words in kinds.items() if hasattr(schedule, kind)), "")
    return f"{said} ({getattr(schedule, 'timezone', None) or 'UTC'})" if said else "no times"
