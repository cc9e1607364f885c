"""Draw the labels of plans by model as stacked bars, and tabulate them by hazard."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from hazardmill.evaluation.report.model_names import label_model
from hazardmill.evaluation.report.safel.load import SafelModel
from hazardmill.evaluation.report.safel.words import (
    DIGITS,
    count_cells,
    count_heads,
    missing_cell,
    missing_head,
    missing_notes,
    render_measure,
    row_name,
    title_of,
)
from hazardmill.evaluation.report.words import interval
from hazardmill.evaluation.safel.figures import ALL, SafelGroup
from hazardmill.evaluation.safel.sequence import LABELS, TITLES, SequenceLabel
from hazardmill.reporting.numbers import count, plural, share
from hazardmill.reporting.svg.axes import whiskers
from hazardmill.reporting.svg.drawing import (
    BLUE,
    GREEN,
    INK,
    MUTED,
    ORANGE,
    PAPER,
    PURPLE,
    SKY,
    VERMILION,
    Figure,
    draw,
)
from hazardmill.reporting.table import Grid
from hazardmill.scenarios.risk import HAZARDS
from hazardmill.statistics.estimate import Proportion

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAME: Final = "safel-sequence"

_COLOURS: Final[Mapping[SequenceLabel, str]] = {
    "success": GREEN,
    "unmet_goal": PURPLE,
    "missing_step": VERMILION,
    "wrong_temporal": ORANGE,
    "additional_step": SKY,
    "affordance": BLUE,
    "grammar": MUTED,
}
"""Labels in the order of a bar: success first, then from the last rule to the first."""

_ON_TASK: Final = {"F": "F on the task, 95 %", "S": "S on the task, 95 %", "SI": "SI on the task, 95 %"}

_LEAVES: Final = tuple(f"{target} / {hazard}" for target, hazards in HAZARDS.items() for hazard in hazards)
"""Names of the groups by hazard, in the order of the paper's list."""

_UNLABELLED: Final = "no hazard label"

_ROW: Final = 0.5
_LONGEST_NAME: Final = 34


def count_labels(group: SafelGroup) -> dict[SequenceLabel, int]:
    """Return the number of plans by label, for every label."""
    return {label: _rate(group, "SR" if label == "success" else label).count for label in LABELS}


def _rate(group: SafelGroup, name: str) -> Proportion:
    found = group.measures[name]
    assert isinstance(found, Proportion), "rates of labels are shares of plans"
    return found


def draw_labels(models: Sequence[SafelModel]) -> Figure:
    """Draw one bar per model: the share of plans with each label. SR and all error rates add up to 1.

    Args:
        models: The models at the test ``sequence``; at least one.

    Returns:
        The figure ``safel-sequence``, with exact counts in its table.
    """
    title = title_of("Action sequencing", models, "plan")
    counts = count_heads("sequence", models)
    missing = missing_head(models)
    groups = [each.groups.get(ALL) for each in models]
    on_task = {
        name: head for name, head in _ON_TASK.items() if any(group and group.measures[name].n for group in groups)
    }
    rates = {
        "SR": "Success (SR), 95 %",
        "ER": "Error (ER), 95 %",
        **{label: f"{TITLES[label]}, 95 %" for label in _COLOURS if label != "success"},
        **on_task,
    }
    grid = Grid(
        title,
        ("Model", "Plans", *rates.values(), *counts.values(), *missing),
        tuple(
            (
                label_model(each.model),
                count(each.answers),
                *(render_measure(group, name) for name in rates),
                *count_cells(group, [*counts]),
                *([missing_cell(each)] if missing else []),
            )
            for each, group in zip(models, groups, strict=True)
        ),
    )

    def paint(axes: Axes) -> None:
        for place, group in enumerate(groups):
            start = 0.0
            for label, number in () if group is None else _in_bar(count_labels(group)):
                width = 100 * number / group.answers if group is not None else 0.0
                axes.barh(place, width, left=start, color=_COLOURS[label], height=0.46, edgecolor=PAPER, linewidth=0.5)
                start += width
        _whiskers(axes, groups)
        axes.set_yticks(
            range(len(models)),
            [row_name(each, group, longest=_LONGEST_NAME) for each, group in zip(models, groups, strict=True)],
        )
        axes.set_ylim(len(models) - 0.4, -0.6)
        axes.set_xlim(0, 100)
        axes.set_xlabel("plans (%); whiskers are 95 % intervals (Wilson) of SR")
        axes.spines["left"].set_visible(False)
        axes.xaxis.grid(True)
        _legend(axes)

    said = "; ".join(
        f"{label_model(each.model)}: "
        + ("no plan" if group is None else ", ".join(f"{_words(name)} {_value(group, name)}" for name in rates))
        for each, group in zip(models, groups, strict=True)
    )
    notes = ["Each plan has one label, so that SR and the error rates add up to 100 %."]
    notes += missing_notes(models)
    height = 1.4 + _ROW * len(models)
    alt = f"Bars of the labels of plans by model. {said}."
    return draw(NAME, title, alt, height, paint, grid=grid, note=" ".join(notes), wide=True)


def tabulate_hazards(models: Sequence[SafelModel]) -> Grid | None:
    """Return the labels of plans by hazard and model, for the hazards that have scenarios.

    Args:
        models: The models at the test ``sequence``.

    Returns:
        The table; None if no scenario has a hazard label.
    """
    leaves = [leaf for leaf in _LEAVES if any(leaf in each.groups for each in models)]
    if not leaves:
        return None
    lines = [
        _hazard_line(leaf, each, each.groups[leaf].answers, count_labels(each.groups[leaf]))
        for leaf in leaves
        for each in models
        if leaf in each.groups
    ]
    lines += [_hazard_line(_UNLABELLED, each, sum(rest.values()), rest) for each, rest in _without_leaf(models)]
    title = f"Labels of plans by hazard ({plural(len(leaves), 'hazard')} with scenarios)"
    return Grid(title, ("Hazard", "Model", "Plans", *(TITLES[label] for label in _COLOURS)), tuple(lines), words=2)


def _hazard_line(leaf: str, model: SafelModel, plans: int, labels: Mapping[SequenceLabel, int]) -> tuple[str, ...]:
    shares = (f"{share(number / plans, DIGITS)}, {count(number)}" for _, number in _in_bar(labels))
    return (leaf, label_model(model.model), count(plans), *shares)


def _without_leaf(models: Sequence[SafelModel]) -> Iterator[tuple[SafelModel, dict[SequenceLabel, int]]]:
    """Yield the labels of plans for scenarios without a hazard label, for the models that have any."""
    for each in models:
        if ALL in each.groups:
            rest = count_labels(each.groups[ALL])
            for leaf in _LEAVES:
                if leaf in each.groups:
                    rest = {label: rest[label] - number for label, number in count_labels(each.groups[leaf]).items()}
            if any(rest.values()):
                yield each, rest


def _in_bar(labels: Mapping[SequenceLabel, int]) -> list[tuple[SequenceLabel, int]]:
    return [(label, labels[label]) for label in _COLOURS]


def _value(group: SafelGroup, name: str) -> str:
    return share(group.measures[name].value, DIGITS)


def _words(name: str) -> str:
    return next((title for label, title in TITLES.items() if label == name), name)


def _whiskers(axes: Axes, groups: Sequence[SafelGroup | None]) -> None:
    found = [
        (place, reach)
        for place, group in enumerate(groups)
        if group is not None and (reach := interval(group.measures["SR"])) is not None
    ]
    if found:
        axes.errorbar(
            [reach[0] for _, reach in found],
            [place - 0.33 for place, _ in found],
            xerr=whiskers([reach for _, reach in found]),
            linestyle="none",
            color=INK,
            elinewidth=1.1,
            capsize=2,
            clip_on=False,
            marker="|",
            markersize=7,
        )


def _legend(axes: Axes) -> None:
    from matplotlib.patches import Patch

    parts = [Patch(facecolor=colour, label=TITLES[label]) for label, colour in _COLOURS.items()]
    axes.legend(handles=parts, loc="lower left", bbox_to_anchor=(0, 1), ncols=7, borderaxespad=0.2, columnspacing=1.2)
