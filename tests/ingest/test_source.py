from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from factories.odd_files import ODD_THINGS, OddThing

from hazardmill.errors import SourceError
from hazardmill.ingest.ingest import ingest
from hazardmill.ingest.sources import InputFile, Note, Source, find_files
from hazardmill.ingest.sources.source import MOST_CHARACTERS
from hazardmill.records import Record, Reject


class Letters(Source):
    """One record a file: as many letters as the file says."""

    name = "letters"
    title = licence = attribution = address = description = expects = "letters"
    facts = ("letters",)
    folder = Path(__file__).parent

    def find(self, path: Path) -> list[InputFile]:
        return find_files(path, lambda file: file.suffix == ".txt")

    def read(self, file: InputFile) -> Iterator[Record | Reject | Note]:
        count, where = file.path.read_text().split()
        text = "x" * int(count)
        yield Record(
            source=self.name,
            native_id=text if where == "id" else file.path.stem,
            context=f"Letters: {text if where == 'context' else ''}",
            facts={"letters": [[text]] if where == "facts" else []},
            licence="none",
            attribution="none",
            file=file.name,
            line=1,
            warnings=(text,) if where == "warnings" else (),
        )


@pytest.mark.parametrize("where", ["id", "context", "facts", "warnings"])
def test_a_record_has_a_limit(tmp_path: Path, where: str) -> None:
    (tmp_path / "1.txt").write_text(f"{MOST_CHARACTERS - 100} {where}")
    (tmp_path / "2.txt").write_text(f"{MOST_CHARACTERS + 1} {where}")
    first, second = ingest(Letters(), tmp_path)
    assert isinstance(first, Record) and isinstance(second, Reject)
    assert (second.reason, second.file, second.line) == ("record_too_long", "2.txt", 1)
    assert str(MOST_CHARACTERS) in second.message and second.remedy
    assert len(second.model_dump_json()) < 2000


def test_a_source_may_have_another_limit(tmp_path: Path) -> None:
    class Long(Letters):
        most_characters = 2 * MOST_CHARACTERS

    (tmp_path / "2.txt").write_text(f"{MOST_CHARACTERS + 1} context")
    (record,) = ingest(Long(), tmp_path)
    assert isinstance(record, Record)


def test_an_error_of_the_system_while_reading_costs_one_file(tmp_path: Path) -> None:
    """A source of a user may open files as it likes."""
    (tmp_path / "1.txt").symlink_to("/proc/self/mem")
    (tmp_path / "2.txt").write_text("5 context")
    first, second = ingest(Letters(), tmp_path)
    assert isinstance(first, Reject) and isinstance(second, Record)
    assert (first.reason, first.file) == ("unreadable", "1.txt")


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "odd", [odd for odd in ODD_THINGS if odd.name not in ("folder", "file of 100 GB")], ids=lambda odd: odd.name
)
def test_a_path_that_is_neither_file_nor_folder_is_an_error(tmp_path: Path, odd: OddThing) -> None:
    odd.lay(tmp_path / "x.txt")
    with pytest.raises(SourceError, match=r"it is a.* not a file or folder"):
        Letters().discover(tmp_path / "x.txt")


@pytest.mark.parametrize("path", ["-", "/dev/stdin", "/dev/fd/0"])
def test_a_stream_is_no_input_of_a_run(path: str) -> None:
    with pytest.raises(SourceError, match=r"stream cannot be read here.*hazardmill ingest --source NAME -"):
        Letters().discover(Path(path))
