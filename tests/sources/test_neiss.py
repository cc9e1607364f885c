"""NEISS on the reference data, and the laws of its columns."""

from __future__ import annotations

import csv
import importlib
import io
import re
import subprocess
import sys
import tempfile
import tracemalloc
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openpyxl import Workbook

from hazardmill.ages import coarsen_ages
from hazardmill.ingest.ingest import ingest
from hazardmill.ingest.sources import InputFile, Note, load_source
from hazardmill.records import Record, Reject

NEISS = load_source("neiss")
PACKAGE = type(NEISS).__module__.rpartition(".")[0]
CASES = importlib.import_module(PACKAGE + ".cases")
WORKBOOK_CASES = importlib.import_module(PACKAGE + ".workbook_cases")
BOOK = importlib.import_module(PACKAGE + ".book")
COLUMNS, row, table = CASES.COLUMNS, CASES.row, CASES.table


def native_rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        if path.suffix == ".csv":
            return list(csv.DictReader(stream))
        return list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("neiss2018.tsv", 3421),
        ("neiss2019.tsv", 3574),
        ("neiss2020.tsv", 2696),
        ("query_builder_export_2018-2019.csv", 1291),
    ],
)
def test_every_reference_row_is_accounted_for(reference: Path, name: str, rows: int) -> None:
    path = reference / "data" / "neiss" / name
    run = ingest(NEISS, path)
    records = {item.native_id: item for item in run if isinstance(item, Record)}
    assert run.counts.items == rows
    assert run.counts.records == len(records) == rows
    rows_of_old = [native for native in native_rows(path) if 90 <= int(native["Age"]) <= 120]
    coarse = {native_id for native_id, record in records.items() if "90+" in record.context}
    assert {native["CPSC_Case_Number"] for native in rows_of_old} <= coarse and len(coarse) <= 1.2 * len(rows_of_old)
    for native in rows_of_old:
        # Whatever way it is written in: nobody's age is left.
        told = str(records[native["CPSC_Case_Number"]].facts["narrative"])
        assert not re.search(rf"(?<!\d){native['Age']}(?![\d+])", told), told
    for native in native_rows(path):
        record = records[native["CPSC_Case_Number"]]
        assert record.facts["narrative"] == coarsen_ages(" ".join(native["Narrative_1"].split()))
        codes = [int(native[f"Product_{n}"]) for n in (1, 2, 3)]
        assert record.facts["product_codes"] == list(dict.fromkeys(code for code in codes if code))
        assert record.warnings == ()


def test_the_export_repeats_cases_of_the_archive(reference: Path) -> None:
    run = ingest(NEISS, reference / "data" / "neiss")
    notes = [item for item in run if isinstance(item, Note)]
    assert (run.counts.records, run.counts.repeats, run.counts.rejects) == (3421 + 3574 + 2696, 1291, 0)
    (note,) = notes
    assert "3 unknown columns ignored: __sport__, __sport_category__, __body_part_label__" in note.message


# Labels that were spelled out or shortened by hand; all others are the published letters in lower case.
REWORDED = {
    "diagnosis": {46, 47, 48, 49, 51, 53, 64, 74},
    "body_part": {78, 85, 86, 87, 90, 91},
    "location": {0, 3, 5, 6, 7, 9},
    "disposition": {1, 4, 8, 9},
    "fire": {0, 1, 2, 3, 4},
    "sex": {0, 3},
}
# Labels that two products share, so that the label alone does not say which.
SHARED_PRODUCTS = 4
FORMATS = {
    "PROD": ("product", "Product_1"),
    "DIAG": ("diagnosis", "Diagnosis"),
    "BDYPT": ("body_part", "Body_Part"),
    "LOC": ("location", "Location"),
    "DISP": ("disposition", "Disposition"),
    "FIRE": ("fire", "Fire_Involvement"),
    "GENDER": ("sex", "Sex"),
}


def letters(text: str) -> str:
    return "".join(letter for letter in text.lower() if letter.isalpha())


def published_labels(reference: Path, format_name: str) -> dict[int, str]:
    with (reference / "data" / "neiss" / "NEISS_FMT.csv").open(encoding="utf-8", newline="") as stream:
        return {int(line[1]): line[3].strip() for line in csv.reader(stream) if line[0] == format_name}


def read_records(path: Path) -> list[Record]:
    return [item for item in ingest(NEISS, path) if isinstance(item, Record)]


@pytest.mark.parametrize("format_name", FORMATS)
def test_code_book_has_the_published_codes_and_no_others(reference: Path, format_name: str) -> None:
    field, _ = FORMATS[format_name]
    assert set(BOOK.code_book()[field]) == set(published_labels(reference, format_name))


@pytest.mark.parametrize("with_code", [True, False], ids=["label with code", "label alone"])
@pytest.mark.parametrize("format_name", FORMATS)
def test_published_labels_are_decoded_as_their_codes(
    reference: Path, tmp_path: Path, format_name: str, with_code: bool
) -> None:
    """A column of CPSC's labels says what the codes say; only the labels that several products share are refused."""
    _, column = FORMATS[format_name]
    labels = {code: label.split(" - ", 1)[-1] for code, label in published_labels(reference, format_name).items()}
    codes = [row(CPSC_Case_Number=f"1{code:05}", **{column: str(code)}) for code in labels]
    words = [
        row(CPSC_Case_Number=f"1{code:05}", **{column: f"{code} - {label}" if with_code else label})
        for code, label in labels.items()
    ]
    (tmp_path / "codes.tsv").write_bytes(table(*codes))
    (tmp_path / "labels.tsv").write_bytes(table(*words))
    by_code = {record.native_id: record.content_hash for record in read_records(tmp_path / "codes.tsv")}
    by_label = {record.native_id: record.content_hash for record in read_records(tmp_path / "labels.tsv")}
    refused = 0 if with_code or column != "Product_1" else SHARED_PRODUCTS
    assert len(by_label) == len(labels) - refused
    assert by_label.items() <= by_code.items()


@pytest.mark.parametrize("format_name", FORMATS)
def test_code_book_agrees_with_the_published_one(reference: Path, tmp_path: Path, format_name: str) -> None:
    field, column = FORMATS[format_name]
    published = published_labels(reference, format_name)
    rows = (row(CPSC_Case_Number=f"1{code:05}", **{column: str(code)}) for code in published)
    (tmp_path / "all.tsv").write_bytes(table(*rows))
    records = [item for item in ingest(NEISS, tmp_path) if isinstance(item, Record)]
    assert len(records) == len(published)
    for code, record in zip(published, records, strict=True):
        label = record.facts["products"][0] if field == "product" else record.facts[field]
        assert record.warnings == ()
        if code in REWORDED.get(field, ()):
            assert label is None or letters(str(label)) != letters(published[code])
        else:
            assert letters(str(label)) == letters(published[code].split(" - ", 1)[-1])


@pytest.mark.parametrize(("code", "part"), [("75", "head"), ("88", "mouth"), ("35", "knee"), ("82", "hand")])
def test_body_parts_that_public_scripts_get_wrong(code: str, part: str, tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_bytes(table(row(Body_Part=code)))
    (record,) = ingest(NEISS, tmp_path)
    assert isinstance(record, Record)
    assert record.facts["body_part"] == part


cell = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=12)


@settings(max_examples=50)
@given(values=st.fixed_dictionaries({name: cell for name in NEISS.withheld}))
def test_withheld_columns_change_nothing(values: dict[str, str]) -> None:
    """Whatever race, ethnicity, stratum, unit and weight say, the record is the same."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.tsv"
        hashes = set()
        for changes in ({}, values):
            path.write_bytes(table(row(**changes)))
            (record,) = ingest(NEISS, path)
            assert isinstance(record, Record)
            hashes.add(record.content_hash)
    assert len(hashes) == 1


@settings(max_examples=80)
@given(
    lines=st.lists(
        st.text(st.sampled_from('AB "\t\n'), max_size=40).map(lambda text: row(Narrative_1=text)),
        min_size=1,
        max_size=6,
    ),
    separator=st.sampled_from(["\t", ","]),
)
def test_no_row_swallows_another(lines: list[str], separator: str) -> None:
    """However narratives are mangled, a good row after them is read: quotes and newlines cost their own row only."""
    last = row(separator, CPSC_Case_Number="777", Narrative_1="THE LAST ROW")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ("a.tsv" if separator == "\t" else "a.csv")
        mangled = [line.replace("\t", separator) for line in lines]
        path.write_bytes(table(*mangled, last, separator=separator, columns=COLUMNS))
        records = [item for item in ingest(NEISS, path) if isinstance(item, Record)]
    assert records[-1].native_id == "777"
    assert records[-1].facts["narrative"] == "THE LAST ROW"


@settings(max_examples=40)
@given(
    texts=st.lists(st.text(st.sampled_from('AB "\t\n'), max_size=30), min_size=230, max_size=260),
    separator=st.sampled_from(["\t", ","]),
    data=st.data(),
)
def test_reading_from_the_line_of_a_record_gives_it_first(
    texts: list[str], separator: str, data: st.DataObject
) -> None:
    lines = [row(CPSC_Case_Number=str(n), Narrative_1=text) for n, text in enumerate(texts, 1)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ("a.tsv" if separator == "\t" else "a.csv")
        mangled = [line.replace("\t", separator) for line in lines]
        path.write_bytes(table(*mangled, row(separator), separator=separator, columns=COLUMNS))
        file = InputFile(path, path.name)
        records = [item for item in NEISS.items(file) if isinstance(item, Record)]
        wanted = data.draw(st.sampled_from(records))
        found = [item for item in NEISS.items(file, wanted.line) if isinstance(item, Record)]
    assert found == records[records.index(wanted) :]


@pytest.mark.parametrize("blank", range(8))
def test_a_short_row_among_the_first_costs_no_row_after_it(blank: int, tmp_path: Path) -> None:
    """What columns hold shows in the first 200 rows; the last of them is judged by the lines that follow it."""
    rows = [row(CPSC_Case_Number=str(n)) for n in range(1, 200)]
    path = tmp_path / "a.tsv"
    path.write_bytes(table(*rows, "123\tshort", *[""] * blank, row(CPSC_Case_Number="777")))
    file = InputFile(path, path.name)
    last = [item for item in NEISS.items(file) if isinstance(item, Record)][-1]
    assert last.native_id == "777"
    assert last in list(NEISS.items(file, last.line))


def test_rows_before_a_line_are_not_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.tsv").write_bytes(table(*(row(CPSC_Case_Number=str(n)) for n in range(1, 501))))
    decoder = importlib.import_module(PACKAGE + ".decoding").RowDecoder
    decoded: list[list[str]] = []
    decode = decoder.decode
    monkeypatch.setattr(decoder, "decode", lambda self, cells: decoded.append(cells) or decode(self, cells))
    (last,) = [item for item in NEISS.items(InputFile(tmp_path / "a.tsv", "a.tsv"), 501) if isinstance(item, Record)]
    assert last.native_id == "500" and len(decoded) == 1


@pytest.mark.parametrize("separator", ["\t", ","], ids=["tabs", "commas"])
def test_a_row_in_place_of_the_header_is_not_quoted(separator: str, tmp_path: Path) -> None:
    """What is withheld stays out of messages too."""
    (tmp_path / ("a.tsv" if separator == "\t" else "a.csv")).write_text(row(separator) + "\n", encoding="utf-8")
    (reject,) = ingest(NEISS, tmp_path)
    assert isinstance(reject, Reject)
    assert not [text for text in (*CASES.WITHHELD, CASES.GOOD["Narrative_1"]) if text in reject.message]


@pytest.mark.full
@pytest.mark.parametrize(
    "changes",
    [{"Age": " " * 500_000 + "7"}, {"Product_1": " " * 500_000 + "464"}, {"Narrative_1": "FELL" * 200_000}],
    ids=["a code", "a product", "a narrative"],
)
def test_long_cells_do_not_fill_memory(changes: dict[str, str], tmp_path: Path) -> None:
    with (tmp_path / "a.tsv").open("wb") as stream:
        stream.write(table())
        for number in range(60):
            # A blank more a row, so that no spelling comes twice.
            cells = {name: " " * number + text for name, text in changes.items()}
            stream.write(row(CPSC_Case_Number=str(number + 1), **cells).encode() + b"\n")
    tracemalloc.start()
    try:
        assert sum(isinstance(item, Record) for item in NEISS.read(InputFile(tmp_path / "a.tsv", "a.tsv"))) == 60
        assert tracemalloc.get_traced_memory()[1] < 20 << 20
    finally:
        tracemalloc.stop()


def test_many_columns_make_a_short_note(tmp_path: Path) -> None:
    names = [f"mine_{number}" for number in range(30)]
    (tmp_path / "a.tsv").write_bytes(table(row() + "\tx" * 30, columns=[*COLUMNS, *names]))
    note = next(iter(ingest(NEISS, tmp_path)))
    assert isinstance(note, Note)
    assert "30 unknown columns ignored: mine_0, " in note.message
    assert note.message.endswith("mine_11 and 18 more")


def test_age_and_date_become_facts(tmp_path: Path) -> None:
    cases = {
        ("213", "1/7/03"): (1, "infant", "2003-01-07"),
        ("17", "2021-09-28"): (17, "teenager", "2021-09-28"),
        ("64", "12/31/2019"): (64, "adult", "2019-12-31"),
        ("65", "1/2/99"): (65, "older adult", "1999-01-02"),
        ("0", "1/2/2025"): (None, None, "2025-01-02"),
    }
    for (age, date), expected in cases.items():
        (tmp_path / "a.tsv").write_bytes(table(row(Age=age, Treatment_Date=date)))
        (record,) = ingest(NEISS, tmp_path)
        assert isinstance(record, Record)
        assert tuple(record.facts[key] for key in ("age_years", "age_group", "treatment_date")) == expected


def test_columns_that_are_absent_are_unknown(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("case_num\tnarrative\n0030120797\tFELL\n", encoding="utf-8")
    (record,) = ingest(NEISS, tmp_path)
    assert isinstance(record, Record)
    assert record.native_id == "30120797"
    unknown = {key for key, value in record.facts.items() if value is None}
    assert unknown == set(NEISS.facts) - {"narrative", "products", "product_codes"}


def test_a_workbook_says_what_the_text_file_says(reference: Path, tmp_path: Path) -> None:
    """Numbers as numbers, as CPSC's workbooks have them: every record is that of the text file, at the same line."""
    path = reference / "data" / "neiss" / "neiss2020.tsv"
    book = Workbook(write_only=True)
    sheet = book.create_sheet("NEISS_2020")
    for index, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        cells = line.split("\t")
        numeric = {"CPSC_Case_Number", "Age", "Weight", "PSU", "Diagnosis", "Body_Part_2", "Product_1", "Product_3"}
        sheet.append(
            float(cell) if index and cell and name in numeric else cell
            for name, cell in zip(COLUMNS, cells, strict=True)
        )
    book.save(tmp_path / "neiss2020.xlsx")
    from_text, from_workbook = read_records(path), read_records(tmp_path / "neiss2020.xlsx")
    assert len(from_text) == 2696
    assert [(r.line, r.content_hash) for r in from_workbook] == [(r.line, r.content_hash) for r in from_text]


GOOD_WORKBOOK = WORKBOOK_CASES.year(WORKBOOK_CASES.line(), WORKBOOK_CASES.OTHER)
with zipfile.ZipFile(io.BytesIO(GOOD_WORKBOOK)) as archive:
    PARTS = {part: archive.read(part) for part in archive.namelist()}


@settings(max_examples=150)
@given(data=st.data())
def test_no_damage_to_a_workbook_makes_it_raise(data: st.DataObject) -> None:
    """Bytes of the archive, and of what is packed in it, replaced at any place: items come, and no exception."""
    name = data.draw(st.sampled_from([None, *PARTS]))
    old = GOOD_WORKBOOK if name is None else PARTS[name]
    start = data.draw(st.integers(0, len(old)))
    end = data.draw(st.integers(start, min(len(old), start + 40)))
    noise = data.draw(st.one_of(st.binary(max_size=8), st.sampled_from([b"<", b'"', b"/>", b"9", b"&amp;", b"</v>"])))
    new = old[:start] + noise + old[end:]
    content = new if name is None else WORKBOOK_CASES.with_part(GOOD_WORKBOOK, name, new)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "neiss2024.xlsx"
        path.write_bytes(content)
        for item in NEISS.read(InputFile(path, path.name)):
            assert isinstance(item, Record | Reject | Note)


def test_the_source_loads_without_the_workbook_library() -> None:
    program = (
        "import sys; from hazardmill.ingest.sources import load_source; load_source('neiss'); "
        "sys.exit('openpyxl' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_records_share_no_lists(tmp_path: Path) -> None:
    """Cells are decoded once a file; what one record holds is not another's."""
    (tmp_path / "a.tsv").write_bytes(table(row(), CASES.OTHER))
    first, second = read_records(tmp_path)
    assert first.facts["products"] == second.facts["products"]
    assert first.facts["products"] is not second.facts["products"]


def test_more_spellings_than_are_remembered(tmp_path: Path) -> None:
    """A column of ever new cells is read like any other."""
    count = 10_000
    rows = (row(CPSC_Case_Number=str(n + 1), Product_1=str(20_000 + n)) for n in range(count))
    (tmp_path / "a.tsv").write_bytes(table(*rows))
    records = read_records(tmp_path)
    assert [record.facts["product_codes"] for record in records] == [[20_000 + n] for n in range(count)]


def test_the_texts_of_a_workbook_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By what they take in memory: one wide letter makes four bytes of each letter in its text."""
    narrative = "\U0001f525" + "X" * 9_999
    content = WORKBOOK_CASES.year(WORKBOOK_CASES.line(Narrative_1=narrative))
    (tmp_path / "a.xlsx").write_bytes(content)
    monkeypatch.setattr(importlib.import_module(PACKAGE + ".sheets"), "_MOST_TEXTS", 20_000)
    (reject,) = ingest(NEISS, tmp_path)
    assert isinstance(reject, Reject)
    assert reject.reason == "workbook_too_large"
    assert "texts" in reject.message


def test_rows_before_the_break_of_a_workbook_are_kept(tmp_path: Path) -> None:
    """Also those in the piece of the sheet in which it breaks off."""
    line, count = WORKBOOK_CASES.line, 2000
    good = WORKBOOK_CASES.year(*(line(CPSC_Case_Number=n + 1) for n in range(count)))
    sheet = WORKBOOK_CASES.part(good, WORKBOOK_CASES.SHEET)
    (tmp_path / "a.xlsx").write_bytes(
        WORKBOOK_CASES.with_part(good, WORKBOOK_CASES.SHEET, sheet.partition(b'<row r="1502"')[0])
    )
    *records, last = ingest(NEISS, tmp_path)
    assert [item.native_id for item in records] == [str(n + 1) for n in range(1500)]
    assert isinstance(last, Reject)
    assert (last.reason, last.line) == ("broken_workbook", 1501)
