"""Draw rows of marks with intervals on one axis of per cent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from hazardmill.evaluation.report.words import interval
from hazardmill.reporting.svg.axes import whiskers
from hazardmill.reporting.svg.drawing import PAPER
from hazardmill.statistics.estimate import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROW: Final = 0.62
"""Height of a row, in inches."""

LEGEND_LINE: Final = 0.2
"""Height of a line of the legend, in inches."""

_SPREAD: Final = 0.56
"""Share of a row's height over which its marks are spread."""


@dataclass(frozen=True)
class MarkStyle:
    """How one measure is drawn in every row.

    Attributes:
        words: What the measure is, for the legend.
        colour: Its colour.
        marker: Its marker, as matplotlib names it.
        hollow: Whether only the outline of the marker is drawn.
    """

    words: str
    colour: str
    marker: str
    hollow: bool = False


def height_of(rows: int, marks: int) -> float:
    """Return the height of a figure in inches.

    Args:
        rows: Number of rows.
        marks: Number of measures, each with a line in the legend.
    """
    return 1.3 + ROW * rows + LEGEND_LINE * marks


def draw_marks(
    axes: Axes, names: Sequence[str], rows: Sequence[Sequence[Estimate | None]], marks: Sequence[MarkStyle], unit: str
) -> None:
    """Draw a mark with its interval for every measure of every row; measures without a value are left out.

    Args:
        axes: The axes.
        names: Name of each row, the first on top.
        rows: Shares from 0 to 1, one per measure.
        marks: How each measure is drawn.
        unit: Label of the axis.
    """
    for place, mark in enumerate(marks):
        off = _SPREAD * (place / (len(marks) - 1) - 0.5) if len(marks) > 1 else 0.0
        found = [
            (row + off, reach)
            for row, values in enumerate(rows)
            if (value := values[place]) is not None and (reach := interval(value)) is not None
        ]
        reaches = [reach for _, reach in found]
        # Without a point, too: the legend says what was asked.
        axes.errorbar(
            [value for value, _, _ in reaches],
            [row for row, _ in found],
            # Without intervals there are no caps, which would show inside of hollow marks.
            xerr=whiskers(reaches) if any(low != high for _, low, high in reaches) else None,
            linestyle="none",
            elinewidth=1.2,
            capsize=2,
            clip_on=False,
            marker=mark.marker,
            markersize=6,
            color=mark.colour,
            markerfacecolor=PAPER if mark.hollow else mark.colour,
            label=mark.words,
        )
    axes.set_yticks(range(len(names)), list(names))
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlim(-2, 102)
    axes.set_xlabel(unit)
    axes.spines["left"].set_visible(False)
    axes.grid(True, axis="x")
    axes.figure.legend(loc="outside lower left", ncols=1)
