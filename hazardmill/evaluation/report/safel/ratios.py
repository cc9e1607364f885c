"""Draw goal interpretation and transition modelling: ratios of literals and conditions, by kind of scenario."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from hazardmill.evaluation.report.model_names import label_model
from hazardmill.evaluation.report.safel.load import SafelModel
from hazardmill.evaluation.report.safel.marks import MarkStyle, draw_marks, height_of
from hazardmill.evaluation.report.safel.words import (
    KIND_NAMES,
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
from hazardmill.evaluation.safel.figures import ALL, SafelGroup
from hazardmill.reporting.numbers import NONE, count
from hazardmill.reporting.svg.drawing import BLUE, INK, VERMILION, Figure, draw
from hazardmill.reporting.table import Grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RatioTest = Literal["goal", "transition"]


@dataclass(frozen=True)
class _Layout:
    """What is drawn and tabulated of a test.

    Attributes:
        title: What the test is about.
        marks: Measures that are drawn.
        heads: Measures in the table, and their headings.
        note: What the measures are.
    """

    title: str
    marks: Mapping[str, MarkStyle]
    heads: Mapping[str, str]
    note: str


_LAYOUTS: Final[Mapping[RatioTest, _Layout]] = {
    "goal": _Layout(
        "Goal interpretation",
        {
            "S_u-R": MarkStyle("S_u-R: unary literals found, pooled", BLUE, "o"),
            "S_u-R mean": MarkStyle("S_u-R, mean over answers", BLUE, "o", hollow=True),
            "S_r-R": MarkStyle("S_r-R: relational literals found, pooled", VERMILION, "s"),
            "S_r-R mean": MarkStyle("S_r-R, mean over answers", VERMILION, "s", hollow=True),
        },
        {
            "S_u-R": "S_u-R pooled, 95 %",
            "S_u-R mean": "S_u-R mean, 95 %",
            "S_r-R": "S_r-R pooled, 95 %",
            "S_r-R mean": "S_r-R mean, 95 %",
            "S_u-P": "S_u precision, 95 %",
            "S_r-P": "S_r precision, 95 %",
        },
        "Shares of the goal's literals that the answer states. Pooled over scenarios, n is a number of literals; in "
        "a mean it is a number of answers.",
    ),
    "transition": _Layout(
        "Transition modelling",
        {
            "P-score": MarkStyle("P-score: primitive actions", BLUE, "o"),
            "N-score": MarkStyle("N-score: new actions", VERMILION, "s"),
            "mean": MarkStyle("mean of both", INK, "D", hollow=True),
        },
        {
            "P-score": "P-score, 95 %",
            "N-score": "N-score, 95 %",
            "mean": "Mean of both, 95 %",
            "P-precision": "P precision, 95 %",
            "N-precision": "N precision, 95 %",
            "P-equal": "P equal by meaning, 95 %",
            "N-equal": "N equal by meaning, 95 %",
        },
        "Shares of an action's true conditions that the answer states, as a mean over actions: effects of malicious "
        "scenarios, preconditions of situational ones.",
    ),
}


def draw_ratios(test: RatioTest, models: Sequence[SafelModel]) -> Figure:
    """Draw the measures of each model by kind of scenario; the table also has those over both kinds.

    Args:
        test: The test.
        models: The models at that test; at least one.

    Returns:
        The figure ``safel-goal`` or ``safel-transition``.
    """
    layout = _LAYOUTS[test]
    title = title_of(layout.title, models)
    counts = count_heads(test, models)
    missing = missing_head(models)
    grid = Grid(
        title,
        ("Model", "Scenarios", "Answers", *layout.heads.values(), *counts.values(), *missing),
        tuple(
            (
                label_model(each.model),
                KIND_NAMES[kind],
                count(0 if group is None else group.answers),
                *(render_measure(group, name) for name in layout.heads),
                *count_cells(group, [*counts]),
                # Summaries count missing answers over both kinds.
                *([missing_cell(each) if kind == ALL else NONE] if missing else []),
            )
            for each, kind, group in _groups(models)
        ),
        words=2,
    )
    drawn = [
        (each, kind, group) for each, kind, group in _groups(models) if kind != ALL or not each.groups.keys() - {ALL}
    ]

    def paint(axes: Axes) -> None:
        names = [row_name(each, group, None if kind == ALL else KIND_NAMES[kind]) for each, kind, group in drawn]
        rows = [[measure(group, name) for name in layout.marks] for _, _, group in drawn]
        draw_marks(axes, names, rows, [*layout.marks.values()], "per cent, 95 % intervals over scenarios")

    said = "; ".join(
        f"{label_model(each.model)}, {KIND_NAMES[kind]}: "
        + ", ".join(f"{name} {render_measure(group, name)}" for name in layout.marks)
        for each, kind, group in _groups(models)
    )
    alt = f"{layout.title} by model and kind of scenario. {said}."
    note = " ".join([layout.note, *missing_notes(models)])
    return draw(f"safel-{test}", title, alt, height_of(len(drawn), len(layout.marks)), paint, grid=grid, note=note)


def _groups(models: Sequence[SafelModel]) -> Iterator[tuple[SafelModel, str, SafelGroup | None]]:
    """Yield all scenarios of each model, then its kinds; all of them are None where nothing is answered yet."""
    for each in models:
        for kind in KIND_NAMES:
            if kind == ALL or kind in each.groups:
                yield each, kind, each.groups.get(kind)
