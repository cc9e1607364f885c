"""Bars that read from top to bottom, each with its figure beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from hazardmill.reporting.svg.drawing import INK, blank_unprintable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROW: Final = 0.3
"""Inches a bar takes."""

THICK: Final = 0.72
"""Of a row, what its bar takes."""


def lay_out_rows(axes: Axes, names: Sequence[str], unit: str, most: float) -> None:
    """A row a name, which may have several lines, and room for labels on the right; ``most`` is the longest bar."""
    # By number and not by name: two rows may be called the same.
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
    """The figure of a bar, right of its end."""
    axes.text(x + 0.015 * (most or 1), row, words, va="center_baseline", fontsize=9, color=INK)


def draw_legend(axes: Axes, columns: int) -> None:
    """What the colours stand for, above the bars, from the left edge of the figure: names of rows leave little room."""
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
