"""Runs by batches of a provider over HTTP, with everything that can go wrong: the rows are those of single requests."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from hazardmill.errors import RunWaiting, SettingsError
from hazardmill.runs.run import Run
from hazardmill.store.store import Store
from hazardmill.testing.llm_server import BatchFaultKind, LlmServer, ScriptedBatchFaults
from tests.running import worked
from tests.runs.faulty_batches import RECOVERABLE, RESOURCES, soak_batches
from tests.runs.test_over_http import Configured, started
from tests.runs.test_over_http import configured as configured
from tests.sizes import sized

RECORDS, LINES = sized((60, 6), (150, 15))


@pytest.fixture(scope="module")
def single(project: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The digest of eight records asked one by one."""
    with pytest.MonkeyPatch.context() as patch, LlmServer() as server:
        config = configured.__wrapped__(project, patch)  # type: ignore[attr-defined]  # the fixture's function
        store = Store.open(tmp_path_factory.mktemp("single") / "store", create=True)
        worked(started(store, config(server)))
    return store.digest()


def answered(store: Store) -> Counter[str]:
    return Counter(row["identity"] for row in store.rows("llm_calls", {"answered": True}, ["identity"]))


def test_it_gives_what_single_requests_give(store: Store, configured: Configured, single: dict[str, str]) -> None:
    with LlmServer(batch_seconds=0.05) as server:
        worked(started(store, configured(server, batch=True), resources=RESOURCES), wait=True)
        paid = server.attempts
    assert store.digest() == single
    # Each request was paid for once, and all in batches.
    assert len(paid) == len(answered(store)) and all(attempt.batch for attempt in paid)


def test_a_process_is_needed_only_to_look(store: Store, configured: Configured, single: dict[str, str]) -> None:
    with LlmServer(batch_seconds=None) as server:
        started(store, configured(server, batch=True), resources=RESOURCES)
        looks = 0
        while looks < 40:
            looks += 1
            try:
                worked(Run.load(store, "run", RESOURCES))
            except RunWaiting as waiting:
                assert "batch batch_" in waiting.message and f"at {server.address}" in waiting.message
                server.finish_batches()
            else:
                break
        paid = server.attempts
    assert 5 < looks < 40
    assert store.digest() == single
    assert len(paid) == len(answered(store))


@pytest.mark.full
@pytest.mark.parametrize("kind", [kind for kind in RECOVERABLE if kind.value.startswith(("create", "line", "content"))])
def test_a_fault_changes_nothing(
    store: Store, configured: Configured, single: dict[str, str], kind: BatchFaultKind
) -> None:
    with LlmServer(batch_faults=ScriptedBatchFaults(kind)) as server:
        worked(started(store, configured(server, batch=True, limit=2), resources=RESOURCES), wait=True)
        batches = {row["batch"]: row for row in store.rows("batches")}
        paid = Counter(attempt.identity for attempt in server.attempts if attempt.status == 200)
    assert not [row for row in store.rows("outcomes") if row["outcome"] == "extraction_failed"]
    assert {row["state"] for row in batches.values()} == {"collected"}
    twice = {kind.LINE_MISSING, kind.LINE_UNKNOWN, kind.LINE_CUT}
    assert set(paid.values()) == ({2} if kind in twice else {1})


def test_providers_without_batches_are_refused_before_anything_is_sent(store: Store, configured: Configured) -> None:
    with LlmServer(dialect="deepseek") as server:
        run = started(store, configured(server, batch=True, model="deepseek/deepseek-chat"), resources=RESOURCES)
        with pytest.raises(SettingsError, match="no batches for the model 'deepseek/deepseek-chat'"):
            worked(run)
        assert not server.attempts and not store.rows("llm_calls")


@pytest.mark.full
@pytest.mark.timeout(600)
def test_records_end_as_without_faults(
    reference: Path, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A part of what ``benchmarks/soak.py --batch-faults 600`` runs, in batches that are smaller too."""
    # Servers on this machine ask for no key.
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    print(*(said := soak_batches(tmp_path, reference, project, records=RECORDS, lines=LINES)).lines, sep="\n")
    assert said.wrong == []
    # Which batch has which fault depends on which requests came first.
    assert said.batches > 40 and len(said.ends) >= 3
