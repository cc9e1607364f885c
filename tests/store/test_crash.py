"""Real processes that die: nothing acknowledged is lost, nothing is doubled, groups stay whole."""

from __future__ import annotations

import random
import signal
from collections import Counter
from collections.abc import Callable, Iterator

import pyarrow.parquet as pq
import pytest

from hazardmill.store import Store
from store.children import Child, Children
from store.factories import outcome, row

Start = Callable[..., Child]
POINTS = [
    "journal.torn",
    "journal.write",
    "journal.written",
    "journal.synced",
    "part.staged",
    "part.renamed",
    "manifest.staged",
    "manifest.renamed",
    "segment.removed",
]
SEEDED = random.Random(6)


@pytest.fixture(scope="module")
def start() -> Iterator[Start]:
    """Starts a process of ``store.child_writer`` at a store."""
    children = Children()
    yield lambda store, *words: children.start(store.path, *words)
    children.stop()


def ids(store: Store, table: str = "outcomes", **where: str) -> list[str]:
    column = "identity" if table == "llm_calls" else "record_id"
    return [row[column] for row in store.rows(table, where, [column])]


def in_parts(store: Store, table: str = "outcomes") -> Counter[str]:
    """What anybody's Parquet reader sees under the glob."""
    paths = sorted((store.path / table).glob("*.parquet"))
    return Counter(name for path in paths for name in pq.read_table(path)["record_id"].to_pylist())


def check_whole(store: Store, acknowledged: list[str]) -> None:
    """All that was acknowledged is seen at once, and after recovery it lies in parts, each row once."""
    seen = ids(store)
    assert set(acknowledged) <= set(seen)
    assert len(seen) - len(acknowledged) <= 1, "only the append under way may be there without a word"
    assert ids(store, "llm_calls") == seen
    store.recover()
    assert ids(store) == ids(store, "llm_calls") == seen
    assert in_parts(store) == Counter(seen)
    assert store.verify_files() == []


def kill_at(start: Start, store: Store, point: str, occurrence: int) -> None:
    child = start(store, "r1", 40, 5, point, occurrence)
    out, err = child.communicate()
    assert child.returncode == -signal.SIGKILL, err
    acknowledged = out.split()
    check_whole(store, acknowledged)
    with store.writer("r1") as writer:
        writer.append_sync({"outcomes": [outcome("last")]})
    assert ids(store)[-1] == "last"
    assert store.verify_files() == []


@pytest.mark.parametrize("point", POINTS)
def test_a_writer_killed_at(start: Start, store: Store, point: str) -> None:
    kill_at(start, store, point, 3)


@pytest.mark.full
@pytest.mark.parametrize(
    ("point", "occurrence"), [(point, n) for point in POINTS for n in SEEDED.sample([1, 2, *range(4, 9)], 3)]
)
def test_a_writer_killed_at_more_points(start: Start, store: Store, point: str, occurrence: int) -> None:
    kill_at(start, store, point, occurrence)


@pytest.mark.parametrize("acknowledged", [1, 12])
def test_a_writer_killed_from_outside(start: Start, store: Store, acknowledged: int) -> None:
    with start(store, "r1", 100_000, 5) as child:
        assert child.stdout is not None
        heard = [child.stdout.readline().strip() for _ in range(acknowledged)]
        child.kill()
        # Not communicate(): it reads past what readline() has taken into its buffer and not given out.
        rest = child.stdout.read()
        child.wait()
    check_whole(store, [*heard, *rest.split()])


def test_a_recovery_killed_in_the_middle_is_done_again(start: Start, store: Store) -> None:
    start(store, "r1", 8, 100, "journal.synced", 8).communicate()
    before = ids(store)
    for point in ("part.renamed", "manifest.renamed"):
        child = start(store, "r1", 0, 1, point, 1)
        child.communicate()
        assert child.returncode == -signal.SIGKILL
        assert ids(store) == before
    check_whole(store, before)


def test_a_file_that_may_not_grow_is_a_clear_error_and_keeps_what_was_acknowledged(start: Start, store: Store) -> None:
    child = start(store, "r1", 1000, 1000, "", 0, 20_000)
    out, err = child.communicate()
    assert child.returncode == 3
    assert "cannot append to the journal: File too large" in err
    assert str(store.path) in err
    assert len(out.split()) > 3
    check_whole(store, out.split())


def test_two_runs_write_at_once_while_another_process_reads(start: Start, store: Store) -> None:
    reads = 0
    with start(store, "r1", 60, 3) as first, start(store, "r2", 60, 3) as second:
        while first.poll() is None or second.poll() is None:
            for run_id in ("r1", "r2"):
                seen = ids(store, run_id=run_id)
                assert seen == [f"{run_id}:{number}" for number in range(len(seen))]
            assert [finding for finding in store.verify_files() if finding.code != "segment_left"] == []
            reads += 1
        for child in (first, second):
            _, err = child.communicate()
            assert child.returncode == 0, err
    assert reads > 1
    assert store.verify_files() == []
    assert len(store.snapshot().manifests) == 40
    assert sorted(ids(store)) == sorted(f"{run_id}:{number}" for run_id in ("r1", "r2") for number in range(60))


MAINTENANCE = [
    "part.staged",
    "part.renamed",
    "manifest.staged",
    "manifest.renamed",
    "copy.renamed",
    "part.removed",
    "manifest.removed",
]


def fill(store: Store) -> None:
    """Three runs of two commits each, some keys written twice by their run."""
    for number in range(6):
        run_id = f"r{number % 3}"
        with store.writer(run_id) as writer:
            group = {"outcomes": [outcome(f"n:{n}", run_id=run_id, drafts=number) for n in range(number, number + 5)]}
            writer.append_sync(group | {"drafts": [row("drafts", run_id=run_id, record_id=f"n:{number}")]})


def kill_compaction_at(start: Start, store: Store, point: str, occurrence: int) -> None:
    fill(store)
    tables = ("outcomes", "drafts")
    before = [store.rows(name) for name in tables], [store.digest(run_id) for run_id in (None, "r0", "r1", "r2")]

    def is_unchanged() -> bool:
        seen = Store(store.path)
        rows, digests = [seen.rows(name) for name in tables], [seen.digest(r) for r in (None, "r0", "r1", "r2")]
        return (rows, digests) == before

    child = start(store, "compact", 0, 0, f"compact.{point}", occurrence)
    _, err = child.communicate()
    assert child.returncode == -signal.SIGKILL, err
    assert is_unchanged()
    assert {finding.code for finding in store.verify_files()} <= {"replaced_left", "copy_missing"}
    assert is_unchanged()
    store.compact()
    assert is_unchanged()
    assert store.verify_files() == []
    assert not list((store.path / ".staging").iterdir())
    listed = [path.name for name in tables for _, path in store.snapshot().parts(name)]
    assert sorted(listed) == sorted(path.name for name in tables for path in (store.path / name).iterdir())
    assert len(list((store.path / "manifests").glob("*.json"))) == 1


@pytest.mark.parametrize("point", MAINTENANCE)
def test_a_compaction_killed_at(start: Start, store: Store, point: str) -> None:
    kill_compaction_at(start, store, point, 1)


@pytest.mark.full
@pytest.mark.parametrize("point", ["part.staged", "part.renamed", "part.removed", "manifest.removed"])
def test_a_compaction_killed_at_more_points(start: Start, store: Store, point: str) -> None:
    kill_compaction_at(start, store, point, 2)


def test_what_a_killed_compaction_left_is_swept_by_a_recovery(start: Start, store: Store) -> None:
    fill(store)
    for point in ("part.staged", "part.renamed", "part.removed"):
        start(store, "compact", 0, 0, f"compact.{point}", 1).communicate()
        store.recover()
        assert store.verify_files() == []
        assert not list((store.path / ".staging").iterdir())


def test_writer_reader_and_compaction_at_once(start: Start, store: Store) -> None:
    done = reads = 0
    with start(store, "r1", 90, 3) as first, start(store, "r2", 90, 3) as second:
        while first.poll() is None or second.poll() is None:
            compaction = start(store, "compact", 0, 0)
            while compaction.poll() is None:
                for run_id in ("r1", "r2"):
                    seen = ids(store, run_id=run_id)
                    assert seen == [f"{run_id}:{number}" for number in range(len(seen))]
                assert [finding for finding in store.verify_files() if finding.code != "segment_left"] == []
                reads += 1
            _, err = compaction.communicate()
            assert compaction.returncode == 0, err
            done += 1
        for child in (first, second):
            _, err = child.communicate()
            assert child.returncode == 0, err
    assert done and reads
    store.compact()
    assert store.verify_files() == []
    assert len(store.snapshot().manifests) == 1
    expected = sorted(f"{run_id}:{number}" for run_id in ("r1", "r2") for number in range(90))
    assert sorted(ids(store)) == sorted(ids(store, "llm_calls")) == expected
    assert in_parts(store) == Counter(expected)


@pytest.mark.parametrize("point", ["kept", "manifest.renamed", "original.removed"])
def test_a_rebuild_killed_at(start: Start, store: Store, point: str) -> None:
    fill(store)
    before = ids(store)
    spoilt = sorted((store.path / "drafts").iterdir())[2]
    spoilt.write_bytes(spoilt.read_bytes()[:-9])
    sorted((store.path / "manifests").glob("*.json"))[4].write_text("{}")
    child = start(store, "rebuild", 0, 0, f"rebuild.{point}", 1)
    _, err = child.communicate()
    assert child.returncode == -signal.SIGKILL, err
    Store(store.path).rebuild()
    again = Store(store.path)
    assert again.verify_files() == []
    assert ids(again) == before
    assert again.count("drafts") == 5
    assert {path.read_bytes() for path in (store.path / "quarantine").iterdir()} >= {b"{}"}
