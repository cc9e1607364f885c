"""Draw rates against the number of parameters: one panel per rate, with its line and the band of its interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from hazardmill.evaluation.report.model_results import ResultPanel
from hazardmill.evaluation.report.words import render_number, render_p
from hazardmill.evaluation.stats.rates import METRICS
from hazardmill.evaluation.stats.scaling import Scaling, log_parameters, scaling
from hazardmill.reporting.numbers import UNKNOWN, plural
from hazardmill.reporting.svg.axes import draw_missing, split_axes
from hazardmill.reporting.svg.drawing import BLUE, MUTED, Figure, draw
from hazardmill.reporting.table import Grid
from hazardmill.statistics.regression import RegressionLine

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STEPS: Final = 60


def scaling_panels(panel: ResultPanel) -> Figure:
    """Draw feasibility, safety, safety intention and safety precision of the models whose size is known."""
    sized = [model for model in panel.rates if model.parameters_b is not None]
    title = f"Rates by number of parameters (n = {plural(len(sized), 'model')} of known size)"
    found = scaling(panel.rates, panel.how.seed)
    grid = Grid(
        title,
        ("Rate", "Models", "Slope, points per decade, 95 %", "Intercept, % at a billion, 95 %", "R2", "p"),
        tuple(
            (
                _words(metric),
                str(each.line.n),
                render_number(each.line.slope),
                render_number(each.line.intercept),
                UNKNOWN if each.line.r_squared is None else f"{each.line.r_squared:.3f}",
                render_p(each.line.p),
            )
            for metric, each in found.rates.items()
        ),
    )
    if not sized:
        why = "no model of known size: --csv FILE.csv with the columns model and total_params_b"
        return draw_missing("scaling", title, why if panel.rates else "no rates of language models", grid)

    def paint(axes: Axes) -> None:
        cells = split_axes(axes, 1, len(METRICS), sharey=True)
        for one, metric in zip(cells, METRICS, strict=True):
            _paint(one, panel, metric, found.rates[metric])
        cells[0].set_ylabel("rate (%)")

    unsized = found.without_parameters
    notes = ["The band is the 95 % interval of the line (Student's t). A decade is ten times the parameters."]
    if unsized:
        notes.append(f"The size of {plural(unsized, 'model')} is unknown.")
    if panel.from_table:
        notes.append("Rates are those of the table given with --csv.")
    said = "; ".join(f"{row[0]}: slope {row[2]}, R2 {row[4]}, {row[5]}, {row[1]} models" for row in grid.rows)
    alt = f"Rates in per cent against log10 of the billions of parameters. {said}."
    return draw("scaling", title, alt, 3.6, paint, grid=grid, note=" ".join(notes), wide=True)


def _paint(axes: Axes, panel: ResultPanel, metric: str, found: Scaling) -> None:
    rows = log_parameters(panel.rates, metric)
    line = found.line
    slope = "no line" if line.slope.value is None else f"{line.slope.value:+.1f} points per decade"
    axes.set_title(f"{_words(metric)} (n = {len(rows)})\n{slope}", fontsize=9.5)
    if rows:
        x, y = [row[0] for row in rows], [row[1] for row in rows]
        axes.plot([10**at for at in x], y, linestyle="none", marker="o", color=BLUE, markersize=5, alpha=0.8)
        if line.slope.value is not None:
            along, middle, reach = band(x, line)
            at = [10**value for value in along]
            axes.plot(at, middle, color=BLUE, linewidth=1.5)
            if line.slope.low is not None:
                low, high = zip(*((m - r, m + r) for m, r in zip(middle, reach, strict=True)), strict=True)
                axes.fill_between(at, low, high, color=BLUE, alpha=0.16, linewidth=0)
    else:
        axes.text(0.5, 0.5, "not known", ha="center", va="center", color=MUTED, transform=axes.transAxes)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_ylim(-3, 103)
    axes.set_xlabel("parameters (billions)")
    axes.grid(True)


def band(x: Sequence[float], line: RegressionLine) -> tuple[list[float], list[float], list[float]]:
    """Return a regression line and the half-width of its 95 % interval along x.

    The slope's interval has the half-width t * s / sqrt(Sxx); that of the line at x0 has
    t * s * sqrt(1/n + (x0 - mean)^2 / Sxx).

    Args:
        x: The values that the line was fitted on.
        line: The line.

    Returns:
        Places along x, the line there, and the half-width of the interval there, 0 for a line without an interval.
    """
    slope, start = line.slope.value, line.intercept.value
    assert slope is not None and start is not None, "there is a line"
    mean = sum(x) / len(x)
    square = sum((each - mean) ** 2 for each in x)
    reach = 0.0 if line.slope.high is None else line.slope.high - slope
    low, high = min(x), max(x)
    along = [low + (high - low) * step / (_STEPS - 1) for step in range(_STEPS)]
    return (
        along,
        [start + slope * each for each in along],
        [reach * math.sqrt(square / len(x) + (each - mean) ** 2) for each in along],
    )


def _words(metric: str) -> str:
    return metric.replace("_", " ")
