from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from hazardmill.errors import SourceError, UsageError
from hazardmill.ingest.fetch.catalogue import choose, read_catalogue
from hazardmill.ingest.sources import InputFile, Note, Source, load_source
from hazardmill.records import Record, Reject

ENTRY = """
[[files]]
name = "rows.tsv"
address = "https://example.org/rows.tsv"
terms = "Free."
"""


class Paper(Source):
    """A source that is only its page."""

    name, title, licence, attribution = "paper", "Paper", "CC0-1.0", "Nobody"
    address, description, expects = "https://example.org", "Paper.", "paper"
    facts: ClassVar[tuple[str, ...]] = ()

    def __init__(self, folder: Path) -> None:
        self.folder = folder  # type: ignore[misc]  # of this instance, for the test

    def find(self, path: Path) -> list[InputFile]:
        return []

    def read(self, file: InputFile) -> Iterator[Record | Reject | Note]:
        return iter(())


def paper(folder: Path, text: str | None) -> Paper:
    if text is not None:
        (folder / "SOURCE.md").write_text(text, encoding="utf-8")
    return Paper(folder)


def section(block: str, *, after: str = "") -> str:
    return (
        f"# Paper\n\nWords.\n\n## Files\n\nThese:\n\n```toml\n{block}```\n{after}\n## sample/\n\n```toml\nx = 1\n```\n"
    )


def test_the_block_is_read(tmp_path: Path) -> None:
    more = f'size = 12\nsha256 = "{"ab" * 32}"\nunpack = "7z x rows.tsv"\n'
    offer = read_catalogue(paper(tmp_path, section(ENTRY + more)))
    assert offer is not None
    (file,) = offer.files
    assert (file.name, file.address, file.terms) == ("rows.tsv", "https://example.org/rows.tsv", "Free.")
    assert (file.size, file.sha256, file.unpack, offer.otherwise) == (12, "ab" * 32, "7z x rows.tsv", None)


def test_an_entry_with_years_is_one_file_a_year(tmp_path: Path) -> None:
    text = ENTRY.replace("rows.tsv", "{year}/rows{year}.tsv").replace('"{year}/', '"') + "years = [2018, 2019]\n"
    offer = read_catalogue(paper(tmp_path, section(text)))
    assert offer is not None
    assert [(file.name, file.address) for file in offer.files] == [
        ("rows2018.tsv", "https://example.org/2018/rows2018.tsv"),
        ("rows2019.tsv", "https://example.org/2019/rows2019.tsv"),
    ]
    assert {(file.size, file.sha256) for file in offer.files} == {(None, None)}


def test_without_page_or_section_there_is_no_offer(tmp_path: Path) -> None:
    for text in (None, "# Paper\n", "# Paper\n\n### Files\n\n```toml\n```\n"):
        source = paper(tmp_path, text)
        assert read_catalogue(source) is None
        with pytest.raises(UsageError, match=r"lists no files to fetch.*https://example.org by hand"):
            choose(source, ())


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ("", "lists no file"),
        ("[[files]\n", "not TOML"),
        (ENTRY + "colour = 3\n", "colour: Extra inputs"),
        (ENTRY + 'size = "12"\n', "size: Input should be a valid integer"),
        (ENTRY + "size = 0\n", "size: Input should be greater than 0"),
        (ENTRY + 'sha256 = "12"\n', "sha256: String should match"),
        (ENTRY + "size = 2018-01-01\n", "size: Input should be a valid integer"),
        (ENTRY.replace("https:", "ftp:"), "address: String should match"),
        (ENTRY.replace("https://example.org/", "file:///"), "address: String should match"),
        (ENTRY.replace('name = "rows.tsv"', 'name = "../rows.tsv"'), "name: String should match"),
        (ENTRY.replace('name = "rows.tsv"', 'name = ".fetched"'), "name: String should match"),
        (ENTRY.replace('terms = "Free."', ""), "terms: Field required"),
        (ENTRY.replace("https://", "https://me:s3cret@"), "address: String should match"),
        (ENTRY + ENTRY, "two files have the same name"),
        (ENTRY + ENTRY.replace('"rows.tsv"', '"Rows.tsv"'), "two files have the same name"),
        (ENTRY.replace('"rows.tsv"', '"rows.tsv.part"'), "ends like the name of an unfinished download"),
        (ENTRY.replace('"rows.tsv"', '"rows.tsv.bad"'), "ends like the name of an unfinished download"),
        (ENTRY + "years = [2018]\n", "needs a name and an address that contain {year}"),
        (ENTRY.replace("rows", "rows{year}") + "years = [2018]\nsize = 3\n", "describe a single file"),
        (ENTRY.replace("rows", "rows{year}"), "name: String should match"),
        ("```\n```toml\n", "holds 2 fenced toml blocks"),
    ],
)
def test_a_wrong_block_is_told(tmp_path: Path, block: str, message: str) -> None:
    with pytest.raises(SourceError) as caught:
        read_catalogue(paper(tmp_path, section(block)))
    assert message in str(caught.value)
    assert "SOURCE.md: the section Files is wrong" in str(caught.value) and caught.value.remedy


def test_files_are_chosen_by_part_of_the_name_or_pattern(tmp_path: Path) -> None:
    text = ENTRY.replace("rows", "rows{year}") + "years = [2018, 2019, 2020]\n"
    source = paper(tmp_path, section(text))

    def chosen(*patterns: str) -> list[str]:
        return [file.name[4:8] for file in choose(source, patterns)]

    assert chosen("2019") == ["2019"]
    assert chosen("2020", "2018") == ["2018", "2020"]
    assert chosen("*") == chosen("rows*") == ["2018", "2019", "2020"]
    assert chosen("rows20[12][90].tsv") == ["2019", "2020"]
    with pytest.raises(UsageError, match=r"has 3 files: rows2018.tsv to rows2020.tsv.*--file"):
        chosen()
    with pytest.raises(UsageError, match=r"'2021'.*choose from its files: rows2018.tsv, rows2019.tsv, rows2020"):
        chosen("2018", "2021")


def test_what_is_not_served_is_told_how_to_get(tmp_path: Path) -> None:
    source = paper(tmp_path, section('otherwise = "clone the repository"\n'))
    with pytest.raises(UsageError, match=r"has no file to fetch \[clone the repository\]"):
        choose(source, ("*",))


def test_neiss_has_a_file_a_year() -> None:
    offer = read_catalogue(load_source("neiss"))
    assert offer is not None
    assert [file.name for file in offer.files] == [f"neiss{year}.tsv" for year in range(2016, 2026)]
    assert all(file.address.startswith("https://www.cpsc.gov/") for file in offer.files)
