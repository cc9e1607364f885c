"""Pages as artifacts of a server of Prefect."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing

import pytest
from prefect import flow, runtime
from prefect.artifacts import acreate_progress_artifact
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterKey
from prefect.settings import PREFECT_API_DATABASE_CONNECTION_URL

from flows.pages import write_pages
from flows.pages_server import read_progress
from hazardmill.report.dashboard.writing import DashboardPanel

pytestmark = [pytest.mark.full, pytest.mark.usefixtures("prefect_server")]


@flow
async def write(key: str, markdown: str) -> None:
    await write_pages([DashboardPanel(key, markdown, "A page")])


@flow
async def go_on(times: int) -> str:
    """Begin a progress artifact as often as a flow run that crashes does, and return which one is read."""
    for time in range(times):
        await acreate_progress_artifact(50.0, key="progress-neiss", description=f"begun {time}")
    async with get_client() as client:
        found = await read_progress(client, [await client.read_flow_run(runtime.flow_run.id)])
    ((_, said),) = found.values()
    return said


def read(key: str) -> list[str | None]:
    """Return the descriptions of all artifacts of a key."""

    async def ask() -> list[str | None]:
        async with get_client() as client:
            found = await client.read_artifacts(artifact_filter=ArtifactFilter(key=ArtifactFilterKey(any_=[key])))
        return [artifact.description for artifact in found]

    return asyncio.run(ask())


def test_a_page_is_one_artifact_that_is_updated() -> None:
    asyncio.run(write("page-a", "first"))
    asyncio.run(write("page-a", "second"))
    assert read("page-a") == ["second"]


def test_a_page_that_retention_has_deleted_is_made_anew() -> None:
    asyncio.run(write("page-b", "first"))
    # As the server's vacuum does with artifacts of old flow runs: the key still names the artifact for a day.
    path = PREFECT_API_DATABASE_CONNECTION_URL.value().partition("///")[2]
    with closing(sqlite3.connect(path, timeout=30)) as database, database:
        assert database.execute("DELETE FROM artifact WHERE key = 'page-b'").rowcount == 1
    asyncio.run(write("page-b", "second"))
    assert read("page-b") == ["second"]
    asyncio.run(write("page-b", "third"))
    assert read("page-b") == ["third"]


def test_the_latest_progress_of_a_flow_run_counts() -> None:
    # The server sorts artifacts by ids, which are random, unless it is told otherwise.
    assert asyncio.run(go_on(8)) == "begun 7"
