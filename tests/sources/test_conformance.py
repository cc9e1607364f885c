"""What every source must do, run on each one found: ours, and those of HAZARDMILL_SOURCES."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hazardmill.errors import SourceError
from hazardmill.ingest.fetch.catalogue import read_catalogue
from hazardmill.ingest.ingest import Repeat, ingest
from hazardmill.ingest.intake import ingest_into
from hazardmill.ingest.sources import InputFile, Note, Source, list_sources
from hazardmill.records import Record, Reject
from hazardmill.store.store import Store
from hazardmill.testing.cases import cases_of

SOURCES = list_sources()
every_source = pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)


FROM_INGEST = {"conflicting_repeat", "nothing_selected", "range_beyond_end"}
"""Reasons that are no source's own."""


def sample_records(source: Source) -> list[Record]:
    return [item for item in ingest(source, source.sample) if isinstance(item, Record)]


@every_source
def test_says_what_it_is(source: Source) -> None:
    for text in (source.title, source.licence, source.attribution, source.address, source.description, source.expects):
        assert text.strip()
    page = (source.folder / "SOURCE.md").read_text(encoding="utf-8")
    for word in ("Origin", "Licence", "Citation", "Address", "Size", "SHA-256"):
        assert word in page
    assert source.address in page


@every_source
def test_what_it_offers_to_fetch_can_be_read(source: Source) -> None:
    offer = read_catalogue(source)
    assert offer is None or offer.files or offer.otherwise


@every_source
def test_sample_has_good_and_bad_records(source: Source) -> None:
    run = ingest(source, source.sample)
    items = list(run)
    assert run.counts.records >= 20, "with the default selection"
    assert len(run.counts.reasons) >= 3, "the sample shows at least three ways to be refused"
    met = [item for item in items if isinstance(item, Record | Reject | Repeat)]
    assert run.counts.items == len(met) + run.counts.unselected


@every_source
def test_its_cases_are_many_and_of_different_names(source: Source) -> None:
    cases = cases_of(source)
    assert cases.refused and cases.accepted
    for table in (cases.refused, cases.accepted):
        names = [case.case for case in table]
        assert len(set(names)) == len(names)


@every_source
def test_what_the_sample_shows_refused_has_its_case(source: Source) -> None:
    run = ingest(source, source.sample)
    list(run)
    tabled = {reason for case in cases_of(source).refused for reason in case.reasons}
    assert set(run.counts.reasons) <= tabled | FROM_INGEST


@every_source
def test_ids_are_unique_and_name_their_source(source: Source) -> None:
    ids = [record.record_id for record in sample_records(source)]
    assert len(set(ids)) == len(ids)
    assert all(record_id.startswith(f"{source.name}:") for record_id in ids)


@every_source
def test_a_record_is_selected_by_any_of_its_facts(source: Source) -> None:
    record = sample_records(source)[0]
    for name, fact in record.facts.items():
        value = next(iter(fact), None) if isinstance(fact, list) else fact
        if isinstance(value, str):
            chosen = ingest(source, source.sample, where={name: value})
            assert record in list(chosen), f"{name}={value}"


@every_source
def test_ingesting_the_sample_again_changes_nothing(source: Source, tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    _, first = ingest_into(store, source.name, source.sample)
    before = store.digest()["records"], store.digest()["rejects"], store.rows("records"), store.rows("rejects")
    _, again = ingest_into(store, source.name, source.sample)
    assert (again.new_records, again.changed_records, again.new_rejects) == (0, 0, 0)
    assert again.content == first.content
    assert before == (
        store.digest()["records"],
        store.digest()["rejects"],
        store.rows("records"),
        store.rows("rejects"),
    )
    rows = store.rows("records")
    assert {(row["licence"], row["attribution"]) for row in rows} == {(source.licence, source.attribution)}


@every_source
def test_records_are_labelled_and_complete(source: Source) -> None:
    for record in sample_records(source):
        assert record.source == source.name
        assert (record.licence, record.attribution) == (source.licence, source.attribution)
        assert not Path(record.file).is_absolute()
        assert set(record.facts) == set(source.facts)
        assert json.loads(json.dumps(record.facts, allow_nan=False)) == record.facts
        assert all(line.strip() for line in record.context.splitlines())
        for line in record.context.splitlines():
            assert re.fullmatch(r"[A-Z][A-Za-z ]*: \S.*", line), line


@every_source
def test_withheld_fields_are_no_facts(source: Source) -> None:
    shown = {key.casefold() for key in source.facts}
    labels = {
        line.split(":")[0].casefold() for record in sample_records(source) for line in record.context.splitlines()
    }
    for field in source.withheld:
        assert field.casefold() not in shown | labels
        assert field.casefold().replace("_", " ") not in labels
    for record in sample_records(source):
        said = f"{record.context}\n{json.dumps(record.facts, ensure_ascii=False)}".casefold()
        for field in source.withheld:
            # Neither as a label in the middle of a line nor as a key inside a fact.
            for written in {field.casefold(), field.casefold().replace("_", " ")}:
                assert not re.search(rf"(?<!\w){re.escape(written)}\"?: ", said), field


def many_items(source: Source) -> Iterator[InputFile]:
    """Sample files with a row an item. Where each item is a file of its own, files are small and read whole."""
    for file in source.discover(source.sample):
        text = file.path.is_file() and b"\x00" not in file.path.read_bytes()
        if text and len(list(source.read(file))) >= 10:
            yield file


@every_source
def test_a_long_file_is_read_while_items_come_out(source: Source, tmp_path: Path) -> None:
    """After the first item the file is cut short: who reads as it goes meets the cut, who had read it all does not."""
    for file in many_items(source):
        content = file.path.read_bytes()
        long = InputFile(tmp_path / file.path.name, file.name)
        long.path.write_bytes(content * (1 + (1 << 20) // len(content)))
        whole = sum(1 for _ in source.read(long))
        items = iter(source.read(long))
        next(items)
        os.truncate(long.path, long.path.stat().st_size // 4)
        assert 1 + sum(1 for _ in items) < whole / 2


@every_source
def test_nul_bytes_cost_the_row_and_not_the_file(source: Source, tmp_path: Path) -> None:
    for file in many_items(source):
        rows = file.path.read_bytes().split(b"\n")
        good = {item.line for item in source.read(file) if isinstance(item, Record) and item.line}
        line = min(good - {1})
        rows[line - 1] = b"\0" * 50 + rows[line - 1]
        (tmp_path / file.name).write_bytes(b"\n".join(rows))
        items = list(source.read(InputFile(tmp_path / file.name, file.name)))
        (refused,) = [item for item in items if isinstance(item, Reject) and item.reason == "nul_byte"]
        assert refused.line == line
        assert {item.line for item in items if isinstance(item, Record)} == good - {line}


@every_source
def test_line_ends_of_old_macintoshes_are_read(source: Source, tmp_path: Path) -> None:
    copy = tmp_path / "sample"
    for file in (path for path in source.sample.rglob("*") if path.is_file()):
        data = file.read_bytes()
        text = not data.startswith(b"PK")
        place = copy / file.relative_to(source.sample)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data.replace(b"\r\n", b"\n").replace(b"\n", b"\r") if text else data)
    said = [(record.record_id, record.content_hash, record.line) for record in sample_records(source)]
    read = [item for item in ingest(source, copy) if isinstance(item, Record)]
    assert [(record.record_id, record.content_hash, record.line) for record in read] == said


@every_source
def test_a_file_that_changes_while_it_is_read_is_told(source: Source, tmp_path: Path) -> None:
    for file in many_items(source):
        growing = InputFile(tmp_path / file.path.name, file.name)
        content = file.path.read_bytes()
        growing.path.write_bytes(content * (1 + (1 << 20) // len(content)))
        whole = list(source.read(growing))
        met = []
        # Somebody writes for as long as it is read: who follows does not come to an end.
        last = content.splitlines(keepends=True)[-1]
        with growing.path.open("ab", buffering=0) as stream:
            for item in source.read(growing):
                met.append(item)
                stream.write(last)
        assert met[: len(whole)] == whole
        (told,) = met[len(whole) :]
        assert isinstance(told, Reject) and told.reason == "changed"


@every_source
def test_reading_twice_gives_the_same_in_the_same_order(source: Source) -> None:
    assert list(ingest(source, source.sample)) == list(ingest(source, source.sample))


@every_source
def test_a_path_without_input_is_an_error_that_says_what_to_give(source: Source, tmp_path: Path) -> None:
    (tmp_path / "unrelated").mkdir()
    for path in (tmp_path, tmp_path / "missing"):
        with pytest.raises(SourceError, match=re.escape(source.expects)):
            source.discover(path)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty_file"),
        (b"<!DOCTYPE html><html><body>404</body></html>", "html_page"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "lfs_pointer"),
        (b"\x1f\x8b\x08\x00rest", "packed"),
        (b"\xff\xfea\x00b\x00", "not_text"),
        ("a,b\n".encode("utf-32"), "not_text"),
        ("a,b\nc,d\n".encode("utf-16-be"), "not_text"),
    ],
    ids=["empty", "html", "lfs", "gzip", "utf16", "utf32", "utf16 without mark"],
)
@every_source
def test_a_download_that_is_no_data_is_one_reject(source: Source, content: bytes, reason: str, tmp_path: Path) -> None:
    name = source.discover(source.sample)[0].name
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_bytes(content)
    (item,) = source.read(InputFile(tmp_path / name, name))
    assert isinstance(item, Reject)
    assert (item.reason, item.line, item.file) == (reason, None, name)


@every_source
@settings(max_examples=60)
@given(data=st.data())
def test_no_bytes_make_it_raise(source: Source, data: st.DataObject) -> None:
    """Arbitrary bytes, and the sample with a piece cut out and replaced, yield items and no exception."""
    original = data.draw(st.sampled_from(source.discover(source.sample)))
    good = original.path.read_bytes()
    start = data.draw(st.integers(0, len(good)))
    end = data.draw(st.integers(start, min(len(good), start + 200)))
    noise = data.draw(
        st.one_of(st.binary(max_size=30), st.sampled_from([b'"', b"\n", b"(", b")", b"\t", b"\xe9", b"- "]))
    )
    content = data.draw(st.sampled_from([good[:start] + noise + good[end:], noise]))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / original.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        for item in source.read(InputFile(path, original.name)):
            assert isinstance(item, Record | Reject | Note)
