"""Generate tasks from the records of one or more sources, one Prefect task a batch."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from prefect import flow, task
from prefect.artifacts import acreate_markdown_artifact
from pydantic import BaseModel, Field

from hazardmill.report.console import cost_markdown, funnel_markdown
from hazardmill.report.summary import funnel_and_cost
from hazardmill.stages.config import RunConfig
from hazardmill.stages.run import Run
from hazardmill.store.store import Store


class Generated(BaseModel):
    """How a generation run ended."""

    run_id: str
    store: Path
    counts: dict[str, int] = Field(description="Records by outcome.")


@task(name="start-run", persist_result=False)
def start_run(store: Path, config: RunConfig, run_id: str | None) -> str:
    """Take in the inputs and write down what is to be done."""
    run, _ = Run.start(Store(store), config, run_id)
    return run.run_id


@task(name="mill-batch", task_run_name="batch-{number}", retries=1, persist_result=False)
async def mill_batch(store: Path, run_id: str, number: int, ordinals: list[int]) -> dict[str, int]:
    """Work on one batch. What it has done stays in the store, so a retry goes on where it stopped."""
    run = Run.load(Store.open(store), run_id)
    left = set(run.pending())
    async with run.session() as session:
        return dict(await session.work([ordinal for ordinal in ordinals if ordinal in left]))


@flow(name="generate", flow_run_name="{config.label}")
async def generate(
    config: RunConfig,
    store: Path = Path("generated/store"),
    run_id: Annotated[str | None, Field(description="Name of the run; an existing one is resumed.")] = None,
) -> Generated:
    """Turn records into proved planning tasks: extract, author, execute, judge, refine.

    Args:
        config: Inputs, backend, models, jail, batch size, concurrency, cross-check share.
        store: Folder of the store.
        run_id: Name of the run. If the store has it already, the run is resumed with the configuration it has.
    """
    opened = Store(store)
    opened.recover()
    if run_id is None or not opened.count("runs", {"run_id": run_id}):
        run_id = start_run(store, config, run_id)
    run = Run.load(opened, run_id)
    try:
        with run.under_way():
            for number, batch in enumerate(run.batches(), 1):
                await mill_batch(store, run_id, number, batch)
    finally:
        await _publish(opened, run)
    opened.write_lens()
    return Generated(run_id=run_id, store=store, counts=run.counts())


async def _publish(store: Store, run: Run) -> None:
    """Funnel and cost so far, as the artifact of these sources."""
    losses, spent = funnel_and_cost(store, [run.run_id])
    names = sorted({item.source for item in run.config.inputs})
    await acreate_markdown_artifact(
        key=f"funnel-{'-'.join(names).replace('_', '-')}".lower(),
        markdown=f"## {run.config.label}\n\n{funnel_markdown(losses)}\n{cost_markdown(spent)}",
        description=f"Run {run.run_id} in {store.path}",
    )
