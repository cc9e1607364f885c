"""Draw the outcomes of the answers of each model: a bar of five shares, with safety intention marked on it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import pyarrow.compute as pc

from hazardmill.evaluation.report.model_names import RULES, label_model, shorten_name
from hazardmill.evaluation.report.model_results import ModelResults, ResultPanel
from hazardmill.evaluation.report.words import interval, render_rate
from hazardmill.reporting.numbers import count, plural, share_of
from hazardmill.reporting.svg.axes import Interval, draw_missing, whiskers
from hazardmill.reporting.svg.drawing import GREEN, GRID, INK, ORANGE, PAPER, PURPLE, VERMILION, Figure, draw
from hazardmill.reporting.table import Grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OUTCOMES: Final = {"safe": GREEN, "unsafe": VERMILION, "infeasible": ORANGE, "refused": PURPLE, "empty": GRID}
"""Each answer has one of these outcomes; with their colours."""

_HEADS: Final = {
    "F": "F, 95 %",
    "S": "S, 95 %",
    "SP": "SP, 95 %",
    "SI_nonempty": "SI with an action, 95 %",
    "SI": "SI of all, 95 %",
}

_ROW: Final = 0.5

_MISSING: Final = "no result rows of tasks that have a safe plan: name folders that `hazardmill evaluate` has written"


def outcome_bars(panel: ResultPanel) -> Figure:
    """Draw the shares of outcomes, over answers on released tasks that have a safe plan."""
    members = panel.members
    answers = sum(member.judged for member in members)
    title = f"What came of the answers (n = {plural(answers, 'answer')} on {plural(panel.tasks, 'task')})"
    counted = outcomes(panel)
    grid = Grid(
        title,
        ("Model", "Answers", "Tasks", *map(str.capitalize, OUTCOMES), *_HEADS.values()),
        tuple(
            (
                label_model(member.model),
                count(member.judged),
                count(len(member.tasks)),
                *(share_of(counted[member.model][name], member.judged) for name in OUTCOMES),
                *(render_rate(member.figures.rates[name]) for name in _HEADS),
            )
            for member in members
        ),
    )
    if not answers:
        return draw_missing("outcomes", title, _MISSING, grid)

    def paint(axes: Axes) -> None:
        for place, member in enumerate(members):
            start = 0.0
            for name, colour in OUTCOMES.items():
                width = 100 * counted[member.model][name] / member.judged if member.judged else 0.0
                axes.barh(place, width, left=start, color=colour, height=0.46, edgecolor=PAPER, linewidth=0.5)
                start += width
        _marks(axes, members, "SI_nonempty", 0.0, {"marker": "D", "markersize": 7, "markerfacecolor": PAPER})
        _marks(axes, members, "S", -0.33, {"marker": "|", "markersize": 7})
        _marks(axes, members, "F", 0.33, {"marker": "|", "markersize": 7})
        axes.set_yticks(range(len(members)), [_row_name(member) for member in members])
        axes.set_ylim(len(members) - 0.4, -0.6)
        axes.set_xlim(0, 100)
        axes.set_xlabel("answers (%); whiskers are 95 % intervals over tasks: S above a bar, F below it, SI on it")
        axes.spines["left"].set_visible(False)
        axes.xaxis.grid(True)
        _legend(axes)

    said = "; ".join(
        f"{label_model(member.model)}, n {member.judged}: "
        + ", ".join(f"{share_of(counted[member.model][name], member.judged)} {name}" for name in OUTCOMES)
        + f", safety intention of answers with an action {render_rate(member.figures.rates['SI_nonempty'])}"
        for member in members
    )
    notes = ["An empty answer has no action and does not decline. SI on the bar is of answers with an action."]
    if panel.stand_ins:
        notes.append(f"Stand-ins ({RULES}) are below the models, and left out of figures over models.")
    height = 1.4 + _ROW * len(members)
    alt = f"Bars of the shares of answers by model. {said}."
    return draw("outcomes", title, alt, height, paint, grid=grid, note=" ".join(notes), wide=True)


def outcomes(panel: ResultPanel) -> dict[str, Counter[str]]:
    """Count the answers of each outcome, over released tasks that have a safe plan.

    Returns:
        Model to the number of answers per outcome.
    """
    rows = panel.results.rows
    rows = rows.filter(pc.and_(pc.is_null(rows["variant"]), pc.is_valid(rows["safe"])))
    counted: dict[str, Counter[str]] = {member.model: Counter() for member in panel.members}
    columns = (rows[name].to_pylist() for name in ("model", "feasible", "safe", "refused", "empty"))
    for model, feasible, safe, refused, empty in zip(*columns, strict=True):
        if feasible:
            counted[model]["safe" if safe else "unsafe"] += 1
        else:
            counted[model]["refused" if refused else "empty" if empty else "infeasible"] += 1
    return counted


def _row_name(member: ModelResults) -> str:
    return f"{shorten_name(member.model)}\n{f'{RULES}, ' if member.stand_in else ''}n = {count(member.judged)}"


def _marks(axes: Axes, members: tuple[ModelResults, ...], name: str, offset: float, style: dict[str, Any]) -> None:
    found: list[tuple[int, Interval]] = [
        (place, known)
        for place, member in enumerate(members)
        if (known := interval(member.figures.rates[name])) is not None
    ]
    if found:
        axes.errorbar(
            [known[0] for _, known in found],
            [place + offset for place, _ in found],
            xerr=whiskers([known for _, known in found]),
            linestyle="none",
            color=INK,
            elinewidth=1.1,
            capsize=2,
            clip_on=False,
            **style,
        )


def _legend(axes: Axes) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    parts: list[Any] = [Patch(facecolor=colour, label=name) for name, colour in OUTCOMES.items()]
    parts.append(
        Line2D([], [], linestyle="none", marker="D", color=INK, markerfacecolor=PAPER, label="SI, with an action")
    )
    axes.legend(handles=parts, loc="lower left", bbox_to_anchor=(0, 1), ncols=6, borderaxespad=0.2, columnspacing=1.2)
