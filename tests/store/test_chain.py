from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from hazardmill.errors import CorruptStore
from hazardmill.store import Store
from hazardmill.store.files import chain
from store.conftest import Machine
from store.damaging import Stop, stop_at
from store.factories import outcome

END = 6
"""Number of commits in the history that is tampered with."""


def commit(store: Store, *record_ids: str, run_id: str = "r1") -> None:
    with store.writer(run_id) as writer:
        for record_id in record_ids:
            writer.append_sync({"outcomes": [outcome(record_id, run_id=run_id)]})
            writer.roll()


def codes(store: Store) -> set[str]:
    return {finding.code for finding in Store(store.path).verify_files()}


def names(store: Store) -> list[str]:
    return sorted(row["record_id"] for row in Store(store.path).rows("outcomes"))


def files_of(store: Store, number: int) -> list[Path]:
    """The manifest of a commit, and its parts."""
    (manifest,) = (store.path / "manifests").glob(f"{number:010d}-*.json")
    parts = json.loads(manifest.read_bytes())["body"]["parts"]
    return [manifest, *(store.path / part["table"] / part["file"] for part in parts)]


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A store as it was after each commit, from none on; the fourth was compacted with all before it."""
    folder = tmp_path_factory.mktemp("states")
    store, kept = Store(folder / "now"), [folder / "0"]
    kept[0].mkdir()
    for number in range(1, END + 1):
        commit(store, f"n:{number}")
        if number == 4:
            store.compact()
        kept.append(shutil.copytree(store.path, folder / str(number)))
    return kept


def truncate(store: Store, states: list[Path], seeded: random.Random) -> None:
    """The last one or two commits are deleted whole."""
    for number in range(END, END - seeded.randint(1, 2), -1):
        for path in files_of(store, number):
            path.unlink()


def roll_back(store: Store, states: list[Path], seeded: random.Random) -> None:
    """Parts and manifests are those of an older copy."""
    older = states[seeded.randrange(END)]
    for name in ("manifests", "outcomes"):
        shutil.rmtree(store.path / name)
        if (older / name).exists():
            shutil.copytree(older / name, store.path / name)


def another_history(states: list[Path], place: Path, start: int, through: int) -> Store:
    """A copy of the store after commit ``start`` that went on otherwise."""
    other = Store(shutil.copytree(states[start], place))
    commit(other, *(f"m:{number}" for number in range(start + 1, through + 1)))
    return other


def exchange(store: Store, states: list[Path], seeded: random.Random) -> None:
    """One commit is that of another history."""
    number = seeded.choice([5, 6])
    other = another_history(states, store.path.with_name("other"), number - 1, number)
    for path in files_of(store, number):
        path.unlink()
    for path in files_of(other, number):
        shutil.copy(path, store.path / path.relative_to(other.path))


def lay_over(store: Store, states: list[Path], seeded: random.Random) -> None:
    """The files of an older copy that went on are added to those of the store."""
    start = seeded.choice([4, 5])
    other = another_history(states, store.path.with_name("other"), start, seeded.choice([6, 7]))
    shutil.copytree(other.path, store.path, dirs_exist_ok=True)


def go_on_from_older(store: Store, states: list[Path], seeded: random.Random) -> None:
    """Parts and manifests are those of an older copy that went on, up to the same commit."""
    other = another_history(states, store.path.with_name("other"), seeded.choice([3, 4, 5]), END)
    roll_back(store, [other.path] * END, seeded)


@pytest.mark.parametrize("tamper", [truncate, roll_back, exchange, lay_over, go_on_from_older])
@pytest.mark.parametrize("seed", range(4))
def test_a_history_that_was_rolled_back_or_truncated_is_told_and_mended(
    store: Store, states: list[Path], tamper: Callable[[Store, list[Path], random.Random], None], seed: int
) -> None:
    shutil.copytree(states[END], store.path)
    tamper(store, states, random.Random(seed))
    findings = Store(store.path).verify_files()
    told = [finding for finding in findings if finding.code in ("last_missing", "chain_broken")]
    assert told
    assert all("hazardmill store rebuild --dry-run --store" in finding.remedy for finding in told)
    here = names(store)
    done = Store(store.path).rebuild()
    assert done.lost
    assert codes(store) == set()
    assert names(store) == here
    commit(Store(store.path), "later")
    assert codes(store) == set()
    assert Store(store.path).last_commit()[0] > END, "the numbers of lost commits are not given again"


@pytest.mark.parametrize("tamper", [truncate, roll_back])
def test_nobody_writes_to_a_store_whose_last_commit_is_gone(
    store: Store, states: list[Path], tamper: Callable[[Store, list[Path], random.Random], None]
) -> None:
    shutil.copytree(states[END], store.path)
    tamper(store, states, random.Random(1))
    with pytest.raises(CorruptStore, match=r"(?s)gone.*hazardmill store rebuild"):
        Store(store.path).writer("r1")


def test_a_store_written_before_stays_whole_and_its_next_commit_begins_a_chain(store: Store) -> None:
    commit(store, "n:1", "n:2")
    for path in (store.path / "manifests").glob("*.json"):
        body = {**json.loads(path.read_bytes())["body"], "format": 1}
        body.pop("previous", None)
        path.write_bytes(chain.seal(body))
    (store.path / chain.LAST).unlink()
    assert codes(store) == set()
    commit(Store(store.path), "n:3")
    first, second, third = Store(store.path).snapshot().manifests
    assert (first.previous, second.previous, third.previous) == (None, None, second.link)
    assert codes(store) == set()


def test_a_commit_made_during_a_compaction_follows_it(store: Store) -> None:
    commit(store, "n:1", "n:2")

    def commit_meanwhile(point: str) -> None:
        if point == "compact.part.staged":
            commit(Store(store.path), "n:3")

    Store(store.path, fault=commit_meanwhile).compact()
    assert codes(store) == set()
    Store(store.path).compact()
    assert codes(store) == set()


def test_a_writer_killed_before_the_journal_names_its_commit_leaves_no_finding(store: Store) -> None:
    commit(store, "n:1")
    with pytest.raises(Stop):
        commit(Store(store.path, fault=stop_at("manifest.renamed")), "n:2")
    assert chain.read_last(store._layout) == store.snapshot().manifests[0].link
    commit(Store(store.path), "n:3")
    assert codes(store) == set()
    assert chain.read_last(store._layout) == Store(store.path).snapshot().manifests[-1].link


def test_a_note_of_the_last_commit_that_was_changed_or_is_gone_is_told(store: Store) -> None:
    commit(store, "n:1", "n:2")
    note = store.path / chain.LAST
    note.write_text(note.read_text().replace('"sequence": 2', '"sequence": 1'))
    assert codes(store) == {"last_changed"}
    with pytest.raises(CorruptStore, match="names the last commit"):
        Store(store.path).writer("r1")
    assert Store(store.path).rebuild().quarantined
    assert codes(store) == set()
    note.unlink()
    commit(store, "n:3")
    note.unlink()
    assert codes(store) == {"last_unknown"}


def test_a_bucket_that_was_rolled_back_is_told_where_the_later_commit_was_made(machine: Machine) -> None:
    one = machine("one")
    commit(one, "n:1", "n:2")
    other = machine("other")
    commit(other, "n:3", run_id="r2")
    first, second, third = other.snapshot().manifests
    assert (second.previous, third.previous) == (first.link, second.link)
    assert {finding.code for finding in other.verify_files()} == set()
    client, bucket = other._place.mirror.bucket._s3(), other._place.address.bucket
    for found in client.list_objects_v2(Bucket=bucket)["Contents"]:
        if "manifests/0000000003" in found["Key"] or third.segment in found["Key"]:
            client.delete_object(Bucket=bucket, Key=found["Key"])
    for folder in ("manifests", "outcomes"):
        shutil.rmtree(other.path / folder)
    again = machine("other")
    (found,) = again.verify_files()
    assert (found.code, "hazardmill store verify" in found.remedy) == ("last_missing", True)
    with pytest.raises(CorruptStore, match="commit 3 is gone"):
        again.writer("r2")
