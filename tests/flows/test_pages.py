"""Pages as artifacts of a server of Prefect."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing

import pytest
from prefect import flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterKey
from prefect.settings import PREFECT_API_DATABASE_CONNECTION_URL

from flows.pages import write_pages
from hazardmill.report.dashboard.writing import DashboardPanel

pytestmark = [pytest.mark.full, pytest.mark.usefixtures("prefect_server")]


def write(key: str, markdown: str) -> None:
    @flow(name="draws")
    async def draw() -> None:
        await write_pages([DashboardPanel(key, markdown, "A page")])

    asyncio.run(draw())


def read(key: str) -> list[str | None]:
    """Return the descriptions of all artifacts of a key."""

    async def ask() -> list[str | None]:
        async with get_client() as client:
            found = await client.read_artifacts(artifact_filter=ArtifactFilter(key=ArtifactFilterKey(any_=[key])))
        return [artifact.description for artifact in found]

    return asyncio.run(ask())


def test_a_page_is_one_artifact_that_is_updated() -> None:
    write("page-a", "first")
    write("page-a", "second")
    assert read("page-a") == ["second"]


def test_a_page_that_retention_has_deleted_is_made_anew() -> None:
    write("page-b", "first")
    # As the server's vacuum does with artifacts of old flow runs: the key still names the artifact for a day.
    path = str(PREFECT_API_DATABASE_CONNECTION_URL.value()).partition("///")[2]
    with closing(sqlite3.connect(path, timeout=30)) as database, database:
        assert database.execute("DELETE FROM artifact WHERE key = 'page-b'").rowcount == 1
    write("page-b", "second")
    assert read("page-b") == ["second"]
    write("page-b", "third")
    assert read("page-b") == ["third"]
