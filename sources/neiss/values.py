"""The cells of a NEISS row, decoded by the code book. Each function refuses what it cannot read; none guesses."""

from __future__ import annotations

import datetime
import functools
import json
import re
from pathlib import Path
from typing import Final

from hazardmill.stages.sources import Refusal

_INTEGER = re.compile(r"([0-9]{1,12})(\.0*)?")
_EXPONENT = re.compile(r"[0-9]+(\.[0-9]*)?[eE][+-]?[0-9]+")
_AMERICAN_DATE = re.compile(r"([0-9]{1,2})/([0-9]{1,2})/([0-9]{2}|[0-9]{4})")
_ISO_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})([ T]00:00:00)?")
_FIRST_YEAR: Final = 1972
"""NEISS began in 1972; a two-digit year below 72 is of this century."""


@functools.cache
def code_book() -> dict[str, dict[int, str | None]]:
    """Field to code to label; a null label is a code that means "not known"."""
    book = json.loads((Path(__file__).parent / "codes.json").read_text(encoding="utf-8"))
    return {field: {int(code): label for code, label in book[field].items()} for field in book if field != "note"}


def narrative(first: str, second: str) -> str:
    """The narrative in one line. Two columns are one text cut anywhere, also within a word."""
    return " ".join((_unquoted(first) + _unquoted(second)).split())


def _unquoted(cell: str) -> str:
    # Spreadsheets quote a cell that holds quotation marks also where tabs separate. A narrative that only begins
    # and ends with somebody's words has single marks inside and stays as it is.
    inner = cell[1:-1]
    quoted = len(cell) > 1 and cell[0] == cell[-1] == '"' and '"' not in inner.replace('""', "")
    return inner.replace('""', '"') if quoted else cell


def case_number(cell: str) -> str | Refusal:
    """The case number as digits, without the ``.0`` of a spreadsheet and without leading zeros."""
    text = cell.strip().strip('"').strip()
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
    return Refusal("case_number", message, remedy)


def code(cell: str, column: str) -> int | Refusal | None:
    """A numeric code; null where the cell is blank."""
    text = cell.strip().strip('"').strip()
    if not text:
        return None
    if match := _INTEGER.fullmatch(text):
        return int(match[1])
    if any(letter.isalpha() for letter in text) and not _EXPONENT.fullmatch(text):
        return Refusal(
            "label_not_code",
            f"{column} holds the label {text[:40]!r} where a code is expected",
            "give the file with codes, as CPSC serves it",
        )
    return Refusal("code", f"{column} {text[:40]!r} is no code", "give the file as CPSC serves it")


def label(value: int | None, field: str, warnings: list[str]) -> str | None:
    """The label of a code; null where unknown. A code that the book lacks is kept as such, with a warning."""
    if value is None:
        return None
    book = code_book()[field]
    if value in book:
        return book[value]
    kind = field.replace("_", " ")
    warnings.append(f"{kind} code {value} is not in the code book")
    return f"{kind} code {value}"


def age(value: int | None) -> tuple[int | None, str | None, str | None] | Refusal:
    """Age in whole years, age group, and the age in words; all null where it was not recorded.

    Codes: 0 not recorded, 2 to 120 years, 201 to 223 = 1 to 23 months (201 also under one month).
    """
    if value is None or value == 0:
        return None, None, None
    if 201 <= value <= 223:
        months = value - 200
        return months // 12, "infant", "1 month or less" if months == 1 else f"{months} months"
    if not 2 <= value <= 120:
        return Refusal(
            "age",
            f"age {value} is none: 0 is unknown, 2 to 120 are years, 201 to 223 are months + 200",
            "correct the age",
        )
    groups = ((13, "child"), (18, "teenager"), (65, "adult"))
    return value, next((group for below, group in groups if value < below), "older adult"), f"{value} years"


def treatment_date(cell: str, year: int | None) -> datetime.date | Refusal:
    """The day of treatment, from MM/DD/YYYY or what spreadsheets make of it.

    Args:
        cell: The text.
        year: The year that the file is of, if its name says so.
    """
    text = cell.strip().strip('"').strip()
    try:
        if match := _AMERICAN_DATE.fullmatch(text):
            month, day, written = int(match[1]), int(match[2]), match[3]
            century = 0 if len(written) == 4 else (1900 if int(written) >= _FIRST_YEAR % 100 else 2000)
            date = datetime.date(century + int(written), month, day)
        elif match := _ISO_DATE.fullmatch(text):
            date = datetime.date(int(match[1]), int(match[2]), int(match[3]))
        else:
            raise ValueError("neither MM/DD/YYYY nor YYYY-MM-DD")
    except ValueError as error:
        return Refusal("date", f"treatment date {text[:40]!r} cannot be read: {error}", "write it as MM/DD/YYYY")
    if date.year < _FIRST_YEAR or (year is not None and date.year != year):
        expected = f"the file is of {year}" if year is not None else f"NEISS began in {_FIRST_YEAR}"
        return Refusal("wrong_year", f"treatment date {text!r} is of {date.year}, but {expected}", "correct the date")
    return date
