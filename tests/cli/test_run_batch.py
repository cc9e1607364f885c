from __future__ import annotations

import json
from pathlib import Path

import pytest
from factories.batch_provider import BatchesInProcess, Job

from cli.conftest import Hazardmill
from hazardmill.errors import ConnectionFailed, RunStopped, RunWaiting
from hazardmill.store.store import Store
from tests.generation.conftest import jail as jail
from tests.generation.conftest import notes as notes
from tests.generation.conftest import sources_home as sources_home
from tests.generation.conftest import store as store
from tests.runs.batching import Many, backend, raising


def name_of(store: Store) -> str:
    """The name of the first batch."""
    return min(store.rows("batches", None, ["batch", "number"]), key=lambda row: row["number"])["batch"]


@pytest.fixture
def lost(store: Store, notes: Path) -> Many:
    """A run whose first batch may exist at a provider that lists none."""
    provider = BatchesInProcess(backend(), can_find=False, after_create=raising(ConnectionFailed("reset")))
    many = Many(store, provider, wait=False)
    many.start(notes)
    with pytest.raises(RunStopped, match="it is not known whether"):
        many.go_on()
    return many


def test_a_batch_that_was_found_is_booked(lost: Many, hazardmill: Hazardmill) -> None:
    said = hazardmill("run", "batch", name_of(lost.store), "--is", "job-1", "--store", lost.store.path)
    assert said.code == 0 and "resume run run" in said.out
    lost.to_the_end()
    assert len([job for job in lost.provider.jobs.values() if job.name.endswith("run-0001")]) == 1
    assert name_of(lost.store) in {row["batch"] for row in lost.store.rows("llm_calls", {"answered": True})}


def test_a_batch_that_is_not_there_is_sent_again_and_cost_nothing(lost: Many, hazardmill: Hazardmill) -> None:
    lost.provider.jobs.clear()
    said = hazardmill("run", "batch", name_of(lost.store), "--none", "--store", lost.store.path)
    assert said.code == 0
    name = name_of(lost.store)
    rows = lost.store.rows("llm_calls", {"batch": name})
    assert rows and {(row["error"], row["usd_upper"]) for row in rows} == {("ConnectionFailed", 0.0)}
    lost.to_the_end()
    assert not [row for row in lost.store.rows("llm_calls", {"answered": True}) if row["batch"] == name]


def test_batches_are_listed(store: Store, notes: Path, hazardmill: Hazardmill) -> None:
    many = Many(store, BatchesInProcess(backend(), ready_at=5), wait=False)
    many.start(notes)
    with pytest.raises(RunWaiting):
        many.go_on()
    said = hazardmill("run", "batch", "--store", store.path)
    assert said.code == 0
    assert said.out.startswith(f"{name_of(store)}  batch     sent        job-1  0 of ")
    (row,) = json.loads(hazardmill("run", "batch", "--store", store.path, "--json").out)
    assert (row["batch"], row["state"], row["batch_id"]) == (name_of(store), "sent", "job-1")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--is", "x"], "--is, --none and --cancel apply to one batch, one at a time"),
        (["NAME", "--is", "x", "--none"], "--is, --none and --cancel apply to one batch, one at a time"),
        (["run-0002", "--none"], "there is no open batch named run-0002"),
        (["NAME", "--cancel"], "is not known yet [resume run run"),
    ],
)
def test_what_makes_no_sense_is_refused(lost: Many, hazardmill: Hazardmill, words: list[str], why: str) -> None:
    words = [name_of(lost.store) if word == "NAME" else word for word in words]
    said = hazardmill("run", "batch", *words, "--store", lost.store.path)
    assert said.code == 2 and why in said.err


def test_a_known_batch_is_not_given_another_id(store: Store, notes: Path, hazardmill: Hazardmill) -> None:
    many = Many(store, BatchesInProcess(backend(), ready_at=5), wait=False)
    many.start(notes)
    with pytest.raises(RunWaiting):
        many.go_on()
    said = hazardmill("run", "batch", name_of(store), "--is", "job-2", "--store", store.path)
    assert said.code == 2 and "is already known: job-1" in said.err


def test_a_batch_that_its_provider_has_no_more_is_given_up_and_may_have_cost_something(
    store: Store, notes: Path, hazardmill: Hazardmill
) -> None:
    many = Many(store, BatchesInProcess(backend(), ready_at=5), wait=False)
    many.start(notes)
    with pytest.raises(RunWaiting):
        many.go_on()
    name = name_of(store)
    many.provider.jobs.pop("job-1")
    assert hazardmill("run", "batch", name, "--none", "--store", store.path).code == 0
    rows = store.rows("llm_calls", {"batch": name})
    assert rows and {(row["error"], row["usd"]) for row in rows} == {("ConnectionFailed", None)}
    many.provider.ready_at = 1
    many.provider.jobs["job-0"] = Job("gone", [])
    many.to_the_end()
