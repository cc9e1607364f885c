"""What NEISS refuses, and what it accepts: one row a case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hazardmill.testing.cases import AcceptedCase, RefusedCase

from . import workbook_cases

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
    "Race": "8881",
    "Other_Race": "WITHHELDGROUP",
    "Hispanic": "8882",
    "Body_Part": "92",
    "Diagnosis": "59",
    "Disposition": "1",
    "Location": "1",
    "Fire_Involvement": "0",
    "Product_1": "464",
    "Product_2": "0",
    "Product_3": "0",
    "Narrative_1": "34YOF CUT FINGER",
    "Alcohol": "8883",
    "Drug": "8884",
    "Stratum": "WITHHELDSTRATUM",
    "PSU": "987654",
    "Weight": "15.8765",
}
WITHHELD = ("8881", "WITHHELDGROUP", "8882", "8883", "8884", "WITHHELDSTRATUM", "987654", "15.8765")


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

_LABELLED_ROWS = (row(Sex="FEMALE"), row(Sex="MALE", CPSC_Case_Number="249900002"))

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
    ("a remark before a good row", tsv(row(), "AS OF MARCH", OTHER), ("field_count",), ("1 fields", "25"), 3),
    ("no header", {"a.tsv": (row() + "\n" + OTHER).encode()}, ("no_narrative_column",), ("names no column",), None),
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
    ("label among codes", tsv(row(), OTHER, row(Sex="MALE")), ("label_not_code",), ("sex", "'MALE'"), 4),
    ("label with its code among codes", tsv(row(), row(Body_Part="75 - HEAD")), ("label_not_code",), ("HEAD",), 3),
    ("code among labels", tsv(*_LABELLED_ROWS, row()), ("code_not_label",), ("sex", "'2'"), 4),
    ("a label before codes", tsv(row(Sex="MALE"), row(), OTHER), ("label_not_code",), ("sex", "'MALE'"), 2),
    ("a label of another book", tsv(row(Body_Part="Trunk, Lower")), ("unknown_label",), ("Trunk, Lower",), 2),
    ("a label with another's code", tsv(row(Body_Part="75 - KNEE")), ("unknown_label",), ("75 - KNEE",), 2),
    ("a label of two products", tsv(row(Product_1="Scooters, Unpowered")), ("unknown_label",), ("one code",), 2),
    ("words for an age", tsv(row(Age="34 YEARS")), ("label_not_code",), ("age",), 2),
    ("age as a fraction of years", tsv(row(Age="0.42")), ("code",), ("0.42",), 2),
    ("error for a narrative", tsv(row(Narrative_1="#NAME?")), ("cell_error",), ("narrative", "#NAME?"), 2),
    ("error for a code", tsv(row(Diagnosis="#N/A")), ("cell_error",), ("diagnosis", "#N/A"), 2),
    ("second diagnosis is no code", tsv(row(Diagnosis_2="5 9")), ("code",), ("diagnosis_2",), 2),
    ("web page", {"some.tsv": HTML}, ("html_page",), ("web page",), None),
    ("web page named .gz text", {"some.csv": b"\n  <html>\n"}, ("html_page",), ("web page",), None),
    ("LFS pointer", {"some.tsv": LFS}, ("lfs_pointer",), ("Git LFS",), None),
    ("gzip", {"some.tsv": b"\x1f\x8b\x08\x00abc"}, ("packed",), ("gzip",), None),
    ("zip", {"some.csv": b"PK\x03\x04abc"}, ("packed",), ("zip",), None),
    ("packed, in a folder", {"neiss2019.tsv.gz": b"\x1f\x8b\x08\x00abc"}, ("packed",), ("gzip",), None),
    ("packed by bzip2", {"neiss2019.csv.bz2": b"BZh91AY"}, ("packed",), ("bzip2",), None),
    ("web page named .tsv.gz", {"injuries.tsv.gz": HTML}, ("html_page",), ("web page",), None),
    ("pointer named .tsv.gz", {"injuries.tsv.gz": LFS}, ("lfs_pointer",), ("Git LFS",), None),
    ("UTF-16", {"some.tsv": table(row()).decode().encode("utf-16")}, ("not_text",), ("UTF-16",), None),
    ("UTF-32", {"some.tsv": table(row()).decode().encode("utf-32")}, ("not_text",), ("UTF-32",), None),
    (
        "UTF-16 without a mark",
        {"some.tsv": table(row()).decode().encode("utf-16-le")},
        ("not_text",),
        ("UTF-16",),
        None,
    ),
    ("NUL bytes at once", tsv(row(Narrative_1="\0" * 9)), ("nul_byte",), ("NUL",), 2),
    ("NUL bytes", tsv(row(), row(Narrative_1="A" * 4000 + "\0", CPSC_Case_Number="2")), ("nul_byte",), ("NUL",), 3),
    (
        "neither UTF-8 nor cp1252",
        {"some.tsv": table(row(Weight="~")).replace(b"~", b"\x81")},
        ("encoding",),
        ("0x81",),
        2,
    ),
    ("a narrative too long", tsv(row(Narrative_1="A" * 100_000), OTHER), ("record_too_long",), ("characters",), 2),
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
    "a narrative too long": 1,
    "a remark before a good row": 2,
    "split by a newline": 1,
    "one case, two narratives": 1,
    "one case, two narratives, two files": 1,
    "NUL bytes": 1,
    "label among codes": 2,
    "label with its code among codes": 1,
    "code among labels": 2,
    "a label before codes": 2,
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
    ("a quotation mark that never closes", tsv(row(Narrative_1='"HE SAID OUCH')), (), ('Narrative: "HE SAID OUCH\n',)),
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

# The columns of other times and places, in their order, each under the name it had there. A column of theirs only is
# null.
_TIMES: dict[str, tuple[tuple[str | None, str], ...]] = {
    "2013 to 2017, two narratives": (
        *((name, name) for name in COLUMNS[:6] + COLUMNS[7:10] + COLUMNS[13:18]),
        ("Narrative_1", "Narrative_1"),
        (None, "Narrative_2"),
        *((name, name) for name in COLUMNS[22:]),
    ),
    "2017 to 2019 as of 2022": tuple((name, name.replace("Narrative_1", "Narrative")) for name in COLUMNS),
    "2023 as of 2024": tuple((name, name.replace("Sex", "Gender")) for name in COLUMNS),
    "query builder": tuple(
        (name, name)
        for name in (
            *COLUMNS[:16],
            *COLUMNS[19:21],
            *COLUMNS[16:19],
            COLUMNS[21],
            COLUMNS[24],
            COLUMNS[22],
            COLUMNS[23],
        )
    ),
    "competition, lower case": tuple((name, name.lower().replace("narrative_1", "narrative")) for name in COLUMNS),
    "SAS, two narratives": (
        ("CPSC_Case_Number", "NEK"),
        ("Treatment_Date", "Trmt_date"),
        ("PSU", "PSU"),
        ("Weight", "Weight"),
        ("Stratum", "Stratum"),
        ("Age", "Age"),
        ("Sex", "Sex"),
        ("Race", "Race"),
        ("Other_Race", "Raceoth"),
        ("Diagnosis", "Diag"),
        ("Other_Diagnosis", "Diagoth"),
        ("Body_Part", "Bdpt"),
        ("Disposition", "Disp"),
        ("Location", "Loc"),
        ("Fire_Involvement", "Fmv"),
        ("Product_1", "Prod1"),
        ("Product_2", "Prod2"),
        ("Narrative_1", "Narr1"),
        (None, "Narr2"),
    ),
    "R": (
        ("CPSC_Case_Number", "case_num"),
        ("Treatment_Date", "trmt_date"),
        ("PSU", "psu"),
        ("Weight", "weight"),
        ("Stratum", "stratum"),
        ("Age", "age"),
        ("Sex", "sex"),
        ("Race", "race"),
        ("Other_Race", "race_other"),
        ("Diagnosis", "diag"),
        ("Other_Diagnosis", "diag_other"),
        ("Body_Part", "body_part"),
        ("Disposition", "disposition"),
        ("Location", "location"),
        ("Fire_Involvement", "fmv"),
        ("Product_1", "prod1"),
        ("Product_2", "prod2"),
        ("Narrative_1", "narrative"),
    ),
}
_LABELS = {"Sex": "Female", "Body_Part": "Finger", "Diagnosis": "Laceration", "Location": "Home", "Race": "8881"}


def of_time(
    time: str, separator: str = "\t", extra: tuple[str, ...] = (), changes: Mapping[str, str] | None = None
) -> bytes:
    """One good row under the header of a time or place; ``extra`` columns are put behind it."""
    columns = _TIMES[time]
    cells = [{**GOOD, **(changes or {})}.get(name or "", "GER") for name, _ in columns] + ["FOREIGN"] * len(extra)
    header = [name for _, name in columns] + [*extra]
    return table(separator.join(cells), separator=separator, columns=header)


_OLD = {"Treatment_Date": "1/7/03", "CPSC_Case_Number": "30120797"}
_VARIANTS = [
    *(AcceptedCase(f"columns of {time}", {"a.tsv": of_time(time)}, context=_DECODED) for time in _TIMES),
    *(AcceptedCase(f"columns of {time}, commas", {"a.csv": of_time(time, ",")}, context=_DECODED) for time in _TIMES),
    AcceptedCase(
        "three columns of somebody's own",
        {"a.csv": of_time("query builder", ",", ("__sport__", "__sport_category__", "__body_part_label__"))},
        context=_DECODED,
        absent=("FOREIGN",),
        notes=("3 unknown columns ignored: __sport__, __sport_category__, __body_part_label__",),
    ),
    AcceptedCase("text cut in SAS", {"a.tsv": of_time("SAS, two narratives")}, context=("34YOF CUT FINGERGER",)),
    AcceptedCase("R, labels", {"a.tsv": of_time("R", changes=_LABELS)}, context=_DECODED),
    AcceptedCase("eight digits, date of Excel", {"neiss2003.tsv": of_time("R", changes=_OLD)}, context=_DECODED),
    *(
        AcceptedCase(f"date {date}", tsv(row(Treatment_Date=date)), context=_DECODED)
        for date in ("1/2/2025", "1/7/03", "2021-09-28", "2021-09-28 00:00:00", "2021-09-28T00:00:00Z")
    ),
    AcceptedCase("lines that end as on old Macintoshes", {"a.tsv": table(row(), end="\r")}, context=_DECODED),
    AcceptedCase("mark before a quoted header", {"a.csv": b'\xef\xbb\xbf"case_num","narrative"\r\n7,FELL\r\n'}),
    AcceptedCase("labels, any case and spacing", tsv(row(Sex=" female", Body_Part="FINGER")), context=_DECODED),
    AcceptedCase(
        "labels with their codes", tsv(row(Body_Part="92 - FINGER", Diagnosis="59 - LACERATION")), context=_DECODED
    ),
    AcceptedCase(
        "product as label",
        tsv(row(Product_1="Knives, not elsewhere classified", Product_2="")),
        context=_DECODED,
    ),
    AcceptedCase("label that says nothing", tsv(row(Location="UNK")), context=("Location: not recorded",)),
    AcceptedCase(
        "second injury",
        tsv(row(Body_Part_2="75", Diagnosis_2="62")),
        context=("Body part: finger\nSecond injury: internal injury, head\nLocation: home",),
    ),
    AcceptedCase(
        "second injury within", tsv(row(Body_Part_2="0", Diagnosis_2="41")), context=("ury: ingestion, internal\n",)
    ),
    AcceptedCase("second injury, no body part", tsv(row(Diagnosis_2="57")), context=("Second injury: fracture\n",)),
    AcceptedCase(
        "second injury, part not stated", tsv(row(Body_Part_2="87")), context=("Second injury: not recorded\n",)
    ),
    AcceptedCase("no second injury", tsv(row(Body_Part_2=" ")), context=_DECODED, absent=("Second injury", "internal")),
    AcceptedCase(
        "blanks filled with zeros", tsv(row(Body_Part_2="0", Diagnosis_2="0")), absent=("Second injury", "internal")
    ),
    AcceptedCase(
        "unknown second diagnosis",
        tsv(row(Body_Part_2="75", Diagnosis_2="99")),
        ("diagnosis code 99",),
        ("Second injury: diagnosis code 99, head",),
    ),
    AcceptedCase(
        "another diagnosis in words",
        tsv(row(Diagnosis="71", Other_Diagnosis='"SO-CALLED ""SHOCK"""')),
        context=('Diagnosis: other\nOther diagnosis: SO-CALLED "SHOCK"\nBody part: finger',),
    ),
    AcceptedCase(
        "no other diagnosis", tsv(row(Other_Diagnosis="NOT STATED")), absent=("Other diagnosis", "NOT STATED")
    ),
    AcceptedCase(
        "the same case again",
        tsv(row(), row(CPSC_Case_Number="0249900001", Narrative_1=" 34YOF  CUT FINGER")),
        repeats=1,
    ),
    AcceptedCase("the same case in two files", {"a.tsv": table(row()), "b.tsv": table(row(Age="35"))}, repeats=1),
    AcceptedCase("plain text named .tsv.gz", {"neiss2024.tsv.gz": table(row())}, context=_DECODED),
    AcceptedCase(
        "hidden and locked files beside it",
        tsv(row()) | {".neiss2024.tsv": b"x", "~$neiss2024.xlsx": b"x", "notes.zip": b"x", "NEISS_FMT.xlsx": b"x"},
        context=_DECODED,
    ),
]

REFUSED = [
    RefusedCase(case, files, reasons, parts, line, _NEISS_GOOD_BESIDE.get(case, 0))
    for case, files, reasons, parts, line in _NEISS_REFUSED
]
REFUSED += workbook_cases.REFUSED
ACCEPTED = [
    *(replace(AcceptedCase(*row_), absent=WITHHELD) for row_ in _NEISS_ACCEPTED),
    *(replace(accepted, absent=(*WITHHELD, *accepted.absent)) for accepted in _VARIANTS),
    *workbook_cases.ACCEPTED,
]
