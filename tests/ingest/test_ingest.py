from __future__ import annotations

import tracemalloc
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hazardmill.errors import UsageError
from hazardmill.ingest.ingest import Repeat, ingest
from hazardmill.ingest.sources import InputFile, InputRefusal, Note, Source
from hazardmill.records import Record, Reject

Item = Record | Reject | Note


class Listed(Source):
    """A source that yields given (id, word) pairs; a pair without a word is a reject."""

    name = "listed"
    title = licence = attribution = address = description = expects = "listed"
    facts = ("word", "letters", "size")
    folder = Path(__file__).parent

    def __init__(self, *files: list[tuple[str, str]]) -> None:
        self.files = files
        self.read_so_far = 0

    def find(self, path: Path) -> list[InputFile]:
        return [InputFile(path, f"file{number}") for number in range(len(self.files))]

    def read(self, file: InputFile) -> Iterator[Item]:
        for line, (native_id, word) in enumerate(self.files[int(file.name.removeprefix("file"))], 1):
            self.read_so_far += 1
            if word == "note":
                yield Note(source=self.name, file=file.name, message="a note")
            elif not word:
                yield self.reject(file, InputRefusal("blank", "no word", "give one"), line=line, native_id=native_id)
            else:
                yield Record(
                    source=self.name,
                    native_id=native_id,
                    context=f"Word: {word}",
                    facts={"word": word, "letters": list(word), "size": len(word)},
                    licence="x",
                    attribution="x",
                    file=file.name,
                    line=line,
                    warnings=("long",) if len(word) > 5 else (),
                )


def ids(items: list[Record | Reject | Repeat | Note]) -> list[str]:
    return [item.native_id for item in items if isinstance(item, Record)]


def test_the_same_again_is_a_repeat_that_names_both_places(tmp_path: Path) -> None:
    run = ingest(Listed([("1", "a"), ("2", "b")], [("1", "a")]), tmp_path)
    items = list(run)
    assert ids(items) == ["1", "2"]
    assert items[-1] == Repeat(source="listed", native_id="1", file="file1", line=1, first_file="file0", first_line=1)
    assert (run.counts.records, run.counts.repeats, run.counts.files) == (2, 1, 2)


def test_one_id_with_two_contents_is_a_reject_and_the_first_stays(tmp_path: Path) -> None:
    run = ingest(Listed([("1", "a")], [("2", "c"), ("1", "b"), ("1", "a"), ("1", "b")]), tmp_path)
    items = list(run)
    assert ids(items) == ["1", "2"]
    first, again = [item for item in items if isinstance(item, Reject)]
    assert (first.reason, first.file, first.line, first.native_id) == ("conflicting_repeat", "file1", 2, "1")
    assert "file0:1" in first.message
    assert "file1:2" in first.message
    assert again.line == 4
    assert run.counts.repeats == 1


def test_essence_decides_what_a_repeat_is(tmp_path: Path) -> None:
    class CaseBlind(Listed):
        def essence(self, record: Record) -> str:
            return str(record.facts["word"]).lower()

    run = ingest(CaseBlind([("1", "a"), ("1", "A"), ("1", "b")]), tmp_path)
    assert [type(item) for item in run] == [Record, Repeat, Reject]


def test_limit_counts_records_and_stops_reading(tmp_path: Path) -> None:
    source = Listed([("1", "a"), ("1", "a"), ("2", ""), ("3", "c"), ("4", "d"), ("5", "e")])
    run = ingest(source, tmp_path, limit=2)
    assert ids(list(run)) == ["1", "3"]
    assert source.read_so_far == 4
    assert (run.counts.records, run.counts.repeats, run.counts.rejects) == (2, 1, 1)


def test_skip_passes_over_records_but_not_rejects(tmp_path: Path) -> None:
    run = ingest(Listed([("1", "a"), ("2", ""), ("3", "c"), ("4", "d")]), tmp_path, skip=2, limit=5)
    items = list(run)
    assert ids(items) == ["4"]
    assert (run.counts.skipped, run.counts.rejects) == (2, 1)


def test_skipping_everything_says_so(tmp_path: Path) -> None:
    (reject,) = ingest(Listed([("1", "a"), ("2", "b")]), tmp_path, skip=7)
    assert isinstance(reject, Reject)
    assert (reject.reason, reject.line) == ("range_beyond_end", None)
    assert "only 2 records" in reject.message


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({"word": "ab"}, ["1"]),
        ({"letters": "b"}, ["1", "2"]),
        ({"size": "1"}, ["3"]),
        ({"letters": "b", "size": "2"}, ["1", "2"]),
        ({"word": "*"}, ["1", "2", "3"]),
    ],
)
def test_where_selects_by_facts(tmp_path: Path, where: dict[str, str], expected: list[str]) -> None:
    run = ingest(Listed([("1", "ab"), ("2", "cb"), ("3", "x")]), tmp_path, where=where)
    assert ids(list(run)) == expected
    assert run.counts.unselected == 3 - len(expected)


def test_selecting_nothing_is_a_reject_that_names_the_selection(tmp_path: Path) -> None:
    (reject,) = ingest(Listed([("1", "a")]), tmp_path, where={"word": "b"})
    assert isinstance(reject, Reject)
    assert reject.reason == "nothing_selected"
    assert "word=b" in reject.message


def test_default_selection_holds_until_another_is_given(tmp_path: Path) -> None:
    class Choosy(Listed):
        default_where: ClassVar[Mapping[str, str]] = {"word": "a"}

    pairs = [("1", "a"), ("2", "b")]
    assert ids(list(ingest(Choosy(pairs), tmp_path))) == ["1"]
    assert ids(list(ingest(Choosy(pairs), tmp_path, where={"word": "*"}))) == ["1", "2"]
    assert ids(list(ingest(Choosy(pairs), tmp_path, where={"word": "b"}))) == ["2"]


def test_unknown_facts_and_impossible_ranges_are_usage_errors(tmp_path: Path) -> None:
    source = Listed([("1", "a")])
    with pytest.raises(UsageError, match=r"no fact colour.*word, letters, size"):
        ingest(source, tmp_path, where={"colour": "red"})
    for wrong in ({"limit": 0}, {"skip": -1}):
        with pytest.raises(UsageError, match="limit must be at least 1"):
            ingest(source, tmp_path, **wrong)


def test_notes_and_warnings_are_counted_and_are_no_items(tmp_path: Path) -> None:
    run = ingest(Listed([("1", "note"), ("2", "longer"), ("3", "b")]), tmp_path)
    assert [type(item) for item in run] == [Note, Record, Record]
    assert (run.counts.notes, run.counts.warned, run.counts.items) == (1, 1, 2)


pairs = st.lists(st.tuples(st.sampled_from("12345"), st.sampled_from(["", "a", "b", "ab"])), max_size=20)


@given(files=st.lists(pairs, min_size=1, max_size=3), where=st.sampled_from([None, {"letters": "a"}]))
def test_every_item_is_counted_once(files: list[list[tuple[str, str]]], where: dict[str, str] | None) -> None:
    run = ingest(Listed(*files), Path(), where=where)
    items = list(run)
    native = sum(len(file) for file in files)
    whole = sum(isinstance(item, Reject) and item.reason == "nothing_selected" for item in items)
    assert run.counts.items == native + whole
    assert len(set(ids(items))) == len(ids(items)) == run.counts.records
    reasons = Counter(item.reason for item in items if isinstance(item, Reject))
    assert reasons == run.counts.reasons
    assert run.counts.rejects == reasons.total()


@given(files=st.lists(pairs, min_size=1, max_size=3))
def test_a_selection_changes_no_reject(files: list[list[tuple[str, str]]]) -> None:
    def rejects(where: dict[str, str] | None) -> list[Reject]:
        items = ingest(Listed(*files), Path(), where=where)
        return [item for item in items if isinstance(item, Reject) and item.reason != "nothing_selected"]

    assert rejects(None) == rejects({"letters": "b"})


@pytest.mark.full
def test_memory_holds_no_records(tmp_path: Path) -> None:
    class Wide(Listed):
        def read(self, file: InputFile) -> Iterator[Item]:
            for number in range(60):
                yield from Listed([(str(number), "w" * 10_000)]).read(InputFile(file.path, "file0"))

    run = ingest(Wide([]), tmp_path)
    tracemalloc.start()
    try:
        count = sum(1 for _ in run)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == 60
    assert peak < 3_000_000  # 60 records hold more than 6 MB
