from __future__ import annotations

import errno
import json
import os
import sys
import threading
from pathlib import Path

import pytest

from hazardmill.errors import CorruptStore, SchemaMismatch, StoreError
from hazardmill.store.journal import SegmentWriter, frame, read_segment
from hazardmill.store.rows import encode
from store.factories import call


def payload(identity: str) -> bytes:
    encoded = encode({"llm_calls": [call(identity)]})
    assert encoded is not None
    return encoded


@pytest.fixture
def path(tmp_path: Path) -> Path:
    place = tmp_path / "journal" / "r1-0000000000000001-00000000.jsonl"
    place.parent.mkdir()
    return place


@pytest.fixture
def written(path: Path) -> Path:
    """A closed segment of three groups."""
    segment = SegmentWriter(path, "r1")
    for identity in "abc":
        segment.append(payload(identity)).result()
    segment.close()
    return path


def identities(path: Path) -> list[str]:
    return [row["identity"] for row in read_segment(path).rows("llm_calls")]


def test_groups_come_back_in_order(written: Path) -> None:
    assert identities(written) == ["a", "b", "c"]
    assert not read_segment(written).torn


def test_a_line_is_on_disk_when_its_future_is_done(path: Path) -> None:
    segment = SegmentWriter(path, "r1")
    segment.append(payload("a")).result()
    assert identities(path) == ["a"]
    segment.close()


def test_who_writes_is_not_kept_waiting_by_who_computes(path: Path) -> None:
    before = sys.getswitchinterval()
    try:
        for given, kept in ((0.005, 0.001), (0.0005, 0.0005)):
            sys.setswitchinterval(given)
            SegmentWriter(path.with_stem(f"segment-{given}"), "r").close()
            assert sys.getswitchinterval() == pytest.approx(kept)
    finally:
        sys.setswitchinterval(before)


def test_a_torn_last_line_is_dropped_wherever_it_was_cut(written: Path) -> None:
    whole = written.read_bytes()
    last = whole[:-1].rindex(b"\n") + 1
    for cut in range(last, len(whole)):
        written.write_bytes(whole[:cut])
        assert identities(written) == ["a", "b"]
        assert read_segment(written).torn == (cut > last)


def test_a_segment_torn_in_its_header_is_empty(written: Path) -> None:
    written.write_bytes(written.read_bytes()[:10])
    assert read_segment(written).groups == ()


@pytest.mark.parametrize("line", [1, 2, 4])
def test_a_changed_byte_is_named_by_file_and_line(written: Path, line: int) -> None:
    lines = written.read_bytes().splitlines(keepends=True)
    lines[line - 1] = lines[line - 1][:20] + b"~" + lines[line - 1][21:]
    written.write_bytes(b"".join(lines))
    with pytest.raises(CorruptStore) as caught:
        read_segment(written)
    assert (caught.value.file, caught.value.line) == (str(written), line)


def test_a_line_cut_short_in_the_middle_is_corruption(written: Path) -> None:
    lines = written.read_bytes().splitlines(keepends=True)
    written.write_bytes(lines[0] + lines[1][: len(lines[1]) // 2] + lines[2])
    with pytest.raises(CorruptStore, match=":2:"):
        read_segment(written)


def test_a_segment_without_its_header_is_corruption(written: Path) -> None:
    written.write_bytes(b"".join(written.read_bytes().splitlines(keepends=True)[1:]))
    with pytest.raises(CorruptStore, match="header"):
        read_segment(written)


@pytest.mark.parametrize("newer", [{"journal": 99, "schema": 1}, {"journal": 1, "schema": 99}])
def test_a_newer_segment_asks_for_an_upgrade(path: Path, newer: dict[str, int]) -> None:
    path.write_bytes(frame(json.dumps(newer).encode()))
    with pytest.raises(SchemaMismatch, match="upgrade"):
        read_segment(path)


def test_appends_that_wait_together_share_an_fsync(path: Path) -> None:
    syncs, first_sync, go = [], threading.Event(), threading.Event()

    def fault(point: str) -> None:
        if point == "journal.written":
            syncs.append(point)
            first_sync.set()
            go.wait()

    segment = SegmentWriter(path, "r1", fault)
    first_sync.wait()
    futures = [segment.append(payload(str(number))) for number in range(50)]
    go.set()
    for future in futures:
        future.result()
    segment.close()
    assert len(syncs) == 2
    assert identities(path) == [str(number) for number in range(50)]


def test_a_full_disk_is_named_and_nothing_is_appended_after_it(path: Path) -> None:
    full = False

    def fault(point: str) -> None:
        if full and point == "journal.write":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    segment = SegmentWriter(path, "r1", fault)
    segment.append(payload("a")).result()
    full = True
    with pytest.raises(StoreError, match=r"No space left on device.*free some space") as caught:
        segment.append(payload("b")).result()
    assert caught.value.file == str(path)
    full = False
    with pytest.raises(StoreError, match="No space left"):
        segment.append(payload("c"))
    with pytest.raises(StoreError, match="No space left"):
        segment.close()
    assert identities(path) == ["a"]


def test_a_closed_segment_takes_no_more(written: Path, path: Path) -> None:
    other = SegmentWriter(path.with_name("r1-0000000000000002-00000000.jsonl"), "r1")
    other.close()
    with pytest.raises(StoreError, match="closed"):
        other.append(payload("d"))
