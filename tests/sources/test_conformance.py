"""What every source must do, run on each one found: ours, and those of HAZARDMILL_SOURCES."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hazardmill.ingest.ingest import ingest
from hazardmill.ingest.intake import ingest_into
from hazardmill.ingest.sources import InputFile, Note, Source, list_sources
from hazardmill.records import Record, Reject
from hazardmill.store.store import Store
from hazardmill.testing.conformance import REQUIREMENTS, Requirement, files_with_rows

SOURCES = list_sources()
every_source = pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=lambda each: each.examine.__name__.strip("_"))
@every_source
def test_keeps_what_is_required_of_every_source(source: Source, requirement: Requirement, tmp_path: Path) -> None:
    """The same functions as those of ``hazardmill sources check``."""
    requirement.examine(source, tmp_path)


def sample_records(source: Source) -> list[Record]:
    return [item for item in ingest(source, source.sample) if isinstance(item, Record)]


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
    for file in files_with_rows(source):
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
