"""Asks a person to approve a release. Meanwhile the flow run is suspended: it holds no process, for weeks if need be.

A suspended flow run begins anew once its form is answered, on any worker of the pool. Its answers are at the server,
beside the flow run, and are found by the hash of the release's manifest:

- An answer counts for the one manifest that its form named. If the release in the folder is another one by now, its
  hash has no answer, and the person is asked again.
- Each form has a key of its own, so that a form that was answered, or left behind by a killed process, is never taken
  for another one. (``prefect flow-run retry`` forces the state, and the server then still knows the old keys.)
- An approval holds until the release is pushed. If the push fails, or its process is lost, a retry of the flow run
  pushes without asking: what was approved is these bytes, for the repository that the flow run names, and neither can
  have changed.
- A refusal is used up: the flow ends as Cancelled, and whoever retries it is asked again.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final
from uuid import uuid4

from prefect.client.orchestration import get_client
from prefect.context import FlowRunContext
from prefect.events import emit_event
from prefect.exceptions import FlowPauseTimeout, Pause
from prefect.flow_runs import apause_flow_run, asuspend_flow_run
from prefect.input import RunInput
from prefect.input.actions import adelete_flow_run_input, ensure_flow_run_id
from pydantic import Field

from hazardmill.errors import RunStopped

LOOK_EVERY_S: Final = 10
"""Seconds between two looks for an answer, by a flow run that cannot be suspended."""

SUSPENDED: Final = "hazardmill.release.suspended"
"""The event that a flow run has its form and ends its process. ``automations/lost.yaml`` no longer waits for it."""

_MOST_INPUTS: Final = 10_000
_RESPONSE: Final = "-response"
_ABOUT: Final = "Which release you decide on: leave it as it is. Others are refused."


class Approval(RunInput):
    """The form in which a person decides on a release."""

    reviewer: str = Field(min_length=1, description="Your name.")
    approve: bool = Field(default=False, description="Push it. Otherwise nothing is pushed, and the folder stays.")
    public: bool = Field(default=False, description="Make the repository public.")
    note: str = Field(default="", description="Why, or what to fix.")
    manifest: str = Field(pattern="^[0-9a-f]{64}$", description=_ABOUT)


async def find_approval(manifest: str) -> tuple[Approval | None, bool]:
    """Look for an answer that this flow run has had.

    Args:
        manifest: Hash (SHA-256, hex) of the manifest of the release in the folder.

    Returns:
        The answer to a form about this release, or None; and whether an answer was about another release.
    """
    # In the order of their creation.
    async with get_client() as client:
        kept = await client.filter_flow_run_input(
            flow_run_id=ensure_flow_run_id(), key_prefix="suspended-", limit=_MOST_INPUTS, exclude_keys=set()
        )
    answers = [each for each in kept if each.key.endswith(_RESPONSE)]
    own = [each for each in answers if each.key.startswith(f"suspended-{manifest}-")]
    return Approval.load_from_flow_run_input(own[-1]) if own else None, len(own) < len(answers)


async def ask_approval(manifest: str, told: str, wait_s: int) -> Approval:
    """Ask a person about a release, and suspend the flow run until the form is answered.

    A flow run without a deployment, or within another one, is paused instead, and its process waits: no worker could
    begin it anew.

    Args:
        manifest: Hash (SHA-256, hex) of its manifest.
        told: What the form says, as Markdown.
        wait_s: Seconds until the server fails the flow run if nobody answers.

    Returns:
        The answer, of a flow run that cannot be suspended; otherwise this ends the process.

    Raises:
        RunStopped: Nobody has answered a flow run that cannot be suspended.
        Pause: The flow run is suspended.
    """
    # The default is only shown: whoever answers by the API must say which release is meant.
    field = Field(pattern=f"^{manifest}$", description=_ABOUT, json_schema_extra={"default": manifest})
    form = Approval.with_initial_data(description=told, manifest=field)
    key = f"{manifest}-{uuid4().hex}"
    context = FlowRunContext.get()
    run = None if context is None else context.flow_run
    if run is not None and run.deployment_id is not None and run.parent_task_run_id is None:
        try:
            return await asuspend_flow_run(wait_for_input=form, timeout=wait_s, key=key)
        except Pause:
            # After the state, because a heartbeat between the two would have the flow run taken for lost.
            emit_event(SUSPENDED, resource={"prefect.resource.id": f"prefect.flow-run.{run.id}"})
            raise
    answer = None
    with suppress(FlowPauseTimeout):
        answer = await apause_flow_run(wait_for_input=form, timeout=wait_s, poll_interval=LOOK_EVERY_S, key=key)
    if answer is None:
        raise RunStopped(
            f"nobody approved within {wait_s / 3600:g} hours; nothing was pushed", remedy="start the flow again"
        )
    return answer


async def use_up(answer: Approval) -> None:
    """Forget a refusal, so that whoever retries the flow run is asked again."""
    await adelete_flow_run_input(answer.metadata.key)
