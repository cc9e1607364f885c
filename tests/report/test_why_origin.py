from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hazardmill.ingest.ingest import ingest
from hazardmill.ingest.sources import load_source
from hazardmill.report.why.origin import inputs_of, look_again
from hazardmill.resources import SOURCES_VARIABLE
from tests.generation.support import write_source

LINES = ["1 hot soup", "2 cold soup", "3 no soup"]


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(SOURCES_VARIABLE, str(write_source(tmp_path / "sources")))
    path = tmp_path / "notes.txt"
    path.write_text("\n".join(LINES))
    return path


@pytest.fixture
def row(notes: Path) -> dict[str, Any]:
    """The second record, as the store has it."""
    record = list(ingest(load_source("notes"), notes))[1]
    return {**record.model_dump(), "content_hash": record.content_hash}


def rewritten(*lines: str) -> Callable[[Path], object]:
    return lambda path: path.write_text("\n".join(lines))


def test_a_file_as_it_was_holds_the_record(notes: Path, row: dict[str, Any]) -> None:
    still = look_again(row, [notes])
    assert (still.state, still.path, still.content_hash) == ("unchanged", str(notes.resolve()), row["content_hash"])


@pytest.mark.parametrize(
    ("change", "says", "hashed"),
    [
        (rewritten("1 hot soup", "2 warm soup", "3 no soup"), "has different content", True),
        (rewritten("2 cold soup"), "the file has nothing there", False),
        (rewritten("1 hot soup", "3 no soup", "2 cold soup"), "different content there: it is notes:3", True),
        (rewritten("1 hot soup", "2"), "refused: there is no text", False),
        (rewritten(""), "the file has nothing there", False),
    ],
    ids=["said otherwise", "moved up", "another there", "refused", "empty"],
)
def test_a_file_that_changed_is_told_so(
    change: Callable[[Path], object], says: str, hashed: bool, notes: Path, row: dict[str, Any]
) -> None:
    change(notes)
    still = look_again(row, [notes])
    assert still.state == "changed" and says in still.message
    assert (still.content_hash is not None) is hashed and still.content_hash != row["content_hash"]


def test_what_changed_elsewhere_in_the_file_does_not_matter(notes: Path, row: dict[str, Any]) -> None:
    notes.write_text("0 other\n2 cold soup\n\x00")
    assert look_again(row, [notes]).state == "unchanged"


@pytest.mark.parametrize(
    ("away", "says"),
    [
        (Path.unlink, "notes.txt is not at "),
        (lambda path: path.rename(path.with_name("others.txt")), "notes.txt is not at "),
        (lambda path: path.write_bytes(b"\xff\xfe\xff"), "could not be read again: "),
    ],
    ids=["gone", "renamed", "no text"],
)
def test_a_file_that_is_gone_or_cannot_be_read_is_no_error(
    away: Callable[[Path], object], says: str, notes: Path, row: dict[str, Any]
) -> None:
    away(notes)
    still = look_again(row, [notes])
    assert (still.state, still.path) == ("not_here", None) and says in still.message


def test_a_file_of_another_name_is_not_taken_for_it(notes: Path, row: dict[str, Any]) -> None:
    renamed = notes.rename(notes.with_name("others.txt"))
    assert look_again(row, [renamed]).state == "not_here"


def test_a_source_that_is_gone_is_no_error(notes: Path, row: dict[str, Any]) -> None:
    still = look_again({**row, "source": "diaries"}, [notes])
    assert still.state == "not_here" and "there is no source 'diaries'" in still.message


def test_any_of_the_places_will_do(notes: Path, row: dict[str, Any], tmp_path: Path) -> None:
    assert look_again(row, [tmp_path / "nowhere", notes]).state == "unchanged"
    assert look_again(row, []).message == "no run recorded where the file was"


@pytest.mark.parametrize("name", ["alfred", "bddl", "neiss", "normbank", "virtualhome"])
def test_every_record_of_every_shipped_sample_is_found_again(name: str) -> None:
    source = load_source(name)
    found = [item for item in ingest(source, source.sample) if hasattr(item, "content_hash")]
    rows = [{**record.model_dump(), "content_hash": record.content_hash} for record in found]
    assert len(rows) > 5
    assert {look_again(row, [source.sample]).state for row in rows} == {"unchanged"}


def test_runs_say_where_they_read_a_source() -> None:
    ingested = {"source": "notes", "path": "a.txt", "where": {}}
    generated = {"inputs": [{"source": "notes", "path": "b.txt"}, {"source": "notes", "path": None}, {"source": "x"}]}
    assert list(inputs_of(ingested, "notes")) == [Path("a.txt")]
    assert list(inputs_of(generated, "notes")) == [Path("b.txt")]
    assert list(inputs_of({}, "notes")) == list(inputs_of(ingested, "x")) == []
