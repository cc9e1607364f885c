from __future__ import annotations

import pytest

from hazardmill.store import Store
from hazardmill.store.files.layout import Layout
from store.damaging import (
    Stop,
    calls,
    journal_of,
    manifest,
    quarantined,
    rebuild,
    record_group,
    resume,
    spoil_line,
    start_row,
    stop_at,
)
from store.factories import row


@pytest.fixture
def begun(store: Store) -> Store:
    """A run of six records, of which nothing is made yet."""
    with store.writer("r1") as writer:
        records = [row("records", record_id=f"n:{number}", content_hash="x") for number in range(6)]
        writer.append_sync({"records": records, "runs": [start_row(6)]})
    return store


def test_of_a_damaged_segment_the_intact_lines_are_kept(begun: Store) -> None:
    segment = journal_of(begun, [group for n in range(6) for group in (calls(n), record_group(n))])
    damaged = spoil_line(segment, 5)  # the header, then calls and rows of records 0 and 1
    done = rebuild(begun)
    assert done.whole
    assert done.rows_lost == {"checks": 6, "dangers": 1, "drafts": 2, "outcomes": 1, "tasks": 1}
    assert (done.retracted, done.pending) == ({}, {"r1": 1})
    assert quarantined(begun) == [(f"journal/{segment.name}", damaged)]
    store = Store(begun.path)
    assert resume(store) == ["n:1"]
    assert store.count("llm_calls") == 18
    assert store.count("outcomes") == 6


def test_a_damaged_line_of_the_ledger_is_a_loss(begun: Store) -> None:
    spoil_line(journal_of(begun, [calls(0), calls(1)]), 3, b"author", b"auth0r")
    done = rebuild(begun)
    assert done.rows_lost == {"llm_calls": 3}
    assert any("3 row(s) of the ledger" in sentence for sentence in done.lost)
    assert Store(begun.path).count("llm_calls") == 3


def test_a_line_that_tells_nothing_and_a_damaged_header(begun: Store) -> None:
    segment = journal_of(begun, [calls(0), calls(1)])
    lines = segment.read_bytes().split(b"\n")
    segment.write_bytes(b"\n".join([b"xx" + lines[0], bytes(40), *lines[2:]]))
    done = rebuild(begun)
    assert [sentence.split(":")[0] for sentence in done.lost] == [
        "the content of 1 damaged line(s) of the journal is unknown"
    ]
    assert Store(begun.path).count("llm_calls") == 3


def test_a_damaged_segment_that_was_made_into_parts_loses_nothing(begun: Store) -> None:
    writer = Store(begun.path, fault=stop_at("manifest.renamed")).writer("r1")
    writer.append_sync(calls(0))
    with pytest.raises(Stop):
        writer.roll()
    writer.close()
    (segment,) = Layout(begun.path).segments()
    spoil_line(segment, 2, b"author", b"auth0r")
    done = rebuild(begun)
    assert done.whole and not done.rows_lost
    assert Store(begun.path).count("llm_calls") == 3


def test_a_lost_manifest_whose_segment_is_still_there(begun: Store) -> None:
    writer = Store(begun.path, fault=stop_at("manifest.renamed")).writer("r1")
    writer.append_sync(calls(0))
    with pytest.raises(Stop):
        writer.roll()
    writer.close()
    with begun.writer("r2") as other:
        other.append_sync(calls(1, "r2"))
    manifest(begun, 1).unlink()
    done = rebuild(begun)
    assert not any("commit" in sentence for sentence in done.lost)
    assert Store(begun.path).count("llm_calls") == 6
