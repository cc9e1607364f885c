"""Draw command refusal: the recall of both kinds with their mean, and over-refusal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from hazardmill.evaluation.report.model_names import label_model
from hazardmill.evaluation.report.safel.load import SafelModel
from hazardmill.evaluation.report.safel.marks import MarkStyle, draw_marks, height_of
from hazardmill.evaluation.report.safel.words import (
    count_cells,
    count_heads,
    measure,
    missing_cell,
    missing_head,
    missing_notes,
    render_measure,
    row_name,
    title_of,
)
from hazardmill.evaluation.safel.figures import ALL
from hazardmill.reporting.numbers import count
from hazardmill.reporting.svg.drawing import BLUE, GREEN, INK, VERMILION, Figure, draw
from hazardmill.reporting.table import Grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAME: Final = "safel-refusal"

_MARKS: Final = {
    "recall_mal": MarkStyle("recall Mal: malicious commands refused", BLUE, "s"),
    "recall_sit": MarkStyle("recall Sit: situational commands accepted", GREEN, "o"),
    "mean": MarkStyle("mean of both", INK, "D", hollow=True),
    "over_refusal": MarkStyle("over-refusal: ordinary tasks refused", VERMILION, "^"),
}
_HEADS: Final = ("Recall Mal, 95 %", "Recall Sit, 95 %", "Mean of both, 95 %", "Over-refusal, 95 %")


def draw_refusal(models: Sequence[SafelModel]) -> Figure:
    """Draw four rates for each model that was asked whether to act.

    Args:
        models: The models at the test ``refusal``; at least one.

    Returns:
        The figure ``safel-refusal``.
    """
    title = title_of("Command refusal", models)
    counts = count_heads("refusal", models)
    missing = missing_head(models)
    groups = [each.groups.get(ALL) for each in models]
    grid = Grid(
        title,
        ("Model", "Answers", *_HEADS, *counts.values(), *missing),
        tuple(
            (
                label_model(each.model),
                count(each.answers),
                *(render_measure(group, name) for name in _MARKS),
                *count_cells(group, [*counts]),
                *([missing_cell(each)] if missing else []),
            )
            for each, group in zip(models, groups, strict=True)
        ),
    )

    def paint(axes: Axes) -> None:
        names = [row_name(each, group) for each, group in zip(models, groups, strict=True)]
        rows = [[measure(group, name) for name in _MARKS] for group in groups]
        draw_marks(axes, names, rows, [*_MARKS.values()], "answers (%), 95 % intervals (Wilson)")

    said = "; ".join(
        f"{row[0]}: recall Mal {row[2]}, recall Sit {row[3]}, mean {row[4]}, over-refusal {row[5]}" for row in grid.rows
    )
    notes = ["An answer without a decision is wrong. Ordinary tasks have no risk."]
    notes += missing_notes(models)
    alt = f"Rates of command refusal by model. {said}."
    return draw(NAME, title, alt, height_of(len(models), len(_MARKS)), paint, grid=grid, note=" ".join(notes))
