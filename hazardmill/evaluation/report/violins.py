"""Draw easy tasks beside hard ones: how lengths and safety intention are distributed in each bin of difficulty."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy import stats

from hazardmill.evaluation.report.model_results import ResultPanel
from hazardmill.evaluation.report.words import render_number
from hazardmill.evaluation.stats.answers import Answers
from hazardmill.evaluation.stats.bins import bins, places
from hazardmill.evaluation.stats.effects import FIGURES, effects
from hazardmill.reporting.numbers import NONE, count, plural
from hazardmill.reporting.svg.axes import draw_missing, split_axes, whiskers
from hazardmill.reporting.svg.drawing import BLUE, INK, PAPER, Figure, draw
from hazardmill.reporting.table import Grid
from hazardmill.statistics.estimate import Estimate, interval_around
from hazardmill.statistics.ratios import wilson_over_units

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.axes import Axes

_TITLES: Final = {
    "optimal_length": "shortest safe plan",
    "plan_length": "answered plan, mean",
    "safety_intention": "safety intention",
}
_UNITS: Final = {"optimal_length": "actions", "plan_length": "actions", "safety_intention": "answers (%)"}
_TENTHS: Final = 10
_WIDTH: Final = 0.84
_UPPER: Final = 0.975
"""Where Student's distribution is cut above, for an interval of 95%."""


def difficulty_violins(panel: ResultPanel) -> Figure:
    """Draw one panel per figure, with a violin per bin of difficulty: mirrored bars of the share of its tasks."""
    found = panel.answers
    known = 0 if found is None else int(found.tasks["difficulty"].notna().sum())
    title = f"Easy and hard tasks (n = {plural(known, 'task')} of known difficulty)"
    head = ("Figure", "Difficulty", "Tasks", "Mean, 95 %", "Median", "Quartiles")
    if found is None or not known:
        why = "no answers of language models" if found is None else "the difficulty of no task is known"
        return draw_missing("difficulty", title, why, Grid(title, head, (), words=2))
    spread = {name: _bins_of(found, name, panel.how.least) for name in FIGURES}
    drawn = {each.figure: each for each in effects(found.tasks, panel.how.least)}
    lines = []
    for name, violins in spread.items():
        lines += [(f"{_TITLES[name]}, {_UNITS[name]}", *_numbers(name, *violin)) for violin in violins]
    grid = Grid(title, head, tuple(lines), words=2)

    def paint(axes: Axes) -> None:
        for one, name in zip(split_axes(axes, 1, len(FIGURES)), FIGURES, strict=True):
            each = drawn[name].d
            size = "d unknown" if each.value is None else f"d = {render_number(each)}"
            one.set_title(f"{_TITLES[name]}\n{size}", fontsize=9.5)
            _paint(one, name, spread[name])

    said = "; ".join(f"{row[0]} at {row[1]}: n {row[2]}, mean {row[3]}, median {row[4]}" for row in lines)
    origin = "as the rows state it" if found.difficulty == "rows" else "the share of the models without a safe plan"
    reasons = sorted({each.why for each in drawn.values() if each.why})
    notes = [
        f"Difficulty is {origin}, 0 to 1. Width is the share of a bin's tasks; the ring is the median, the line "
        "the 95 % interval of the mean. d is Cohen's, hardest bin minus easiest, with its 95 % interval.",
        *(f"{why[:1].upper()}{why[1:]}." for why in reasons),
    ]
    alt = f"Violins of figures of tasks over bins of difficulty. {said}."
    return draw("difficulty", title, alt, 3.8, paint, grid=grid, note=" ".join(notes), wide=True)


_Violin = tuple[str, "npt.NDArray[np.float64]"]
"""Bounds of a bin in words, and the values of its tasks."""


def _bins_of(found: Answers, name: str, least: int) -> list[_Violin]:
    tasks: Any = found.tasks[found.tasks["difficulty"].notna() & found.tasks[name].notna()]
    difficulty = tasks["difficulty"].to_numpy()
    if not len(difficulty):
        return []
    of = bins(difficulty, least)
    at = places(difficulty, of)
    values = tasks[name].to_numpy() * (100 if name == "safety_intention" else 1)
    return [(each.words, values[at == place]) for place, each in enumerate(of)]


def _numbers(name: str, words: str, values: npt.NDArray[np.float64]) -> tuple[str, ...]:
    if not len(values):
        return words, "0", NONE, NONE, NONE
    low, middle, high = np.quantile(values, (0.25, 0.5, 0.75))
    return words, count(len(values)), render_number(_mean(name, values)), f"{middle:g}", f"{low:g} to {high:g}"


def _mean(name: str, values: npt.NDArray[np.float64]) -> Estimate:
    """Return the mean with its interval of 95% by Student's distribution.

    Where all values are equal, lengths have no interval, and shares that of units that agree.
    """
    n, mean = len(values), float(values.mean())
    if np.ptp(values) > 0:
        reach = float(stats.t.ppf(_UPPER, n - 1)) * float(np.std(values, ddof=1)) / n**0.5
        return interval_around(mean, reach, n=n, method="student")
    if name != "safety_intention":
        return Estimate(value=mean, n=n)
    low, high = wilson_over_units(values, np.ones(n), (0.0, 100.0))
    return Estimate(value=mean, low=low, high=high, n=n, method="wilson")


def _paint(axes: Axes, name: str, violins: Sequence[_Violin]) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.set_ylabel(_UNITS[name])
    axes.set_xlabel("difficulty")
    if not violins:
        axes.text(0.5, 0.5, "not known", ha="center", va="center", transform=axes.transAxes)
        axes.set_xticks([])
        return
    # Lengths are whole numbers and shares are rounded to tenths: a density between them would be invented.
    step = _TENTHS if name == "safety_intention" else 1
    for place, (_, values) in enumerate(violins):
        if not len(values):
            continue
        levels, counts = np.unique(np.round(values / step) * step, return_counts=True)
        widths = _WIDTH * counts / counts.max()
        axes.barh(levels, widths, left=place - widths / 2, height=0.9 * step, color=BLUE, alpha=0.45)
        mean = _mean(name, values)
        assert mean.value is not None, "there are values"
        reach = None if mean.low is None or mean.high is None else whiskers([(mean.value, mean.low, mean.high)])
        axes.errorbar([place], [mean.value], yerr=reach, color=INK, marker="_", markersize=9, capsize=3, elinewidth=1.2)
        axes.plot([place], [float(np.median(values))], marker="o", markersize=4.5, color=INK, markerfacecolor=PAPER)
    axes.set_xticks(range(len(violins)), [f"{words}\nn = {count(len(values))}" for words, values in violins])
    axes.tick_params(axis="x", labelsize=8 if len(violins) < 5 else 6.5)
    axes.set_xlim(-0.6, len(violins) - 0.4)
    if name == "safety_intention":
        axes.set_ylim(-6, 106)
    else:
        axes.yaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axes.yaxis.grid(True)
