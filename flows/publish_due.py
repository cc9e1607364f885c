"""Which runs have results that are not published yet, and whose pages are too old to be kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import ArtifactCollectionFilter, ArtifactCollectionFilterKey
from prefect.logging import get_run_logger

from flows.publishing import report_path
from hazardmill.report.dashboard.links import artifact_key
from hazardmill.runs.status import RunSummary
from hazardmill.settings import load_settings
from hazardmill.store.store import Store

_AT_ONCE: Final = 100
"""Keys in one question to the server."""


def describe(run: RunSummary) -> str:
    """Return the description of a run's artifact: its state and its last change, as they were before it was drawn.

    A run that changes while it is drawn has another description afterwards, and is published again.
    """
    last = last_change(run).astimezone(UTC)
    return f"Run `{run.run_id}`: {run.state}, last change {last:%Y-%m-%d %H:%M:%S.%f} UTC"


def choose_due(runs: Sequence[RunSummary], published: Mapping[str, str]) -> list[RunSummary]:
    """Return the runs that were never published, or not as they are now.

    Args:
        runs: Runs of a store.
        published: Descriptions of the artifacts of runs, by run; one that was never published is missing.
    """
    return [run for run in runs if published.get(run.run_id) != describe(run)]


def last_change(run: RunSummary) -> datetime:
    """Return when a run last changed, or last paid for a request."""
    return max(run.changed, run.paid.last or run.changed)


async def read_published(runs: Sequence[RunSummary]) -> dict[str, str]:
    """Return the descriptions under which the server has published runs, by run."""
    names, found = {artifact_key("run", run.run_id): run.run_id for run in runs}, dict[str, str]()
    keys = list(names)
    async with get_client() as client:
        for start in range(0, len(keys), _AT_ONCE):
            chosen = ArtifactCollectionFilter(key=ArtifactCollectionFilterKey(any_=keys[start : start + _AT_ONCE]))
            for artifact in await client.read_latest_artifacts(artifact_filter=chosen):
                found[names[artifact.key]] = artifact.description or ""
    return found


def delete_old_pages(store: Store, changed: Mapping[str, datetime]) -> None:
    """Delete the pages of runs that last changed longer ago than ``reports_days``; without that setting, none.

    The page that ``generate-all`` writes on several runs goes with the last of them. Whatever else is in the folder
    stays.

    Args:
        store: The store of the runs.
        changed: When each of its runs last changed, by run.
    """
    days = load_settings().reports_days
    if days is None:
        return
    since = datetime.now(UTC) - timedelta(days=days)
    recent = {run_id for run_id, at in changed.items() if at >= since}
    old = changed.keys() - recent
    joint = {run_id.rpartition("-")[0] for run_id in old} - {run_id.rpartition("-")[0] for run_id in recent} - recent
    paths = [report_path(store, name) for name in sorted(old | joint - {""})]
    for path in filter(Path.exists, paths):
        try:
            path.unlink()
        except OSError as error:
            get_run_logger().warning("the old page %s was not deleted: %s", path, error)
