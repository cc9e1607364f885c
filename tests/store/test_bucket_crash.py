"""Real processes at a store in a bucket: several at once, and killed ones."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hazardmill.store import Store
from store.bucket_server import BucketServer
from store.children import Child, Children
from store.conftest import Machine
from store.factories import call, outcome
from store.test_bucket_store import names, objects, time_passes, write
from tests.sizes import sized

pytestmark = pytest.mark.full

POINTS = ["journal.synced", "part.staged", "part.renamed", "manifest.staged", "manifest.put", "manifest.renamed"]
RESUMED = ("here", "there")
KILLS = [(point, where) for n, point in enumerate(POINTS) for where in sized(RESUMED[n % 2 : n % 2 + 1], RESUMED)]
"""Point, and the machine that resumes: in turn, or each at the large size."""


Start = Callable[..., Child]


@pytest.fixture(scope="module")
def children() -> Iterator[Children]:
    children = Children("boto3", "hazardmill.store.bucket.objects")
    yield children
    children.stop()


@pytest.fixture
def start(children: Children, server: BucketServer) -> Start:
    """Starts a process that writes to the store in the bucket, on the machine whose cache is given."""
    of_the_bucket = {name: value for name, value in os.environ.items() if name.startswith("AWS_")}

    def begin(address: str, cache: Path, *words: object) -> Child:
        return children.start(address, *words, environment={**of_the_bucket, "HAZARDMILL_CACHE": str(cache)})

    return begin


def test_processes_on_several_machines_write_at_once(
    machine: Machine, address: str, store: Store, start: Start, tmp_path: Path
) -> None:
    children = [start(address, tmp_path / name, name, 12, 2) for name in ("r1", "r2", "r3")]
    for child in children:
        _, err = child.communicate()
        assert child.returncode == 0, err
    reader = machine("reader")
    for run_id in ("r1", "r2", "r3"):
        assert names(reader, run_id) == [f"{run_id}:{n}" for n in range(12)]
    assert objects(address, "manifests/") == [f"manifests/{n:010d}.json" for n in range(1, 19)]
    assert reader.verify_files() == []
    for run_id in ("r1", "r2", "r3"):
        with store.writer(run_id) as writer:
            for n in range(12):
                name = f"{run_id}:{n}"
                writer.append_sync(
                    {
                        "llm_calls": [call(name, run_id=run_id, answer="a" * 500)],
                        "outcomes": [outcome(name, run_id=run_id)],
                    }
                )
    assert reader.digest() == store.digest()


@pytest.mark.parametrize(("point", "resumed"), KILLS)
def test_a_worker_killed_at(
    machine: Machine, address: str, start: Start, tmp_path: Path, point: str, resumed: str
) -> None:
    child = start(address, tmp_path / "here", "r1", 10, 3, point, 6 if point == "journal.synced" else 2)
    out, err = child.communicate()
    assert child.returncode == -signal.SIGKILL, err
    acknowledged = out.split()
    seen_here, seen_there = names(machine("here")), names(machine("there"))
    assert set(acknowledged) <= set(seen_here)
    assert seen_there == seen_here[: len(seen_there)], "whole commits, the first ones"
    assert len(seen_there) % 3 == 0
    codes = {finding.code for finding in machine("there").verify_files()}
    assert codes <= {"part_unlisted"}, "at most parts that nobody lists are left in the bucket"

    store = machine(resumed)
    if resumed == "there":
        with time_passes(store):
            write(store, "r1", ["last"])
        assert names(store) == [*seen_there, "last"]
        write(machine("here"), "r1", ["after"])
        expected = [*seen_there, "last", "after"]
    else:
        write(store, "r1", ["last"])
        expected = [*seen_here, "last"]
    for name in ("here", "there", "third"):
        assert names(machine(name)) == expected
    assert max(Counter(names(machine("third"))).values()) == 1
    assert {finding.code for finding in machine("third").verify_files()} <= {"part_unlisted"}
    assert not list((machine("here").path / "journal").glob("*.jsonl"))


def test_a_worker_killed_from_outside_resumes_at_once_on_its_machine(
    machine: Machine, address: str, start: Start, tmp_path: Path
) -> None:
    with start(address, tmp_path / "here", "r1", 100_000, 5) as child:
        heard = [child.stdout.readline().strip() for _ in range(12)]
        child.kill()
        rest = child.stdout.read().split()
        child.wait()
    write(machine("here"), "r1", ["last"])
    found = names(machine("there"))
    assert set(heard) | set(rest) <= set(found)
    assert len(found) - len({*heard, *rest, "last"}) <= 1
