"""Funnel and cost for a terminal (rich), and as Markdown tables of at most six short columns."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from hazardmill.report import tables
from hazardmill.report.cost import Cost
from hazardmill.report.funnel import Funnel
from hazardmill.reporting.markdown import escape_markdown, grid_markdown
from hazardmill.reporting.terminal import print_grids


def print_funnel(funnel: Funnel, console: Console | None = None) -> None:
    """Print the funnel by source, the losses with their reasons, the yield by draft, and notes.

    Args:
        funnel: The funnel.
        console: Where to print; null: standard output.
    """
    console = console or Console()
    print_grids((tables.funnel_table(funnel), tables.losses(funnel), tables.yields(funnel.drafts)), console)
    for note in tables.notes(funnel):
        console.print(Text(note))
    console.print()


def print_cost(cost: Cost, console: Console | None = None) -> None:
    """Print the cost per validated task, and what was spent by stage, source and draft.

    Args:
        cost: The cost.
        console: Where to print; null: standard output.
    """
    print_grids((tables.cost_of_task(cost), tables.spend(cost)), console)


def funnel_markdown(funnel: Funnel) -> str:
    """Write the funnel as Markdown: three tables and the notes."""
    grids = [tables.funnel_table_by_source(funnel), tables.losses(funnel), tables.yields(funnel.drafts)]
    return (
        "\n\n".join(
            [*map(grid_markdown, grids), "\n".join(f"- {escape_markdown(note)}" for note in tables.notes(funnel))]
        )
        + "\n"
    )


def cost_markdown(cost: Cost) -> str:
    """Write the cost as Markdown: two tables."""
    return "\n\n".join(map(grid_markdown, [tables.cost_of_task(cost), tables.spend(cost)])) + "\n"
