"""Print tables in a terminal with rich."""

from __future__ import annotations

from collections.abc import Iterable

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hazardmill.reporting.table import Grid


def print_grids(grids: Iterable[Grid], console: Console | None = None) -> None:
    """Print tables, one after the other.

    Args:
        grids: The tables.
        console: Where to print; null: standard output.
    """
    console = console or Console()
    for grid in grids:
        console.print(_table(grid))


def _table(grid: Grid) -> Table:
    table = Table(title=Text(grid.title), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for place, name in enumerate(grid.head):
        words = place < grid.words
        # Only the first column must not wrap: a reason in a later one may be a sentence.
        table.add_column(Text(name), justify="left" if words else "right", overflow="fold", no_wrap=place == 0 < words)
    for row in grid.rows:
        # As Text, so that the name of a source is not read as markup.
        table.add_row(*map(Text, row))
    return table
