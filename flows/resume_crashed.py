"""Continues a flow run that crashed. An event starts it (``prefect.yaml``); it gives up after three times.

It also has the last word on a flow run that seems to be lost (``automations/lost.yaml``). When a server starts after it
was away, it misses the heartbeats of that time at once, although the flow runs are well; so somebody has to look again.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final
from uuid import UUID

from prefect import flow, runtime
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.objects import FlowRun, State
from prefect.client.schemas.responses import OrchestrationResult
from prefect.events.filters import EventFilter
from prefect.states import AwaitingRetry, Completed, Crashed
from pydantic import Field

from flows.pages_links import PAGE_LINKS, log_page_links

DESCRIPTION: Final = f"""\
Continues a flow run whose **process is gone**: killed, out of memory, or on a machine that was lost.

- Starts by itself some seconds after a flow run of a deployment crashed; what was paid for is not asked again.
- Gives up when the flow run has begun four times: then somebody should look, and *retry* it by hand.
- With `lost`: marks a flow run as crashed that has sent no heartbeat for minutes, unless one has come by now.

{PAGE_LINKS}
"""

MOST_TIMES: Final = 3
"""How often a flow run is continued by itself: what crashes four times in a row will crash again."""
HEARD_WITHIN: Final = timedelta(seconds=90)
"""Three heartbeats. The automation waits as long before it starts this flow, so that a flow run that is well, and
connects again to a server that was away, has been heard by then."""
LOST: Final = "No heartbeat for 300 seconds. Retry this flow run to go on where it was."


@flow(name="resume-crashed", flow_run_name="resume {flow_run_id}", description=DESCRIPTION)
async def resume_crashed(
    flow_run_id: UUID, most_times: Annotated[int, Field(ge=1, le=100)] = MOST_TIMES, *, lost: bool = False
) -> State[bool]:
    """Schedule a crashed flow run again, unless it was continued often enough.

    Args:
        flow_run_id: The flow run.
        most_times: How often it may be continued in all.
        lost: It seems to be lost: mark it as crashed if it is. The event of its crash starts this flow once more.
    """
    log_page_links()
    async with get_client() as client:
        run = await client.read_flow_run(flow_run_id)
        if runtime.flow_run.id is not None:
            # Its first name has the id of the other flow run, whose name is not known when this one begins.
            await client.update_flow_run(runtime.flow_run.id, name=f"resume {run.name}")
        if lost:
            return await _mark_lost(client, run)
        refusal = reason_against(run, most_times)
        if refusal is not None:
            return Completed(message=f"{run.name}: {refusal}", data=False)
        message = f"Continued after a crash, {run.run_count} of {most_times} times."
        result: OrchestrationResult[Any] = await client.set_flow_run_state(flow_run_id, AwaitingRetry(message=message))
        if result.state is None or not result.state.is_scheduled():
            return Completed(message=f"{run.name}: the server refused: {result.details}", data=False)
    return Completed(message=f"{run.name}: {message}", data=True)


async def _mark_lost(client: PrefectClient, run: FlowRun) -> State[bool]:
    if run.state is None or run.state.is_final() or run.state.is_scheduled() or run.state.is_paused():
        name = "without a state" if run.state is None else run.state.name
        return Completed(message=f"{run.name}: not lost, because it is {name} by now", data=False)
    now = datetime.now(UTC)
    wanted = {
        "event": {"name": ["prefect.flow-run.heartbeat"]},
        "resource": {"id": [f"prefect.flow-run.{run.id}"]},
        "occurred": {"since": now - HEARD_WITHIN, "until": now + HEARD_WITHIN},
    }
    heard = await client.read_events(EventFilter.model_validate(wanted), limit=1)
    if heard.events:
        return Completed(message=f"{run.name}: not lost, because a heartbeat has come", data=False)
    result: OrchestrationResult[Any] = await client.set_flow_run_state(run.id, Crashed(message=LOST))
    if result.state is None or not result.state.is_crashed():
        return Completed(message=f"{run.name}: the server refused: {result.details}", data=False)
    return Completed(message=f"{run.name}: {LOST}", data=True)


def reason_against(run: FlowRun, most_times: int) -> str | None:
    """Return why a flow run is not continued by itself, or None if it is.

    Args:
        run: The flow run, with its state at the server.
        most_times: How often it may be continued.
    """
    state = run.state
    if state is None or not state.is_crashed():
        return f"not continued, because it is {'without a state' if state is None else state.name} by now"
    if run.deployment_id is None:
        return "not continued, because it has no deployment: retry the flow run around it"
    # The first time that it began counts too.
    if run.run_count > most_times:
        return f"not continued, because it has begun {run.run_count} times: see its log, then retry it"
    return None
