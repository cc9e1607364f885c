"""Bars of tasks by source, stacked by a second property: danger group in a report, split on a release's card."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from hazardmill.reporting.numbers import count
from hazardmill.reporting.svg.bars import ROW, THICK, draw_label, draw_legend, lay_out_rows
from hazardmill.reporting.svg.drawing import PAPER, Figure, draw, draw_empty
from hazardmill.reporting.table import Grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def tasks_by_source(
    name: str, title: str, cells: Counter[tuple[str, str]], colours: Mapping[str, str], *, by: str, lacking: str
) -> Figure:
    """Draw the number of tasks by source as bars, stacked by a second property.

    Args:
        name: Short name of the figure.
        title: Title above it.
        cells: Number of tasks by source and part.
        colours: Colour of each part, in the order of stacking; every part in ``cells`` has one.
        by: What the parts are, in words.
        lacking: What to say if there are no tasks.

    Returns:
        The figure; a placeholder if there are no tasks.
    """
    sources = sorted({source for source, _ in cells})
    totals = [sum(cells[source, part] for part in colours) for source in sources]
    lines = [
        (source, *(count(cells[source, part]) for part in colours), count(total))
        for source, total in zip(sources, totals, strict=True)
    ]
    sums = [count(sum(cells[source, part] for source in sources)) for part in colours]
    grid = Grid(title, ("Source", *colours, "Tasks"), (*lines, ("all", *sums, count(cells.total()))))
    if not cells:
        return draw_empty(name, title, lacking, grid)

    def paint(axes: Axes) -> None:
        starts = [0] * len(sources)
        for part, colour in colours.items():
            widths = [cells[source, part] for source in sources]
            axes.barh(range(len(sources)), widths, left=starts, color=colour, height=THICK, label=part, edgecolor=PAPER)
            starts = [start + width for start, width in zip(starts, widths, strict=True)]
        for place, (source, total) in enumerate(zip(sources, totals, strict=True)):
            parts = " + ".join(count(cells[source, part]) for part in colours)
            draw_label(axes, total, place, f"{parts} = {count(total)}", max(totals))
        lay_out_rows(axes, sources, "tasks", max(totals))
        draw_legend(axes, 3)

    said = "; ".join(
        f"{source}: " + ", ".join(f"{cells[source, part]} {part}" for part in colours) for source in sources
    )
    alt = f"Bars of tasks by source, stacked by {by}. {said}."
    return draw(name, title, alt, 1.2 + ROW * len(sources), paint, grid=grid)
