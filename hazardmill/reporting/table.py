"""A table of text, independent of whether it is shown in a terminal, in Markdown or on a page."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Grid:
    """A table of formatted text.

    Attributes:
        title: Title above the table; may be empty.
        head: Headings of the columns.
        rows: Rows with as many cells as there are columns.
        words: How many columns, from the left, hold words; the others hold figures and are set flush right.
    """

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: int = 1
