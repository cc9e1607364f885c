"""NEISS as a source: archive files (tabs), query-builder exports (commas), workbooks, and older layouts of these."""

from __future__ import annotations

import datetime
import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Final

from hazardmill.ingest.sources import (
    InputFile,
    InputRefusal,
    Note,
    Source,
    SourceLine,
    find_files,
    read_lines,
    whole_file_problem,
)
from hazardmill.records import Record, Reject

from .decoding import RowDecoder, RowRefused, labelled_columns
from .header import Header, header_of, read_header
from .rows import Row, SkippableRows
from .workbook import SUFFIXES, find_sheet, is_workbook

_ARCHIVE_FILE = re.compile(r"neiss[-_]?([0-9]{4})\.[a-z]+", re.IGNORECASE)
_TABLES: Final = frozenset({".tsv", ".csv", ".txt"}) | SUFFIXES
_PACKED: Final = frozenset({".gz", ".zip", ".bz2", ".xz", ".7z", ".zst"})
_ROWS_AHEAD: Final = 200
_LETTERS_AHEAD: Final = 1 << 23
_MOST_NAMED: Final = 12
"""Maximum number of columns that a note names."""


class Neiss(Source):
    """National Electronic Injury Surveillance System."""

    name = "neiss"
    title = "NEISS injury reports"
    licence = "Public domain (work of the United States government)"
    attribution = "U.S. Consumer Product Safety Commission, National Electronic Injury Surveillance System (NEISS)"
    address = "https://www.cpsc.gov/Research--Statistics/NEISS-Injury-Data"
    description = "Injuries with consumer products, seen in emergency departments: a short narrative and its codes."
    expects = "a NEISS file (neiss2019.tsv or .xlsx, or a query-builder export .csv) or a folder of such files"
    facts = (
        "narrative",
        "products",
        "product_codes",
        "diagnosis",
        "other_diagnosis",
        "body_part",
        "second_diagnosis",
        "second_body_part",
        "location",
        "disposition",
        "fire",
        "age_years",
        "age_group",
        "sex",
        "treatment_date",
    )
    withheld = ("Race", "Other_Race", "Hispanic", "Alcohol", "Drug", "Stratum", "PSU", "Weight")
    folder: ClassVar[Path] = Path(__file__).parent

    def find(self, path: Path) -> list[InputFile]:
        """Return the file itself, or the table files of a folder, even packed ones, but no code book or hidden file."""
        return find_files(path, _is_table)

    def essence(self, record: Record) -> str:
        """Return the narrative: the same case exported twice differs in columns, but not in its narrative."""
        return str(record.facts["narrative"])

    def read(self, file: InputFile) -> Iterator[Record | Reject | Note]:
        """Yield one record per row."""
        return self.read_from(file, 1)

    def read_from(self, file: InputFile, line: int) -> Iterator[Record | Reject | Note]:
        """Yield one record per row from a line on."""
        problem = whole_file_problem(file.path, workbooks=True)
        if problem is not None:
            yield self.reject(file, problem)
        elif is_workbook(file.path):
            yield from self._read_workbook(file, line)
        else:
            yield from self._read_text(file, line)

    def _read_text(self, file: InputFile, from_line: int) -> Iterator[Record | Reject | Note]:
        # The file of 2017 is cp1252; the others are UTF-8.
        lines = read_lines(file.path, fallback="cp1252")
        first = next(lines, SourceLine(1, ""))
        header = first.refusal or read_header(first.text, file.path.suffix)
        if isinstance(header, InputRefusal):
            yield self.reject(file, header)
            return
        rows = SkippableRows(lines, header.separator, header.width)
        yield from self._items(file, header, rows, from_line, _year(file))

    def _read_workbook(self, file: InputFile, from_line: int) -> Iterator[Record | Reject | Note]:
        sheet = find_sheet(file.path)
        if isinstance(sheet, InputRefusal):
            yield self.reject(file, sheet)
            return
        rows = sheet.rows()
        first = next(rows, None)
        if first is None:
            yield self.reject(file, _no_rows(f"sheet {sheet.name} is empty"))
            return
        header = first.refusal or header_of(first.cells, "\t")
        if isinstance(header, InputRefusal):
            yield self.reject(file, header)
            return
        yield from self._items(file, header, rows, from_line, _year(file) or sheet.year, sheet.day_zero)

    def _items(
        self,
        file: InputFile,
        header: Header,
        rows: Iterator[Row],
        from_line: int,
        year: int | None,
        day_zero: datetime.date | None = None,
    ) -> Iterator[Record | Reject | Note]:
        if header.ignored:
            yield Note(source=self.name, file=file.name, message=_ignored(header.ignored))
        # Whether columns hold codes or labels shows in the first rows, and then stands for the whole file.
        ahead = _first_rows(rows)
        if not ahead:
            yield self.reject(file, _no_rows("the file has a header and no rows"))
            return
        labelled = labelled_columns(header, (row.cells for row in ahead if row.refusal is None))
        decoder = RowDecoder(header, year, labelled, day_zero)
        if isinstance(rows, SkippableRows):
            rows.skip_to(from_line)
        for row in itertools.chain(ahead, rows):
            if row.line >= from_line:
                yield self._item(file, decoder, row)

    def _item(self, file: InputFile, decoder: RowDecoder, row: Row) -> Record | Reject:
        if row.refusal is not None:
            return self.reject(file, row.refusal, line=row.line)
        try:
            native_id, context, facts, warnings = decoder.decode(row.cells)
        except RowRefused as refused:
            return self.reject(file, refused.refusal, line=row.line, native_id=refused.native_id)
        if row.encoding != "utf-8":
            warnings = (*warnings, f"the row is not UTF-8 and was read as {row.encoding}")
        return Record(
            source=self.name,
            native_id=native_id,
            context=context,
            facts=facts,
            licence=self.licence,
            attribution=self.attribution,
            file=file.name,
            line=row.line,
            warnings=warnings,
        )


def _first_rows(rows: Iterator[Row]) -> list[Row]:
    """Return the rows that are inspected before any is decoded; fewer if they are long."""
    first: list[Row] = []
    letters = 0
    for row in itertools.islice(rows, _ROWS_AHEAD):
        first.append(row)
        letters += sum(map(len, row.cells))
        if letters > _LETTERS_AHEAD:
            break
    return first


def _ignored(columns: tuple[str, ...]) -> str:
    names = [name[:40] or "(no name)" for name in columns[:_MOST_NAMED]]
    more = f" and {len(columns) - _MOST_NAMED} more" if len(columns) > _MOST_NAMED else ""
    return f"{len(columns)} unknown column{'s' if len(columns) > 1 else ''} ignored: {', '.join(names)}{more}"


def _is_table(file: Path) -> bool:
    name = file.name
    if name.startswith((".", "~$")) or "NEISS_FMT" in name.upper():
        return False
    if file.suffix.lower() in _PACKED:
        # Found, so that it is refused and not passed over in silence.
        return Path(file.stem).suffix.lower() in _TABLES or "neiss" in name.lower()
    return file.suffix.lower() in _TABLES


def _year(file: InputFile) -> int | None:
    found = _ARCHIVE_FILE.fullmatch(file.path.name)
    return int(found[1]) if found else None


def _no_rows(message: str) -> InputRefusal:
    return InputRefusal("no_rows", message, f"give {Neiss.expects}")


SOURCE = Neiss()
