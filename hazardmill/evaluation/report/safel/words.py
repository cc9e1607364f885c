"""Names of kinds and counts of SAFEL, and the cells that its tables share.

All rates are written with two decimals: those of the SAFEL paper are multiples of 0.25 %.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from hazardmill.evaluation.report.model_names import RULES, shorten_name
from hazardmill.evaluation.report.safel.load import SafelModel
from hazardmill.evaluation.report.words import render_rate, render_rate_of
from hazardmill.evaluation.safel.figures import ALL, SafelGroup
from hazardmill.evaluation.safel.shown import SafelTest
from hazardmill.reporting.numbers import NONE, UNKNOWN, count, plural
from hazardmill.statistics.estimate import Estimate, Proportion

DIGITS: Final = 2
"""Decimals of a rate in per cent."""

KIND_NAMES: Final[Mapping[str, str]] = {ALL: "all", "mal": "malicious", "sit": "situational"}
"""Groups of scenarios, in the order of tables."""

COUNT_NAMES: Final[Mapping[SafelTest, Mapping[str, str]]] = {
    "refusal": {"undecided": "No decision", "declined": "Declined by finish reason"},
    "goal": {
        "excluded": "Goals excluded",
        "comparisons": "Comparisons left out",
        "undeclared": "With undeclared names",
    },
    "transition": {
        "without_conditions": "Nothing is true",
        "unknown": "Meaning unknown",
        "undeclared": "With undeclared names",
    },
    "sequence": {"warnings": "Warnings"},
}
"""Counts beside the figures of a test, by their names in the figures."""

_LONGEST: Final = 22
"""Characters of a model's name beside the rows of a narrow figure."""


def render_measure(group: SafelGroup | None, name: str) -> str:
    """Return a measure with its interval and n: ``44.75 % (39.95 to 49.65), 179 of 400``.

    Args:
        group: The group of scenarios; None if nothing is answered yet.
        name: Name of the measure.

    Returns:
        The text; a dash where the measure is not defined.
    """
    found = measure(group, name)
    if found is None or found.value is None:
        return NONE
    if isinstance(found, Proportion):
        return render_rate_of(found, DIGITS, usual="wilson")
    return f"{render_rate(found, DIGITS)}, n {count(found.n or 0)}"


def measure(group: SafelGroup | None, name: str) -> Estimate | None:
    """Return a measure of a group; None if nothing is answered yet."""
    return None if group is None else group.measures[name]


def count_heads(test: SafelTest, models: Sequence[SafelModel]) -> dict[str, str]:
    """Return the counts that a table shows beside the figures: those that are not zero for every model.

    Args:
        test: The test.
        models: Its models.

    Returns:
        Name of the count in the figures to its heading.
    """
    return {
        name: head
        for name, head in COUNT_NAMES[test].items()
        if any(group.counts[name] for each in models for group in each.groups.values())
    }


def count_cells(group: SafelGroup | None, names: Sequence[str]) -> tuple[str, ...]:
    """Return the cells of some counts of a group; a dash where nothing is answered yet."""
    return tuple(NONE if group is None else count(group.counts[name]) for name in names)


def missing_head(models: Sequence[SafelModel]) -> tuple[str, ...]:
    """Return the heading of the column of missing answers; nothing if no answer is known to be missing."""
    return ("Missing answers",) if any(each.missing != 0 for each in models) else ()


def missing_cell(model: SafelModel) -> str:
    """Return how many answers of a model are missing, as far as that is known."""
    return UNKNOWN if model.missing is None else count(model.missing)


def missing_notes(models: Sequence[SafelModel]) -> list[str]:
    """Return a sentence on missing answers; nothing if no answer is known to be missing."""
    said = [f"{each.model} {count(each.missing)}" for each in models if each.missing]
    return [f"Missing answers, which count neither way: {', '.join(said)}."] if said else []


def title_of(words: str, models: Sequence[SafelModel], noun: str = "answer") -> str:
    """Return the title of a figure with its number of answers.

    Args:
        words: What is shown.
        models: The models of its test.
        noun: What an answer is called.
    """
    answers = sum(each.answers for each in models)
    return f"{words} (n = {plural(answers, noun)} of {plural(len(models), 'model')})"


def row_name(model: SafelModel, group: SafelGroup | None, kind: str | None = None, longest: int = _LONGEST) -> str:
    """Return the name of a row in a figure: model, kind, n and how many answers are missing.

    Args:
        model: The model.
        group: The group of scenarios in the row; None if nothing is answered yet.
        kind: What kind of scenarios these are, in words; None for all.
        longest: Most characters of the model's name.
    """
    parts = [RULES] if model.stand_in else []
    parts += [] if kind is None else [kind]
    parts.append(f"n = {count(0 if group is None else group.answers)}")
    if model.missing and kind is None:
        parts.append(f"{count(model.missing)} missing")
    return f"{shorten_name(model.model, longest)}\n{', '.join(parts)}"
