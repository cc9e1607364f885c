"""Tables for a terminal (rich)."""

from __future__ import annotations

from collections.abc import Iterable

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hazardmill.reporting.table import Grid


def print_grids(grids: Iterable[Grid], console: Console | None = None) -> None:
    """Print tables."""
    console = console or Console()
    for grid in grids:
        console.print(_table(grid))


def _table(grid: Grid) -> Table:
    table = Table(title=Text(grid.title), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for place, name in enumerate(grid.head):
        words = place < grid.words
        # A reason may be a sentence: only the first column stays on one line.
        table.add_column(Text(name), justify="left" if words else "right", overflow="fold", no_wrap=place == 0 < words)
    for row in grid.rows:
        # Text, because a source's name must not be read as rich's markup.
        table.add_row(*map(Text, row))
    return table
