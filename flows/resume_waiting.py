"""Takes up the runs that wait for the answers to a batch, or for somebody to answer an exchange folder."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed

from flows.evaluate import evaluate
from flows.generate import generate
from flows.pages_links import PAGE_LINKS, log_page_links
from hazardmill.errors import HazardmillError
from hazardmill.evaluation.runner import waiting_evaluations
from hazardmill.runs.run import Run
from hazardmill.runs.status import latest_states
from hazardmill.store_access import open_store

DESCRIPTION: Final = f"""\
Takes up the runs of a store that **wait for the answers to a batch**: each goes on as far as answers are there.

- A run sends its requests together with `batch` (a provider's batches, for about half the price) or `exchange` (files
  in a folder), and ends in the state `Waiting` meanwhile.
- Each goes on as a flow run within this one. A run that nobody has answered yet costs a look.

{PAGE_LINKS}
"""


def run_name() -> str:
    """Return the name of the flow run: the time."""
    return f"waiting runs {datetime.now(UTC):%Y-%m-%d %H:%M}"


@flow(name="resume-waiting", flow_run_name=run_name, description=DESCRIPTION)
async def resume_waiting(store: Path | None = None) -> State[dict[str, str]]:
    """Take up every run of a store that waits for answers, one after the other.

    Args:
        store: Folder of the store; null is that of the worker's settings.
    """
    log_page_links()
    place = open_store(store, create=store is None)
    ended: dict[str, State[Any]] = {}
    for row in [row for row in latest_states(place) if row["state"] == "waiting" and row["kind"] == "generate"]:
        try:
            config = Run.load(place, row["run_id"]).config
        except HazardmillError as error:
            # The others can go on.
            ended[row["run_id"]] = Failed(message=str(error))
            continue
        source = "+".join(item.source for item in config.inputs)
        ended[row["run_id"]] = await generate(source, store=store, run_id=row["run_id"], return_state=True)
    for run_id, parameters in waiting_evaluations(place).items():
        ended[run_id] = await evaluate(**{**parameters, "store": store}, return_state=True)
    said = {run_id: f"{state.name}: {state.message}" for run_id, state in ended.items()}
    message = "; ".join(f"{run_id}: {state.name}" for run_id, state in ended.items()) or "no run waits"
    if any(not state.is_completed() for state in ended.values()):
        return Failed(message=message, data=said)
    return Completed(message=message, data=said)
