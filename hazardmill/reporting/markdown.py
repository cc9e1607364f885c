"""Tables and text as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from hazardmill.reporting.numbers import NONE
from hazardmill.reporting.svg.drawing import Figure
from hazardmill.reporting.table import Grid
from hazardmill.text.printable import printable

FIGURES: Final = "report-figures"
"""Folder of the figures of a text, beside it."""

_MARKS: Final = re.compile(r"[\\|*_`\[\]]")
"""Signs that mean something within a line of Markdown."""


def grid_markdown(grid: Grid, *, titled: bool = True) -> str:
    """A table as Markdown, below its title or without it."""
    rule = ["---" if place < grid.words else "---:" for place in range(len(grid.head))]
    title = [f"### {escape_markdown(grid.title)}", ""] if titled else []
    return "\n".join([*title, _line(grid.head), _line(rule), *map(_line, grid.rows)])


def fold_grid(grid: Grid, summary: str | None = None) -> str:
    """A table that a reader opens, below its title or a summary."""
    return f"<details>\n<summary>{summary or grid.title}</summary>\n\n{grid_markdown(grid, titled=False)}\n\n</details>"


def figure_markdown(figure: Figure) -> str:
    """A figure in a file beside the text, with its note and its numbers."""
    image = f"![{escape_markdown(' '.join(figure.alt.split()))}]({figure_address(figure)})"
    note = [escape_markdown(figure.note)] if figure.note else []
    return "\n\n".join([f"### {escape_markdown(figure.title)}", image, *note, fold_grid(figure.grid, "The numbers")])


def figure_address(figure: Figure) -> str:
    """Where its file lies, seen from the text."""
    return f"{FIGURES}/{figure.name}.svg"


def figure_files(figures: Iterable[Figure]) -> dict[str, str]:
    """The files of figures: address to content."""
    return {figure_address(figure): f"{figure.standalone}\n" for figure in figures}


def code(text: str) -> str:
    """Text as code: within backticks nothing means anything but a backtick."""
    return f"`{printable(text).replace('`', ' ')}`" if text.strip() else NONE


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(escape_markdown, cells))} |"


def escape_markdown(text: str) -> str:
    """Text that Markdown shows as it is, on one line of a table."""
    shown = "".join(sign if sign.isprintable() else " " for sign in text)
    return _MARKS.sub(r"\\\g<0>", shown.replace("&", "&amp;").replace("<", "&lt;"))
