"""Decodes the cells of a row to the content of a record.

A year repeats a few hundred dates, ages and codes in 400,000 rows: each spelling is decoded once per file and then
looked up. A refused cell ends its row by an exception, so that the usual row is spared a check per cell.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from operator import itemgetter
from typing import Final, Generic, TypeAlias, TypeVar

from pydantic import JsonValue

from hazardmill.ages import coarsen_ages
from hazardmill.ingest.sources import InputRefusal

from . import values
from .book import PRODUCT, code_book, codes_by_label
from .header import Header, names_case_number

UNKNOWN: Final = "not recorded"
_MOST_KEPT: Final = 1 << 13
_LONGEST_KEPT: Final = 100
"""Maximum spellings remembered per column, and letters of one, so that a garbage column does not fill memory."""

# Columns of codes and the part of the code book that they use.
_BOOK: Final = {
    "diagnosis": "diagnosis",
    "body_part": "body_part",
    "location": "location",
    "disposition": "disposition",
    "fire": "fire",
    "sex": "sex",
    "diagnosis_2": "diagnosis",
    "body_part_2": "body_part",
    "product_1": PRODUCT,
    "product_2": PRODUCT,
    "product_3": PRODUCT,
}
_PRODUCTS: Final = ("product_1", "product_2", "product_3")
_READ: Final = ("case_number", "narrative", "narrative_2", "treatment_date", "age", "other_diagnosis", *_BOOK)

_HEADER_AGAIN: Final = InputRefusal("repeated_header", "the header again, in the middle of the file", "remove the line")


Decoded: TypeAlias = "tuple[str, str, dict[str, JsonValue], tuple[str, ...]]"
"""The content of a row: native id, context, facts, warnings."""


class RowRefused(Exception):
    """A cell cannot be read, so the row cannot be used."""

    def __init__(self, refusal: InputRefusal, native_id: str | None = None) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal
        self.native_id = native_id


# Plain tuples, because Python takes these apart several times quicker than named ones.
_Code: TypeAlias = "tuple[int | None, str | None, tuple[str, ...]]"
"""Code, label, warnings."""
_Age: TypeAlias = "tuple[int | None, str | None, str, InputRefusal | None]"
"""Years, group, words of the context, and why the age is impossible."""
_Products: TypeAlias = "tuple[tuple[int, ...], tuple[str, ...], str, tuple[str, ...]]"
"""Codes, labels, words of the context, warnings."""

K = TypeVar("K", bound=Iterable[str])
V = TypeVar("V")


class _Known(dict[K, V], Generic[K, V]):
    """Spelling to meaning; ``decode`` adds new ones, and raises RowRefused if there is no meaning."""

    def __missing__(self, spelling: K) -> V:
        meaning = self.decode(spelling)
        if len(self) < _MOST_KEPT and len("".join(spelling)) <= _LONGEST_KEPT:
            self[spelling] = meaning
        return meaning

    def decode(self, spelling: K) -> V:
        raise NotImplementedError


class _Codes(_Known[str, _Code]):
    """A column of codes or of labels, the same for a whole file."""

    def __init__(self, column: str, labels: bool) -> None:
        self._column = column
        self._field = _BOOK[column]
        self._labels = codes_by_label(self._field) if labels else None

    def decode(self, spelling: str) -> _Code:
        if self._labels is None:
            value = values.code(spelling, self._column)
        else:
            value = values.code_of_label(spelling, self._column, self._labels)
        if isinstance(value, InputRefusal):
            raise RowRefused(value)
        book = code_book()[self._field]
        # 0 is "no product", and the book has it for other fields only.
        if value is None or value in book or (value == 0 and self._field == PRODUCT):
            return value, None if value is None else book.get(value), ()
        kind = self._field.replace("_", " ")
        return value, f"{kind} code {value}", (f"{kind} code {value} is not in the code book",)


class _Ages(_Known[str, _Age]):
    def decode(self, spelling: str) -> _Age:
        value = values.code(spelling, "age")
        if isinstance(value, InputRefusal):
            raise RowRefused(value)
        age = values.age(value)
        if isinstance(age, InputRefusal):
            return None, None, UNKNOWN, age
        years, group, words = age
        return years, group, f"{group} ({words})" if group else UNKNOWN, None


class _Dates(_Known[str, "str | None"]):
    def __init__(self, header: Header, year: int | None, day_zero: datetime.date | None) -> None:
        self._year = year
        self._day_zero = day_zero
        if "treatment_date" not in header.columns:
            self[""] = None

    def decode(self, spelling: str) -> str | None:
        date = values.treatment_date(spelling, self._year, self._day_zero)
        if isinstance(date, InputRefusal):
            raise RowRefused(date)
        return date.isoformat()


class _ProductLists(_Known["tuple[str, str, str]", _Products]):
    def __init__(self, labelled: frozenset[str]) -> None:
        self._columns = [_Codes(column, column in labelled) for column in _PRODUCTS]

    def decode(self, spelling: tuple[str, str, str]) -> _Products:
        # The same product twice says nothing more, and 0 means no product.
        named: dict[int, _Code] = {}
        for column, cell in zip(self._columns, spelling, strict=True):
            decoded = column[cell]
            if decoded[0]:
                named[decoded[0]] = decoded
        labels = tuple(str(label) for _, label, _ in named.values())
        warnings = tuple(warning for _, _, warned in named.values() for warning in warned)
        return tuple(named), labels, "; ".join(labels) or UNKNOWN, warnings


class RowDecoder:
    """Decodes the rows of one file.

    Args:
        header: The file's columns.
        year: The year that the file is of, if it says so.
        labelled: The coded columns that hold labels in this file, see ``labelled_columns``.
        day_zero: In a workbook, the day from which its dates are counted.
    """

    def __init__(
        self,
        header: Header,
        year: int | None = None,
        labelled: frozenset[str] = frozenset(),
        day_zero: datetime.date | None = None,
    ) -> None:
        # A column that the file lacks is read from a blank cell put behind the others.
        self._cells = itemgetter(*(header.columns.get(column, header.width) for column in _READ))
        (
            self._diagnosis,
            self._part,
            self._location,
            self._disposition,
            self._fire,
            self._sex,
            self._diagnosis_2,
            (self._part_2),
        ) = (_Codes(column, column in labelled) for column in _BOOK if column not in _PRODUCTS)
        self._products = _ProductLists(labelled)
        self._ages = _Ages()
        self._dates = _Dates(header, year, day_zero)

    def decode(self, cells: list[str]) -> Decoded:
        """Decode a row with the header's width.

        Raises:
            RowRefused: A cell cannot be read.
        """
        cells.append("")
        (
            case, first, second, day, age_code, other,
            diagnosis_code, part_code, location_code, disposition_code, fire_code, sex_code,
            diagnosis_2, part_2, product_1, product_2, product_3,
        ) = self._cells(cells)  # fmt: skip
        native_id = values.case_number(case)
        if isinstance(native_id, InputRefusal):
            raise RowRefused(_HEADER_AGAIN if names_case_number(case) else native_id)
        narrative = values.narrative(first, second)
        if isinstance(narrative, InputRefusal):
            raise RowRefused(narrative, native_id)
        narrative = coarsen_ages(narrative)
        try:
            _, diagnosis, warned_1 = self._diagnosis[diagnosis_code]
            _, part, warned_2 = self._part[part_code]
            _, location, warned_3 = self._location[location_code]
            _, disposition, warned_4 = self._disposition[disposition_code]
            _, fire, warned_5 = self._fire[fire_code]
            _, sex, warned_6 = self._sex[sex_code]
            years, group, age, wrong_age = self._ages[age_code]
            product_codes, products, product_words, warned_7 = self._products[product_1, product_2, product_3]
            if wrong_age is not None:
                raise RowRefused(wrong_age)
            date = self._dates[day]
            second_diagnosis = second_part = None
            warnings = warned_1 + warned_2 + warned_3 + warned_4 + warned_5 + warned_6 + warned_7
            second_line = other_line = fire_line = ""
            if diagnosis_2 or part_2:
                second_diagnosis, second_part, second_line, warned_8 = self._second(diagnosis_2, part_2)
                warnings += warned_8
        except RowRefused as refused:
            raise RowRefused(refused.refusal, native_id) from None
        if other:
            other = values.remark(other)
            other_line = f"\nOther diagnosis: {other}" if other else ""
        if fire:
            fire_line = f"\nFire involvement: {fire}"
        context = (
            f"Narrative: {narrative}\nProducts: {product_words}\nDiagnosis: {diagnosis or UNKNOWN}{other_line}\n"
            f"Body part: {part or UNKNOWN}{second_line}\nLocation: {location or UNKNOWN}\n"
            f"Disposition: {disposition or UNKNOWN}{fire_line}\nAge group: {age}\nSex: {sex or UNKNOWN}"
        )
        return (
            native_id,
            context,
            {
                "narrative": narrative,
                "products": [*products],
                "product_codes": [*product_codes],
                "diagnosis": diagnosis,
                "other_diagnosis": other or None,
                "body_part": part,
                "second_diagnosis": second_diagnosis,
                "second_body_part": second_part,
                "location": location,
                "disposition": disposition,
                "fire": fire,
                "age_years": years,
                "age_group": group,
                "sex": sex,
                "treatment_date": date,
            },
            warnings,
        )

    def _second(self, diagnosis_cell: str, part_cell: str) -> tuple[str | None, str | None, str, tuple[str, ...]]:
        """Return the second injury: diagnosis, body part, line of the context, warnings.

        A blank body part means no body part, and not code 0 (internal). 0 without a diagnosis means none either: a
        program that fills blanks with zeros writes it.
        """
        diagnosis_code, diagnosis, warned_diagnosis = self._diagnosis_2[diagnosis_cell]
        part_code, part, warned_part = self._part_2[part_cell]
        if not diagnosis_code and not part_code:
            return None, None, "", ()
        words = ", ".join(label for label in (diagnosis, part) if label) or UNKNOWN
        return diagnosis, part, f"\nSecond injury: {words}", warned_diagnosis + warned_part


def labelled_columns(header: Header, rows: Iterable[list[str]]) -> frozenset[str]:
    """Return the coded columns that hold labels, judged by most of these rows; labels in other columns are refused."""
    columns = [(column, header.columns[column]) for column in _BOOK if column in header.columns]
    votes = dict.fromkeys(_BOOK, 0)
    for cells in rows:
        for column, place in columns:
            label = values.is_label(cells[place])
            if label is not None:
                votes[column] += 1 if label else -1
    return frozenset(column for column, vote in votes.items() if vote > 0)
