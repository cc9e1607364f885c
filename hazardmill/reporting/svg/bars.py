"""Horizontal bars from top to bottom, each with its figure beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from hazardmill.reporting.svg.drawing import INK, blank_unprintable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROW: Final = 0.3
"""Height of a row, in inches."""

THICK: Final = 0.72
"""Share of a row's height that its bar takes."""


def lay_out_rows(axes: Axes, names: Sequence[str], unit: str, most: float) -> None:
    """Set up axes for horizontal bars: one named row per bar, the first on top, with room for labels on the right.

    Args:
        axes: The axes.
        names: Names of the rows; a name may have several lines, and two rows may have the same.
        unit: Label of the x axis. Ticks are whole numbers unless it is ``USD``.
        most: Length of the longest bar, in that unit.
    """
    # By number, not by name: two rows may have the same name.
    axes.set_yticks(range(len(names)), ["\n".join(map(blank_unprintable, name.split("\n"))) for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlim(0, (most or 1) * 1.35)
    axes.set_xlabel(unit)
    axes.spines["left"].set_visible(False)
    axes.spines["bottom"].set_visible(False)
    axes.xaxis.grid(True)
    axes.locator_params(axis="x", nbins=4, integer=unit != "USD")
    axes.xaxis.set_major_formatter(_tick)
    axes.tick_params(axis="y", pad=2)


def draw_label(axes: Axes, x: float, row: int, words: str, most: float) -> None:
    """Write the figure of a bar to the right of its end.

    Args:
        axes: The axes.
        x: Where the bar ends.
        row: Number of its row, from 0.
        words: What to write.
        most: Length of the longest bar, which sets the distance.
    """
    axes.text(x + 0.015 * (most or 1), row, words, va="center_baseline", fontsize=9, color=INK)


def draw_legend(axes: Axes, columns: int) -> None:
    """Draw the legend above the bars.

    It begins at the left edge of the figure, not of the axes, because the names of rows leave the axes little room.

    Args:
        axes: The axes; its artists have labels.
        columns: How many entries stand side by side.
    """
    from matplotlib.transforms import blended_transform_factory

    across = blended_transform_factory(axes.figure.transFigure, axes.transAxes)
    axes.legend(
        loc="lower left",
        bbox_to_anchor=(0.01, 1),
        bbox_transform=across,
        ncols=columns,
        borderaxespad=0.2,
        borderpad=0.2,
        columnspacing=1.2,
    )


def _tick(value: float, _: object) -> str:
    return f"{value:,.0f}" if value == round(value) else f"{value:g}"
