"""Draw whether safety is the product of feasibility and safety intention, with one point per model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from hazardmill.evaluation.report.model_names import RULES, label_model, shorten_name
from hazardmill.evaluation.report.model_results import ResultPanel
from hazardmill.evaluation.report.sizes import band
from hazardmill.evaluation.report.words import interval, render_number
from hazardmill.evaluation.stats.product import product_fit
from hazardmill.reporting.estimates import render_interval
from hazardmill.reporting.numbers import UNKNOWN, plural
from hazardmill.reporting.svg.axes import Interval, draw_missing, whiskers
from hazardmill.reporting.svg.drawing import BLUE, GRID, INK, MUTED, PAPER, Figure, draw
from hazardmill.reporting.table import Grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NAMED: Final = 30
"""Up to this many points are numbered."""
_AROUND: Final = ((1, 1), (-1, 1), (1, -1), (-1, -1), (1.3, 0), (-1.3, 0), (0, 1.2), (0, -1.2))
_FAR: Final = (3.4, 5.2, 7.5)
"""Distances between a mark and its number, in points of a rate."""


@dataclass(frozen=True)
class ModelPoint:
    """One model or stand-in in the scatter.

    Attributes:
        name: Name of the model.
        product: F x SI in per cent.
        safety: S with low and high, in per cent.
        interval: The interval of S in words; None where it has none.
        stand_in: Whether it is a stand-in.
    """

    name: str
    product: float
    safety: Interval
    interval: str | None
    stand_in: bool


def product_scatter(panel: ResultPanel) -> Figure:
    """Draw S against F x SI, both in per cent."""
    points = _points(panel)
    models = sum(not point.stand_in for point in points)
    title = f"S against F x SI (n = {plural(models, 'model')})"
    found = product_fit(panel.rates, panel.how.seed)
    grid = Grid(
        title,
        ("Model", "No.", "F x SI, %", "S, %", "S, 95 %"),
        tuple(
            (
                label_model(point.name),
                str(number),
                f"{point.product:.1f}",
                f"{point.safety[0]:.1f}",
                UNKNOWN if point.interval is None else point.interval,
            )
            for number, point in enumerate(points, 1)
        ),
    )
    if not points:
        return draw_missing("product", title, "no model has known F, S and SI", grid)

    def paint(axes: Axes) -> None:
        axes.plot([0, 100], [0, 100], color=GRID, linewidth=1.2, zorder=1)
        x = [point.product for point in points if not point.stand_in]
        if found.line.slope.value is not None:
            along, middle, reach = band(x, found.line)
            axes.plot(along, middle, color=BLUE, linewidth=1.5, zorder=2)
            if found.line.slope.low is not None:
                low, high = zip(*((m - r, m + r) for m, r in zip(middle, reach, strict=True)), strict=True)
                axes.fill_between(along, low, high, color=BLUE, alpha=0.16, linewidth=0, zorder=1)
        for point in points:
            axes.errorbar(
                [point.product],
                [point.safety[0]],
                yerr=whiskers([point.safety]) if point.interval is not None else None,
                marker="D" if point.stand_in else "o",
                markersize=6,
                color=MUTED if point.stand_in else BLUE,
                markerfacecolor=PAPER if point.stand_in else BLUE,
                elinewidth=1,
                zorder=3,
            )
        for number, place in zip(range(1, len(points) + 1), label_places(points), strict=True):
            if place is not None:
                axes.text(*place, str(number), ha="center", va="center", fontsize=8, color=INK, zorder=4)
        axes.set_xlim(-3, 103)
        axes.set_ylim(-3, 103)
        axes.set_xlabel("F x SI (%)")
        axes.set_ylabel("S (%)")
        axes.set_aspect("equal")
        axes.grid(True)

    line = found.line
    slope = render_number(line.slope, 3)
    fit = f"line over models: slope {slope} points per point, intercept {render_number(line.intercept)} points"
    fit += "" if line.r_squared is None else f", R2 {line.r_squared:.3f}"
    if line.slope.value is None:
        fit = f"no line over models ({line.why})"
    off = render_number(found.mean_absolute_difference)
    notes = [f"Mean absolute difference {off} points; {fit}. Intervals are 95 %; the grey line is S = F x SI."]
    if len(points) <= _NAMED:
        notes.append("; ".join(f"{number} {shorten_name(point.name)}" for number, point in enumerate(points, 1)) + ".")
    if any(point.stand_in for point in points):
        notes.append(f"Hollow diamonds are stand-ins ({RULES}), which the line leaves out.")
    said = "; ".join(f"{row[0]}: {row[2]} and {row[3]}" for row in grid.rows)
    alt = f"Safety against feasibility times safety intention, in per cent. {said}. {fit}."
    return draw("product", title, alt, 5.2, paint, grid=grid, note=" ".join(notes))


def label_places(points: list[ModelPoint]) -> list[tuple[float, float] | None]:
    """Return where to write the number of each point: near it, and away from all others.

    Args:
        points: The points.

    Returns:
        A place in per cent for each point; None where there is no room, or where there are too many points.
    """
    taken = [(point.product, point.safety[0]) for point in points]
    places: list[tuple[float, float] | None] = []
    for point in points:
        around = [(point.product + far * x, point.safety[0] + far * y) for far in _FAR for x, y in _AROUND]
        near = [place for place in around if all(0 <= side <= 101 for side in place)]
        free = next(
            (place for place in near if all(abs(place[0] - x) > 3.3 or abs(place[1] - y) > 2.9 for x, y in taken)), None
        )
        places.append(free if len(points) <= _NAMED else None)
        taken += [free] if free is not None else []
    return places


def _points(panel: ResultPanel) -> list[ModelPoint]:
    if panel.from_table:
        return [
            ModelPoint(each.model, each.feasibility * each.safety_intention / 100, (each.safety,) * 3, None, False)
            for each in panel.rates
            if each.feasibility is not None and each.safety_intention is not None and each.safety is not None
        ]
    points = []
    for member in panel.members:
        rates = member.figures.rates
        f, si, s = rates["F"].value, rates["SI"].value, interval(rates["S"])
        if f is not None and si is not None and s is not None:
            written = render_interval(rates["S"], lambda end: f"{100 * end:.1f}")
            points.append(ModelPoint(member.model, 100 * f * si, s, written, member.stand_in))
    return points
