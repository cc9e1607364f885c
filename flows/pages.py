"""Writes the six pages that answer an operator's questions, as artifacts with fixed keys."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from prefect import get_run_logger, task
from prefect.artifacts import acreate_markdown_artifact
from prefect.cache_policies import NO_CACHE
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import ArtifactUpdate
from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterKey

from flows.pages_facts import ServerFacts
from flows.pages_failed import write_failed
from flows.pages_next import write_next
from flows.pages_running import write_running
from flows.pages_server import read_server
from hazardmill.errors import HazardmillError
from hazardmill.report.dashboard.pages import begin_page, draw_store_pages, finish_page
from hazardmill.report.dashboard.standing import RunStanding
from hazardmill.report.dashboard.writing import DashboardPanel
from hazardmill.runs.status import RunSummary, summarize_runs
from hazardmill.store.address import display_name
from hazardmill.store.store import Store


@dataclass(frozen=True)
class _StoreFacts:
    """What the pages on runs need of a store."""

    name: str
    runs: Mapping[str, RunSummary]
    standings: Mapping[str, RunStanding]
    batches: list[dict[str, Any]]


@task(name="draw-pages", persist_result=False, cache_policy=NO_CACHE)
async def draw_pages(store: Store) -> None:
    """Draw all pages anew; one that cannot be drawn does not keep the others from it.

    Args:
        store: The store that the pages are about.

    Raises:
        HazardmillError: Pages were not drawn; the message says which.
    """
    now, failed = datetime.now(UTC), list[str]()
    try:
        pages = await asyncio.to_thread(draw_store_pages, store, now)
    except Exception:
        get_run_logger().exception("the pages on money and yield were not drawn")
        pages, failed = [], ["page-cost", "page-task-cost", "page-yield"]
    try:
        async with get_client() as client:
            server = await read_server(client, now)
        pages += draw_run_pages(server, await asyncio.to_thread(_read_store, store), now)
    except Exception:
        get_run_logger().exception("the pages on runs were not drawn")
        failed += ["page-running", "page-failed", "page-next"]
    await write_pages(pages)
    if failed:
        raise HazardmillError(f"not drawn: {', '.join(failed)}", remedy="see the log of this task")


async def write_pages(pages: Sequence[DashboardPanel]) -> None:
    """Write pages as artifacts, the description of each being the page.

    The address of a key shows the descriptions of all its artifacts, and their content only after a click. Therefore
    the page is the description, and there is one artifact per key, which is updated. It belongs to the flow run that
    made it, and the server's retention deletes it with that one: then it is made anew.
    """
    # Not the latest of each key: the server still names one for a day after it was deleted.
    chosen = ArtifactFilter(key=ArtifactFilterKey(any_=[page.key for page in pages]))
    async with get_client() as client:
        present = {each.key: each.id for each in await client.read_artifacts(artifact_filter=chosen)}
        for page in pages:
            if page.key in present:
                new = ArtifactUpdate(data=page.markdown, description=page.markdown)
                await client.update_artifact(present[page.key], new)
            else:
                await acreate_markdown_artifact(key=page.key, markdown=page.markdown, description=page.markdown)


def draw_run_pages(server: ServerFacts, facts: _StoreFacts, now: datetime) -> list[DashboardPanel]:
    """Draw ``page-running``, ``page-failed`` and ``page-next``."""
    bodies: dict[str, Iterator[str]] = {
        "page-running": write_running(server, facts.runs, now),
        "page-failed": write_failed(server, facts.runs, facts.standings, now),
        "page-next": write_next(server, facts.runs, facts.batches, now),
    }

    def blocks(key: str, body: Iterator[str]) -> Iterator[str]:
        yield from begin_page(key, now, facts.name)
        yield from body

    return [finish_page(key, blocks(key, body)) for key, body in bodies.items()]


def _read_store(store: Store) -> _StoreFacts:
    runs = {run.run_id: run for run in summarize_runs(store)}
    standings = {}
    for run in runs.values():
        if run.kind == "generate" and run.state not in ("completed", "running", "waiting"):
            standing = RunStanding.of(store, run.run_id)
            if standing.resume is not None:
                standings[run.run_id] = standing
    return _StoreFacts(display_name(store.path), runs, standings, store.rows("batches"))
