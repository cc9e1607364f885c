"""Figures of the accepted tasks: danger groups and types by source, plan length by safety effort."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from hazardmill.records import DangerGroup, DangerType
from hazardmill.reporting.numbers import count, plural
from hazardmill.reporting.svg.bars import ROW, THICK, draw_label, draw_legend, lay_out_rows
from hazardmill.reporting.svg.drawing import BLUE, INK, ORANGE, PAPER, SERIES, Figure, draw, draw_empty
from hazardmill.reporting.svg.stacked_bars import tasks_by_source
from hazardmill.reporting.table import Grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GROUP_COLOURS: Final = {DangerGroup.PHYSICAL.value: BLUE, DangerGroup.PSYCHOSOCIAL.value: ORANGE}
"""The colours of the two danger groups in all figures."""

TYPES: Final = tuple(kind.value for kind in DangerType)
"""The danger types in the order of ``DangerType``."""

_OTHERS: Final = "others"


def danger_groups(tasks: Sequence[Mapping[str, Any]]) -> Figure:
    """Draw the accepted tasks by source as bars, stacked by danger group.

    Args:
        tasks: Rows with ``source`` and ``danger_group``.

    Returns:
        The figure ``groups``; a placeholder if there are no tasks.
    """
    title = f"Danger groups by source (n = {plural(len(tasks), 'task')})"
    cells = Counter((task["source"], task["danger_group"]) for task in tasks)
    # A group that this version does not know is shown nevertheless.
    groups = [*GROUP_COLOURS, *sorted({group for _, group in cells} - GROUP_COLOURS.keys())]
    colours = dict(zip(groups, (*GROUP_COLOURS.values(), *SERIES[2:]), strict=False))
    return tasks_by_source("groups", title, cells, colours, by="danger group", lacking="no accepted tasks")


def danger_types(tasks: Sequence[Mapping[str, Any]]) -> Figure:
    """Draw the accepted tasks by danger type as bars, stacked by source.

    With more sources than colours, the rarer ones are combined as "others".

    Args:
        tasks: Rows with ``source`` and ``danger_type``.

    Returns:
        The figure ``types``; a placeholder if there are no tasks.
    """
    title = f"Danger types by source (n = {plural(len(tasks), 'task')})"
    cells = Counter((task["danger_type"], task["source"]) for task in tasks)
    sources = sorted({source for _, source in cells})
    kinds = sorted({kind for kind, _ in cells}, key=lambda kind: (TYPES.index(kind) if kind in TYPES else 99, kind))
    totals = {kind: sum(cells[kind, source] for source in sources) for kind in kinds}
    lines = [(_words(kind), *(count(cells[kind, source]) for source in sources), count(totals[kind])) for kind in kinds]
    sums = [count(sum(cells[kind, source] for kind in kinds)) for source in sources]
    grid = Grid(title, ("Danger type", *sources, "Tasks"), (*lines, ("all", *sums, count(len(tasks)))))
    if not tasks:
        return draw_empty("types", title, "no accepted tasks", grid)
    names = _series(tasks)

    def paint(axes: Axes) -> None:
        starts = [0] * len(kinds)
        for name, colour in zip(names, SERIES, strict=False):
            members = set(sources) - set(names) if name == _OTHERS else {name}
            widths = [sum(cells[kind, source] for source in members) for kind in kinds]
            axes.barh(range(len(kinds)), widths, left=starts, color=colour, height=THICK, label=name, edgecolor=PAPER)
            starts = [start + width for start, width in zip(starts, widths, strict=True)]
        for place, kind in enumerate(kinds):
            draw_label(axes, totals[kind], place, count(totals[kind]), max(totals.values()))
        lay_out_rows(axes, [_words(kind) for kind in kinds], "tasks", max(totals.values()))
        draw_legend(axes, 3)

    said = ", ".join(f"{_words(kind)} {number}" for kind, number in totals.items())
    per_source = ", ".join(f"{name} {k}" for name, k in sorted(Counter(t["source"] for t in tasks).items()))
    alt = f"Bars of tasks by danger type, stacked by source: {said}. By source: {per_source}."
    absent = [_words(kind) for kind in TYPES if kind not in totals]
    note = f"No task has one of these types: {', '.join(absent)}." if absent else None
    return draw("types", title, alt, 1.3 + ROW * len(kinds), paint, grid=grid, note=note)


def length_by_effort(tasks: Sequence[Mapping[str, Any]]) -> Figure:
    """Draw the tasks by safety effort and plan length, with one cell per pair of values.

    Tasks without a safe plan have neither; they are left out and counted in a note.

    Args:
        tasks: Rows with ``plan_length`` and ``safety_effort``, in actions; null without a safe plan.

    Returns:
        The figure ``effort``; a placeholder if no task has a safe plan.
    """
    left_out = sum(task["plan_length"] is None for task in tasks)
    tasks = [task for task in tasks if task["plan_length"] is not None]
    title = f"Plan length by safety effort (n = {plural(len(tasks), 'task')})"
    cells = Counter((task["safety_effort"], task["plan_length"]) for task in tasks)
    lines = tuple((f"{effort:+d}", count(length), count(number)) for (effort, length), number in sorted(cells.items()))
    grid = Grid(title, ("Safety effort (actions)", "Plan length (actions)", "Tasks"), lines, words=0)
    without = f"{plural(left_out, 'task')} without a safe plan left out" if left_out else ""
    if not tasks:
        return draw_empty(
            "effort", title, "no accepted task has a safe plan" if left_out else "no accepted tasks", grid
        )
    most = max(cells.values())
    efforts, lengths = ([pair[part] for pair in cells] for part in (0, 1))
    height = min(5.5, 1.3 + 0.27 * (max(lengths) - min(lengths) + 1))

    def paint(axes: Axes) -> None:
        from matplotlib.patches import Rectangle

        for (effort, length), number in sorted(cells.items()):
            shade = 0.12 + 0.5 * number / most
            axes.add_patch(Rectangle((effort - 0.46, length - 0.44), 0.92, 0.88, facecolor=BLUE, alpha=shade))
            axes.text(effort, length, count(number), ha="center", va="center_baseline", fontsize=8.5, color=INK)
        axes.set_xlim(min(efforts) - 0.6, max(efforts) + 0.6)
        axes.set_ylim(min(lengths) - 0.6, max(lengths) + 0.6)
        axes.set_xlabel("safety effort: actions the safe plan takes more than the unsafe one")
        axes.set_ylabel("plan length (actions)")
        axes.locator_params(integer=True)

    commonest = [f"effort {e}, length {n}: {k}" for (e, n), k in sorted(cells.items(), key=lambda c: (-c[1], c[0]))]
    said = (
        f"Plan length runs from {min(lengths)} to {max(lengths)} actions, safety effort from {min(efforts)} to"
        f" {max(efforts)}. Commonest: {'; '.join(commonest[:5])}{f'. {without}' if without else ''}."
    )
    alt = f"Number of tasks by plan length and safety effort. {said}"
    note = "The number in a cell counts tasks." + (f" {without}." if without else "")
    return draw("effort", title, alt, height, paint, grid=grid, note=note)


def _words(kind: str) -> str:
    return kind.replace("_", " ")


def _series(tasks: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names of the series: all sources, or the commonest ones and "others"."""
    counted = Counter(task["source"] for task in tasks)
    if len(counted) <= len(SERIES):
        return sorted(counted)
    ranked = sorted(counted, key=lambda name: (-counted[name], name))
    return [*sorted(ranked[: len(SERIES) - 1]), _OTHERS]
