"""Funnel and cost for the terminal (rich), and as Markdown of at most six short columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hazardmill.report import tables
from hazardmill.report.cost import Cost
from hazardmill.report.funnel import Funnel
from hazardmill.report.tables import Grid

_MARKS: Final = re.compile(r"[\\|*_`\[\]]")
"""Signs that mean something within a line of Markdown."""


def print_funnel(funnel: Funnel, console: Console | None = None) -> None:
    """Print the way of the records by source, losses with reasons, yield by draft, and what there is to say of them."""
    console = console or Console()
    for grid in (tables.way(funnel), tables.losses(funnel), tables.yields(funnel.drafts)):
        console.print(_table(grid))
    for note in tables.notes(funnel):
        console.print(Text(note))
    console.print()


def print_cost(cost: Cost, console: Console | None = None) -> None:
    """Print the cost of a validated task, and what was spent on what."""
    console = console or Console()
    for grid in (tables.cost_of_task(cost), tables.spend(cost)):
        console.print(_table(grid))


def print_grids(grids: Iterable[Grid], console: Console | None = None) -> None:
    """Print tables."""
    console = console or Console()
    for grid in grids:
        console.print(_table(grid))


def funnel_markdown(funnel: Funnel) -> str:
    """The funnel as Markdown."""
    grids = [tables.way_by_source(funnel), tables.losses(funnel), tables.yields(funnel.drafts)]
    return (
        "\n\n".join([*map(grid_markdown, grids), "\n".join(f"- {plain(note)}" for note in tables.notes(funnel))]) + "\n"
    )


def cost_markdown(cost: Cost) -> str:
    """The cost as Markdown."""
    return "\n\n".join(map(grid_markdown, [tables.cost_of_task(cost), tables.spend(cost)])) + "\n"


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
