"""The progress artifact of a run. A run never fails because it could not be written."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final
from uuid import UUID

from prefect.artifacts import acreate_progress_artifact, aupdate_progress_artifact
from prefect.logging import get_run_logger

from flows.publishing import key, repeat
from hazardmill.llm.call_tally import CallTally
from hazardmill.runs.overview.pace import RunPace
from hazardmill.runs.run import Run

LOOK_EVERY_S: Final = 2.0
"""Seconds between two progress updates; each may be a request to the server."""


class Progress:
    """The progress artifact of a run: the records with an outcome, out of all. Call it after each record.

    Args:
        artifact_id: The artifact; None if it could not be created.
        done: Records done before.
        total: Records of the run.

    Attributes:
        pace: What follows the steps of the records, for rate and time left; null to leave them out.
        tally: What the run has spent; null to leave it out.
    """

    def __init__(self, artifact_id: UUID | None, done: int, total: int) -> None:
        self.artifact_id = artifact_id
        self.done = done
        self.total = total
        self.pace: RunPace | None = None
        self.tally: CallTally | None = None
        self._shown = self.text

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
        """Records done, their rate, what was spent and the time that is left, in words."""
        parts = [f"{self.done} of {self.total} records"]
        if self.pace is not None:
            parts.append(self.pace.rate_text)
        if self.tally is not None:
            parts.append(self.tally.usd_text)
        if self.pace is not None:
            parts.append(self.pace.text)
        return ", ".join(filter(None, parts))

    def __call__(self, record_id: str, outcome: object) -> None:
        """Count a record."""
        self.done += 1
        if self.pace is not None:
            self.pace.commit(record_id)

    async def show(self) -> None:
        """Update the artifact if anything has changed."""
        text = self.text
        if self.artifact_id is None or text == self._shown:
            return
        self._shown = text
        try:
            await aupdate_progress_artifact(self.artifact_id, self.percent, text)
        except Exception as error:
            get_run_logger().debug("the progress artifact is behind: %r", error)


@asynccontextmanager
async def watch_progress(progress: Progress, look: Callable[[], Awaitable[None]] | None = None) -> AsyncIterator[None]:
    """Call ``look`` and update the progress at intervals while the block runs, and once after it."""

    async def once() -> None:
        if look is not None:
            await look()
        await progress.show()

    try:
        async with repeat(LOOK_EVERY_S, once):
            yield
    finally:
        # Whether all is done or not: nothing more will be done here.
        progress.pace = None
        await once()
