"""NEISS workbooks (.xlsx): which sheet holds the data, and its rows.

openpyxl reads what a workbook consists of, and ``sheets`` the rows. Document properties and styles, which are broken in
some of these workbooks, are not looked at. A workbook is a zip file and may come from anybody: sizes are checked before
anything is unpacked.
"""

from __future__ import annotations

import datetime
import importlib.util
import re
import struct
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from xml.parsers import expat

from hazardmill.errors import ExtraMissing
from hazardmill.ingest.sources import InputRefusal

from .rows import Row
from .sheets import Forbidden, SheetReader, TextReader, TooLarge, parsed

SUFFIXES: Final = frozenset({".xlsx", ".xlsm", ".xls"})
_ZIP: Final = b"PK\x03\x04"
_OLE: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_YEAR_SHEET: Final = re.compile(r"neiss[-_ ]?([0-9]{4})", re.IGNORECASE)

# A year has 410,000 rows and as many narratives of 150 letters: a sheet of 0.4 GB, and 0.1 GB of shared texts.
_MOST_SHEET: Final = 2 << 30
_MOST_TEXTS: Final = 256 << 20
_MOST_PART: Final = 16 << 20
_DOWNLOAD: Final = "download the workbook again, or the same year as .tsv"
_UNREADABLE: Final = (
    expat.ExpatError,
    Forbidden,
    zipfile.BadZipFile,
    zlib.error,
    OSError,
    EOFError,
    # What zipfile raises over headers that make no sense.
    KeyError,
    ValueError,
    NotImplementedError,
    struct.error,
)


def is_workbook(path: Path) -> bool:
    """Whether a file is a workbook by its name and first bytes, readable or not."""
    if path.suffix.lower() not in SUFFIXES:
        return False
    with path.open("rb") as stream:
        return stream.read(8).startswith((_ZIP, _OLE))


@dataclass(frozen=True)
class Sheet:
    """The data sheet of a workbook."""

    path: Path
    name: str
    part: str
    texts_part: str | None
    day_zero: datetime.date
    """The day from which dates are counted."""

    @property
    def year(self) -> int | None:
        """The year in the sheet's name."""
        found = _YEAR_SHEET.fullmatch(self.name.strip())
        return int(found[1]) if found else None

    def rows(self) -> Iterator[Row]:
        """Yield the non-empty rows; ``line`` is the row's number. If the workbook breaks off, a refusal is last.

        Cells are texts: whole numbers without a point or an exponent, other numbers as they are written, dates as the
        count of days. Every row is as wide as the first.
        """
        reader = SheetReader()
        refusal: InputRefusal | None = None
        try:
            with zipfile.ZipFile(self.path) as archive:
                if self.texts_part is not None:
                    with archive.open(self.texts_part) as stream:
                        texts = TextReader()
                        for _ in parsed(stream, texts):
                            reader.texts.extend(texts.finished)
                            texts.finished.clear()
                with archive.open(self.part) as stream:
                    for _ in parsed(stream, reader):
                        while reader.finished:
                            yield reader.finished.popleft()
        except TooLarge as error:
            refusal = _too_large(str(error))
        except _UNREADABLE as error:
            refusal = _broken(error)
        yield from reader.finished
        if refusal is not None:
            yield Row(reader.number, [], refusal=refusal)


def find_sheet(path: Path) -> Sheet | InputRefusal:
    """Open the data sheet of a workbook, or say why it cannot be read."""
    with path.open("rb") as stream:
        if stream.read(8) == _OLE:
            return _old_or_encrypted(path)
    try:
        with zipfile.ZipFile(path) as archive:
            parts = {info.filename: info for info in archive.infolist()}
    except _UNREADABLE as error:
        return _broken(error)
    if any(info.flag_bits & 1 for info in parts.values()):
        return _ENCRYPTED
    if "[Content_Types].xml" not in parts:
        return InputRefusal(
            "not_a_workbook", "the file is a zip archive and no workbook", "unpack it and give what is inside"
        )
    for info in parts.values():
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            return InputRefusal("broken_workbook", f"{info.filename} is packed as no workbook's part is", _DOWNLOAD)
        if info.file_size > (limit := _limit(info.filename)):
            return _too_large(f"{info.filename} unpacks to {info.file_size} bytes, more than {limit}")
    if importlib.util.find_spec("openpyxl") is None:
        raise ExtraMissing("a workbook needs openpyxl, which is not installed", extra="mill")
    try:
        sheets = _sheets(path)
    # Any bytes may stand in these parts, and openpyxl promises nothing on what it raises over them.
    except Exception as error:
        return _broken(error)
    return _choose([sheet for sheet in sheets if sheet.part in parts])


def _limit(part: str) -> int:
    lowered = part.lower()
    if "sharedstrings" in lowered:
        return _MOST_TEXTS
    # Whatever else is large (pictures, pivot tables) is never unpacked.
    small = lowered.endswith((".rels", "[content_types].xml")) or "workbook" in lowered
    return _MOST_PART if small else _MOST_SHEET


def _sheets(path: Path) -> list[Sheet]:
    # openpyxl takes a third of a second to import, and few files are workbooks.
    from openpyxl.reader.excel import ExcelReader
    from openpyxl.utils.datetime import CALENDAR_MAC_1904
    from openpyxl.xml.constants import SHARED_STRINGS

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Its read() would go on to the properties, styles and themes.
        reader = ExcelReader(path, read_only=True, keep_links=False)
        try:
            reader.read_manifest()
            reader.read_workbook()
            texts = reader.package.find(SHARED_STRINGS)
            mac = reader.wb.epoch == CALENDAR_MAC_1904
            sheets = [(sheet.name, relation) for sheet, relation in reader.parser.find_sheets()]
        finally:
            reader.archive.close()
    return [
        Sheet(
            path=path,
            name=str(name),
            part=str(relation.target),
            texts_part=texts.PartName[1:] if texts is not None else None,
            # Excel counts a 29 February 1900 that never was, hence the 30 December.
            day_zero=datetime.date(1904, 1, 1) if mac else datetime.date(1899, 12, 30),
        )
        for name, relation in sheets
        if "worksheet" in relation.Type
    ]


def _choose(sheets: list[Sheet]) -> Sheet | InputRefusal:
    names = ", ".join(sheet.name for sheet in sheets) or "none"
    data = [sheet for sheet in sheets if "NEISS_FMT" not in sheet.name.upper()]
    chosen = [sheet for sheet in data if sheet.year is not None] or data
    if not chosen:
        return InputRefusal("no_data_sheet", f"the workbook has no sheet of data; its sheets: {names}", _DOWNLOAD)
    if len(chosen) > 1:
        return InputRefusal(
            "several_sheets",
            f"several sheets may hold the data: {names}",
            "save each year as a file of its own, in a sheet named NEISS_ and the year",
        )
    return chosen[0]


_ENCRYPTED: Final = InputRefusal("encrypted", "the workbook is protected by a password", "save it without one")


def _old_or_encrypted(path: Path) -> InputRefusal:
    # Both are the same kind of container. The name of an entry tells, in its directory at either end of the file.
    with path.open("rb") as stream:
        found = stream.read(1 << 20)
        stream.seek(max(0, path.stat().st_size - (1 << 20)))
        found += stream.read(1 << 20)
    if "EncryptedPackage".encode("utf-16-le") in found:
        return _ENCRYPTED
    return InputRefusal("old_workbook", "the file is a workbook of Excel 97 (.xls)", "save it as .xlsx or as text")


def _broken(error: Exception) -> InputRefusal:
    return InputRefusal("broken_workbook", f"the workbook is damaged: {type(error).__name__}: {error}"[:300], _DOWNLOAD)


def _too_large(what: str) -> InputRefusal:
    return InputRefusal("workbook_too_large", what, "give the workbook as CPSC published it")
