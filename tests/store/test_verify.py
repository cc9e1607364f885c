from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hazardmill.errors import CorruptStore
from hazardmill.records import content_hash
from hazardmill.store import Store
from hazardmill.store.parts import hash_file
from store.factories import outcome


@pytest.fixture
def filled(store: Store) -> Store:
    """Three commits of one part each."""
    for number in range(3):
        with store.writer("r1") as writer:
            writer.append_sync({"outcomes": [outcome(f"n:{number}"), outcome(f"m:{number}")]})
    assert store.verify() == []
    return store


def codes(store: Store) -> list[tuple[str, str]]:
    return [(finding.code, finding.file) for finding in Store(store.path).verify()]


def part(store: Store) -> Path:
    return sorted((store.path / "outcomes").glob("*.parquet"))[1]


def manifest(store: Store) -> Path:
    return sorted((store.path / "manifests").glob("*.json"))[1]


def relist(store: Store) -> None:
    """Make the second manifest list its part as it is now, as if it had been written so."""
    wrapped = json.loads(manifest(store).read_bytes())
    (listed,) = wrapped["body"]["parts"]
    listed |= {"sha256": hash_file(part(store)), "size": part(store).stat().st_size}
    wrapped["sha256"] = content_hash(wrapped["body"])
    manifest(store).write_text(json.dumps(wrapped))


def test_a_changed_byte_in_a_part_is_found(filled: Store) -> None:
    path = part(filled)
    data = bytearray(path.read_bytes())
    data[50] ^= 1
    path.write_bytes(data)
    assert codes(filled) == [("part_changed", f"outcomes/{path.name}")]


def test_a_truncated_part_is_found(filled: Store) -> None:
    path = part(filled)
    path.write_bytes(path.read_bytes()[:-1])
    assert codes(filled) == [("part_changed", f"outcomes/{path.name}")]


def test_a_missing_part_is_found(filled: Store) -> None:
    path = part(filled)
    path.unlink()
    assert codes(filled) == [("part_missing", f"outcomes/{path.name}")]


def test_a_missing_manifest_is_found_with_the_part_it_listed(filled: Store) -> None:
    manifest(filled).unlink()
    assert codes(filled) == [
        ("manifest_missing", "manifests/0000000002-*.json"),
        ("part_unlisted", f"outcomes/{part(filled).name}"),
    ]


def test_a_changed_manifest_is_found_and_refused_by_readers(filled: Store) -> None:
    path = manifest(filled)
    path.write_text(path.read_text().replace('"rows": 2', '"rows": 3'))
    assert ("manifest_changed", f"manifests/{path.name}") in codes(filled)
    with pytest.raises(CorruptStore, match=path.name):
        Store(filled.path).rows("outcomes")


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"body": 1, "sha256": 2}'])
def test_a_manifest_that_is_none_is_found(filled: Store, content: str) -> None:
    path = manifest(filled)
    path.write_text(content)
    assert ("manifest_changed", f"manifests/{path.name}") in codes(filled)


def test_a_part_nobody_listed_is_found_and_not_read(filled: Store) -> None:
    shutil.copy(part(filled), filled.path / "outcomes" / "stray.parquet")
    assert codes(filled) == [("part_unlisted", "outcomes/stray.parquet")]
    assert filled.count("outcomes") == 6


def test_a_wrong_row_count_is_found(filled: Store) -> None:
    path = part(filled)
    pq.write_table(pq.read_table(path).slice(0, 1), path)
    relist(filled)
    assert codes(filled) == [("part_rows", f"outcomes/{path.name}")]


def test_a_key_twice_in_a_part_is_found(filled: Store) -> None:
    path = part(filled)
    data = pq.read_table(path).slice(0, 1)
    pq.write_table(pa.concat_tables([data, data]), path)
    relist(filled)
    assert codes(filled) == [("part_keys", f"outcomes/{path.name}")]


def test_other_columns_than_the_schema_has_are_found(filled: Store) -> None:
    path = part(filled)
    pq.write_table(pq.read_table(path).drop_columns(["usd"]), path)
    relist(filled)
    assert codes(filled) == [("part_schema", f"outcomes/{path.name}")]


def test_what_is_no_parquet_is_found(filled: Store) -> None:
    path = part(filled)
    path.write_bytes(b"PAR1 not really")
    relist(filled)
    assert codes(filled) == [("part_unreadable", f"outcomes/{path.name}")]


def test_a_newer_part_and_manifest_are_found(filled: Store) -> None:
    path = part(filled)
    pq.write_table(pq.read_table(path).replace_schema_metadata({"hazardmill_schema": "99"}), path)
    relist(filled)
    assert codes(filled) == [("part_newer", f"outcomes/{path.name}")]
    wrapped = json.loads(manifest(filled).read_bytes())
    wrapped["body"]["schema"] = 99
    wrapped["sha256"] = content_hash(wrapped["body"])
    manifest(filled).write_text(json.dumps(wrapped))
    assert ("manifest_newer", f"manifests/{manifest(filled).name}") in codes(filled)


def test_a_segment_whose_writer_died_and_one_that_is_damaged_are_found(filled: Store) -> None:
    with filled.writer("r2") as writer:
        writer.append_sync({"outcomes": [outcome("n:9", run_id="r2")]})
        (segment,) = (filled.path / "journal").glob("*.jsonl")
        data = segment.read_bytes()
        assert codes(filled) == []
    left = segment.with_name("r9-0000000000000001-00000000.jsonl")
    left.write_bytes(data)
    assert codes(filled) == [("segment_left", f"journal/{left.name}")]
    left.write_bytes(data.replace(b"n:9", b"n:8"))
    assert codes(filled) == [("segment_corrupt", f"journal/{left.name}")]
