"""The figures of a report. Each says its unit and n, and has its words in ``alt``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from hazardmill.records import DangerType
from hazardmill.report.cost import Cost
from hazardmill.report.drawing import BLUE, GRID, INK, MUTED, PAPER, SERIES, VERMILION, Figure, draw, nothing
from hazardmill.report.funnel import LOSSES, Funnel
from hazardmill.report.wording import OUTCOME_WORDS, count, plural, share, usd

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROW: Final = 0.3
"""Inches a row of a bar chart takes."""

_OTHERS: Final = "others"


def all_figures(funnel: Funnel, cost: Cost, tasks: Sequence[Mapping[str, Any]]) -> list[Figure]:
    """Every figure, in the order of the page; ``tasks`` are rows of the table of tasks."""
    return [
        funnel_bars(funnel),
        yield_by_draft(funnel),
        cost_by_stage(cost),
        length_by_effort(tasks),
        danger_types(tasks),
    ]


def funnel_bars(funnel: Funnel) -> Figure:
    """Records from the first to the accepted, each loss beside what was left."""
    total = funnel.total
    title = f"Where the records went (n = {plural(total.records, 'record')})"
    if not total.records:
        return nothing("funnel", title, "no records")
    rows = [("records", 0, total.records, MUTED)]
    left = total.records
    for words, lost, colour in [
        *((OUTCOME_WORDS[outcome], total.of(outcome), VERMILION) for outcome in LOSSES),
        ("pending", total.pending, GRID),
    ]:
        left -= lost
        rows.append((words, left, lost, colour))
    rows.append(("accepted", 0, total.accepted, BLUE))

    def paint(axes: Axes) -> None:
        names = [words for words, *_ in rows]
        starts, widths, colours = ([row[part] for row in rows] for part in (1, 2, 3))
        axes.barh(names, widths, left=starts, color=colours, height=0.72)
        for place, (_, start, width, _) in enumerate(rows):
            _label(axes, start + width, place, f"{count(width)}  ({share(width / total.records)})", total.records)
        _rows(axes, "records", total.records)

    said = ", ".join(f"{words} {count(width)}" for words, _, width, _ in rows)
    return draw("funnel", title, f"Bars of the number of records: {said}.", 0.9 + _ROW * len(rows), paint)


def yield_by_draft(funnel: Funnel) -> Figure:
    """Drafts made and passed, by number."""
    made = sum(row.made for row in funnel.drafts)
    title = f"Yield by draft (n = {plural(made, 'draft')})"
    if not made:
        return nothing("drafts", title, "no drafts")
    most = max(row.made for row in funnel.drafts)

    def paint(axes: Axes) -> None:
        names = [f"draft {row.number}" for row in funnel.drafts]
        axes.barh(names, [row.passed for row in funnel.drafts], color=BLUE, height=0.72, label="passed every check")
        axes.barh(
            names,
            [row.made - row.passed for row in funnel.drafts],
            left=[row.passed for row in funnel.drafts],
            color=GRID,
            height=0.72,
            label="failed a check",
        )
        for place, row in enumerate(funnel.drafts):
            passed = f"{count(row.passed)} of {count(row.made)}"
            _label(axes, row.made, place, f"{passed}  ({share(row.passed / row.made)})" if row.made else "none", most)
        _rows(axes, "drafts", most)
        _legend(axes, 2)

    said = "; ".join(f"draft {row.number}: {row.passed} of {row.made} passed" for row in funnel.drafts)
    return draw("drafts", title, f"Bars of drafts by number. {said}.", 1.2 + _ROW * len(funnel.drafts), paint)


def cost_by_stage(cost: Cost) -> Figure:
    """USD by stage; tokens where these runs paid nothing, or no price is known."""
    attempts = plural(cost.paid.attempts, "attempt")
    if not cost.paid.attempts:
        return nothing("cost", "Cost by stage (n = 0 attempts)", "every answer was paid for before")
    in_usd = bool(cost.paid.usd.known)
    unit = "USD" if in_usd else "tokens"
    figures, labels = [], []
    for spent in cost.by_stage.values():
        tokens = (spent.prompt_tokens.known or 0) + (spent.completion_tokens.known or 0)
        unknown = spent.usd.unknown if in_usd else max(spent.prompt_tokens.unknown, spent.completion_tokens.unknown)
        figures.append((spent.usd.known or 0) if in_usd else tokens)
        label = usd(spent.usd.known) if in_usd else f"{tokens:,}"
        labels.append(label + (f" + {count(unknown)} unknown" if unknown else ""))
    title = f"Cost by stage in {unit} (n = {attempts})"

    def paint(axes: Axes) -> None:
        axes.barh(list(cost.by_stage), figures, color=BLUE, height=0.72)
        for place, (figure, label) in enumerate(zip(figures, labels, strict=True)):
            _label(axes, figure, place, label, max(figures))
        _rows(axes, unit, max(figures))

    said = ", ".join(f"{stage} {label}" for stage, label in zip(cost.by_stage, labels, strict=True))
    return draw("cost", title, f"Bars of {unit} by stage: {said}.", 0.9 + _ROW * len(figures), paint)


def length_by_effort(tasks: Sequence[Mapping[str, Any]]) -> Figure:
    """Tasks by safety effort and plan length, a cell each pair. Those without a safe plan have neither."""
    left_out = sum(task["plan_length"] is None for task in tasks)
    tasks = [task for task in tasks if task["plan_length"] is not None]
    title = f"Plan length by safety effort (n = {plural(len(tasks), 'task')})"
    if not tasks:
        return nothing("effort", title, "no accepted tasks" if not left_out else "no accepted task has a safe plan")
    without = f"{plural(left_out, 'task')} without a safe plan left out" if left_out else ""
    cells = Counter((task["safety_effort"], task["plan_length"]) for task in tasks)
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
        words = "safety effort: actions the safe plan takes more than the unsafe one"
        axes.set_xlabel(f"{words}\n({without})" if without else words)
        axes.set_ylabel("plan length (actions)")
        axes.locator_params(integer=True)

    commonest = [f"effort {e}, length {n}: {k}" for (e, n), k in sorted(cells.items(), key=lambda c: (-c[1], c[0]))]
    said = (
        f"Plan length runs from {min(lengths)} to {max(lengths)} actions, safety effort from {min(efforts)} to"
        f" {max(efforts)}. Commonest: {'; '.join(commonest[:5])}{f'. {without}' if without else ''}."
    )
    return draw("effort", title, f"Number of tasks by plan length and safety effort. {said}", height, paint)


def danger_types(tasks: Sequence[Mapping[str, Any]]) -> Figure:
    """Accepted tasks by danger type, stacked by source."""
    title = f"Danger types by source (n = {plural(len(tasks), 'task')})"
    if not tasks:
        return nothing("types", title, "no accepted tasks")
    cells = Counter((task["danger_type"], task["source"]) for task in tasks)
    names = _sources(tasks)
    order = [str(kind) for kind in DangerType]
    kinds = sorted({kind for kind, _ in cells}, key=lambda kind: (order.index(kind) if kind in order else 99, kind))
    totals = {kind: sum(number for (k, _), number in cells.items() if k == kind) for kind in kinds}

    def paint(axes: Axes) -> None:
        words = [kind.replace("_", " ") for kind in kinds]
        starts = [0] * len(kinds)
        for name, colour in zip(names, SERIES, strict=False):
            members = {source for _, source in cells} - set(names) if name == _OTHERS else {name}
            widths = [sum(cells[kind, source] for source in members) for kind in kinds]
            axes.barh(words, widths, left=starts, color=colour, height=0.72, label=name, edgecolor=PAPER, linewidth=0.8)
            starts = [start + width for start, width in zip(starts, widths, strict=True)]
        for place, kind in enumerate(kinds):
            _label(axes, totals[kind], place, count(totals[kind]), max(totals.values()))
        _rows(axes, "tasks", max(totals.values()))
        _legend(axes, 3)

    said = ", ".join(f"{kind.replace('_', ' ')} {number}" for kind, number in totals.items())
    by_source = ", ".join(f"{name} {k}" for name, k in sorted(Counter(t["source"] for t in tasks).items()))
    alt = f"Bars of tasks by danger type, stacked by source: {said}. By source: {by_source}."
    return draw("types", title, alt, 1.3 + _ROW * len(kinds), paint)


def _sources(tasks: Sequence[Mapping[str, Any]]) -> list[str]:
    """Names of the series: every source, or the commonest and the others."""
    counted = Counter(task["source"] for task in tasks)
    if len(counted) <= len(SERIES):
        return sorted(counted)
    ranked = sorted(counted, key=lambda name: (-counted[name], name))
    return [*sorted(ranked[: len(SERIES) - 1]), _OTHERS]


def _rows(axes: Axes, unit: str, most: float) -> None:
    """A bar chart that reads from top to bottom, with room for labels on the right."""
    axes.invert_yaxis()
    axes.set_xlim(0, (most or 1) * 1.35)
    axes.set_xlabel(unit)
    axes.spines["left"].set_visible(False)
    axes.spines["bottom"].set_visible(False)
    axes.xaxis.grid(True)
    axes.locator_params(axis="x", nbins=5, integer=unit != "USD")
    axes.tick_params(axis="y", pad=2)


def _label(axes: Axes, x: float, y: int, words: str, most: float) -> None:
    axes.text(x + 0.015 * (most or 1), y, words, va="center_baseline", fontsize=9, color=INK)


def _legend(axes: Axes, columns: int) -> None:
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=columns, borderaxespad=0.2, columnspacing=1.2)
