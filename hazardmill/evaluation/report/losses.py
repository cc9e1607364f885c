"""Draw where answers are lost on the way to a safe plan: parsed, grounded, applicable, goal reached, safe."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow.compute as pc

from hazardmill.evaluation.failures import UNSPECIFIED
from hazardmill.evaluation.report.model_names import RULES, label_model
from hazardmill.evaluation.report.model_results import ResultPanel
from hazardmill.reporting.numbers import count, plural, share
from hazardmill.reporting.svg.axes import draw_missing
from hazardmill.reporting.svg.drawing import BLUE, INK, MUTED, VERMILION, Figure, draw
from hazardmill.reporting.svg.sankey import draw_band, shorten_label
from hazardmill.reporting.table import Grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STAGES: Final[Mapping[str, tuple[str, ...]]] = {
    "parsed": ("empty", "refusal", "no_plan_claimed", "grammar"),
    "grounded": ("unknown_action", "argument"),
    "applicable": ("precondition", "effect"),
    "goal reached": ("goal",),
    "safe": ("danger",),
}
"""Stages that an answer can reach, each with the classes of failure that keep it from that stage."""

MOST_TYPES: Final = 7
"""Number of losses of a stage that are shown one by one."""

_MAIN: Final = 2.6
"""Height in inches of all answers together."""
_APART: Final = 1.63
_THICK: Final = 0.14
_GAP: Final = 0.36
"""Inches between two losses, whose labels have two lines."""
_BELOW: Final = 0.45
_ALPHA: Final = 0.36
_LABEL: Final = 26
"""Maximum number of characters of a label."""


@dataclass(frozen=True)
class _Way:
    """The answers that reach one stage, and those lost before it."""

    stage: str
    left: int
    lost: tuple[tuple[str, int], ...]


_MISSING: Final = "no result rows of tasks that have a safe plan: name folders that `hazardmill evaluate` has written"


def failure_losses(panel: ResultPanel) -> Figure:
    """Draw a Sankey diagram of the answers of all models or, where there are none, of the stand-ins."""
    counted = failures(panel)
    shown = panel.models or panel.stand_ins
    together: Counter[str | None] = Counter()
    for member in shown:
        together.update(counted[member.model])
    answers = sum(together.values())
    title = f"Where answers are lost (n = {plural(answers, 'answer')} of {plural(len(shown), 'model')})"
    if shown and not panel.models:
        title = f"Where answers are lost (n = {plural(answers, 'answer')} of {plural(len(shown), 'stand-in')}: {RULES})"
    kinds = sorted({kind for of in counted.values() for kind in of if kind is not None}, key=_order)
    grid = Grid(
        title,
        ("Model", "Answers", "Safe", *map(_words, kinds)),
        tuple(
            (
                label_model(member.model),
                count(member.judged),
                *(count(counted[member.model][kind]) for kind in (None, *kinds)),
            )
            for member in panel.members
        ),
    )
    if not answers:
        return draw_missing("losses", title, _MISSING, grid)
    ways = _ways(together)
    scale = _MAIN / answers
    height = (
        _MAIN + _BELOW + max((sum(number * scale + _GAP for _, number in way.lost) - _GAP for way in ways), default=0.0)
    )

    def paint(axes: Axes) -> None:
        _paint(axes, ways, answers, scale, height)

    said = "; ".join(
        f"{way.stage} {way.left}" + "".join(f", lost {_words(kind)} {number}" for kind, number in way.lost)
        for way in ways
    )
    notes = ["Height is the number of answers; each is counted once, at what it fails first."]
    if panel.models and panel.stand_ins:
        notes.append(f"Stand-ins ({RULES}) are in the numbers only.")
    alt = f"Sankey diagram of {answers} answers on tasks as released. {said}."
    return draw("losses", title, alt, height + 0.9, paint, grid=grid, note=" ".join(notes), wide=True)


def failures(panel: ResultPanel) -> dict[str, Counter[str | None]]:
    """Count answers on released tasks by class of failure.

    Returns:
        Model to the number of answers per class, which includes the danger type; None stands for safe answers.
    """
    rows = panel.results.rows
    rows = rows.filter(pc.and_(pc.is_null(rows["variant"]), pc.is_valid(rows["safe"])))
    counted: dict[str, Counter[str | None]] = {member.model: Counter() for member in panel.members}
    columns = (rows[name].to_pylist() for name in ("model", "failure", "failure_type"))
    for model, kind, danger_type in zip(*columns, strict=True):
        counted[model][f"danger:{danger_type or UNSPECIFIED}" if kind == "danger" else kind] += 1
    return counted


def _ways(counted: Counter[str | None]) -> list[_Way]:
    left = sum(counted.values())
    ways = []
    for stage, classes in STAGES.items():
        lost = sorted(
            (
                (kind, number)
                for kind, number in counted.items()
                if kind is not None and kind.partition(":")[0] in classes
            ),
            key=lambda pair: (-pair[1], pair[0]),
        )
        if len(lost) > MOST_TYPES + 1:
            others = sum(number for _, number in lost[MOST_TYPES:])
            lost = [*lost[:MOST_TYPES], (f"danger:{len(lost) - MOST_TYPES} other types", others)]
        left -= sum(number for _, number in lost)
        ways.append(_Way(stage, left, tuple(lost)))
    return ways


def _order(kind: str) -> tuple[int, str]:
    classes = [each for of in STAGES.values() for each in of]
    name = kind.partition(":")[0]
    return (classes.index(name) if name in classes else len(classes), kind)


def _words(kind: str) -> str:
    return kind.replace(":", ": ").replace("_", " ")


def _paint(axes: Axes, ways: list[_Way], answers: int, scale: float, height: float) -> None:
    from matplotlib.patches import Rectangle

    axes.set_axis_off()
    before = answers
    _node(axes, 0.0, 0.0, before * scale, INK)
    axes.text(0, -0.1, f"answers\n{count(answers)}", fontsize=9, color=INK, va="bottom")
    for place, way in enumerate(ways, 1):
        start, end = (place - 1) * _APART + _THICK, place * _APART
        draw_band(axes, (start, 0.0), (end, 0.0), way.left * scale, BLUE, _ALPHA)
        axes.add_patch(Rectangle((end, 0), _THICK, way.left * scale, facecolor=INK, linewidth=0))
        axes.text(end, -0.1, f"{way.stage}\n{_of(way.left, answers)}", fontsize=9, color=INK, va="bottom")
        # Losses leave from the lower end of the band before them.
        leaves, top = way.left * scale, _MAIN + _BELOW
        for kind, number in way.lost:
            thick = number * scale
            draw_band(axes, (start, leaves), (end, top), thick, VERMILION, _ALPHA)
            _node(axes, end, top, thick, VERMILION)
            name = shorten_label(_words(kind), _LABEL)
            axes.text(
                end + _THICK + 0.05,
                top + thick / 2,
                f"{name}\n{_of(number, answers)}",
                fontsize=8.5,
                color=INK,
                va="center",
                linespacing=1.15,
            )
            leaves += thick
            top += thick + _GAP
    axes.text(0, _MAIN + _BELOW + 0.1, "lost at", fontsize=9, color=MUTED, va="center")
    axes.set_xlim(0, len(ways) * _APART + 1.95)
    axes.set_ylim(height + 0.05, -0.6)


def _node(axes: Axes, x: float, top: float, thick: float, colour: str) -> None:
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle((x, top), _THICK, max(thick, 0.01), facecolor=colour, linewidth=0))


def _of(number: int, answers: int) -> str:
    return f"{count(number)}  ({share(number / answers)})"
