from __future__ import annotations

import pytest

from hazardmill.errors import StoreError
from hazardmill.store import Store
from hazardmill.store.files import manifests
from store.factories import outcome


def commit(store: Store, *record_ids: str, run_id: str = "r1") -> None:
    with store.writer(run_id) as writer:
        for record_id in record_ids:
            writer.append_sync({"outcomes": [outcome(record_id, run_id=run_id)]})
            writer.roll()


def test_a_manifest_is_read_once_and_only_names_are_listed_again(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    read, real = [], manifests.read_manifest
    monkeypatch.setattr(manifests, "read_manifest", lambda path: read.append(path.name) or real(path))
    commit(store, "n:1", "n:2", "n:3")
    assert store.count("outcomes") == store.count("outcomes") == 3
    assert [name[:10] for name in read] == ["0000000001", "0000000002", "0000000003"]


def test_what_others_commit_and_compact_between_two_rolls_is_seen(store: Store) -> None:
    with store.writer("r1") as writer:
        for number in range(4):
            commit(Store(store.path), f"m:{number}", run_id="r2")
            if number == 2:
                Store(store.path).compact()
            writer.append_sync({"outcomes": [outcome(f"n:{number}")]})
            writer.roll()
        assert store.count("outcomes") == 8
    assert [manifest.sequence for manifest in store.snapshot().manifests] == [5, 6, 7, 8]
    assert store.verify_files() == []


def test_the_numbers_of_a_replacement_that_is_lost_are_not_given_again(store: Store) -> None:
    commit(store, "n:1", "n:2")
    store.compact()
    (lost,) = (store.path / "manifests").glob("*.json")
    with store.writer("r1") as writer:
        lost.unlink()
        writer.append_sync({"outcomes": [outcome("n:3")]})
    (manifest,) = store.snapshot().manifests
    assert manifest.sequence == 3


def test_a_folder_that_cannot_be_listed_is_named(store: Store) -> None:
    commit(store, "n:1")
    folder = store.path / "manifests"
    folder.rename(folder.with_name("hidden"))
    assert store.rows("outcomes") == []
    folder.write_text("")
    with pytest.raises(StoreError, match=r"manifests.*cannot list the manifests"):
        store.rows("outcomes")


def test_only_a_listed_segment_is_known(store: Store) -> None:
    commit(store, "n:1")
    (manifest,) = store.snapshot().manifests
    assert store._manifests.list_rows_of(manifest.segment)
    store.compact()
    assert store._manifests.list_rows_of(manifest.segment)
    assert not store._manifests.list_rows_of("another")
