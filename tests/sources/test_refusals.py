"""Runs each source's own tables of cases (its cases.py), also those of HAZARDMILL_SOURCES."""

from __future__ import annotations

from pathlib import Path

import pytest

from hazardmill.errors import SourceError
from hazardmill.ingest.sources import Source, list_sources, load_source
from hazardmill.testing.cases import AcceptedCase, RefusedCase, cases_of
from hazardmill.testing.conformance import examine_case

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
    examine_case(source, case, tmp_path)


@pytest.mark.parametrize(("source", "case"), ACCEPTED, ids=name_of)
def test_accepts_with_warning(source: Source, case: AcceptedCase, tmp_path: Path) -> None:
    examine_case(source, case, tmp_path)


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
