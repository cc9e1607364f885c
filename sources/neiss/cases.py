"""What NEISS refuses, and what it accepts: one row a case."""

from __future__ import annotations

from hazardmill.testing.cases import Accepted, Refused

COLUMNS = (
    "CPSC_Case_Number Treatment_Date Age Sex Race Other_Race Hispanic Body_Part Diagnosis Other_Diagnosis Body_Part_2 "
    "Diagnosis_2 Other_Diagnosis_2 Disposition Location Fire_Involvement Product_1 Product_2 Product_3 Alcohol Drug "
    "Narrative_1 Stratum PSU Weight"
).split()
GOOD = dict.fromkeys(COLUMNS, "") | {
    "CPSC_Case_Number": "249900001",
    "Treatment_Date": "03/04/2024",
    "Age": "34",
    "Sex": "2",
    "Race": "1",
    "Hispanic": "2",
    "Body_Part": "92",
    "Diagnosis": "59",
    "Disposition": "1",
    "Location": "1",
    "Fire_Involvement": "0",
    "Product_1": "464",
    "Product_2": "0",
    "Product_3": "0",
    "Narrative_1": "34YOF CUT FINGER",
    "Stratum": "V",
    "PSU": "7",
    "Weight": "15.5",
}


def row(separator: str = "\t", **changes: str) -> str:
    """A good row, some cells changed."""
    return separator.join({**GOOD, **changes}.values())


def table(*rows: str, separator: str = "\t", columns: list[str] | None = None, end: str = "\r\n") -> bytes:
    """A file of these rows under the header."""
    return (end.join([separator.join(columns or COLUMNS), *rows]) + end).encode()


def tsv(*rows: str) -> dict[str, bytes]:
    return {"some.tsv": table(*rows)}


def csv(*rows: str) -> dict[str, bytes]:
    return {"some.csv": table(*rows, separator=",")}


def without(*names: str) -> dict[str, bytes]:
    columns = [name for name in COLUMNS if name not in names]
    return {"some.tsv": table("\t".join(GOOD[name] for name in columns), columns=columns)}


def renamed(**names: str) -> dict[str, bytes]:
    return {"some.tsv": table(row(), columns=[names.get(name, name) for name in COLUMNS])}


OTHER = row(CPSC_Case_Number="249900002", Narrative_1="OTHER NARRATIVE")
HTML = b"<!DOCTYPE html>\n<html><head><title>Not found</title></head></html>\n"
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 51234567\n"

_NEISS_REFUSED = [
    ("no narrative column", without("Narrative_1"), ("no_narrative_column",), ("narrative", "CPSC_Case_Number"), None),
    ("no case column", without("CPSC_Case_Number"), ("no_case_number_column",), ("case number",), None),
    ("a column twice", renamed(Race="Gender"), ("duplicate_column",), ("'Gender'", "'Sex'"), None),
    ("a row too short", tsv(row(), "249900003\tONLY THREE\tFIELDS"), ("field_count",), ("3 fields", "25"), 3),
    ("a row too long", tsv(row() + "\tX"), ("field_count",), ("26 fields",), 2),
    (
        "split by a newline",
        tsv(row(Narrative_1="FELL\nON THE FLOOR"), OTHER),
        ("split_record", "split_record"),
        ("22 on line 2", "4 on line 3", "newline"),
        2,
    ),
    ("blank narrative", tsv(row(Narrative_1="   ")), ("blank_narrative",), ("blank",), 2),
    ("quoted blank narrative", tsv(row(Narrative_1='""')), ("blank_narrative",), ("blank",), 2),
    (
        "one case, two narratives",
        tsv(row(), row(Narrative_1="SOMETHING ELSE")),
        ("conflicting_repeat",),
        ("some.tsv:2", "some.tsv:3"),
        3,
    ),
    (
        "one case, two narratives, two files",
        {"a.tsv": table(row()), "b.csv": table(row(",", Narrative_1="SOMETHING ELSE"), separator=",")},
        ("conflicting_repeat",),
        ("a.tsv:2", "b.csv:2"),
        2,
    ),
    ("case is a text", tsv(row(CPSC_Case_Number="THE FLOOR")), ("case_number",), ("'THE FLOOR'", "no number"), 2),
    ("case is blank", tsv(row(CPSC_Case_Number="")), ("case_number",), ("no number",), 2),
    ("case with exponent", tsv(row(CPSC_Case_Number="2.01E+08")), ("case_number",), ("2.01E+08", "lost"), 2),
    ("age 1", tsv(row(Age="1")), ("age",), ("age 1 ",), 2),
    ("age 121", tsv(row(Age="121")), ("age",), ("age 121",), 2),
    ("age 224", tsv(row(Age="224")), ("age",), ("age 224",), 2),
    ("age below zero", tsv(row(Age="-3")), ("code",), ("age '-3'",), 2),
    ("no such day", tsv(row(Treatment_Date="02/30/2024")), ("date",), ("02/30/2024",), 2),
    ("date blank", tsv(row(Treatment_Date="")), ("date",), ("treatment date ''",), 2),
    ("date European", tsv(row(Treatment_Date="31.12.2024")), ("date",), ("31.12.2024",), 2),
    ("another year than the file's", {"neiss2019.tsv": table(row())}, ("wrong_year",), ("2024", "of 2019"), 2),
    ("a year before NEISS", tsv(row(Treatment_Date="03/04/1924")), ("wrong_year",), ("1924", "1972"), 2),
    ("commas named .tsv", {"some.tsv": table(row(","), separator=",")}, ("wrong_separator",), ("commas", "tabs"), None),
    ("tabs named .csv", {"some.csv": table(row())}, ("wrong_separator",), ("tabs", "commas"), None),
    ("semicolons", {"some.txt": table(row(";"), separator=";")}, ("wrong_separator",), ("semicolons",), None),
    ("label for a code", tsv(row(Sex="MALE")), ("label_not_code",), ("sex", "'MALE'"), 2),
    ("label with its code", tsv(row(Body_Part="75 - HEAD")), ("label_not_code",), ("body_part", "HEAD"), 2),
    ("web page", {"some.tsv": HTML}, ("html_page",), ("web page",), None),
    ("web page named .gz text", {"some.csv": b"\n  <html>\n"}, ("html_page",), ("web page",), None),
    ("LFS pointer", {"some.tsv": LFS}, ("lfs_pointer",), ("Git LFS",), None),
    ("gzip", {"some.tsv": b"\x1f\x8b\x08\x00abc"}, ("packed",), ("gzip",), None),
    ("zip", {"some.csv": b"PK\x03\x04abc"}, ("packed",), ("zip",), None),
    ("workbook", {"neiss2020.xlsx": b"PK\x03\x04abc"}, ("workbook",), ("Excel",), None),
    ("UTF-16", {"some.tsv": table(row()).decode().encode("utf-16")}, ("not_text",), ("UTF-16",), None),
    ("NUL bytes", tsv(row(), row(Narrative_1="A" * 4000 + "\0", CPSC_Case_Number="2")), ("nul_byte",), ("NUL",), 3),
    (
        "neither UTF-8 nor cp1252",
        {"some.tsv": table(row(Weight="~")).replace(b"~", b"\x81")},
        ("encoding",),
        ("0x81",),
        2,
    ),
    ("no rows", tsv(), ("no_rows",), ("no rows",), None),
    ("header again", tsv(row(), "\t".join(COLUMNS), OTHER), ("repeated_header",), ("header again",), 3),
    (
        "a quote never closed swallows nothing",
        csv(row(","), row(",", CPSC_Case_Number="249900009", Narrative_1='"HE SAID OUCH'), OTHER.replace("\t", ",")),
        ("unterminated_quote",),
        ("never closed",),
        3,
    ),
    ("text after a closing quote", csv(row(",", Narrative_1='"A" B')), ("quoting",), ("not valid CSV",), 2),
    ("comma file, field missing", csv(row(",").rpartition(",")[0]), ("field_count",), ("24 fields",), 2),
]
_NEISS_GOOD_BESIDE = {
    "a row too short": 1,
    "split by a newline": 1,
    "one case, two narratives": 1,
    "one case, two narratives, two files": 1,
    "NUL bytes": 1,
    "header again": 2,
    "a quote never closed swallows nothing": 2,
}

_LOST_NAMES = {
    "CPSC_Case_Number": "NEK",
    "Treatment_Date": "Trmt_date",
    "Body_Part": "Bdpt",
    "Diagnosis": "Diag",
    "Disposition": "Disp",
    "Location": "Loc",
    "Fire_Involvement": "Fmv",
    "Product_1": "Prod1",
    "Narrative_1": "Narr1",
    "Sex": "Gender",
}
_DECODED = ("Products: knives", "Diagnosis: laceration", "Body part: finger", "Location: home", "Sex: female")

_NEISS_ACCEPTED = [
    ("a plain row", tsv(row()), (), _DECODED),
    ("SAS names", renamed(**_LOST_NAMES), (), (*_DECODED, "Narrative: 34YOF CUT FINGER")),
    ("lower-case names", renamed(**{name: name.lower() for name in COLUMNS}), (), _DECODED),
    ("quoted header", renamed(**{name: f'"{name}"' for name in COLUMNS}), (), _DECODED),
    ("byte order mark", {"some.tsv": b"\xef\xbb\xbf" + table(row())}, (), _DECODED),
    ("its mojibake", {"some.tsv": "\u00ef\u00bb\u00bf".encode() + table(row())}, (), _DECODED),
    (
        "columns in another order",
        {"some.csv": table(",".join(reversed(GOOD.values())), separator=",", columns=COLUMNS[::-1])},
        (),
        _DECODED,
    ),
    (
        "two narrative columns, cut within a word",
        {"some.tsv": table(row() + "\tGER ON A LID", columns=[*COLUMNS, "Narrative_2"])},
        (),
        ("Narrative: 34YOF CUT FINGERGER ON A LID",),
    ),
    (
        "blanks in runs",
        tsv(row(Narrative_1="* FELL   OFF  INTOTHE ROADWAY ")),
        (),
        ("Narrative: * FELL OFF INTOTHE ROADWAY",),
    ),
    ("a quotation mark alone", tsv(row(Narrative_1='FELL 18" OFF A STEP')), (), ('FELL 18" OFF A STEP',)),
    ("begins with a quotation mark", tsv(row(Narrative_1='"OUCH" HE SAID')), (), ('Narrative: "OUCH" HE SAID',)),
    ("resaved by a spreadsheet", tsv(row(Narrative_1='"HE SAID ""OUCH"""')), (), ('Narrative: HE SAID "OUCH"',)),
    ("newline in a quoted cell", csv(row(",", Narrative_1='"FELL\nON, THE FLOOR"')), (), ("FELL ON, THE FLOOR",)),
    ("cp1252", {"some.tsv": table(row(Narrative_1="AT THE CAF~")).replace(b"~", b"\xc9")}, ("cp1252",), ("CAF\u00c9",)),
    ("unknown product", tsv(row(Product_1="9998")), ("product code 9998",), ("Products: product code 9998",)),
    ("unknown diagnosis", tsv(row(Diagnosis="99")), ("diagnosis code 99",), ("Diagnosis: diagnosis code 99",)),
    ("codes with .0", tsv(row(Sex="1.0", CPSC_Case_Number="249900001.0")), (), ("Sex: male",)),
    ("months", tsv(row(Age="207")), (), ("Age group: infant (7 months)",)),
    ("age not recorded", tsv(row(Age="0")), (), ("Age group: not recorded",)),
    ("no product", tsv(row(Product_1="0")), (), ("Products: not recorded",)),
    ("the same product twice", tsv(row(Product_2="464")), (), ("Products: knives, not elsewhere classified\n",)),
    ("internal", tsv(row(Body_Part="0")), (), ("Body part: internal",)),
    ("blank body part", tsv(row(Body_Part="")), (), ("Body part: not recorded",)),
    ("fire", tsv(row(Fire_Involvement="1")), (), ("Fire involvement: fire, fire department attended",)),
    ("blank lines", {"some.tsv": table(row(), "", "\t" * 24)}, (), _DECODED),
    ("no end of line", {"some.tsv": table(row()).rstrip()}, (), _DECODED),
    ("a code book and a text beside it", tsv(row()) | {"NEISS_FMT.csv": b"a,b\n", "note.md": b"x"}, (), _DECODED),
]

REFUSED = [
    Refused(case, files, reasons, parts, line, _NEISS_GOOD_BESIDE.get(case, 0))
    for case, files, reasons, parts, line in _NEISS_REFUSED
]
ACCEPTED = [Accepted(*row_) for row_ in _NEISS_ACCEPTED]
