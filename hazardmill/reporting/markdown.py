"""Tables and text as Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from hazardmill.reporting.table import Grid

_MARKS: Final = re.compile(r"[\\|*_`\[\]]")
"""Signs that mean something within a line of Markdown."""


def grid_markdown(grid: Grid, *, titled: bool = True) -> str:
    """A table as Markdown, below its title or without it."""
    rule = ["---" if place < grid.words else "---:" for place in range(len(grid.head))]
    title = [f"### {plain(grid.title)}", ""] if titled else []
    return "\n".join([*title, _line(grid.head), _line(rule), *map(_line, grid.rows)])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(plain, cells))} |"


def plain(text: str) -> str:
    """Text that Markdown shows as it is, on one line of a table."""
    shown = "".join(sign if sign.isprintable() else " " for sign in text)
    return _MARKS.sub(r"\\\g<0>", shown.replace("&", "&amp;").replace("<", "&lt;"))
