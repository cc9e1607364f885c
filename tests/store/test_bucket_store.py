"""A store in a bucket, with several machines at it; each is a working folder of its own."""

from __future__ import annotations

import asyncio
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import boto3
import pytest

from hazardmill.errors import CorruptStore, StoreError, StoreLocked
from hazardmill.store import Store, Writer
from hazardmill.store.bucket.objects import Bucket, Object
from store.conftest import SECRET, Machine
from store.factories import call, outcome

if TYPE_CHECKING:
    from store.bucket_server import BucketServer

pytestmark = pytest.mark.full


def write(store: Store, run_id: str, names: Iterable[str]) -> None:
    """One commit."""
    with store.writer(run_id) as writer:
        for name in names:
            add(writer, name)


def add(writer: Writer, name: str) -> None:
    writer.append_sync(
        {
            "outcomes": [outcome(name, run_id=writer.run_id)],
            "llm_calls": [call(f"{writer.run_id} {name}", run_id=writer.run_id)],
        }
    )


def names(store: Store, run_id: str | None = None) -> list[str]:
    where = {} if run_id is None else {"run_id": run_id}
    return [row["record_id"] for row in store.rows("outcomes", where, ["record_id"])]


def objects(address: str, folder: str = "") -> list[str]:
    bucket, _, prefix = address.removeprefix("s3://").partition("/")
    found = boto3.client("s3").list_objects_v2(Bucket=bucket, Prefix=f"{prefix}/{folder}").get("Contents", [])
    return [entry["Key"].removeprefix(f"{prefix}/") for entry in found]


def object_of(address: str, name: str) -> dict[str, str]:
    bucket, _, prefix = address.removeprefix("s3://").partition("/")
    return {"Bucket": bucket, "Key": f"{prefix}/{name}"}


@contextmanager
def time_passes(store: Store) -> Iterator[None]:
    """For this machine the terms of all leases are over."""
    bucket = store._place.mirror.bucket

    def aged(name: str) -> Object | None:
        found = Bucket.get(bucket, name)
        return found and replace(found, age_s=10_000.0)

    bucket.get = aged
    try:
        yield
    finally:
        del bucket.get


def test_another_machine_reads_what_one_wrote(machine: Machine, address: str) -> None:
    here = machine("here")
    write(here, "r1", ["a", "b"])
    write(here, "r1", ["c", "a"])
    there = machine("there")
    assert there.path != here.path
    assert names(there) == names(here) == ["b", "c", "a"]
    assert there.digest() == here.digest()
    assert there.query(lambda views: views.sql("SELECT count(*) FROM outcomes").fetchall()) == [(3,)]
    assert there.write_lens().parent == there.path
    assert there.verify_files() == here.verify_files() == []
    assert {name.split("/")[0] for name in objects(address)} == {
        "store.json",
        "locks",
        "manifests",
        "outcomes",
        "llm_calls",
    }


def test_the_digest_is_that_of_the_same_rows_in_a_folder(machine: Machine, store: Store) -> None:
    for place in (machine("here"), store):
        write(place, "r1", ["a", "b"])
        write(place, "r2", ["b", "c"])
    there = machine("there")
    assert there.digest() == store.digest()
    assert there.digest("r1") == store.digest("r1") != store.digest("r2")
    assert there.rows("outcomes") == store.rows("outcomes")


def test_new_commits_are_seen_and_only_new_ones_fetched(machine: Machine, server: BucketServer) -> None:
    here, there = machine("here"), machine("there")
    write(here, "r1", ["a"])
    assert names(there) == ["a"]
    write(here, "r1", ["b"])
    server.seen.clear()
    assert names(there) == ["a", "b"]
    fetched = [path for method, path in server.seen if method == "GET" and "/stores/one/" in path]
    assert len(fetched) == 2, "one manifest, and the part of the one table that was read"
    server.seen.clear()
    assert names(there) == ["a", "b"]
    assert len(server.seen) == 1, "a listing"


def test_a_follower_sees_each_commit_once(machine: Machine) -> None:
    here, there = machine("here"), machine("there")
    write(here, "r1", ["a"])
    rows, at = there.rows_since("outcomes", 0)
    write(here, "r1", ["b"])
    more, _ = there.rows_since("outcomes", at)
    assert [[row["record_id"] for row in found] for found in (rows, more)] == [["a"], ["b"]]


def test_nothing_is_made_by_looking(machine: Machine, address: str) -> None:
    store = machine("here")
    assert names(store) == []
    assert store.snapshot().manifests == ()
    with pytest.raises(StoreError, match="there is no store here") as caught:
        Store.open(address)
    assert caught.value.file == address
    assert objects(address) == []
    assert not store.path.exists()


def test_the_working_folder_is_the_store(machine: Machine, address: str) -> None:
    here = machine("here")
    write(here, "r1", ["a"])
    again = Store.open(here.path)
    assert (again.address, again.path, again.is_in_bucket) == (address, here.path, True)
    write(again, "r1", ["b"])
    assert names(machine("there")) == ["a", "b"]


def test_two_workers_that_commit_at_once_both_land(machine: Machine, address: str) -> None:
    there = machine("there")
    write(there, "r2", ["x"])
    waiting = ["y", "z"]

    def meanwhile(point: str) -> None:
        # This machine has chosen its number, and another one takes it, twice.
        if point == "manifest.staged" and waiting:
            write(there, "r2", [waiting.pop(0)])

    here = machine("here", fault=meanwhile)
    write(here, "r1", ["a"])
    assert names(machine("third")) == names(here) == names(there) == ["x", "y", "z", "a"]
    assert objects(address, "manifests/") == [f"manifests/{n:010d}.json" for n in (1, 2, 3, 4)]
    assert here.verify_files() == []


@pytest.mark.parametrize("point", ["part.staged", "part.renamed", "manifest.staged"])
def test_before_its_manifest_nobody_sees_a_part(machine: Machine, point: str) -> None:
    there, seen = machine("there"), []

    def look(reached: str) -> None:
        if reached == point:
            seen.append((names(there), there.count("llm_calls"), [f.code for f in there.verify_files()]))

    here = machine("here", fault=look)
    write(here, "r1", ["a"])
    assert seen
    assert all(found == ([], 0, []) for found in seen)
    assert names(there) == ["a"]


def test_an_answer_that_was_lost_is_no_second_commit(machine: Machine, server: BucketServer, address: str) -> None:
    here, lost = machine("here"), []

    def once(method: str, path: str) -> int | None:
        if method == "PUT" and not lost and "/manifests/" in path:
            lost.append(path)
            return 500
        return None

    with server.lost_answers(once):
        write(here, "r1", ["a", "b"])
    assert lost
    assert objects(address, "manifests/") == ["manifests/0000000001.json"]
    assert names(here) == names(machine("there")) == ["a", "b"]
    assert here.verify_files() == []


@pytest.mark.parametrize("status", [403, 503])
@pytest.mark.parametrize("what", [".parquet", "/manifests/"])
def test_a_commit_that_fails_loses_nothing(
    machine: Machine, server: BucketServer, address: str, what: str, status: int
) -> None:
    here = machine("here")
    write(here, "r1", ["a"])
    writer = here.writer("r1")
    add(writer, "b")
    with server.trouble(lambda method, path: status if method != "GET" and what in path else None):
        with pytest.raises(StoreError) as caught:
            writer.roll()
        assert what.strip("/") in str(caught.value.file)
        assert str(caught.value.file).startswith(address)
        assert "its journal on this machine has every row" in str(caught.value.remedy)
        with pytest.raises(StoreError):
            add(writer, "c")
    writer.close()
    assert names(here) == ["a", "b"]
    assert names(machine("there")) == ["a"]
    assert len(machine("here").recover()) == 1
    assert names(machine("there")) == ["a", "b"]
    assert here.verify_files() == []


def test_one_writer_a_run_over_all_machines(machine: Machine) -> None:
    here, there = machine("here"), machine("there")
    with here.writer("r1") as writer:
        add(writer, "a")
        assert there.is_worked_on("r1")
        with pytest.raises(StoreLocked, match="another process is writing run r1") as caught:
            there.writer("r1")
        assert "60 s" in str(caught.value.remedy)
        with pytest.raises(StoreLocked):
            machine("here").writer("r1")
        write(there, "r2", ["x"])
        assert there.recover() == []
    assert not there.is_worked_on("r1")
    write(there, "r1", ["b"])
    write(here, "r1", ["c"])
    assert names(there, "r1") == ["a", "b", "c"]


def test_a_run_that_is_held_has_no_other_worker_between_two_writers(machine: Machine, store: Store) -> None:
    for here, there in ((machine("here"), machine("there")), (store, Store(store.path))):
        held = here.hold("r1")
        assert there.is_worked_on("r1")
        write(here, "r1", ["a"])
        assert there.is_worked_on("r1")
        with pytest.raises(StoreLocked, match="working on run r1"):
            there.hold("r1")
        write(here, "r1", ["b"])
        held.release()
        held.release()
        assert not there.is_worked_on("r1")
        there.hold("r1").release()
    with pytest.raises(StoreLocked):
        machine("there").hold("r1") and machine("here").writer("r1")


def test_two_processes_of_a_machine_share_its_right_to_a_run(machine: Machine) -> None:
    presence, batches = machine("here"), machine("here")
    held = presence.hold("r1")
    write(batches, "r1", ["a"])
    write(batches, "r1", ["b"])
    assert machine("there").is_worked_on("r1")
    write(presence, "r1", ["c"])
    held.release()
    assert names(machine("there")) == ["a", "b", "c"]
    assert not machine("there").is_worked_on("r1")


def test_a_dead_machine_is_taken_over_when_its_term_is_over(machine: Machine) -> None:
    here, there = machine("here"), machine("there")
    writer = here.writer("r1")
    add(writer, "a")
    writer.roll()
    add(writer, "only here")
    with pytest.raises(StoreLocked):
        there.writer("r1")
    with time_passes(there):
        taken = there.writer("r1")
    assert names(there) == ["a"]
    add(taken, "b")
    taken.roll()
    # The one that was taken for dead wakes up: it must not commit what was made again.
    with pytest.raises(StoreLocked, match="has taken over run r1"):
        writer.roll()
    writer.close()
    assert names(there) == ["a", "b"]
    taken.close()
    assert not there.is_worked_on("r1")


def test_what_a_machine_had_when_it_was_taken_over_hides_nothing_later(machine: Machine) -> None:
    here, there = machine("here"), machine("there")
    writer = here.writer("r1")
    add(writer, "only here")
    with time_passes(there):
        write(there, "r1", ["a"])
    with pytest.raises(StoreLocked):
        writer.roll()
    writer.close()
    assert "only here" in names(here)
    write(here, "r1", ["b"])
    assert names(here) == names(there) == ["a", "b"]
    [kept] = here.path.glob("quarantine/*.jsonl")
    assert "only here" in kept.read_text()
    assert {finding.code for finding in here.verify_files()} == {"part_unlisted"}, "what it had sent lies in the bucket"


def test_what_a_machine_had_stays_if_nobody_made_it_again(machine: Machine, server: BucketServer) -> None:
    here, there = machine("here"), machine("there")
    writer = here.writer("r1")
    add(writer, "a")
    with (
        server.trouble(lambda method, path: 503 if "/manifests/" in path and method == "PUT" else None),
        pytest.raises(StoreError),
    ):
        writer.roll()
    writer.close()
    there.hold("r1").release()  # looked at, and nothing done
    assert len(here.recover()) == 1
    assert names(there) == ["a"]


def test_a_sleeper_between_its_look_and_its_put_does_not_commit(machine: Machine) -> None:
    there = machine("there")

    def asleep(point: str) -> None:
        if point == "manifest.staged" and not names(there):
            with time_passes(there):
                write(there, "r1", ["a"])

    here = machine("here", fault=asleep)
    writer = here.writer("r1")
    add(writer, "late")
    with pytest.raises(StoreLocked, match="has taken over run r1"):
        writer.roll()
    writer.close()
    assert names(there) == names(machine("third")) == ["a"]
    assert there.verify_files()[0].code == "part_unlisted"


def test_a_lease_is_renewed_while_its_run_is_held(machine: Machine, address: str) -> None:
    here = machine("here")
    here._place.holdings.term_s = 0.3
    place, client = object_of(address, "locks/r1.json"), boto3.client("s3")
    with here.writer("r1"):
        tags = {client.get_object(**place)["ETag"]}
        until(lambda: tags.add(client.get_object(**place)["ETag"]) or len(tags) > 3)


def until(done: Callable[[], bool]) -> None:
    async def wait() -> None:
        while not done():  # the test's own timeout bounds it
            await asyncio.sleep(0.02)

    asyncio.run(wait())


def test_a_server_that_ignores_conditions_is_refused(machine: Machine, server: BucketServer) -> None:
    server.ignores_conditions = True
    with pytest.raises(StoreError, match="ignores conditional puts"):
        machine("here").writer("r1")


def test_another_store_in_the_bucket_is_not_mixed_with_what_is_here(machine: Machine, address: str) -> None:
    write(machine("here"), "r1", ["a"])
    for name in objects(address):
        boto3.client("s3").delete_object(**object_of(address, name))
    with pytest.raises(StoreError, match="no longer a store"):
        names(machine("here"))
    write(machine("there"), "r1", ["b"])
    with pytest.raises(StoreError, match="now a different store") as caught:
        names(machine("here"))
    assert "remove" in str(caught.value.remedy)


def test_a_part_that_was_changed_in_the_bucket_is_never_read(machine: Machine, address: str) -> None:
    here = machine("here")
    write(here, "r1", ["a"])
    [part] = objects(address, "outcomes/")
    boto3.client("s3").put_object(**object_of(address, part), Body=b"something else")
    there = machine("there")
    with pytest.raises(CorruptStore) as caught:
        names(there)
    assert caught.value.file == f"{address}/{part}"
    assert there.count("llm_calls") == 1
    assert names(here) == ["a"], "its copy is whole"
    for store in (here, there):
        assert [(f.code, f.file) for f in store.verify_files() if f.code == "part_changed"] == [("part_changed", part)]


def test_verify_names_what_is_lost_in_the_bucket(machine: Machine, address: str) -> None:
    here = machine("here")
    write(here, "r1", ["a"])
    write(here, "r1", ["b"])
    parts, client = objects(address, "outcomes/"), boto3.client("s3")
    client.delete_object(**object_of(address, parts[0]))
    client.delete_object(**object_of(address, "manifests/0000000001.json"))
    client.put_object(**object_of(address, "tasks/stray.parquet"), Body=b"x")
    found = {(finding.code, finding.file) for finding in here.verify_files()}
    assert found == {
        ("manifest_missing", "manifests/0000000001.json"),
        ("part_missing", parts[0]),
        ("part_unlisted", "tasks/stray.parquet"),
    }
    with pytest.raises(CorruptStore, match="commit 1 has no manifest"):
        machine("there").writer("r2")


def test_a_manifest_that_was_changed_in_the_bucket_is_an_error(machine: Machine, address: str) -> None:
    write(machine("here"), "r1", ["a"])
    place = object_of(address, "manifests/0000000001.json")
    client = boto3.client("s3")
    body = client.get_object(**place)["Body"].read().replace(b'"rows": 1', b'"rows": 2')
    client.put_object(**place, Body=body)
    there = machine("there")
    with pytest.raises(CorruptStore, match="checksum") as caught:
        names(there)
    assert caught.value.file == f"{address}/manifests/0000000001.json"
    assert [finding.code for finding in there.verify_files()] == ["manifest_changed"]
    assert [finding.code for finding in machine("here").verify_files()] == ["manifest_changed"]


def test_a_copy_that_is_damaged_is_fetched_again_by_the_next_process(machine: Machine) -> None:
    here = machine("here")
    write(here, "r1", ["a"])
    [part] = (here.path / "outcomes").glob("*.parquet")
    part.write_bytes(b"short")
    assert names(machine("here")) == ["a"]
    part.write_bytes(b"x" * part.stat().st_size)
    with pytest.raises(CorruptStore, match="downloaded again"):
        names(machine("here"))
    part.unlink()
    assert names(machine("here")) == ["a"]


@pytest.mark.parametrize("verb", ["compact", "rebuild"])
def test_maintenance_is_refused_with_the_way_round_it(machine: Machine, address: str, verb: str) -> None:
    here = machine("here")
    write(here, "r1", ["a"])
    before = objects(address)
    with pytest.raises(StoreError) as caught:
        getattr(here, verb)()
    assert f"hazardmill store copy {address} DIR; hazardmill store {verb}" in str(caught.value.remedy)
    assert objects(address) == before


def test_messages_name_the_bucket_and_not_the_working_folder(machine: Machine, address: str) -> None:
    here = machine("here")
    write(here, "r1", ["a"])
    writer = here.writer("r1")
    add(writer, "b")
    # As if it had been killed: its segment stays behind.
    writer._segment.close()
    writer._segment = None
    writer.close()
    [finding] = here.verify_files()
    assert finding.code == "segment_left"
    assert f"--store {address}" in finding.remedy


def test_a_store_goes_to_another_process(machine: Machine) -> None:
    here = machine("here")
    write(here, "r1", ["a"])
    again = pickle.loads(pickle.dumps(here))
    assert names(again) == ["a"]
    write(again, "r2", ["b"])
    assert names(here) == ["a", "b"]


def test_no_key_is_written_down(machine: Machine, address: str) -> None:
    here = machine("here")
    write(here, "r1", ["a"])
    here.write_lens()
    client = boto3.client("s3")
    for name in objects(address):
        assert SECRET.encode() not in client.get_object(**object_of(address, name))["Body"].read()
    for path in (path for path in here.path.rglob("*") if path.is_file()):
        assert SECRET.encode() not in path.read_bytes()


def test_a_store_in_a_folder_loads_nothing_of_this(tmp_path: Path) -> None:
    code = (
        "import sys; from hazardmill.store import Store\n"
        "store = Store(sys.argv[1])\n"
        "store.writer('r1').close(); store.rows('outcomes'); store.verify_files()\n"
        "print([m for m in sys.modules if m.split('.')[0] in ('boto3', 'botocore') or m.endswith('.mirror')])"
    )
    found = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "s")], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "[]"
