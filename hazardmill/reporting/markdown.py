"""Write tables, figures and text as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from hazardmill.reporting.numbers import NONE
from hazardmill.reporting.svg.drawing import Figure
from hazardmill.reporting.table import Grid
from hazardmill.text.printable import printable

FIGURES: Final = "report-figures"
"""Name of the folder, beside a Markdown file, that holds its figures."""

_MARKS: Final = re.compile(r"[\\|*_`\[\]]")
"""Characters that have a meaning within a line of Markdown."""


def grid_markdown(grid: Grid, *, titled: bool = True) -> str:
    """Return a table as Markdown: words flush left, figures flush right.

    Args:
        grid: The table.
        titled: Whether its title precedes it, as a heading of level 3.
    """
    rule = ["---" if place < grid.words else "---:" for place in range(len(grid.head))]
    title = [f"### {escape_markdown(grid.title)}", ""] if titled else []
    return "\n".join([*title, _line(grid.head), _line(rule), *map(_line, grid.rows)])


def fold_grid(grid: Grid, summary: str | None = None) -> str:
    """Return a table inside ``<details>``, so that it is folded until the reader opens it.

    Args:
        grid: The table.
        summary: The line that stays visible, as HTML; null: the table's title.
    """
    return f"<details>\n<summary>{summary or grid.title}</summary>\n\n{grid_markdown(grid, titled=False)}\n\n</details>"


def figure_markdown(figure: Figure) -> str:
    """Return a figure as Markdown: an image in a file beside the text, with title, note and a folded table of numbers.

    ``figure_files`` has the file.
    """
    image = f"![{escape_markdown(' '.join(figure.alt.split()))}]({figure_address(figure)})"
    note = [escape_markdown(figure.note)] if figure.note else []
    return "\n\n".join([f"### {escape_markdown(figure.title)}", image, *note, fold_grid(figure.grid, "The numbers")])


def figure_address(figure: Figure) -> str:
    """Return the path of a figure's file relative to the text."""
    return f"{FIGURES}/{figure.name}.svg"


def figure_files(figures: Iterable[Figure]) -> dict[str, str]:
    """Return the files of figures.

    Args:
        figures: The figures; their names must differ.

    Returns:
        Path relative to the text, to a complete SVG file with fixed colours.
    """
    return {figure_address(figure): f"{figure.standalone}\n" for figure in figures}


def code(text: str) -> str:
    """Return text as inline code, in which only a backtick has a meaning.

    Backticks become blanks, and characters that are not printable Python escapes. Blank text becomes ``-``.
    """
    return f"`{printable(text).replace('`', ' ')}`" if text.strip() else NONE


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(escape_markdown, cells))} |"


def escape_markdown(text: str) -> str:
    """Return text escaped so that Markdown shows it unchanged, on one line and inside a table.

    Characters that are not printable become blanks; ``&`` and ``<`` become HTML entities.
    """
    shown = "".join(sign if sign.isprintable() else " " for sign in text)
    return _MARKS.sub(r"\\\g<0>", shown.replace("&", "&amp;").replace("<", "&lt;"))
