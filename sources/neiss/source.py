"""NEISS as a source: archive files (tabs), query-builder exports (commas), and older layouts of both."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Final

from pydantic import JsonValue

from hazardmill.records import Record, Reject
from hazardmill.stages.sources import InputFile, Note, Refusal, Source, read_lines, whole_file_problem

from . import values
from .header import Header, read_header
from .rows import Row, read_rows

UNKNOWN: Final = "not recorded"
_ARCHIVE_FILE = re.compile(r"neiss[-_]?([0-9]{4})\.[a-z]+", re.IGNORECASE)
_SUFFIXES: Final = frozenset({".tsv", ".csv", ".txt", ".xlsx"})
_LABELLED: Final = ("diagnosis", "body_part", "location", "disposition", "fire", "sex")


class Neiss(Source):
    """National Electronic Injury Surveillance System."""

    name = "neiss"
    title = "NEISS injury reports"
    licence = "Public domain (work of the United States government)"
    attribution = "U.S. Consumer Product Safety Commission, National Electronic Injury Surveillance System (NEISS)"
    address = "https://www.cpsc.gov/Research--Statistics/NEISS-Injury-Data"
    description = "Injuries with consumer products, seen in emergency departments: a short narrative and its codes."
    expects = "a NEISS file (neiss2019.tsv, or a query-builder export .csv) or a folder of such files"
    facts = (
        "narrative",
        "products",
        "product_codes",
        "diagnosis",
        "body_part",
        "location",
        "disposition",
        "fire",
        "age_years",
        "age_group",
        "sex",
        "treatment_date",
    )
    withheld = ("Race", "Other_Race", "Hispanic", "Stratum", "PSU", "Weight")
    folder: ClassVar[Path] = Path(__file__).parent

    def find(self, path: Path) -> list[InputFile]:
        """A file itself; of a folder the table files in it, without the code book and hidden files."""
        if path.is_file():
            return [InputFile(path, path.name)]
        files = (file for file in path.iterdir() if file.is_file() and file.suffix.lower() in _SUFFIXES)
        wanted = (file for file in files if not file.name.startswith(".") and "NEISS_FMT" not in file.stem.upper())
        return [InputFile(file, file.name) for file in sorted(wanted, key=lambda file: file.name)]

    def essence(self, record: Record) -> str:
        """The narrative: the same case exported twice differs in columns, but tells the same."""
        return str(record.facts["narrative"])

    def read(self, file: InputFile) -> Iterator[Record | Reject | Note]:
        """One record a row."""
        problem = whole_file_problem(file.path)
        if problem is not None:
            yield self.reject(file, problem)
            return
        # The file of 2017 is cp1252; the others are UTF-8.
        lines = read_lines(file.path, fallback="cp1252")
        first = next(lines)
        header = first.refusal or read_header(first.text, file.path.suffix)
        if isinstance(header, Refusal):
            yield self.reject(file, header)
            return
        if header.ignored:
            count = f"{len(header.ignored)} unknown column{'s' if len(header.ignored) > 1 else ''}"
            yield Note(
                source=self.name,
                file=file.name,
                message=f"{count} ignored: {', '.join(name or '(no name)' for name in header.ignored)}",
            )
        year = _ARCHIVE_FILE.fullmatch(file.path.name)
        empty = True
        for row in read_rows(lines, header.separator, header.width):
            empty = False
            yield self._item(file, header, row, int(year[1]) if year else None)
        if empty:
            yield self.reject(file, Refusal("no_rows", "the file has a header and no rows", f"give {self.expects}"))

    def _item(self, file: InputFile, header: Header, row: Row, year: int | None) -> Record | Reject:
        if row.refusal is not None:
            return self.reject(file, row.refusal, line=row.line)
        if header.is_repeated_in(row.cells):
            repeated = Refusal("repeated_header", "the header again, in the middle of the file", "remove the line")
            return self.reject(file, repeated, line=row.line)
        cells = {column: row.cells[place] for column, place in header.columns.items()}
        case = values.case_number(cells["case_number"])
        if isinstance(case, Refusal):
            return self.reject(file, case, line=row.line)
        warnings: list[str] = []
        facts = _facts(cells, year, warnings)
        if isinstance(facts, Refusal):
            return self.reject(file, facts, line=row.line, native_id=case)
        if row.encoding != "utf-8":
            warnings.append(f"the row is not UTF-8 and was read as {row.encoding}")
        age_in_words = facts.pop("age_in_words")
        return Record(
            source=self.name,
            native_id=case,
            context=_context(facts, age_in_words),
            facts=facts,
            licence=self.licence,
            attribution=self.attribution,
            file=file.name,
            line=row.line,
            warnings=tuple(warnings),
        )


def _facts(cells: dict[str, str], year: int | None, warnings: list[str]) -> dict[str, JsonValue] | Refusal:
    """The facts of a row, and under ``age_in_words`` what the context adds to them."""
    narrative = values.narrative(cells["narrative"], cells.get("narrative_2", ""))
    if not narrative:
        return Refusal("blank_narrative", "the narrative is blank", "give the row its narrative, or remove it")
    codes: dict[str, int | None] = {}
    for column in (*_LABELLED, "age", "product_1", "product_2", "product_3"):
        value = values.code(cells.get(column, ""), column)
        if isinstance(value, Refusal):
            return value
        codes[column] = value
    age = values.age(codes["age"])
    if isinstance(age, Refusal):
        return age
    date = values.treatment_date(cells["treatment_date"], year) if "treatment_date" in cells else None
    if isinstance(date, Refusal):
        return date
    # 0 is "no product"; the same product twice says nothing more.
    products = list(dict.fromkeys(code for n in "123" if (code := codes[f"product_{n}"])))
    labels = {column: values.label(codes[column], column, warnings) for column in _LABELLED}
    return {
        "narrative": narrative,
        "products": [values.label(code, "product", warnings) for code in products],
        "product_codes": [*products],
        **labels,
        "age_years": age[0],
        "age_group": age[1],
        "age_in_words": age[2],
        "treatment_date": date.isoformat() if date else None,
    }


def _context(facts: dict[str, JsonValue], age_in_words: JsonValue) -> str:
    products = facts["products"]
    lines = [
        ("Narrative", facts["narrative"]),
        ("Products", "; ".join(map(str, products)) if isinstance(products, list) else None),
        ("Diagnosis", facts["diagnosis"]),
        ("Body part", facts["body_part"]),
        ("Location", facts["location"]),
        ("Disposition", facts["disposition"]),
        *([("Fire involvement", facts["fire"])] if facts["fire"] else []),
        ("Age group", f"{facts['age_group']} ({age_in_words})" if facts["age_group"] else None),
        ("Sex", facts["sex"]),
    ]
    return "\n".join(f"{label}: {value or UNKNOWN}" for label, value in lines)


SOURCE = Neiss()
