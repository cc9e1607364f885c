"""Draw which categories of tasks grow among harder ones: the change of each share, in points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from hazardmill.evaluation.report.model_results import ResultPanel
from hazardmill.evaluation.report.words import render_p, render_rate
from hazardmill.evaluation.stats.shifts import CategoryShift, Shifts, difficulty_shifts, easy_hard
from hazardmill.reporting.estimates import render_estimate
from hazardmill.reporting.numbers import NONE, plural, points
from hazardmill.reporting.svg.axes import draw_missing
from hazardmill.reporting.svg.drawing import MUTED, SERIES, Figure, blank_unprintable, draw
from hazardmill.reporting.table import Grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST: Final = 16
"""Maximum number of categories of a label that are drawn: those with the largest changes."""


@dataclass(frozen=True)
class _Samples:
    name: str
    title: str
    heads: tuple[str, ...]
    by: Sequence[Shifts]
    note: str
    lacks: str | None


def category_shifts(panel: ResultPanel) -> Figure:
    """Draw how categories change from the easiest to the hardest bin of difficulty."""
    if panel.answers is None:
        return _draw(_none("shifts", "Categories over difficulty (n = 0 tasks)"))
    found = difficulty_shifts(panel.answers.tasks, panel.how.least)
    tasks = sum(each.tasks for each in found.bins)
    lacks = None
    if len(found.bins) < 2:
        lacks = "the difficulty of no task is known" if not found.bins else _one_bin(tasks, panel.how.least)
    first, last = (f"{each.low:.1f}-{each.high:.1f}" for each in (found.bins[0], found.bins[-1])) if tasks else "  "
    return _draw(
        _Samples(
            "shifts",
            f"Categories over difficulty (n = {plural(tasks, 'task')}, {plural(len(found.bins), 'bin')})",
            tuple(each.words for each in found.bins),
            found.by,
            f"Change of a category's share of tasks from the bin of difficulty {first} to the bin {last}.",
            lacks,
        )
    )


def easy_and_hard(panel: ResultPanel) -> Figure:
    """Draw how categories change from easy to hard tasks, as separated by the panel's mean score."""
    if panel.answers is None:
        return _draw(_none("easy-hard", "Categories of easy and hard tasks (n = 0 tasks)"))
    found = easy_hard(panel.answers.tasks)
    title = f"Categories of easy and hard tasks (n = {found.easy:,} easy, {found.hard:,} hard)"
    lacks = None
    if not found.easy or not found.hard:
        lacks = f"there are no {'easy' if not found.easy else 'hard'} tasks to compare with"
    note = f"Change of a category's share from easy to hard tasks (mean score at most {found.threshold:g} of 2)."
    return _draw(_Samples("easy-hard", title, ("Easy", "Hard"), found.by, note, lacks))


def _none(name: str, title: str) -> _Samples:
    return _Samples(name, title, (), (), "", "no answers of language models")


def _one_bin(tasks: int, least: int) -> str:
    return f"{plural(tasks, 'task')} are all in one bin: others would have under {least} (--least)"


def _draw(of: _Samples) -> Figure:
    lines = [
        (
            shifts.by.replace("_", " "),
            _words(each),
            *(render_rate(share, usual="wilson") for share in each.shares),
            _change(each),
            _relative(each),
        )
        for shifts in of.by
        for each in shifts.categories
    ]
    head = ("Label", "Category", *of.heads, "Change, points, 95 %", "Relative, % of base")
    grid = Grid(of.title, head, tuple(lines), words=2)
    if of.lacks is not None:
        return draw_missing(of.name, of.title, of.lacks, grid)
    blocks = [(shifts, _largest_changes(shifts.categories)) for shifts in of.by if shifts.categories]
    if not blocks:
        return draw_missing(of.name, of.title, "the category of no task is known", grid)
    number = sum(len(kept) for _, kept in blocks)

    def paint(axes: Axes) -> None:
        row, names, rows = 0.0, [], []
        for place, (shifts, kept) in enumerate(blocks):
            axes.text(
                0, row - 0.12, _test(shifts), fontsize=8.5, color=MUTED, va="center", transform=_row_transform(axes)
            )
            row += 0.85
            for each in kept:
                absolute = each.change.absolute
                if absolute.value is not None:
                    low = absolute.value if absolute.low is None else absolute.low
                    high = absolute.value if absolute.high is None else absolute.high
                    colour = SERIES[place % len(SERIES)]
                    axes.plot([low, high], [row, row], color=colour, linewidth=1.4)
                    axes.plot([absolute.value], [row], marker="o", color=colour, markersize=6)
                names.append(blank_unprintable(_words(each)))
                rows.append(row)
                row += 0.85
            row += 0.35
        axes.axvline(0, color=MUTED, linewidth=0.9, zorder=0)
        axes.set_yticks(rows, names)
        axes.set_ylim(row - 0.3, -0.7)
        reach = 1.08 * max(map(abs, axes.get_xlim()))
        axes.set_xlim(-reach, reach)
        axes.set_xlabel("change of the share of tasks (points), 95 % interval")
        axes.spines["left"].set_visible(False)
        axes.xaxis.grid(True)

    said = "; ".join(f"{line[0]} {line[1]}: {line[-2]}" for line in lines)
    notes = [of.note, "Intervals are Newcombe's, shares Wilson's; chi squared without Yates' correction."]
    left = sum(len(shifts.categories) for shifts, _ in blocks) - number
    if left:
        notes.append(f"Categories with smaller changes, in the numbers only: {left}.")
    if any(shifts.test.cells_under_5 for shifts, _ in blocks):
        notes.append("A test is doubtful where expected counts are under 5.")
    height = 1.2 + 0.265 * (number + 1.4 * len(blocks))
    alt = f"Change of the share of each category of tasks, in points. {said}."
    return draw(of.name, of.title, alt, height, paint, grid=grid, note=" ".join(filter(None, notes)))


def _row_transform(axes: Axes) -> object:
    from matplotlib.transforms import blended_transform_factory

    return blended_transform_factory(axes.transAxes, axes.transData)


def _largest_changes(categories: Sequence[CategoryShift]) -> list[CategoryShift]:
    """Return the categories with the largest changes, in their original order."""

    def size(place: int) -> tuple[float, int]:
        absolute = categories[place].change.absolute
        return (-abs(absolute.value) if absolute.value is not None else 0.0, place)

    kept = sorted(range(len(categories)), key=size)[:MOST]
    return [categories[place] for place in sorted(kept)]


def _words(each: CategoryShift) -> str:
    return each.category.replace("_", " ")[:40]


def _test(shifts: Shifts) -> str:
    name, test = shifts.by.replace("_", " "), shifts.test
    if test.statistic is None:
        return f"{name}: no test"
    doubtful = ", doubtful" if test.cells_under_5 else ""
    return f"{name}: chi squared {test.statistic:.1f}, df {test.degrees_of_freedom}, {render_p(test.p)}{doubtful}"


def _change(each: CategoryShift) -> str:
    absolute = each.change.absolute
    if absolute.value is not None and absolute.low is None:
        return points(absolute.value)
    return render_estimate(absolute, points, unknown=NONE)


def _relative(each: CategoryShift) -> str:
    return NONE if each.change.relative is None else f"{each.change.relative.per_cent:+.1f} %"
