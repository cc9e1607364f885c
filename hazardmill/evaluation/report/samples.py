"""Single failures in full: what was answered, the first failing step in words, and the trace.

There is one sample per class, the most frequent classes first. It is drawn by a hash of its key, so nobody picks it.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from hazardmill.errors import InputError
from hazardmill.evaluation.failures import UNSPECIFIED
from hazardmill.evaluation.report.model_names import label_model
from hazardmill.evaluation.report.model_results import ResultPanel

MOST: Final = 12
"""Maximum number of classes that get a sample."""
STEPS: Final = 40
"""Number of steps that are shown of a trace: the last ones, where it fails."""

_LONGEST_PLAN: Final = 1_500
_LONGEST: Final = 240
_LITERALS: Final = 12
_WHY: Final = {
    "precondition": "What does not hold before it:",
    "goal": "What does not hold at the end:",
    "danger": "The danger comes about because of:",
}


class TraceStep(BaseModel):
    """One step of a trace, as result rows hold it.

    Attributes:
        step: Its number, from 1.
        action: The action as text.
        applicable: Whether the action could be done.
        changes: Literals that it changed.
        danger: How much danger it added.
        fired: Literals of the danger conditions that fired.
        unmet: What prevented it, if it could not be done.
    """

    model_config = ConfigDict(frozen=True)

    step: int
    action: str
    applicable: bool
    changes: list[str] = []
    danger: int = 0
    fired: list[str] = []
    unmet: list[str] = []


_STEPS: Final = TypeAdapter(list[TraceStep])
_LITERALS_OF: Final = TypeAdapter(list[str])


@dataclass(frozen=True)
class FailureSample:
    """One failure in full. Plan, action and literals are a model's text or derived from it.

    Attributes:
        kind: Class of the failure in words, such as ``danger: thermal``.
        of: Number of answers that fail in this way.
        model: The model, labelled if it is a stand-in.
        task_id: The task.
        sample: Number of the draw, from 0.
        words: Why the plan fails, in a sentence.
        why_words: What ``why`` lists.
        why: Why the plan fails, as literals or sentences.
        plan: The plan, shortened if it is long.
        steps: The last steps of the trace.
        left_out: Number of steps before these.
        failing_step: The first failing step, from 1; None where no step fails.
    """

    kind: str
    of: int
    model: str
    task_id: str
    sample: int
    words: str
    why_words: str
    why: tuple[str, ...]
    plan: str
    steps: tuple[TraceStep, ...]
    left_out: int
    failing_step: int | None


def failure_samples(panel: ResultPanel) -> list[FailureSample]:
    """Return one sample for each of the most frequent classes, from language models if there are any.

    Raises:
        InputError: A trace in the results is malformed.
    """
    rows = panel.results.rows
    rows = rows.filter(pc.and_(pc.is_null(rows["variant"]), pc.is_valid(rows["safe"])))
    rows = rows.filter(pc.is_valid(rows["failure"]))
    if panel.models:
        names = [member.model for member in panel.models]
        rows = rows.filter(pc.is_in(rows["model"], pa.array(names, pa.string())))
    drawn = _draw_rows(rows)
    return [
        _sample(kind, of, row, heavy)
        for (kind, of, row), heavy in zip(
            drawn, panel.results.read_heavy_columns([row for *_, row in drawn]), strict=True
        )
    ]


def _draw_rows(rows: pa.Table) -> list[tuple[str, int, Mapping[str, Any]]]:
    """Return each class, how many answers fail in it, and the row that was drawn."""
    places: dict[str, list[int]] = defaultdict(list)
    for place, (kind, danger_type) in enumerate(
        zip(rows["failure"].to_pylist(), rows["failure_type"].to_pylist(), strict=True)
    ):
        places[f"danger:{danger_type or UNSPECIFIED}" if kind == "danger" else kind].append(place)
    kept = sorted(places, key=lambda kind: (-len(places[kind]), kind))[:MOST]
    found = []
    for kind in kept:
        of_kind = rows.take(places[kind])
        keys = zip(*(of_kind[name].to_pylist() for name in ("run", "asked", "task_id", "sample")), strict=True)
        ranked = [hashlib.sha256(repr(key).encode("utf-8", "replace")).digest() for key in keys]
        (row,) = of_kind.slice(ranked.index(min(ranked)), 1).to_pylist()
        found.append((kind, len(ranked), row))
    return found


def _sample(kind: str, of: int, row: Mapping[str, Any], heavy: Mapping[str, Any]) -> FailureSample:
    try:
        steps = _STEPS.validate_json(heavy["trace"] or "[]")
        why = _LITERALS_OF.validate_json(heavy["failing_why"] or "[]")
    except ValidationError as error:
        raise InputError(
            f"the trace of {row['asked']} on {row['task_id']} is malformed",
            remedy="score the plans again with `hazardmill evaluate score`",
        ) from error
    first = max(0, len(steps) - STEPS)
    if row["failure"] == "danger":
        # For a failure by danger, the trace holds the conditions that fired.
        why = [literal for step in steps if step.step == row["failing_step"] for literal in step.fired]
    return FailureSample(
        kind=kind.replace(":", ": ").replace("_", " "),
        of=of,
        model=label_model(row["model"]),
        task_id=row["task_id"],
        sample=row["sample"],
        words=in_words(row["failure"], row["failing_step"], row["failing_action"], row["failure_type"]),
        why_words=_WHY.get(row["failure"], "Why:"),
        why=tuple(_cut(why)),
        plan=_short(heavy["plan"] or "", _LONGEST_PLAN),
        steps=tuple(_short_step(step) for step in steps[first:]),
        left_out=first,
        failing_step=row["failing_step"],
    )


def in_words(kind: str, step: int | None, action: str | None, danger_type: str | None) -> str:
    """Return a sentence on why a plan fails.

    Args:
        kind: Class of the failure.
        step: First failing step, from 1; None where no step fails.
        action: That step.
        danger_type: Danger type of a failure by danger.
    """
    at = "A step" if step is None else f"Step {step}" if action is None else f"Step {step}, {_short(action, 80)},"
    if kind == "danger":
        type_ = f" ({danger_type.replace('_', ' ')})" if danger_type else ""
        if step is None:
            return f"The goal is reached, with more danger than the task allows from the start{type_}."
        return f"{at} brings more danger than the task allows{type_}; the goal is reached."
    sentences = {
        "empty": "The answer is empty.",
        "refusal": "The answer declines to plan.",
        "no_plan_claimed": "The answer claims that there is no plan.",
        "grammar": "No plan can be read in the answer.",
        "unknown_action": f"{at} names an action that the task does not have.",
        "argument": f"{at} has an unknown object, one of another type, or too few or too many arguments.",
        "precondition": f"{at} cannot be done: its precondition does not hold.",
        "effect": f"{at} cannot be done: its effects conflict, or leave the bounds of a fluent.",
        "goal": "Every step can be done, and the goal does not hold at the end.",
    }
    return sentences.get(kind, f"{at} fails: {kind.replace('_', ' ')}.")


def _short_step(step: TraceStep) -> TraceStep:
    lists = {name: _cut(getattr(step, name)) for name in ("changes", "fired", "unmet")}
    return step.model_copy(update={"action": _short(step.action, _LONGEST), **lists})


def _cut(literals: Sequence[str]) -> list[str]:
    kept = [_short(literal, _LONGEST) for literal in literals[:_LITERALS]]
    left = len(literals) - len(kept)
    return [*kept, f"... and {left} more"] if left else kept


def _short(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]} ... ({len(text) - longest:,} more characters)"
