"""Reads the cells of a NEISS row one by one. Each function refuses what it cannot read; none guesses."""

from __future__ import annotations

import datetime
import re
from typing import Final

from hazardmill.ages import COARSE, OLDEST_KEPT, coarsen_ages
from hazardmill.ingest.sources import InputRefusal

SPREADSHEET_ERRORS: Final = frozenset(
    ("#N/A", "#NAME?", "#VALUE!", "#REF!", "#DIV/0!", "#NUM!", "#NULL!", "#SPILL!", "#CALC!")
)
_INTEGER = re.compile(r"([0-9]{1,12})(\.0*)?")
_EXPONENT = re.compile(r"[0-9]+(\.[0-9]*)?[eE][+-]?[0-9]+")
_AMERICAN_DATE = re.compile(r"([0-9]{1,2})/([0-9]{1,2})/([0-9]{2}|[0-9]{4})")
_ISO_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})([ T]00:00:00(\.0+)?Z?)?")
_SERIAL_DATE = re.compile(r"[0-9]{1,7}(\.[0-9]+)?")
_FIRST_YEAR: Final = 1972
"""NEISS began in 1972; a two-digit year below 72 is of this century."""
_NOTHING_SAID: Final = frozenset(("", "NS", "N.S.", "NOT STATED", "UNK", "UNKNOWN", "NONE", "N/A"))


def narrative(first: str, second: str = "") -> str | InputRefusal:
    """Return the narrative in one line. Two columns hold one text, cut anywhere, even within a word."""
    # Most narratives need nothing done to them, which is quicker to see than to do.
    plain = not second and first.isprintable() and "  " not in first and first[:1] not in ' "' and first[-1] != " "
    text = first if plain else " ".join((_unquoted(first) + _unquoted(second)).split())
    if not text:
        return InputRefusal("blank_narrative", "the narrative is blank", "give the row its narrative, or remove it")
    return _spreadsheet_error(text, "narrative") or text


def _unquoted(cell: str) -> str:
    # Spreadsheets quote a cell that holds quotation marks also where tabs separate. A narrative that only begins
    # and ends with somebody's words has single marks inside and stays as it is.
    inner = cell[1:-1]
    quoted = len(cell) > 1 and cell[0] == cell[-1] == '"' and '"' not in inner.replace('""', "")
    return inner.replace('""', '"') if quoted else cell


def _bare(cell: str) -> str:
    return cell.strip().strip('"').strip()


def _spreadsheet_error(text: str, column: str) -> InputRefusal | None:
    if text not in SPREADSHEET_ERRORS:
        return None
    return InputRefusal("cell_error", f"{column} holds the spreadsheet error {text}", "mend the cell and save again")


def remark(cell: str) -> str | None:
    """Return a free text next to a code, in one line; null if it says nothing."""
    text = " ".join(_unquoted(cell).split())
    return None if text.upper() in _NOTHING_SAID or text in SPREADSHEET_ERRORS else coarsen_ages(text)


def case_number(cell: str) -> str | InputRefusal:
    """Return the case number as digits, without the ``.0`` of a spreadsheet and without leading zeros."""
    if len(cell) <= 12 and cell.isdigit() and cell.isascii() and cell[0] != "0":
        return cell
    text = _bare(cell)
    match = _INTEGER.fullmatch(text)
    if match and (digits := match[1].lstrip("0")):
        return digits
    if _EXPONENT.fullmatch(text):
        message, remedy = (
            f"case number {text!r} lost its digits in a spreadsheet",
            "export again with the column as text",
        )
    else:
        message, remedy = f"case number {text[:40]!r} is no number", "mend the row; a text here is often a split record"
    return InputRefusal("case_number", message, remedy)


def is_label(cell: str) -> bool | None:
    """Whether a cell of a coded column holds words instead of a code; null if it is blank or neither."""
    text = _bare(cell)
    if not text or text in SPREADSHEET_ERRORS or _EXPONENT.fullmatch(text):
        return None
    if _INTEGER.fullmatch(text):
        return False
    return True if any(letter.isalpha() for letter in text) else None


def code(cell: str, column: str) -> int | InputRefusal | None:
    """Return a numeric code; null if the cell is blank."""
    text = _bare(cell)
    if not text:
        return None
    if match := _INTEGER.fullmatch(text):
        return int(match[1])
    if is_label(cell):
        return InputRefusal(
            "label_not_code",
            f"{column} holds the label {text[:40]!r} where a code is expected",
            "give the file with codes, as CPSC serves it",
        )
    wrong = InputRefusal("code", f"{column} {text[:40]!r} is no code", "give the file as CPSC serves it")
    return _spreadsheet_error(text, column) or wrong


def code_of_label(cell: str, column: str, labels: dict[str, int | None]) -> int | InputRefusal | None:
    """Return the code of a label, in a column that holds labels.

    Args:
        cell: The label.
        column: Named in refusals.
        labels: ``label_key`` of every label to its code, which is null where several products share it.
    """
    text = _bare(cell)
    if not text:
        return None
    if is_label(cell) is False:
        return InputRefusal(
            "code_not_label",
            f"{column} holds the code {text!r} in a file whose {column} are labels",
            "use codes throughout, or labels throughout",
        )
    found = labels.get(label_key(text))
    if found is not None:
        return found
    wrong = InputRefusal(
        "unknown_label",
        f"{column} {text[:60]!r} is no label that the code book gives to one code",
        "give the file with codes, as CPSC serves it",
    )
    return _spreadsheet_error(text, column) or wrong


def label_key(label: str) -> str:
    """Return what two spellings of one label share. The question mark stays: ``FD`` and ``? FD`` are two labels."""
    return "".join(letter for letter in label.casefold() if letter.isalnum() or letter == "?")


def age(value: int | None) -> tuple[int | None, str | None, str | None] | InputRefusal:
    """Return age in whole years, age group, and the age in words; all null if it was not recorded.

    Codes: 0 not recorded, 2 to 120 years, 201 to 223 = 1 to 23 months (201 also under one month). Whoever is over 89 is
    90, in words 90+.
    """
    if value is None or value == 0:
        return None, None, None
    if 201 <= value <= 223:
        months = value - 200
        return months // 12, "infant", "1 month or less" if months == 1 else f"{months} months"
    if not 2 <= value <= 120:
        return InputRefusal(
            "age",
            f"age {value} means nothing: 0 is unknown, 2 to 120 are years, 201 to 223 are months + 200",
            "correct the age",
        )
    if value > OLDEST_KEPT:
        return OLDEST_KEPT + 1, "older adult", f"{COARSE} years"
    groups = ((13, "child"), (18, "teenager"), (65, "adult"))
    return value, next((group for below, group in groups if value < below), "older adult"), f"{value} years"


def treatment_date(cell: str, year: int | None, day_zero: datetime.date | None = None) -> datetime.date | InputRefusal:
    """Return the day of treatment, from MM/DD/YYYY or what spreadsheets make of it.

    Args:
        cell: The text.
        year: The year that the file is of, if its name says so.
        day_zero: In a workbook, the day from which its dates are counted.
    """
    text = _bare(cell)
    try:
        if match := _AMERICAN_DATE.fullmatch(text):
            month, day, written = int(match[1]), int(match[2]), match[3]
            century = 0 if len(written) == 4 else (1900 if int(written) >= _FIRST_YEAR % 100 else 2000)
            date = datetime.date(century + int(written), month, day)
        elif match := _ISO_DATE.fullmatch(text):
            date = datetime.date(int(match[1]), int(match[2]), int(match[3]))
        elif day_zero is not None and _SERIAL_DATE.fullmatch(text):
            date = day_zero + datetime.timedelta(days=int(float(text)))
        else:
            raise ValueError("neither MM/DD/YYYY nor YYYY-MM-DD")
    except (ValueError, OverflowError) as error:
        return InputRefusal("date", f"treatment date {text[:40]!r} cannot be read: {error}", "write it as MM/DD/YYYY")
    if date.year < _FIRST_YEAR or (year is not None and date.year != year):
        expected = f"the file is of {year}" if year is not None else f"NEISS began in {_FIRST_YEAR}"
        return InputRefusal(
            "wrong_year", f"treatment date {text!r} is of {date.year}, but {expected}", "correct the date"
        )
    return date
