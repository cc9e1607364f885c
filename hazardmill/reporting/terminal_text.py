"""Lines of text for a terminal: paragraphs, named values, plain tables, and text of others as it is."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from typing import Final

from hazardmill.reporting.table import Grid
from hazardmill.text.printable import printable

LABEL: Final = 15
"""Columns of a field's name."""


def render_grid(grid: Grid) -> Iterator[str]:
    """The lines of a table without rules: its title, an empty line, its columns flush left, an empty line."""
    yield printable(grid.title)
    yield ""
    # Heads of two columns say nothing that the title does not.
    rows = [grid.head, *grid.rows] if len(grid.head) > 2 else list(grid.rows)
    widths = [max((len(row[place]) for row in rows), default=0) for place in range(len(grid.head))]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield printable(f"  {'  '.join(cells)}".rstrip())
    yield ""


class Lines:
    """Lines of text, none of which can do anything to a terminal.

    Args:
        width: Columns of the terminal.
    """

    def __init__(self, width: int = 100) -> None:
        self._width = width
        self._lines: list[str] = []

    @property
    def text(self) -> str:
        """All lines, each ended."""
        return "\n".join(self._lines) + "\n"

    def line(self, text: str, indent: int = 2, hang: int = 0) -> None:
        """One paragraph, wrapped."""
        wrapped = textwrap.wrap(
            printable(text, keep="\t"),
            max(20, self._width - indent),
            subsequent_indent=" " * hang,
            break_long_words=False,
            break_on_hyphens=False,
        )
        self._lines += [" " * indent + part for part in wrapped or [""]]

    def skip(self) -> None:
        """An empty line."""
        self._lines.append("")

    def head(self, title: str, text: str = "") -> None:
        """A part begins."""
        self.skip()
        self.line(f"{title}  {text}".rstrip(), 0, 2)

    def field(self, name: str, text: str, indent: int = 2) -> None:
        """A named value."""
        self.line(f"{name:{LABEL}}{text}", indent, LABEL)

    def raw(self, lines: Iterable[str], indent: int) -> None:
        """Lines as they are."""
        self._lines += [" " * indent + "| " + printable(line, keep="\t") for line in lines]
