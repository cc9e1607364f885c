"""Artifacts that show a run's results and progress. A run never fails because one could not be written."""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final
from uuid import UUID

from prefect.artifacts import (
    acreate_markdown_artifact,
    acreate_progress_artifact,
    acreate_table_artifact,
    aupdate_progress_artifact,
)
from prefect.logging import get_run_logger

from hazardmill.report.html import write_report
from hazardmill.runs.run import Run
from hazardmill.store.store import Store

LOOK_EVERY_S: Final = 2.0
"""Seconds between two progress updates of a batch; each may be a request to the server."""

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


class Progress:
    """The progress artifact of a run: the records with an outcome, out of all. Call it after each record.

    Args:
        artifact_id: The artifact; None if it could not be created.
        done: Records done before.
        total: Records of the run.
    """

    def __init__(self, artifact_id: UUID | None, done: int, total: int) -> None:
        self.artifact_id = artifact_id
        self.done = done
        self.total = total
        self._shown = done
        self._shown_at = time.monotonic()

    @classmethod
    async def begin(cls, run: Run) -> Progress:
        """Create the artifact of a run."""
        total = len(run.selection)
        progress = cls(None, total - len(run.pending()), total)
        names = sorted({item.source for item in run.config.inputs})
        try:
            progress.artifact_id = await acreate_progress_artifact(
                progress.percent, key=key("progress", *names), description=progress.text
            )
        except Exception as error:
            get_run_logger().warning("there is no progress artifact: %r", error)
        return progress

    @property
    def percent(self) -> float:
        """Records done, in percent."""
        return 100.0 * self.done / self.total if self.total else 100.0

    @property
    def text(self) -> str:
        """Records done, in words."""
        return f"{self.done} of {self.total} records"

    @property
    def is_due(self) -> bool:
        """Whether the last update is some time ago, or everything is done."""
        return self.done == self.total or time.monotonic() - self._shown_at >= LOOK_EVERY_S

    def __call__(self, record_id: str, outcome: object) -> None:
        """Count a record."""
        self.done += 1

    async def show(self) -> None:
        """Update the artifact if anything has changed."""
        if self.artifact_id is None or self.done == self._shown:
            return
        self._shown, self._shown_at = self.done, time.monotonic()
        try:
            await aupdate_progress_artifact(self.artifact_id, self.percent, self.text)
        except Exception as error:
            get_run_logger().debug("the progress artifact is behind: %r", error)


@asynccontextmanager
async def watch_progress(progress: Progress, look: Callable[[], None]) -> AsyncIterator[None]:
    """Call ``look`` and update the progress at intervals while the block runs, and once after it."""

    async def once() -> None:
        look()
        await progress.show()

    async def forever() -> None:
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            await once()

    watching = asyncio.create_task(forever())
    try:
        yield
    finally:
        watching.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watching
        look()
        # One request each, so not after every batch if batches are quick.
        if progress.is_due:
            await progress.show()
