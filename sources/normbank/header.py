"""The header of a NormBank file: positions of the four columns that are read, and of the one that is checked."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Final

from hazardmill.ingest.sources import InputRefusal, SourceLine

from .rows import cut

REQUIRED: Final = ("setting", "behavior", "constraints", "norm")
_KNOWN: Final = frozenset({*REQUIRED, "setting-behavior", "constraints_given", "constraint_predict", "label", "split"})
_SEPARATORS: Final = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "vertical bars"}
_AS_PUBLISHED: Final = "give NormBank.csv as it was published, with its header"


@dataclass(frozen=True, slots=True)
class Header:
    """The columns of a file."""

    pick: Callable[[Sequence[str]], tuple[str, ...]]
    """A row's setting, behavior, constraints and norm."""
    norm: int
    label: int | None
    width: int
    extra: tuple[str, ...]
    """Columns that no published NormBank file has, except its extended build."""


def read_header(lines: Iterator[SourceLine]) -> Header | InputRefusal:
    """Return the header from the first non-blank line, or why the file cannot be read."""
    line = next((line for line in lines if line.refusal or line.text.strip()), None)
    if line is None:
        return InputRefusal("no_rows", "the file holds nothing but blanks", _AS_PUBLISHED)
    if line.refusal is not None:
        return line.refusal
    if line.text.startswith("\ufeff"):
        return InputRefusal(
            "byte_order_mark",
            "the file begins with a byte order mark, so it is not the file that was published",
            "download it again, or save it as UTF-8 without a byte order mark",
        )
    separator = max(_SEPARATORS, key=line.text.count)
    if separator != "," and line.text.count(separator):
        return InputRefusal(
            "wrong_separator", f"the columns are separated by {_SEPARATORS[separator]}, not by commas", _AS_PUBLISHED
        )
    try:
        cells = cut(line.text)
    except csv.Error:
        cells = None
    if cells is None:
        message = "the first line is no row of column names: its quotation marks do not match"
        return InputRefusal("header", message, _AS_PUBLISHED)
    return _columns([_normalised(name) for name in cells])


def is_header(cells: Sequence[str]) -> bool:
    """Whether a row repeats the header, as in concatenated files."""
    return {_normalised(cell) for cell in cells}.issuperset(REQUIRED)


def _columns(names: list[str]) -> Header | InputRefusal:
    missing = [name for name in REQUIRED if name not in names]
    if missing:
        # Without a name in it the line is a row, which is not for a message: it may hold what is withheld.
        found = repr(", ".join(names)[:200]) if _KNOWN.intersection(names) else "none of NormBank's columns"
        return InputRefusal(
            "missing_column",
            f"no column is called {' or '.join(missing)}; the first line has {found}",
            _AS_PUBLISHED,
        )
    twice = [name for name, count in Counter(names).items() if name and count > 1]
    if twice:
        return InputRefusal(
            "duplicate_column", f"several columns are called {', '.join(twice)[:200]}", "keep one of them"
        )
    places = [names.index(name) for name in REQUIRED]
    return Header(
        pick=itemgetter(*places),
        norm=places[-1],
        label=names.index("label") if "label" in names else None,
        width=len(names),
        extra=tuple(name for name in names if name not in _KNOWN),
    )


def _normalised(name: str) -> str:
    return name.strip().casefold()
