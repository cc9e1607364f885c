"""What NEISS refuses and accepts in workbooks: one row a case. Made by openpyxl, and then damaged."""

from __future__ import annotations

import datetime
import io
import re
import warnings
import zipfile
from collections.abc import Mapping, Sequence
from typing import Final

from openpyxl import Workbook

from hazardmill.testing.cases import AcceptedCase, RefusedCase

Cell = str | int | float | bool | datetime.date | None

COLUMNS: Final = (
    "CPSC_Case_Number Treatment_Date Age Sex Race Other_Race Hispanic Body_Part Diagnosis Disposition Location "
    "Fire_Involvement Product_1 Product_2 Narrative_1 Stratum PSU Weight"
).split()
ROW: Final[dict[str, Cell]] = {
    "CPSC_Case_Number": 249900001,
    "Treatment_Date": datetime.date(2024, 3, 4),
    "Age": 34,
    "Sex": 2,
    "Race": 3,
    "Other_Race": "WITHHELDGROUP",
    "Hispanic": 1,
    "Body_Part": 92,
    "Diagnosis": 59,
    "Disposition": 1,
    "Location": 1,
    "Fire_Involvement": 0,
    "Product_1": 464,
    "Product_2": 0,
    "Narrative_1": "34YOF CUT FINGER",
    "Stratum": "WITHHELDSTRATUM",
    "PSU": 987654,
    "Weight": 15.8765,
}
WITHHELD: Final = ("WITHHELDGROUP", "WITHHELDSTRATUM", "987654", "15.8765")
DECODED: Final = (
    "Narrative: 34YOF CUT FINGER",
    "Products: knives",
    "Diagnosis: laceration",
    "Body part: finger",
    "Sex: female",
)
SHEET: Final = "xl/worksheets/sheet1.xml"
TEXTS: Final = "xl/sharedStrings.xml"
_NAMESPACE: Final = b"http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_TEXTS_TYPE: Final = (
    b'<Override PartName="/xl/sharedStrings.xml" '
    b'ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"/>'
)
_INLINE: Final = rb't="inlineStr"><is>(.*?)</is>'
CODE_BOOK: Final[list[list[Cell]]] = [["Format name", "Starting value", "Ending value", "Label"]]


def line(**changes: Cell) -> list[Cell]:
    """A good row, some cells changed."""
    return list({**ROW, **changes}.values())


def workbook(sheets: Mapping[str, Sequence[Sequence[Cell]]], epoch: datetime.datetime | None = None) -> bytes:
    """A workbook of these sheets."""
    book = Workbook()
    if epoch is not None:
        book.epoch = epoch
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    stream = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        book.save(stream)
    return _with_shared_texts(stream.getvalue())


def _with_shared_texts(content: bytes) -> bytes:
    """The workbook with its texts in a part of their own, as Excel has them; openpyxl writes them into the cells."""
    texts: dict[bytes, int] = {}

    def place(found: re.Match[bytes]) -> bytes:
        return b't="s"><v>%d</v>' % texts.setdefault(found[1], len(texts))

    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        sheets = [name for name in archive.namelist() if name.startswith("xl/worksheets/")]
    for name in sheets:
        content = with_part(content, name, re.sub(_INLINE, place, part(content, name)))
    items = b"".join(b"<si>%s</si>" % text for text in texts)
    content = with_part(content, TEXTS, b'<sst xmlns="%s">%s</sst>' % (_NAMESPACE, items))
    return changed(content, "[Content_Types].xml", b"</Types>", _TEXTS_TYPE + b"</Types>")


def year(*rows: Sequence[Cell], name: str = "NEISS_2024", epoch: datetime.datetime | None = None) -> bytes:
    """A workbook as CPSC serves it: the sheet of data, and the code book behind it."""
    return workbook({name: [COLUMNS, *rows], "NEISS_FMT": CODE_BOOK}, epoch)


def part(content: bytes, name: str) -> bytes:
    """A part of a workbook."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return archive.read(name)


def with_part(content: bytes, name: str, data: bytes | None) -> bytes:
    """The workbook with a part replaced, or removed."""
    stream = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as old,
        zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for info in old.infolist():
            if info.filename != name:
                new.writestr(info.filename, old.read(info.filename))
        if data is not None:
            new.writestr(name, data)
    return stream.getvalue()


def changed(content: bytes, name: str, old: bytes, new: bytes) -> bytes:
    """The workbook with a text in one of its parts replaced."""
    data = part(content, name)
    assert old in data, f"{old!r} is not in {name}"
    return with_part(content, name, data.replace(old, new))


def prefixed(content: bytes, name: str) -> bytes:
    """The workbook with a prefix on every element of a part, as some programs write it."""
    data = part(content, name).replace(b"xmlns=", b"xmlns:x=")
    return with_part(content, name, re.sub(rb"<(/?)(?=[a-zA-Z])", rb"<\1x:", data))


def file(content: bytes, name: str = "some.xlsx") -> dict[str, bytes]:
    """The one file of a case."""
    return {name: content}


GOOD: Final = year(line())
OTHER: Final = line(CPSC_Case_Number=249900002, Narrative_1="OTHER NARRATIVE")

# As a workbook writes them in which every row of the sheet was given a format.
_EMPTY_ROWS = b"".join(b'<row r="%d"><c r="A%d" s="1"/><c r="B%d" s="1"/></row>' % (n, n, n) for n in range(3, 3000))
_MACINTOSH = datetime.datetime(1904, 1, 1)
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 504
_DOCTYPE = b'<!DOCTYPE worksheet [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><worksheet'
_NUMBER = b"<v>249900001</v>"

_REFUSED = [
    ("only the code book", file(workbook({"NEISS_FMT": CODE_BOOK})), ("no_data_sheet",), ("NEISS_FMT",), None),
    ("no data rows", file(year()), ("no_rows",), ("header and no rows",), None),
    ("an empty sheet", file(workbook({"NEISS_2024": []})), ("no_rows",), ("NEISS_2024 is empty",), None),
    (
        "two sheets of data",
        file(workbook({"NEISS_2023": [COLUMNS, line()], "NEISS_2024": [COLUMNS, line()]})),
        ("several_sheets",),
        ("NEISS_2023, NEISS_2024",),
        None,
    ),
    (
        "no narrative in the sheet",
        file(workbook({"NEISS_2024": [["CPSC_Case_Number", "Age"], [1, 2]]})),
        ("no_narrative_column",),
        ("narrative",),
        None,
    ),
    ("a zip archive named .xlsx", file(with_part(GOOD, "[Content_Types].xml", None)), ("not_a_workbook",), (), None),
    ("a tsv packed by zip", {"neiss2024.zip": GOOD}, ("packed",), ("zip",), None),
    ("a download that broke off", file(GOOD[: len(GOOD) // 2]), ("broken_workbook",), ("damaged",), None),
    ("no workbook at all", file(b"PK\x03\x04abc"), ("broken_workbook",), ("damaged",), None),
    ("damaged types", file(with_part(GOOD, "[Content_Types].xml", b"<a>")), ("broken_workbook",), ("damaged",), None),
    ("no main part", file(with_part(GOOD, "xl/workbook.xml", None)), ("broken_workbook",), ("damaged",), None),
    (
        "the sheet breaks off",
        file(with_part(GOOD, SHEET, part(year(line(), OTHER), SHEET)[:-200])),
        ("broken_workbook",),
        ("damaged",),
        3,
    ),
    ("an entity bomb", file(changed(GOOD, SHEET, b"<worksheet", _DOCTYPE)), ("broken_workbook",), ("type decl",), None),
    (
        "an entity bomb in the main part",
        file(changed(GOOD, "xl/workbook.xml", b"<workbook", _DOCTYPE.replace(b"worksheet", b"workbook"))),
        ("broken_workbook",),
        ("damaged",),
        None,
    ),
    (
        "a part that unpacks to too much",
        file(with_part(GOOD, "xl/_rels/workbook.xml.rels", b" " * (17 << 20))),
        ("workbook_too_large",),
        ("unpacks to",),
        None,
    ),
    (
        "a cell without end",
        file(changed(GOOD, SHEET, _NUMBER, b"<v>" + b"1" * (5 << 20) + b"</v>")),
        ("workbook_too_large",),
        ("exceeds",),
        2,
    ),
    ("Excel 97", {"neiss2004.xls": _OLE}, ("old_workbook",), (".xls",), None),
    ("Excel 97, named .xlsx", file(_OLE), ("old_workbook",), (".xls",), None),
    ("a password", file(_OLE + "EncryptedPackage".encode("utf-16-le")), ("encrypted",), ("password",), None),
    ("a web page named .xlsx", file(b"<!DOCTYPE html><html></html>"), ("html_page",), ("web page",), None),
    ("a pointer named .xlsx", file(b"version https://git-lfs.github.com/spec/v1\noid"), ("lfs_pointer",), (), None),
    ("gzip named .xlsx", file(b"\x1f\x8b\x08\x00abc"), ("packed",), ("gzip",), None),
    ("another year than the sheet's", file(year(line(), name="NEISS_2019")), ("wrong_year",), ("of 2019",), 2),
    ("another year than the name's", file(GOOD, "neiss2020.xlsx"), ("wrong_year",), ("of 2020",), 2),
    (
        "a date that is no day",
        file(year(line(Treatment_Date=20240304))),
        ("date",),
        ("20240304",),
        2,
    ),
    ("an error for a code", file(year(line(Sex="#N/A"))), ("cell_error",), ("sex", "#N/A"), 2),
    ("an error for a narrative", file(year(line(Narrative_1="#NAME?"))), ("cell_error",), ("#NAME?",), 2),
    ("true for a code", file(year(line(), line(CPSC_Case_Number=2, Sex=True))), ("label_not_code",), ("TRUE",), 3),
    ("a fraction for a code", file(year(line(Body_Part=92.5))), ("code",), ("92.5",), 2),
    ("case number as text with exponent", file(year(line(CPSC_Case_Number="2.01E+08"))), ("case_number",), (), 2),
    ("blank narrative in a sheet", file(year(line(Narrative_1=None))), ("blank_narrative",), ("blank",), 2),
    ("a cell beside the table", file(year([*line(), "X"])), ("field_count",), ("19 fields", "18"), 2),
    ("a cell far beside the table", file(changed(GOOD, SHEET, b'"R2"', b'"XFD2"')), ("field_count",), ("16384",), 2),
    (
        "a header far and wide",
        file(changed(GOOD, SHEET, b'"R1"', b'"XFD1"')),
        ("workbook_too_large",),
        ("16384 columns",),
        None,
    ),
    ("a cell nowhere", file(changed(GOOD, SHEET, b'"A2"', b'"AAAA2"')), ("cell_error",), ("'AAAA2'",), 2),
    (
        "a text that is not there",
        file(changed(GOOD, SHEET, b'<c r="O2" t="s"><v>', b'<c r="O2" t="s"><v>9')),
        ("cell_error",),
        ("O2", "none such"),
        2,
    ),
    ("no number in a number's cell", file(changed(GOOD, SHEET, _NUMBER, b"<v>2x</v>")), ("case_number",), ("2x",), 2),
    (
        "one case, two narratives, sheet and text",
        {
            "neiss2024.tsv": b"CPSC_Case_Number\tNarrative_1\n249900001\tSOMETHING ELSE\n",
            "neiss2024.xlsx": GOOD,
        },
        ("conflicting_repeat",),
        ("neiss2024.tsv:2", "neiss2024.xlsx:2"),
        2,
    ),
]
_GOOD_BESIDE = {"the sheet breaks off": 1, "true for a code": 1, "one case, two narratives, sheet and text": 1}

_ACCEPTED: list[tuple[str, bytes]] = [
    ("a workbook", GOOD),
    ("whole numbers with a point", changed(GOOD, SHEET, _NUMBER, b"<v>249900001.0</v>")),
    ("whole numbers with an exponent", changed(GOOD, SHEET, _NUMBER, b"<v>2.49900001E8</v>")),
    ("everything as text", year([str(cell) for cell in line(Treatment_Date="3/4/2024")])),
    ("dates of a Macintosh", year(line(), epoch=_MACINTOSH)),
    ("dates as ISO text", year(line(Treatment_Date="2024-03-04 00:00:00"))),
    ("dates without their format", with_part(GOOD, "xl/styles.xml", None)),
    ("broken properties", with_part(GOOD, "docProps/core.xml", b"<cp:coreProperties>no end")),
    ("wrong properties", changed(GOOD, "docProps/core.xml", b"Z</dcterms:created>", b"NEVER</dcterms:created>")),
    ("broken styles", with_part(GOOD, "xl/styles.xml", b"<styleSheet><cellXfs>")),
    ("formatted rows without end", changed(GOOD, SHEET, b"</sheetData>", _EMPTY_ROWS + b"</sheetData>")),
    ("empty rows between", year([], line(), [None, None], [])),
    ("a wrong dimension", changed(GOOD, SHEET, b'<dimension ref="A1:R2"', b'<dimension ref="A1:A1"')),
    ("no row numbers", changed(GOOD, SHEET, b'<row r="2"', b"<row")),
    ("rubbish behind the data", changed(GOOD, SHEET, b"</sheetData>", b"</sheetData><unclosed>")),
    ("the code book first", workbook({"NEISS_FMT": CODE_BOOK, "NEISS_2024": [COLUMNS, line()]})),
    ("a sheet by another name", workbook({"Sheet1": [COLUMNS, line()], "neiss_fmt ": CODE_BOOK})),
    ("a note beside the data", workbook({"Read me": [["text"]], "NEISS_2024": [COLUMNS, line()]})),
    ("the year 2024 in another form", year(line(), name="neiss 2024")),
    ("header in lower case", workbook({"NEISS_2024": [[name.lower() for name in COLUMNS], line()]})),
    ("spaces about the header", workbook({"NEISS_2024": [[f" {name} " for name in COLUMNS], line()]})),
    ("elements with a prefix", prefixed(prefixed(GOOD, SHEET), TEXTS)),
    (
        "rich text and readings",
        changed(
            GOOD,
            TEXTS,
            b"<t>34YOF CUT FINGER</t>",
            b"<r><t>34YOF CUT </t></r><r><t>FINGER</t></r><rPh><t>X</t></rPh>",
        ),
    ),
    ("an escaped line feed", changed(GOOD, TEXTS, b"34YOF CUT", b"34YOF_x000A_CUT")),
    (
        "a text within the cell",
        changed(
            GOOD,
            SHEET,
            b'<c r="R2"',
            b'<c r="O2" t="inlineStr"><is><t>34YOF CUT FINGER</t></is></c><c r="R2"',
        ),
    ),
]

REFUSED = [
    RefusedCase(case, files, reasons, parts, number, _GOOD_BESIDE.get(case, 0))
    for case, files, reasons, parts, number in _REFUSED
]
ACCEPTED = [
    *(AcceptedCase(f"sheet: {case}", file(content), (), DECODED, absent=WITHHELD) for case, content in _ACCEPTED),
    AcceptedCase(
        "the same year as .tsv and .xlsx",
        {
            "neiss2024.tsv": b"CPSC_Case_Number\tNarrative_1\n249900001\t34YOF CUT FINGER\n",
            "neiss2024.xlsx": GOOD,
        },
        context=("Narrative: 34YOF CUT FINGER",),
        absent=WITHHELD,
        repeats=1,
    ),
    AcceptedCase("a text table named .xls", {"neiss2024.xls": b"NEK\tNarr1\n7\tFELL\n"}, context=("Narrative: FELL",)),
]
