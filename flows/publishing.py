"""Where results are shown: keys of artifacts, paths of pages, and the event on which the flow ``publish`` starts."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Final

from prefect.events import emit_event
from prefect.logging import get_run_logger

from hazardmill.report.dashboard.links import ReportPlace
from hazardmill.report.html import reports_folder
from hazardmill.runs.run import Run
from hazardmill.settings import load_settings
from hazardmill.store.store import Store

CHANGED: Final = "hazardmill.run.changed"
"""The event that a run has new results. The deployment of ``publish`` starts on it (``prefect.yaml``)."""

ANNOUNCE_FIRST_S: Final = 15.0
"""Seconds until a run is announced first, so that its cost can be seen within half a minute."""

ANNOUNCE_EVERY_S: Final = 300.0
"""Seconds between two announcements of a run under way; the server keeps each version of an artifact."""

ANNOUNCED_LATER: Final = ContextVar("ANNOUNCED_LATER", default=False)
"""Whether the flow around a run announces the results of all its runs together, at its end."""


def report_path(store: Store, name: str) -> Path:
    """Return the path of a run's page, in the folder of the store's reports."""
    return reports_folder(store) / f"{name}.html"


def report_place(store: Store, name: str) -> ReportPlace:
    """Return where a run's page can be opened: at the address of the settings, or else its path."""
    return ReportPlace(report_path(store, name), load_settings().pages_url)


def is_workers_store(store: Store) -> bool:
    """Return whether a store is the one that the worker's settings name, which the six pages are about."""
    named = load_settings().store
    return store.address == str(named) if store.is_in_bucket else store.path.absolute() == named.absolute()


def key(*words: str) -> str:
    """Return a key for an artifact: lower-case letters, digits and dashes."""
    return re.sub(r"[^a-z0-9]+", "-", "-".join(words).lower()).strip("-")


def announce(store: Store, run_id: str) -> None:
    """Emit the event that a run has new results.

    Its resource is the store, because one publication serves all runs of a store that ended at about the same time.
    """
    address = store.address if store.is_in_bucket else str(store.path.absolute())
    emit_event(
        CHANGED,
        resource={"prefect.resource.id": f"hazardmill.store.{address}", "prefect.resource.name": address},
        payload={"store": address, "run_id": run_id},
    )


def announce_regularly(run: Run) -> AbstractAsyncContextManager[None]:
    """Announce new results soon, and then at intervals, while the block runs."""

    async def once() -> None:
        try:
            announce(run.store, run.run_id)
        except Exception as error:
            # No run fails because its figures are late.
            get_run_logger().warning("the results of run %s were not announced: %r", run.run_id, error)

    return repeat(ANNOUNCE_EVERY_S, once, first_s=ANNOUNCE_FIRST_S)


@asynccontextmanager
async def repeat(
    every_s: float, work: Callable[[], Awaitable[None]], *, first_s: float | None = None
) -> AsyncIterator[None]:
    """Do ``work`` at intervals while the block runs; its error is raised at the end of the block.

    Args:
        every_s: Seconds between two times.
        work: What to do.
        first_s: Seconds until the first time; null for ``every_s``.
    """

    async def forever() -> None:
        wait_s = every_s if first_s is None else first_s
        while True:
            await asyncio.sleep(wait_s)
            await work()
            wait_s = every_s

    repeating = asyncio.create_task(forever())
    try:
        yield
    finally:
        repeating.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await repeating
