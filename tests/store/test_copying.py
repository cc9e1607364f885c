from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from hazardmill.cli.main import hazardmill
from hazardmill.errors import CorruptStore, StoreError, StoreLocked
from hazardmill.store import Store
from store.conftest import Machine
from store.test_bucket_store import add, names, objects, write


class Cut(Exception):
    """The copy is cut short."""


def filled(store: Store) -> Store:
    """Five commits, the first three of which are one by now."""
    for name in "abc":
        write(store, "r1", [name])
    store.compact()
    write(store, "r2", ["d", "a"])
    write(store, "r1", ["e"])
    return store


@pytest.mark.full
def test_a_store_goes_to_a_bucket_and_comes_back(store: Store, machine: Machine, tmp_path: Path, address: str) -> None:
    filled(store)
    here, there, back = machine("here"), machine("there"), Store(tmp_path / "back")
    done = store.copy_to(here)
    assert (done.commits, done.parts, done.parts_before) == (3, 6, 0)
    assert objects(address, "manifests/") == [f"manifests/{n:010d}.json" for n in (3, 4, 5)]
    assert here.verify_files() == []
    write(there, "r3", ["f"])
    assert there.copy_to(back).commits == 4
    assert back.verify_files() == there.verify_files() == []
    assert back.digest() == there.digest()
    assert back.digest("r1") == store.digest("r1")
    assert names(back) == [*names(store), "f"]
    back.compact()
    assert back.digest() == there.digest()


def test_a_copy_from_folder_to_folder_is_a_backup(store: Store, tmp_path: Path) -> None:
    filled(store)
    copy = Store(tmp_path / "copy")
    store.copy_to(copy)
    assert copy.digest() == store.digest()
    assert copy.verify_files() == []
    assert store.copy_to(copy).parts_before == 6
    write(store, "r4", ["g"])
    assert store.copy_to(copy).parts_before == 6
    assert names(copy) == names(store)


@pytest.mark.parametrize("kind", [pytest.param("bucket", marks=pytest.mark.full), "folder"])
def test_a_copy_that_was_cut_short_goes_on(
    store: Store, request: pytest.FixtureRequest, tmp_path: Path, kind: str
) -> None:
    filled(store)

    def target() -> Store:
        return request.getfixturevalue("machine")("here") if kind == "bucket" else Store(tmp_path / "copy")

    def cut(done: int, of: int) -> None:
        if done == 2:
            raise Cut

    with pytest.raises(Cut):
        store.copy_to(target(), cut)
    assert names(target()) == ["a", "b", "c", "d", "a"], "two commits of three"
    assert target().verify_files() == []
    done = store.copy_to(target())
    assert 0 < done.parts_before < done.parts
    assert target().digest() == store.digest()


@pytest.mark.full
def test_nothing_is_copied_over_another_store(store: Store, machine: Machine, tmp_path: Path) -> None:
    filled(store)
    for other in (machine("here"), Store(tmp_path / "other")):
        write(other, "r9", ["z"])
        with pytest.raises(StoreError, match="not overwritten") as caught:
            store.copy_to(other)
        assert caught.value.file == other.address
        assert names(other) == ["z"]
    with pytest.raises(StoreError, match="itself"):
        store.copy_to(Store(store.path))


@pytest.mark.full
def test_what_a_worker_commits_to_the_target_meanwhile_is_not_overwritten(store: Store, machine: Machine) -> None:
    filled(store)
    here, there = machine("here"), machine("there")

    def meanwhile(done: int, of: int) -> None:
        if done == 2:
            write(there, "r9", ["z"])

    with pytest.raises(StoreError, match="not overwritten"):
        store.copy_to(here, meanwhile)
    assert "z" in names(machine("third"))


def test_rows_in_the_journal_are_no_part_of_a_copy(store: Store, tmp_path: Path) -> None:
    with store.writer("r1") as writer:
        add(writer, "a")
        with pytest.raises(StoreLocked, match="run r1 has rows that are still only in the journal"):
            store.copy_to(Store(tmp_path / "copy"))
    assert store.copy_to(Store(tmp_path / "copy")).commits == 1


def test_a_live_copy_has_what_is_committed_and_later_the_rest(store: Store, tmp_path: Path) -> None:
    copy = Store(tmp_path / "copy")
    with store.writer("r1") as writer:
        add(writer, "a")
        writer.roll()
        add(writer, "b")
        assert store.copy_to(copy, live=True).commits == 1
        assert names(copy) == ["a"] and copy.verify_files() == []
    assert store.copy_to(copy, live=True).commits == 2
    assert names(copy) == names(store) == ["a", "b"]


@pytest.mark.full
def test_damage_is_not_copied(store: Store, machine: Machine, address: str) -> None:
    filled(store)
    part = sorted((store.path / "outcomes").glob("*.parquet"))[0]
    part.write_bytes(part.read_bytes()[:-1] + b"?")
    with pytest.raises(CorruptStore, match="differs from its manifest"):
        store.copy_to(machine("here"))
    assert objects(address, "manifests/") == []


@pytest.mark.full
def test_the_command(store: Store, machine: Machine, address: str, tmp_path: Path) -> None:
    filled(store)
    machine("here")
    run = CliRunner().invoke
    first = run(hazardmill, ["store", "copy", str(store.path), address])
    assert (first.exit_code, first.output) == (0, f"3 commit(s), 6 part(s), {size_of(store)} MB\n")
    again = run(hazardmill, ["store", "copy", "--json", address, str(tmp_path / "back")])
    assert json.loads(again.output)["commits"] == 3
    assert Store(tmp_path / "back").digest() == store.digest()
    nothing = run(hazardmill, ["store", "copy", str(tmp_path / "nothing"), address])
    assert nothing.exit_code != 0


def size_of(store: Store) -> str:
    return f"{sum(path.stat().st_size for path in store.path.rglob('*.parquet')) / 1e6:.1f}"
