"""Several axes in one figure, points with intervals on them, and figures that lack what they are to show."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from hazardmill.reporting.svg.drawing import SERIES, Figure, draw_empty
from hazardmill.reporting.table import Grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Interval = tuple[float, float, float]
"""Value, low, high."""

MARKS: Final = ("o", "s", "D", "^", "v", "P", "X")

_LINE: Final = 60
"""Characters of a line in a figure that lacks something."""


def split_axes(axes: Axes, rows: int, columns: int, **how: Any) -> list[Axes]:  # noqa: ANN401  # of matplotlib's subplots
    """Put a grid of axes in the place of the one, row by row."""
    figure = axes.figure
    axes.remove()
    made = figure.subplots(rows, columns, squeeze=False, **how)
    return [one for row in made for one in row]


def series_style(number: int) -> dict[str, Any]:
    """Colour and mark of a series; pairs repeat only after forty-two."""
    return {"color": SERIES[number % len(SERIES)], "marker": MARKS[(number + number // len(SERIES)) % len(MARKS)]}


def draw_missing(name: str, title: str, why: str, grid: Grid) -> Figure:
    """A figure that says what it lacks."""
    drawn = draw_empty(name, title, textwrap.fill(why, _LINE), grid)
    return drawn.model_copy(update={"alt": " ".join(drawn.alt.split())})


def whiskers(found: Sequence[Interval]) -> list[list[float]]:
    """How far intervals reach below and above their values, as matplotlib's error bars take them."""
    # A bootstrap interval may leave its value out by rounding.
    return [
        [max(0.0, value - low) for value, low, _ in found],
        [max(0.0, high - value) for value, _, high in found],
    ]
