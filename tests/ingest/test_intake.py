from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hazardmill.errors import SourceError, UnknownName, UsageError
from hazardmill.ingest import intake as module
from hazardmill.ingest.ingest import ingest
from hazardmill.ingest.intake import (
    MAX_EXAMPLES,
    RecordReader,
    first_of,
    ingest_into,
    nothing_read,
    place,
    stored_content,
)
from hazardmill.ingest.sources import load_source
from hazardmill.records import Reject
from hazardmill.store.store import Store


def rewritten(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_records_and_rejects_reach_the_store(store: Store, notes: Path) -> None:
    run_id, intake = ingest_into(store, "notes", notes)
    assert intake.record_ids == tuple(f"notes:{n}" for n in range(1, 7))
    assert intake.summary == {"records": 6, "new": 6, "changed": 0, "rejects": 1, "repeats": 0}
    row = store.rows("records", {"record_id": "notes:2"})[0]
    assert (row["context"], json.loads(row["facts"])) == ("Note: hot soup 2", {"words": ["hot", "soup", "2"]})
    assert (row["run_id"], row["line"], row["file"], row["licence"]) == (run_id, 2, "notes.txt", "CC0-1.0")
    assert row["input_hash"] == row["content_hash"] and row["model_asked"] is None
    (reject,) = store.rows("rejects")
    assert (reject["line"], reject["reason"], reject["remedy"], reject["native_id"]) == (
        7,
        "no_text",
        "write some",
        "",
    )


def test_a_record_comes_back_as_it_went_in(store: Store, notes: Path) -> None:
    ingest_into(store, "notes", notes)
    first = next(iter(ingest(load_source("notes"), notes)))
    assert RecordReader(store).take({"notes:1": None, "notes:99": None}) == {"notes:1": first}


def test_the_run_is_written_down_with_its_counts(store: Store, notes: Path) -> None:
    run_id, intake = ingest_into(store, "notes", notes, where={"words": "hot"}, limit=2)
    (row,) = store.rows("runs")
    assert (row["run_id"], row["kind"], row["state"]) == (run_id, "ingest", "completed")
    assert json.loads(row["config"]) == {"source": "notes", "path": str(notes), "where": {"words": "hot"}}
    assert json.loads(row["counts"]) == intake.summary and intake.summary["records"] == 2


def test_the_same_input_again_writes_no_row(store: Store, notes: Path) -> None:
    ingest_into(store, "notes", notes)
    before = store.rows("records"), store.rows("rejects"), store.digest()["records"]
    _, again = ingest_into(store, "notes", notes)
    assert again.record_ids == tuple(f"notes:{n}" for n in range(1, 7))
    assert again.summary == {"records": 6, "new": 0, "changed": 0, "rejects": 1, "repeats": 0}
    assert (again.new_records, again.changed_records, again.new_rejects) == (0, 0, 0)
    assert (store.rows("records"), store.rows("rejects"), store.digest()["records"]) == before


def test_a_changed_record_replaces_the_old_one_and_is_counted(store: Store, notes: Path) -> None:
    ingest_into(store, "notes", notes)
    _, again = ingest_into(store, "notes", rewritten(notes, "2 cold soup\n8 new\n"))
    assert (again.new_records, again.changed_records) == (1, 1)
    assert store.count("records") == 7
    assert RecordReader(store).take({"notes:2": None})["notes:2"].context == "Note: cold soup"


def test_content_that_was_replaced_is_still_to_be_had(store: Store, notes: Path) -> None:
    _, before = ingest_into(store, "notes", notes)
    _, after = ingest_into(store, "notes", rewritten(notes, "2 cold soup\n"))
    shelf = RecordReader(store)
    for intake, context in ((before, "Note: hot soup 2"), (after, "Note: cold soup")):
        wanted = {"notes:2": intake.content["notes:2"]}
        assert shelf.take(wanted)["notes:2"].context == context
        assert shelf.take(wanted)["notes:2"].content_hash == wanted["notes:2"]
    assert shelf.take({"notes:2": "another"}) == {}


def test_a_reject_is_stored_once_also_when_its_words_differ_in_another_file(store: Store, notes: Path) -> None:
    ingest_into(store, "notes", notes)
    _, again = ingest_into(store, "notes", rewritten(notes, "1 hot soup 1\n\n3\n"))
    assert again.new_rejects == 2
    _, more = ingest_into(store, "notes", notes)
    assert more.new_rejects == 0
    assert sorted(row["line"] for row in store.rows("rejects")) == [2, 3, 7]


def test_an_input_within_itself_repeated_is_taken_once(store: Store, notes: Path) -> None:
    _, intake = ingest_into(store, "notes", rewritten(notes, "1 a\n1 a\n1 b\n"))
    assert intake.summary == {"records": 1, "new": 1, "changed": 0, "rejects": 1, "repeats": 1}
    assert [row["reason"] for row in store.rows("rejects")] == ["conflicting_repeat"]


def test_rows_are_committed_in_groups(store: Store, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_GROUP", 3)
    groups: list[list[str]] = []

    class Recording:
        run_id = "run"

        def append_sync(self, group: dict[str, list[dict[str, Any]]]) -> None:
            groups.append([table for table, rows in group.items() for _ in rows])

    module.take_in(store, Recording(), ingest(load_source("notes"), notes))  # type: ignore[arg-type]  # a writer is its two names
    assert groups == [["records"] * 3, ["records"] * 3, ["rejects"]]


def test_a_long_input_becomes_parts_on_its_way(
    store: Store, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest_into(store, "notes", notes)
    monkeypatch.setattr(module, "_GROUP", 2)
    monkeypatch.setattr(module, "_SEGMENT", 4)
    parted = Store.open(tmp_path / "parted", create=True)
    _, intake = ingest_into(parted, "notes", notes)
    parts = [manifest.parts for manifest in parted.snapshot().manifests]
    assert [sum(part.rows for part in of_one) for of_one in parts] == [4, 4]  # 6 records, a reject, and the run
    assert intake.summary["new"] == 6
    assert parted.digest() == store.digest()
    _, again = ingest_into(parted, "notes", notes)
    assert (again.new_records, again.changed_records, again.new_rejects) == (0, 0, 0)
    assert again.content == intake.content


def test_after_a_killed_ingest_the_next_one_leaves_the_store_as_it_should_be(
    store: Store, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest_into(store, "notes", notes)
    monkeypatch.setattr(module, "_GROUP", 2)
    cut = Store.open(tmp_path / "cut", create=True)
    with cut.writer("ingest-20260101-000000-aaaaaa") as writer:
        module.take_in(cut, writer, ingest(load_source("notes"), notes, limit=3))
        (segment,) = (cut.path / "journal").glob("*.jsonl")
        journal = segment.read_bytes()
    killed = Store.open(tmp_path / "killed", create=True)
    (killed.path / "journal" / segment.name).write_bytes(journal)
    assert [finding.code for finding in killed.verify()] == ["segment_left"]
    _, intake = ingest_into(killed, "notes", notes)
    assert (intake.new_records, intake.new_rejects) == (3, 1)
    assert killed.verify() == []
    assert killed.digest()["records"] == store.digest()["records"]


def test_stored_records_are_selected_by_fact_in_the_order_they_came(store: Store, notes: Path) -> None:
    ingest_into(store, "notes", rewritten(notes, "9 hot tea\n1 cold tea\n5 hot soup\n4 hot tea\n"))
    source = load_source("notes")
    assert list(stored_content(store, source, {}, None)) == ["notes:9", "notes:1", "notes:5", "notes:4"]
    assert list(stored_content(store, source, {"words": "hot"}, None)) == ["notes:9", "notes:5", "notes:4"]
    assert list(stored_content(store, source, {"words": "tea"}, 2)) == ["notes:9", "notes:1"]
    (row,) = store.rows("records", {"record_id": "notes:9"})
    assert stored_content(store, source, {"words": "*"}, 1) == {"notes:9": row["content_hash"]}


def test_a_selection_by_what_the_source_does_not_have_is_refused(store: Store, notes: Path) -> None:
    ingest_into(store, "notes", notes)
    with pytest.raises(UsageError, match="no fact colour"):
        stored_content(store, load_source("notes"), {"colour": "red"}, None)


def test_an_unknown_source_or_a_missing_file_writes_nothing(store: Store, notes: Path) -> None:
    with pytest.raises(UnknownName, match="no source 'nope'"):
        ingest_into(store, "nope", notes)
    with pytest.raises(SourceError, match="no such file"):
        ingest_into(store, "notes", notes.with_name("gone.txt"))
    assert store.count("runs") == store.count("records") == 0


def test_what_cannot_be_read_leaves_no_store_behind(tmp_path: Path, notes: Path) -> None:
    with pytest.raises(SourceError, match="no such file"):
        ingest_into(Store(tmp_path / "new"), "notes", notes.with_name("gone.txt"))
    assert not (tmp_path / "new").exists()


def test_the_first_reject_of_each_reason_is_kept_to_be_shown(store: Store, notes: Path) -> None:
    _, intake = ingest_into(store, "notes", rewritten(notes, "1 a\n2\n3\n1 b\n"))
    assert intake.source == "notes"
    assert [(reject.line, reject.reason) for reject in intake.examples] == [(2, "no_text"), (4, "conflicting_repeat")]
    assert len(intake.examples) <= MAX_EXAMPLES < 10


def test_of_several_inputs_the_first_record_counts_more_than_any_reject(notes: Path, tmp_path: Path) -> None:
    bad, source = rewritten(tmp_path / "bad.txt", "7\n8\n"), load_source("notes")
    found = first_of([ingest(source, bad), ingest(source, notes)])
    assert found == next(iter(ingest(source, notes)))
    refused = first_of([ingest(source, bad), ingest(source, bad)])
    assert isinstance(refused, Reject) and refused.line == 1
    assert first_of([]) is None


def test_the_error_of_inputs_without_a_record_is_that_of_the_reject() -> None:
    reject = Reject(
        source="notes", file="a.txt", line=3, native_id="7", reason="no_text", message="no text", remedy="add"
    )
    assert (
        str(nothing_read(["notes", "b"], reject))
        == "a.txt:3: there are no records of b, notes to work on: no text [add]"
    )
    assert "give an input" in str(nothing_read(["notes"], None))


@pytest.mark.parametrize(
    ("line", "native_id", "expected"),
    [(3, "7", "a.txt:3 (7)"), (3, None, "a.txt:3"), (None, "7", "a.txt (7)"), (None, None, "a.txt")],
)
def test_the_place_of_a_reject(line: int | None, native_id: str | None, expected: str) -> None:
    reject = Reject(source="n", file="a.txt", line=line, native_id=native_id, reason="r", message="m", remedy="d")
    assert place(reject) == expected
