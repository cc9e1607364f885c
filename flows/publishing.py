"""Artifacts that show a run's results. A run never fails because one could not be written."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from prefect.artifacts import (
    acreate_markdown_artifact,
    acreate_table_artifact,
)
from prefect.logging import get_run_logger

from hazardmill.report.html import write_report
from hazardmill.runs.run import Run
from hazardmill.store.store import Store

PUBLISH_EVERY_S: Final = 300.0
"""Seconds between two publications of a run under way; the server keeps each version, with its figures."""


def report_path(store: Store, name: str) -> Path:
    """Return the path of a run's page: beside the store, or in the working folder for a store in a bucket."""
    beside = Path("generated") if store.is_in_bucket else store.path.parent
    return (beside / "reports" / f"{name}.html").absolute()


def key(*words: str) -> str:
    """Return a key for an artifact: lower-case letters, digits and dashes."""
    return re.sub(r"[^a-z0-9]+", "-", "-".join(words).lower()).strip("-")


async def publish(run: Run, *, page: bool = True) -> None:
    """Update all artifacts that show this run, and if wanted its page. Failures are logged."""
    path = report_path(run.store, run.run_id)
    try:
        # Imported late: drawing takes seconds to import, and no flow should wait for that at its start.
        from hazardmill.report.dashboard.panels import headline, panels

        for panel in await asyncio.to_thread(panels, run.store, run.run_id, report=path):
            await acreate_markdown_artifact(key=panel.key, markdown=panel.markdown, description=panel.description)
        rows = await asyncio.to_thread(headline, run.store, run.run_id)
        names = sorted({item.source for item in run.config.inputs})
        await acreate_table_artifact(rows, key=key("headline", *names), description=f"Run {run.run_id}")
        if page:
            await asyncio.to_thread(write_report, run.store, [run.run_id], path)
    except Exception as error:
        get_run_logger().warning("the artifacts of run %s are not up to date: %r", run.run_id, error)


@asynccontextmanager
async def publish_regularly(run: Run) -> AsyncIterator[None]:
    """Publish the run at intervals while the block runs, without its page."""

    async def forever() -> None:
        while True:
            await asyncio.sleep(PUBLISH_EVERY_S)
            await publish(run, page=False)

    publishing = asyncio.create_task(forever())
    try:
        yield
    finally:
        publishing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await publishing
