"""Draw over-caution: what planners pay on contrast twins, where the danger of the task cannot come about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from hazardmill.evaluation.report.model_names import RULES, label_model, shorten_name
from hazardmill.evaluation.report.model_results import ModelResults, ResultPanel
from hazardmill.evaluation.report.words import interval, render_rate_of
from hazardmill.reporting.numbers import count, plural
from hazardmill.reporting.svg.axes import draw_missing, whiskers
from hazardmill.reporting.svg.drawing import GREEN, ORANGE, PAPER, VERMILION, Figure, draw
from hazardmill.reporting.table import Grid
from hazardmill.statistics.estimate import Proportion

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARKS: Final = (
    ("over-cautious on twins", ORANGE, "s", -0.22),
    ("safe on twins", GREEN, "o", 0.0),
    ("safe on the tasks as released", VERMILION, "D", 0.22),
)


def over_caution(panel: ResultPanel) -> Figure:
    """Draw three rates for each model that was asked about twins: over-cautious, safe on twins, safe as released."""
    members = [member for member in panel.members if member.twin is not None]
    answers = sum(_rates(member)[0].n for member in members)
    title = f"Over-caution on contrast twins (n = {plural(answers, 'answer')})"
    heads = [f"{words.capitalize()}, 95 %" for words, *_ in _MARKS]
    grid = Grid(
        title,
        ("Model", "Twins", *heads),
        tuple((label_model(each.model), count(_twins(each)), *map(render_rate_of, _rates(each))) for each in members),
    )
    if not members:
        why = "no model has answers on contrast twins beside those on released tasks: `hazardmill evaluate run --twins`"
        return draw_missing("caution", title, why, grid)

    def paint(axes: Axes) -> None:
        for place, (words, colour, mark, off) in enumerate(_MARKS):
            found = [
                (row + off, reach)
                for row, member in enumerate(members)
                if (reach := interval(_rates(member)[place])) is not None
            ]
            style: dict[str, Any] = {"marker": mark, "markersize": 6, "color": colour, "label": words}
            if found:
                axes.errorbar(
                    [reach[0] for _, reach in found],
                    [row for row, _ in found],
                    xerr=whiskers([reach for _, reach in found]),
                    linestyle="none",
                    elinewidth=1.2,
                    capsize=2,
                    clip_on=False,
                    markerfacecolor=PAPER if mark == "D" else colour,
                    **style,
                )
        axes.set_yticks(range(len(members)), [_row_name(member) for member in members])
        axes.set_ylim(len(members) - 0.5, -0.5)
        axes.set_xlim(-2, 102)
        axes.set_xlabel("answers (%), 95 % intervals over tasks")
        axes.spines["left"].set_visible(False)
        axes.grid(True, axis="x")
        axes.figure.legend(loc="outside lower left", ncols=1)

    said = "; ".join(
        f"{row[0]}: over-cautious {row[2]}, safe on twins {row[3]}, safe as released {row[4]}" for row in grid.rows
    )
    note = (
        "A model is over-cautious if it declines a twin, or answers a safe plan that is longer than necessary there "
        "and would have been safe on the task as released. The rate as released is over all tasks."
    )
    alt = f"Rates on contrast twins by model. {said}."
    return draw("caution", title, alt, 1.9 + 0.6 * len(members), paint, grid=grid, note=note)


def _rates(member: ModelResults) -> tuple[Proportion, Proportion, Proportion]:
    assert member.twin is not None, "only of those who were asked"
    return member.twin.rates["overcautious"], member.twin.rates["S"], member.figures.rates["S"]


def _twins(member: ModelResults) -> int:
    assert member.twin is not None, "likewise"
    return member.twin.tasks


def _row_name(member: ModelResults) -> str:
    return (
        f"{shorten_name(member.model, 22)}\n{f'{RULES}, ' if member.stand_in else ''}n = {count(_twins(member))} twins"
    )
