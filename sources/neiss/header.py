"""The header of a NEISS file: identifies each column under any of its published names."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import Final

from hazardmill.ingest.sources import InputRefusal

# Archive files and the data dictionary of April 2022, the SAS names of the formats library, and those that R and
# pandas users resave with. Compared after `_normalised`.
_ALIASES: Final[dict[str, tuple[str, ...]]] = {
    "case_number": ("cpsc_case_number", "cpsc_case_no", "cpsc_case", "case_number", "case_num", "case_no", "nek"),
    "treatment_date": ("treatment_date", "trmt_date"),
    "age": ("age",),
    "sex": ("sex", "gender"),
    "race": ("race",),
    "other_race": ("other_race", "race_other", "raceoth"),
    "hispanic": ("hispanic",),
    "body_part": ("body_part", "bdpt", "bdypt"),
    "diagnosis": ("diagnosis", "diag"),
    "other_diagnosis": ("other_diagnosis", "diag_other", "diagoth"),
    "body_part_2": ("body_part_2", "bdpt2", "bdypt2"),
    "diagnosis_2": ("diagnosis_2", "diag2", "diag_2"),
    "other_diagnosis_2": ("other_diagnosis_2", "diagoth2", "diag_other_2"),
    "disposition": ("disposition", "disp"),
    "location": ("location", "loc"),
    "fire": ("fire_involvement", "fire", "fmv"),
    "product_1": ("product_1", "product1", "prod_1", "prod1"),
    "product_2": ("product_2", "product2", "prod_2", "prod2"),
    "product_3": ("product_3", "product3", "prod_3", "prod3"),
    "alcohol": ("alcohol",),
    "drug": ("drug", "drugs"),
    "narrative": ("narrative_1", "narrative", "narrative1", "narr_1", "narr1", "narr"),
    "narrative_2": ("narrative_2", "narrative2", "narr_2", "narr2"),
    "stratum": ("stratum",),
    "psu": ("psu",),
    "weight": ("weight",),
}
_CANONICAL: Final = {alias: column for column, aliases in _ALIASES.items() for alias in aliases}
_SEPARATORS: Final = {"\t": "tabs", ",": "commas", ";": "semicolons"}
_BY_SUFFIX: Final = {".tsv": "\t", ".csv": ","}


@dataclass(frozen=True, slots=True)
class Header:
    """The columns of a file: ``columns`` maps our name to the position, ``width`` is the number of all columns."""

    separator: str
    columns: dict[str, int]
    width: int
    ignored: tuple[str, ...]


def names_case_number(cell: str) -> bool:
    """Whether a cell is a name of the case number's column, that is a repeated header in concatenated files."""
    return _CANONICAL.get(_normalised(cell)) == "case_number"


def read_header(text: str, suffix: str) -> Header | InputRefusal:
    """Return the header in a file's first line, or why the file cannot be read; ``suffix`` is that of the file name."""
    separator = max(_SEPARATORS, key=text.count)
    expected = _BY_SUFFIX.get(suffix.lower(), separator)
    if (separator != expected or separator == ";") and text.count(separator):
        return InputRefusal(
            "wrong_separator",
            f"the columns are separated by {_SEPARATORS[separator]}, not by {_SEPARATORS[expected]}"
            if separator != expected
            else "the columns are separated by semicolons",
            "name a file separated by tabs .tsv, one separated by commas .csv",
        )
    try:
        names = next(csv.reader([text], delimiter=separator)) if text else []
    except csv.Error as error:
        return InputRefusal(
            "quoting",
            f"the header cannot be taken apart: {error}",
            "give the header in one line, and end lines with a line feed",
        )
    return header_of(names, separator)


def header_of(names: list[str], separator: str) -> Header | InputRefusal:
    """Return the header with these column names, or what is wrong with them."""
    columns: dict[str, int] = {}
    ignored: list[str] = []
    for place, name in enumerate(names):
        column = _CANONICAL.get(_normalised(name))
        if column is None:
            ignored.append(name.strip())
        elif column in columns:
            first = columns[column]
            return InputRefusal(
                "duplicate_column",
                f"columns {first + 1} and {place + 1} both mean {column}: {names[first]!r} and {name!r}",
                "remove one of the two columns",
            )
        else:
            columns[column] = place
    for column, reason in (("narrative", "no_narrative_column"), ("case_number", "no_case_number_column")):
        if column not in columns:
            # Without a name in it the line may be a row, and what that says of a person is not for a message.
            line = f"is {separator.join(names)[:80]!r}" if columns else "names no column of NEISS at all"
            return InputRefusal(
                reason,
                f"no column means {column.replace('_', ' ')}; the first line {line}",
                f"give a NEISS file with its header; known names of that column: {', '.join(_ALIASES[column])}",
            )
    return Header(separator, columns, len(names), tuple(ignored))


def _normalised(name: str) -> str:
    # The second prefix is the UTF-8 byte order mark after a round through cp1252.
    bare = name.removeprefix("\ufeff").removeprefix("\u00ef\u00bb\u00bf").strip().strip('"').strip()
    return bare.casefold().replace(" ", "_").replace("-", "_")
