"""Lay out text for a terminal: paragraphs, named values, plain tables, and quoted text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from typing import Final

from hazardmill.reporting.table import Grid
from hazardmill.text.printable import printable

LABEL: Final = 15
"""Width of a field's name, in columns."""


def render_grid(grid: Grid) -> Iterator[str]:
    """Write a table without rules, its columns flush left.

    Yields:
        The title, an empty line, the head unless there are only two columns, the rows, an empty line.
    """
    yield printable(grid.title)
    yield ""
    # The head of two columns would only repeat the title.
    rows = [grid.head, *grid.rows] if len(grid.head) > 2 else list(grid.rows)
    widths = [max((len(row[place]) for row in rows), default=0) for place in range(len(grid.head))]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield printable(f"  {'  '.join(cells)}".rstrip())
    yield ""


class Lines:
    """A page of text whose characters are all printable, so that nothing in it can steer a terminal.

    Args:
        width: Width of the terminal in columns.
    """

    def __init__(self, width: int = 100) -> None:
        self._width = width
        self._lines: list[str] = []

    @property
    def text(self) -> str:
        """All lines, each with a line end."""
        return "\n".join(self._lines) + "\n"

    def line(self, text: str, indent: int = 2, hang: int = 0) -> None:
        """Add a paragraph, wrapped to the width.

        Args:
            text: The paragraph.
            indent: Columns before every line.
            hang: Further columns before every line but the first.
        """
        wrapped = textwrap.wrap(
            printable(text, keep="\t"),
            max(20, self._width - indent),
            subsequent_indent=" " * hang,
            break_long_words=False,
            break_on_hyphens=False,
        )
        self._lines += [" " * indent + part for part in wrapped or [""]]

    def skip(self) -> None:
        """Add an empty line."""
        self._lines.append("")

    def head(self, title: str, text: str = "") -> None:
        """Add an empty line and the heading of a part, with an optional text after it."""
        self.skip()
        self.line(f"{title}  {text}".rstrip(), 0, 2)

    def field(self, name: str, text: str, indent: int = 2) -> None:
        """Add a named value; its lines after the first are aligned with the value."""
        self.line(f"{name:{LABEL}}{text}", indent, LABEL)

    def raw(self, lines: Iterable[str], indent: int) -> None:
        """Add quoted lines, unwrapped, each behind a bar."""
        self._lines += [" " * indent + "| " + printable(line, keep="\t") for line in lines]
