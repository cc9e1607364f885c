from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from hazardmill.errors import CorruptStore, StoreError
from hazardmill.store import Store
from store.factories import outcome


class Stop(Exception):
    """Stands for a crash at a point of the conversion."""


def stop_at(point: str):
    def fault(reached: str) -> None:
        if reached == point:
            raise Stop

    return fault


def seen(store: Store) -> list[tuple[str, int]]:
    return [(row["record_id"], row["drafts"]) for row in store.rows("outcomes")]


@pytest.mark.parametrize("point", ["part.staged", "part.renamed", "manifest.staged", "manifest.renamed"])
def test_a_conversion_cut_short_changes_nothing_that_is_seen_and_is_finished_later(store: Store, point: str) -> None:
    with store.writer("r1") as writer:
        writer.append_sync({"outcomes": [outcome("n:0")]})
    cut = Store(store.path, fault=stop_at(point))
    writer = cut.writer("r1")
    writer.append_sync({"outcomes": [outcome("n:1"), outcome("n:2")]})
    with pytest.raises(Stop):
        writer.roll()
    assert seen(store) == [("n:0", 1), ("n:1", 1), ("n:2", 1)]
    with pytest.raises(StoreError, match="interrupted by Stop"):
        writer.append_sync({"outcomes": [outcome("n:3")]})
    writer.close()
    assert len(store.recover()) == 1
    assert seen(store) == [("n:0", 1), ("n:1", 1), ("n:2", 1)]
    assert store.verify_files() == []
    assert list((store.path / ".staging").iterdir()) == []


def test_what_a_dead_writer_left_is_committed_before_what_the_next_one_writes(store: Store) -> None:
    dead = Store(store.path, fault=stop_at("part.staged")).writer("r1")
    dead.append_sync({"outcomes": [outcome("n:1", drafts=1)]})
    with pytest.raises(Stop):
        dead.roll()
    dead.close()
    with store.writer("r1") as writer:
        writer.append_sync({"outcomes": [outcome("n:1", drafts=2)]})
        assert seen(store) == [("n:1", 2)]
    assert seen(store) == [("n:1", 2)]


def test_recovery_leaves_living_writers_alone(store: Store) -> None:
    with store.writer("r1") as writer:
        writer.append_sync({"outcomes": [outcome("n:1")]})
        assert store.recover() == []
        assert [finding.code for finding in store.verify_files()] == []
        writer.append_sync({"outcomes": [outcome("n:2")]})
    assert seen(store) == [("n:1", 1), ("n:2", 1)]


def test_a_damaged_segment_is_refused_by_reader_writer_and_recovery_and_stays(store: Store) -> None:
    dead = Store(store.path, fault=stop_at("part.staged")).writer("r1")
    dead.append_sync({"outcomes": [outcome("n:1")]})
    with pytest.raises(Stop):
        dead.roll()
    dead.close()
    (segment,) = (store.path / "journal").glob("*.jsonl")
    segment.write_bytes(segment.read_bytes().replace(b"n:1", b"n:9"))
    for attempt in (store.recover, lambda: store.writer("r1"), lambda: store.rows("outcomes")):
        with pytest.raises(CorruptStore, match=rf"{segment.name}:2: "):
            attempt()
    assert segment.exists()
    with store.writer("r2"):
        pass  # other runs go on, and the lock of r1 was given back
    with pytest.raises(CorruptStore):
        store.writer("r1")


def test_a_disk_that_is_full_at_the_rename_is_named_and_the_run_goes_on_later(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Path, target: Path) -> Path:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(target))

    writer = store.writer("r1")
    writer.append_sync({"outcomes": [outcome("n:1")]})
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", full)
        with pytest.raises(StoreError, match=r"outcomes.*No space left on device.*free some space"):
            writer.close()
    assert seen(store) == [("n:1", 1)]
    with store.writer("r1") as again:
        again.append_sync({"outcomes": [outcome("n:2")]})
    assert seen(store) == [("n:1", 1), ("n:2", 1)]
    assert store.verify_files() == []


def test_a_failed_close_does_not_hide_the_error_that_came_first(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, target: Path) -> Path:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(target))

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(ZeroDivisionError) as caught, store.writer("r1") as writer:
        writer.append_sync({"outcomes": [outcome("n:1")]})
        raise ZeroDivisionError
    assert "No space left" in caught.value.__notes__[0]


def test_a_forked_child_neither_writes_nor_closes_its_parents_run(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    with store.writer("r1") as writer:
        writer.append_sync({"outcomes": [outcome("n:1")]})
        with monkeypatch.context() as patch:
            patch.setattr(os, "getpid", lambda: -1)
            with pytest.raises(StoreError, match="closed"):
                writer.append_sync({"outcomes": [outcome("n:2")]})
            writer.close()
        assert len(list((store.path / "journal").glob("*.jsonl"))) == 1
        writer.append_sync({"outcomes": [outcome("n:3")]})
    assert seen(store) == [("n:1", 1), ("n:3", 1)]
