"""A store's folder that is removed, moved or replaced while a run is written is noticed, and nothing is made anew."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from hazardmill.errors import StoreError
from hazardmill.store import Store, Writer
from store.factories import outcome


def put(writer: Writer, number: int) -> None:
    writer.append_sync({"outcomes": [outcome(f"n:{number}")]})


def removed(store: Store) -> None:
    shutil.rmtree(store.path)


def moved(store: Store) -> None:
    store.path.rename(store.path.with_name("moved"))


def moved_and_made_anew(store: Store) -> None:
    moved(store)
    Store.open(store.path, create=True)


def replaced_by_an_older_copy(store: Store) -> None:
    shutil.rmtree(store.path)
    store.path.with_name("older").rename(store.path)


def emptied(store: Store) -> None:
    for path in store.path.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


WAYS = [removed, moved, moved_and_made_anew, replaced_by_an_older_copy, emptied]


@pytest.fixture
def older(store: Store) -> Path:
    """A copy of a store of one commit."""
    with store.writer("r1") as writer:
        put(writer, 0)
    return Path(shutil.copytree(store.path, store.path.with_name("older")))


def files(store: Store) -> list[Path]:
    return sorted(store.path.rglob("*")) if store.path.exists() else []


@pytest.mark.parametrize("lose", WAYS)
@pytest.mark.parametrize("when", ["between appends", "before the first append", "before the parts"])
def test_a_writer_refuses_to_go_on(store: Store, older: Path, lose: Callable[[Store], None], when: str) -> None:
    writer = store.writer("r1")
    if when != "before the first append":
        put(writer, 1)
    lose(store)
    there = files(store)
    with pytest.raises(StoreError, match="removed or replaced") as told:
        if when == "before the parts":
            writer.roll()
        else:
            put(writer, 2)
    assert told.value.remedy
    with pytest.raises(StoreError):
        put(writer, 3)
    with contextlib.suppress(StoreError):
        writer.close()
    assert files(store) == there, "nothing was made in its place"
    moved_to = store.path.with_name("moved")
    if moved_to.exists() and when != "before the first append":
        again = Store.open(moved_to)
        again.recover()
        assert {row["record_id"] for row in again.rows("outcomes")} >= {"n:0", "n:1"}, "what was acknowledged is there"


@pytest.mark.parametrize("lose", WAYS[:-1])
def test_a_store_that_was_seen_is_not_made_anew_by_its_next_writer(
    store: Store, older: Path, lose: Callable[[Store], None]
) -> None:
    present = store.hold("r2")
    lose(store)
    there = files(store)
    for attempt in (lambda: store.writer("r2"), lambda: store.hold("r3"), store.recover, store.write_lens):
        with pytest.raises(StoreError, match="removed or replaced"):
            attempt()
    assert files(store) == there
    present.release()
    if store.path.exists():
        # Whoever opens what is there now means it.
        Store.open(store.path).writer("r2").close()


def test_files_of_an_older_copy_laid_over_the_store_are_noticed_by_the_next_commit(store: Store, older: Path) -> None:
    writer = store.writer("r1")
    for number in (1, 2):
        put(writer, number)
        writer.roll()
    put(writer, 3)
    # As a restore does that takes away what the copy has not, but for what is in use.
    for path in [*store.path.glob("manifests/*.json"), *store.path.glob("outcomes/*.parquet")]:
        if not (older / path.relative_to(store.path)).exists():
            path.unlink()
    with pytest.raises(StoreError, match="commit 3 existed but is gone"):
        writer.roll()
    assert len(list(store.path.glob("manifests/*.json"))) == 1
    assert [row["record_id"] for row in Store(store.path).rows("outcomes")] == ["n:0", "n:3"], "still in the journal"
