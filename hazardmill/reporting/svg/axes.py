"""Several axes in one figure, points with intervals, and placeholders for figures that cannot be drawn."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from hazardmill.reporting.svg.drawing import SERIES, Figure, draw_empty
from hazardmill.reporting.table import Grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Interval = tuple[float, float, float]
"""Value, lower end, upper end."""

MARKS: Final = ("o", "s", "D", "^", "v", "P", "X")

_LINE: Final = 60
"""Characters per line of the text in a placeholder."""


def split_axes(axes: Axes, rows: int, columns: int, **how: Any) -> list[Axes]:  # noqa: ANN401  # of matplotlib's subplots
    """Replace axes by a grid of axes.

    Args:
        axes: The axes of the figure; they are removed.
        rows: How many rows the grid has.
        columns: How many columns it has.
        how: Options of ``matplotlib.figure.Figure.subplots``.

    Returns:
        The new axes, row by row.
    """
    figure = axes.figure
    axes.remove()
    made = figure.subplots(rows, columns, squeeze=False, **how)
    return [one for row in made for one in row]


def series_style(number: int) -> dict[str, Any]:
    """Return colour and marker of a series, as options of ``Axes.plot``.

    Args:
        number: Of the series, from 0. A pair repeats only after 42 series.
    """
    return {"color": SERIES[number % len(SERIES)], "marker": MARKS[(number + number // len(SERIES)) % len(MARKS)]}


def draw_missing(name: str, title: str, why: str, grid: Grid) -> Figure:
    """Return a placeholder that says what is missing.

    Args:
        name: Of the figure, as for ``draw``.
        title: Above it.
        why: What is missing; it is wrapped.
        grid: The numbers behind the figure, as far as there are any.
    """
    drawn = draw_empty(name, title, textwrap.fill(why, _LINE), grid)
    return drawn.model_copy(update={"alt": " ".join(drawn.alt.split()), "lacks": why})


def whiskers(found: Sequence[Interval]) -> list[list[float]]:
    """Return how far intervals reach below and above their values.

    Args:
        found: One interval per point.

    Returns:
        Two lists, lower and upper lengths, as ``Axes.errorbar`` takes them; never negative.
    """
    # By rounding, a bootstrap interval may exclude its own value.
    return [
        [max(0.0, value - low) for value, low, _ in found],
        [max(0.0, high - value) for value, _, high in found],
    ]
