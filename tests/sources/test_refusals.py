"""Runs each source's own tables of cases (its cases.py), also those of HAZARDMILL_SOURCES."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hazardmill.errors import SourceError
from hazardmill.ingest.ingest import Repeat, ingest
from hazardmill.ingest.sources import Note, Source, list_sources, load_source
from hazardmill.records import Record, Reject
from hazardmill.testing.cases import AcceptedCase, RefusedCase, cases_of, lay_out

SOURCES = list_sources()


def has_tables(source: Source) -> bool:
    return (source.folder / "cases.py").is_file()


# A source without tables fails one test below, and keeps none of the others from running.
REFUSED = [(source, case) for source in filter(has_tables, SOURCES) for case in cases_of(source).refused]
ACCEPTED = [(source, case) for source in filter(has_tables, SOURCES) for case in cases_of(source).accepted]


def name_of(value: object) -> str:
    return value.name if isinstance(value, Source) else getattr(value, "case", "")


@pytest.mark.parametrize(("source", "case"), REFUSED, ids=name_of)
def test_refuses_with_reason_place_and_remedy(source: Source, case: RefusedCase, tmp_path: Path) -> None:
    items = list(ingest(source, lay_out(tmp_path / "input", case.files), where=case.where, skip=case.skip))
    rejects = [item for item in items if isinstance(item, Reject)]
    assert tuple(reject.reason for reject in rejects) == case.reasons, rejects
    assert len([item for item in items if isinstance(item, Record)]) == case.records
    first = rejects[0]
    assert first.line == case.line
    for part in case.parts:
        assert part in first.message
    for reject in rejects:
        assert reject.remedy and reject.file and not Path(reject.file).is_absolute()


@pytest.mark.parametrize(("source", "case"), ACCEPTED, ids=name_of)
def test_accepts_with_warning(source: Source, case: AcceptedCase, tmp_path: Path) -> None:
    items = list(ingest(source, lay_out(tmp_path / "input", case.files), where=case.where))
    (record,) = [item for item in items if isinstance(item, Record)]
    assert not [item for item in items if isinstance(item, Reject)]
    assert len([item for item in items if isinstance(item, Repeat)]) == case.repeats
    assert_parts(case.warnings, record.warnings)
    assert_parts(case.notes, [item.message for item in items if isinstance(item, Note)])
    for part in case.context:
        assert part in record.context
    said = record.context + json.dumps(record.facts, ensure_ascii=False)
    for part in case.absent:
        assert part not in said


def assert_parts(parts: tuple[str, ...], texts: tuple[str, ...] | list[str]) -> None:
    assert len(texts) == len(parts), texts
    for part, text in zip(parts, texts, strict=True):
        assert part in text


@pytest.mark.parametrize("source", SOURCES, ids=name_of)
def test_every_refusal_of_the_tables_is_documented(source: Source) -> None:
    text = (source.folder / "SOURCE.md").read_text(encoding="utf-8")
    assert cases_of(source).refused and cases_of(source).accepted
    for case in cases_of(source).refused:
        for reason in case.reasons:
            assert f"`{reason}`" in text, f"{reason} is not in {source.folder / 'SOURCE.md'}"


def test_a_source_without_tables_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / "source.py").write_text(
        "from hazardmill.ingest.sources import Source\n"
        "class Bare(Source):\n"
        "    name = 'bare'\n"
        f"    folder = __import__('pathlib').Path({str(tmp_path / 'bare')!r})\n"
        "    def find(self, path): return []\n"
        "    def read(self, file): return iter(())\n"
        "SOURCE = Bare()\n"
    )
    monkeypatch.setenv("HAZARDMILL_SOURCES", str(tmp_path))
    with pytest.raises(SourceError, match="no tables of cases") as caught:
        cases_of(load_source("bare"))
    assert "cases.py" in str(caught.value) and "REFUSED" in str(caught.value)
