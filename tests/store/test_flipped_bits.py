"""A bit that flips in a part is told, or does not matter: by every way to read a store."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hazardmill.errors import CorruptStore, PartGone
from hazardmill.store import Store
from hazardmill.store.files import parts, verified
from hazardmill.store.files.manifests import Part
from hazardmill.store.files.parts import batches, hash_file, read_parts
from hazardmill.store.files.verified import VerifiedParts
from hazardmill.store.read_only_sql import query_rows
from hazardmill.store.schemas import TABLES
from store.factories import row

READERS: dict[str, Callable[[Store, str], Any]] = {
    "rows": lambda store, table: store.rows(table),
    "rows of a run": lambda store, table: store.rows(table, {"run_id": "r1"}),
    "rows since": lambda store, table: store.rows_since(table, 0),
    "count": lambda store, table: store.count(table),
    "digest": lambda store, _: store.digest(),
    "views": lambda store, table: store.query(lambda views: views.execute(f"FROM {table}").fetchall(), [table]),
    "all views": lambda store, table: store.connect().execute(f"FROM {table} ORDER BY ALL").fetchall(),
    "query": lambda store, table: query_rows(store, f"SELECT * FROM {table} ORDER BY ALL"),
}


def fill(store: Store, rows: int) -> dict[str, Path]:
    """Write so many rows of every table; the part of each."""
    with store.writer("r1") as writer:
        writer.append_sync({name: [unlike(name, number) for number in range(rows)] for name in TABLES})
    return {name: next((store.path / name).glob("*.parquet")) for name in TABLES}


def unlike(table: str, number: int) -> dict[str, object]:
    """A row like no other of its table."""
    known = TABLES[table]
    texts = {name: f"{name} {number}" for name in known.key if known.schema.field(name).type == pa.string()}
    numbers = {name: number for name in known.key if known.schema.field(name).type == pa.int64()}
    return row(table, **{**texts, **numbers, "run_id": "r1"})


@contextmanager
def flipped(path: Path, bit: int) -> Iterator[None]:
    """The file with one bit flipped, and as it was afterwards."""
    whole = path.read_bytes()
    spoilt = bytearray(whole)
    spoilt[bit // 8] ^= 1 << bit % 8
    path.write_bytes(spoilt)
    yield
    path.write_bytes(whole)


def test_a_flipped_bit_is_told_by_whatever_reads_it(store: Store) -> None:
    random, found = Random(5), fill(store, 3)
    before = {(name, table): read(store, table) for name, read in READERS.items() for table in ("checks", "tasks")}
    for table, path in found.items():
        with flipped(path, random.randrange(8 * path.stat().st_size)):
            for name in random.sample(sorted(READERS), 3):
                with pytest.raises(CorruptStore) as caught:
                    READERS[name](store, table)
                assert caught.value.file == str(path)
                assert "store verify" in str(caught.value.remedy) and "store rebuild" in str(caught.value.remedy)
    # A part that was mended is hashed again, and read.
    assert before == {(name, table): READERS[name](store, table) for name, table in before}


def test_a_page_that_decays_under_a_verified_file_is_told_wherever_pyarrow_reads(store: Store) -> None:
    """The file is read as after its verification, whose hash would find every flip."""
    random, wrong = Random(6), 0
    for name, path in fill(store, 40).items():
        table = TABLES[name]
        columns, everything = [column.name for column in table.columns], pa.array([True] * 40)
        whole = pq.read_table(path)
        pages = range(32, 8 * (path.stat().st_size - 8 - footer_size(path)))
        for bit in random.sample(pages, 8):
            with flipped(path, bit):
                for read in (
                    lambda: read_parts(table, [path], columns),  # noqa: B023  # called at once
                    lambda: pa.concat_tables(batches(path, columns, everything)),  # noqa: B023
                ):
                    try:
                        assert read().equals(whole)
                    except CorruptStore as error:
                        assert error.file == str(path) and "store verify" in str(error.remedy)
                wrong += not pq_reads(path, whole)
    assert wrong > 20, "pages without checksums would have been read as truth"


def test_a_name_in_a_footer_that_is_no_text_any_more_is_told(store: Store) -> None:
    path = fill(store, 3)["outcomes"]
    footer = path.read_bytes().rindex(b"record_id")
    with flipped(path, 8 * footer + 7), pytest.raises(CorruptStore, match="cannot be read"):
        read_parts(TABLES["outcomes"], [path], ["outcome"])


def pq_reads(path: Path, whole: pa.Table) -> bool:
    """Whether a reader that ignores checksums gets the rows, or an error."""
    try:
        return bool(pq.read_table(path).equals(whole))
    except (pa.ArrowException, OSError):
        return True


def footer_size(path: Path) -> int:
    return int.from_bytes(path.read_bytes()[-8:-4], "little")


def test_parts_written_before_there_were_page_checksums_are_verified_too(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(parts.COMPRESSION, "write_page_checksum", False)
    path = fill(store, 3)["outcomes"]
    assert len(store.rows("outcomes")) == 3
    with flipped(path, 8 * 30), pytest.raises(CorruptStore, match="not as it was written"):
        store.rows("outcomes")


# What is kept of a verification


@pytest.fixture
def listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Path, Part]]:
    """Files of a store with their entries; every verification is worth keeping."""
    monkeypatch.setattr(verified, "_WORTH_SAVING", 1)
    found = []
    for number in range(3):
        path = tmp_path / "store" / "tasks" / f"{number}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes([number]) * 100)
        found.append((path, Part("tasks", path.name, 1, 100, hash_file(path))))
    return found


def refuses(place: Path, listed: list[tuple[Path, Part]]) -> str | None:
    """What a new process refuses."""
    try:
        VerifiedParts(place).refuse_damage(listed)
    except CorruptStore as error:
        return error.file
    return None


def test_a_file_is_hashed_by_the_first_process_only_and_again_after_any_change(
    tmp_path: Path, listed: list[tuple[Path, Part]], monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed, real = [], parts.hash_file
    monkeypatch.setattr(parts, "hash_file", lambda path: hashed.append(path) or real(path))
    place, paths = tmp_path / "store" / ".verified", [path for path, _ in listed]
    assert refuses(place, listed) is None and hashed == paths
    assert refuses(place, listed) is None and hashed == paths
    # Also if its time of modification is as before, which a copy with its times keeps.
    times = paths[1].stat()
    with flipped(paths[1], 0):
        os.utime(paths[1], ns=(times.st_atime_ns, times.st_mtime_ns))
        assert refuses(place, listed) == str(paths[1])
    assert refuses(place, listed) is None and hashed == [*paths, paths[1], paths[1]]
    paths[2].unlink()
    with pytest.raises(PartGone):
        VerifiedParts(place).refuse_damage(listed)


def test_what_is_kept_is_trusted_for_no_other_file_or_hash(tmp_path: Path, listed: list[tuple[Path, Part]]) -> None:
    place = tmp_path / "store" / ".verified"
    assert refuses(place, listed) is None
    (first, entry), (second, _), _ = listed
    assert refuses(place, [(second, entry)]) == str(second)
    other = Part("tasks", first.name, 1, 100, "0" * 64)
    assert refuses(place, [(first, other)]) == str(first)


@pytest.mark.parametrize("kept", [b"", b"\xff\x00 torn", b"tasks/0.parquet 100"])
def test_a_file_of_verifications_that_is_damaged_says_nothing(
    tmp_path: Path, listed: list[tuple[Path, Part]], kept: bytes
) -> None:
    place = tmp_path / "store" / ".verified"
    place.write_bytes(kept)
    with flipped(listed[0][0], 5):
        assert refuses(place, listed) == str(listed[0][0])
    assert refuses(place, listed) is None


def test_where_nothing_can_be_kept_each_process_verifies(
    tmp_path: Path, listed: list[tuple[Path, Part]], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "store" / ".verified"
    place.mkdir()
    assert refuses(place, listed) is None
    with flipped(listed[0][0], 5):
        assert refuses(place, listed) == str(listed[0][0])
    place.rmdir()
    assert refuses(place, listed) is None
    monkeypatch.setattr(verified, "_MOST_BYTES", 10)
    assert refuses(place, listed) is None and place.read_text().count("\n") == 3


def test_a_store_keeps_what_it_verified_once_that_was_much(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(store, 1)
    place = store.path / ".verified"
    store.rows("tasks")
    assert not place.exists()
    monkeypatch.setattr(verified, "_WORTH_SAVING", 1)
    store.rows("drafts")
    kept = [line.split("/")[0] for line in place.read_text().splitlines()]
    assert kept == ["tasks", "drafts"]
