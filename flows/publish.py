"""Shows the results of runs: artifacts with figures, and a page per run.

It is a flow of its own, so that no run waits for its figures to be drawn. The event of a run that changed starts it,
once for all runs of a store that changed at about the same time; a schedule finds those whose event was lost.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Final

from prefect import flow, runtime, task
from prefect.artifacts import acreate_markdown_artifact, acreate_table_artifact
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed
from pydantic import Field

from flows.cost_drift import report_drift
from flows.pages import draw_pages
from flows.pages_links import PAGE_LINKS, log_page_links
from flows.parameters import RunName
from flows.publish_due import choose_due, delete_old_pages, describe, last_change, read_published
from flows.publishing import is_workers_store, key, report_place
from hazardmill.errors import HazardmillError
from hazardmill.report.dashboard import panels
from hazardmill.report.html import write_report
from hazardmill.runs.run import Run
from hazardmill.runs.status import RunSummary, summarize_runs
from hazardmill.store.run_ids import unknown_run
from hazardmill.store.store import Store
from hazardmill.store_access import open_store

DESCRIPTION: Final = f"""\
Shows the results of runs that changed since they were last published: **figures** as artifacts, and a **page** per run.

- Starts by itself when a run has new results, once for all runs of a store, and every hour.
- To publish one run again, set `run_id`.
- **Artifacts**: `run-<id>`, `cost-<source>`, `funnel-<source>`, `headline-<source>`, `cost-all`, and the six pages.

{PAGE_LINKS}
"""


def run_name() -> str:
    """Return the name of the flow run: what it publishes, and the time."""
    return f"{runtime.flow_run.parameters.get('run_id') or 'changed runs'} {datetime.now(UTC):%Y-%m-%d %H:%M}"


@flow(name="publish", flow_run_name=run_name, description=DESCRIPTION)
async def publish(
    store: Path | None = None, run_id: RunName | None = None, days: Annotated[int, Field(ge=1, le=3650)] = 7
) -> State[list[str]]:
    """Publish the generation runs that changed since they were last published.

    Args:
        store: Folder of the store; null is that of the worker's settings.
        run_id: Run to publish, whether or not it changed; null publishes all that did.
        days: Days for which a change counts, so that a new server is not filled with figures of long ago.
    """
    log_page_links()
    # A worker that has no store yet has nothing to publish, hour after hour; a store that is named must be there.
    place = open_store(store, create=store is None)
    runs = [run for run in summarize_runs(place) if run.kind == "generate"]
    if run_id is not None:
        due = [run for run in runs if run.run_id == run_id]
        if not due:
            raise unknown_run(run_id, [run.run_id for run in runs], place.address, kind="generation run")
    else:
        delete_old_pages(place, {run.run_id: last_change(run) for run in runs})
        since = datetime.now(UTC) - timedelta(days=days)
        recent = [run for run in runs if last_change(run) >= since]
        due = choose_due(recent, await read_published(recent))
    names, failed = list[str](), list[str]()
    # They come first: whoever waits for them need not wait for the figures of all runs that changed.
    if is_workers_store(place):
        try:
            await draw_pages(place)
        except HazardmillError as error:
            failed.append(f"pages ({error.message})")
    for run in due:
        try:
            await publish_run(place, run)
        except Exception:
            # Its task has logged it; the figures of other runs do not depend on it.
            failed.append(run.run_id)
        else:
            names.append(run.run_id)
    if failed:
        return Failed(message=f"not published: {', '.join(failed)}; see their logs", data=names)
    return Completed(message=f"published {', '.join(names) or 'nothing, because no run has changed'}", data=names)


@task(name="publish-run", task_run_name="{run.run_id}", persist_result=False, cache_policy=NO_CACHE)
async def publish_run(store: Store, run: RunSummary) -> None:
    """Update all artifacts that show a run, and write its page unless it is under way."""
    place = report_place(store, run.run_id)
    rows = await asyncio.to_thread(panels.headline, store, run.run_id)
    names = sorted({item.source for item in Run.load(store, run.run_id).config.inputs})
    await acreate_table_artifact(rows, key=key("headline", *names), description=f"Run {run.run_id}")
    if run.state != "running":
        await asyncio.to_thread(write_report, store, [run.run_id], place.path)
    own, *others = await asyncio.to_thread(panels.panels, store, run.run_id, report=place)
    for panel in others:
        await acreate_markdown_artifact(key=panel.key, markdown=panel.markdown, description=panel.description)
    if run.state == "completed":
        await report_drift(store, run.run_id)
    # Last, because by its description the run counts as published.
    await acreate_markdown_artifact(key=own.key, markdown=own.markdown, description=describe(run))
