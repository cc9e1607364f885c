"""The flows under a real Prefect server of their own: they must give what the library gives without it."""

from __future__ import annotations

import asyncio
import re

import pytest

from hazardmill.errors import InputError, UsageError
from hazardmill.stages.config import RunConfig, RunInput
from hazardmill.stages.run import Run, Session, run_states
from hazardmill.store.store import Store

pytestmark = pytest.mark.full


@pytest.fixture(scope="session")
def prefect_server(tmp_path_factory):
    """An ephemeral Prefect server, quiet, and with nothing of the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PREFECT_HOME", str(tmp_path_factory.mktemp("prefect")))
        patch.setenv("PREFECT_SERVER_ANALYTICS_ENABLED", "false")
        patch.setenv("DO_NOT_TRACK", "1")
        patch.setenv("PREFECT_SERVER_LOGGING_LEVEL", "CRITICAL")
        from prefect.testing.utilities import prefect_test_harness

        with prefect_test_harness(server_startup_timeout=120):
            yield


@pytest.fixture
def config(project):
    return RunConfig(
        inputs=tuple(
            RunInput(source=name, path=project / "sources" / name / "sample", limit=30) for name in ("neiss", "bddl")
        ),
        batch_size=25,
    )


def run_plainly(config, folder):
    store = Store.open(folder, create=True)
    run, _ = Run.start(store, config)

    async def work():
        async with run.session() as session:
            for batch in run.batches():
                await session.work(batch)

    with run.under_way():
        asyncio.run(work())
    return store, run.counts()


def artifact(key):
    from prefect.artifacts import Artifact

    return asyncio.run(Artifact.aget(key))


def test_a_generate_flow_gives_what_the_library_gives(prefect_server, config, tmp_path):
    from flows.generate import generate

    plain, counts = run_plainly(config, tmp_path / "plain")

    result = asyncio.run(generate(config, store=tmp_path / "flow"))

    assert result.counts == counts
    assert Store(tmp_path / "flow").digest() == plain.digest()
    assert not Store(tmp_path / "flow").verify()


def test_the_artifact_holds_funnel_and_cost(prefect_server, config, tmp_path):
    from flows.generate import generate

    result = asyncio.run(generate(config, store=tmp_path / "store"))

    shown = artifact("funnel-bddl-neiss")
    assert result.run_id in shown.description
    accepted = result.counts["accepted"]
    assert re.search(rf"\| total \|.*\| {accepted} \(", shown.data), shown.data
    assert "USD" in shown.data


def test_a_flow_goes_on_with_a_run_that_is_there(prefect_server, config, tmp_path):
    from flows.generate import generate

    store = Store.open(tmp_path / "store", create=True)
    run, _ = Run.start(store, config)

    async def first_batch():
        async with run.session() as session:
            await session.work(run.batches()[0])

    asyncio.run(first_batch())
    calls = store.count("llm_calls")

    result = asyncio.run(generate(config, store=tmp_path / "store", run_id=run.run_id))

    plain, counts = run_plainly(config, tmp_path / "plain")
    assert result.counts == counts
    assert store.digest(run.run_id) == plain.digest(plain.rows("outcomes")[0]["run_id"])
    assert store.count("llm_calls") == plain.count("llm_calls") > calls


def test_a_flow_that_a_bug_ends_leaves_a_failed_run_that_goes_on(prefect_server, config, tmp_path, monkeypatch):
    from flows.generate import generate

    async def broken(self, batch):
        raise ZeroDivisionError

    with monkeypatch.context() as patch, pytest.raises(ZeroDivisionError):
        patch.setattr(Session, "work", broken)
        asyncio.run(generate(config, store=tmp_path / "store", run_id="r"))
    store = Store.open(tmp_path / "store")
    assert [row["state"] for row in run_states(store)] == ["failed"]

    assert asyncio.run(generate(config, store=tmp_path / "store", run_id="r")).counts["pending"] == 0
    assert [row["state"] for row in run_states(store)] == ["completed"]


def test_an_ingest_flow_without_a_record_fails_and_shows_why(prefect_server, tmp_path):
    from flows.ingest import ingest

    page = tmp_path / "x.tsv"
    page.write_text("<!DOCTYPE html><html></html>\n")
    with pytest.raises(InputError, match="no record of neiss to work on: the file is a web page"):
        asyncio.run(ingest("neiss", page, store=tmp_path / "store"))
    assert "- x.tsv: the file is a web page" in artifact("ingest-neiss").data
    assert Store.open(tmp_path / "store").count("rejects") == 1


def test_an_ingest_flow_counts_what_it_read(prefect_server, project, tmp_path):
    from flows.ingest import ingest

    sample = project / "sources" / "neiss" / "sample"
    first = asyncio.run(ingest("neiss", sample, store=tmp_path / "store"))
    again = asyncio.run(ingest("neiss", sample, store=tmp_path / "store"))

    assert first.counts["records"] == first.counts["new"] == Store(tmp_path / "store").count("records")
    assert again.counts["new"] == 0
    assert f"| new | {again.counts['new']} |" in artifact("ingest-neiss").data


def test_a_wrong_selection_fails_the_ingest_flow_in_words(prefect_server, project, tmp_path):
    from flows.ingest import ingest

    sample = project / "sources" / "neiss" / "sample"
    with pytest.raises(UsageError, match="colour"):
        asyncio.run(ingest("neiss", sample, store=tmp_path / "store", where={"colour": "red"}))
