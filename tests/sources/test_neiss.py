"""NEISS on the reference data, and the laws of its columns."""

from __future__ import annotations

import csv
import importlib
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hazardmill.records import Record
from hazardmill.stages.ingest import ingest
from hazardmill.stages.sources import Note, load_source

NEISS = load_source("neiss")
CASES = importlib.import_module(type(NEISS).__module__.rpartition(".")[0] + ".cases")
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
    for native in native_rows(path):
        record = records[native["CPSC_Case_Number"]]
        assert record.facts["narrative"] == " ".join(native["Narrative_1"].split())
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


@pytest.mark.parametrize("format_name", FORMATS)
def test_code_book_agrees_with_the_published_one(reference: Path, tmp_path: Path, format_name: str) -> None:
    field, column = FORMATS[format_name]
    with (reference / "data" / "neiss" / "NEISS_FMT.csv").open(encoding="utf-8", newline="") as stream:
        published = {int(line[1]): line[3] for line in csv.reader(stream) if line[0] == format_name}
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


@settings(max_examples=50, deadline=None)
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


@settings(max_examples=80, deadline=None)
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
