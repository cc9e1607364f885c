"""Names and tags of flow runs: the sources, models and runs that a flow run is about, whatever it was started with."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from prefect import get_run_logger, runtime
from prefect.client.orchestration import get_client

from flows.pages_links import show_run_links
from hazardmill.runs.run import Run


async def label_run(run: Run) -> None:
    """Name this flow run after its run, tag it with the run's sources, models and id, and show links to its pages.

    A flow run that resumes a run may have been given nothing but the run's id, so its parameters do not name the model.
    """
    sources = dict.fromkeys(item.source for item in run.config.inputs)
    await label_flow_run(run.config.label, sources=sources, models=run.config.primary_models, run_ids=[run.run_id])
    await show_run_links(sources, [run.run_id])


async def label_flow_run(
    subject: str, *, models: Iterable[str], run_ids: Iterable[str], sources: Iterable[str] = ()
) -> None:
    """Name and tag this flow run; it keeps the tags that it has. A failure is only logged, as no result depends on it.

    Args:
        subject: What it is about; the date is appended.
        models: Models that it asks; each becomes a tag ``model:NAME``.
        run_ids: Runs that it works on; each becomes a tag ``run:ID``.
        sources: Sources of their records; each becomes a tag ``source:NAME``.
    """
    if runtime.flow_run.id is None:
        return
    named = {"model": models, "run": run_ids, "source": sources}
    tags = {f"{kind}:{name}" for kind, names in named.items() for name in names}
    try:
        async with get_client() as client:
            await client.update_flow_run(
                runtime.flow_run.id, name=add_date(subject), tags=sorted(tags.union(runtime.flow_run.tags))
            )
    except Exception as error:
        get_run_logger().warning("this flow run keeps its earlier name and tags: %r", error)


def add_date(subject: str) -> str:
    """Return a name of a flow run: what it is about, and the date (UTC)."""
    return f"{subject} {datetime.now(UTC):%Y-%m-%d}"
