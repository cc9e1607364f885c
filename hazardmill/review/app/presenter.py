"""A sheet as the page shows it: related parts are put together, and empty ones left out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from hazardmill.records import DANGER_LISTS
from hazardmill.review.app.steps import PlanView, both_ways, side_by_side, view_plan
from hazardmill.review.rubric import ReviewVerdict
from hazardmill.review.schemas import ReviewSheet
from hazardmill.review.task_view import Circumstance

_LABELS: Final = {
    "setting": "Where",
    "robot_role": "Robot",
    "robot_task": "Asked to",
    "danger_action": "Dangerous action",
    "changing_cause": "What goes wrong",
    "fixed_circumstances": "What makes it matter",
    "cause_of_danger": "What goes wrong",
    "result_of_danger": "Harm",
    "entity_in_danger": "To whom",
    "instantaneous_solution": "Way out",
    "assumptions": "Assumed",
}
"""Labels of the fields of a danger formalization, in reading order."""

_IN_KIND: Final = ("danger_group", "danger_type", "instantaneous_avoidability")


@dataclass(frozen=True, slots=True)
class Choice:
    """A verdict as a button.

    Attributes:
        verdict: The verdict.
        label: Text of the button.
        key: Key that presses it.
        hint: What the verdict means.
    """

    verdict: ReviewVerdict
    label: str
    key: str
    hint: str


CHOICES: Final = {
    choice.verdict: choice
    for choice in (
        Choice(ReviewVerdict.APPROVE, "Approve", "a", "yes to every question of the rubric"),
        Choice(ReviewVerdict.ON_PURPOSE, "On purpose", "p", "danger was avoided on purpose"),
        Choice(ReviewVerdict.BY_CHANCE, "By chance", "c", "by chance, or not at all"),
        Choice(ReviewVerdict.REJECT, "Reject", "r", "with one reason or more"),
        Choice(ReviewVerdict.UNSURE, "Unsure", "u", "counts neither for nor against"),
        Choice(ReviewVerdict.SKIP, "Skip", "s", "it comes again at the end"),
    )
}

SAID: Final = {
    ReviewVerdict.APPROVE: "approved",
    ReviewVerdict.REJECT: "rejected",
    ReviewVerdict.UNSURE: "unsure",
    ReviewVerdict.SKIP: "skipped",
    ReviewVerdict.ON_PURPOSE: "on purpose",
    ReviewVerdict.BY_CHANCE: "by chance",
}
"""How each verdict is shown once it has been given."""


@dataclass(frozen=True, slots=True)
class View:
    """A sheet, ready for its template.

    Attributes:
        sheet: The sheet.
        formalization: Label and text of each field of the danger formalization.
        kind: Group, type and avoidability of the danger.
        given: What is true at the start; facts that hold in both directions are merged, and come last.
        read: Circumstances on which the danger depends.
        unread: The other circumstances.
        unsafe: The dangerous plan.
        safe: The safe plan; ``None`` if the danger is unavoidable.
        asked: The plan whose intent is asked for; ``None`` if the task is to be decided.
        choices: The verdicts as buttons.
        files: Title and text of the PDDL files and the document.
    """

    sheet: ReviewSheet
    formalization: tuple[tuple[str, str], ...]
    kind: tuple[str, ...]
    given: tuple[str, ...]
    read: tuple[Circumstance, ...]
    unread: tuple[Circumstance, ...]
    unsafe: PlanView
    safe: PlanView | None
    asked: PlanView | None
    choices: tuple[Choice, ...]
    files: tuple[tuple[str, str], ...]

    @property
    def rows(self) -> int:
        """Number of rows in the comparison of both plans."""
        return len(self.unsafe.cells)


def view(sheet: ReviewSheet) -> View:
    """Return a sheet as a view for its template."""
    task = sheet.task
    if task.safe is None:
        unsafe, safe = view_plan(task.unsafe), None
    else:
        unsafe, safe = side_by_side(task.unsafe, task.safe)
    files = (
        ("Domain (PDDL)", task.domain_pddl),
        ("Problem (PDDL)", task.problem_pddl),
        ("Document (JSON)", json.dumps(task.document, indent=2, ensure_ascii=False)),
    )
    danger = task.danger
    if str(danger.get("robot_task", "")).rstrip(".") == task.title.rstrip("."):
        # The heading of the page already says it.
        danger = {name: value for name, value in danger.items() if name != "robot_task"}
    return View(
        sheet=sheet,
        formalization=tuple(_label_fields(danger)),
        given=both_ways(task.given),
        kind=tuple(_plain(task.danger[name]) for name in _IN_KIND if task.danger.get(name)),
        read=tuple(each for each in task.circumstances if each.read),
        unread=tuple(each for each in task.circumstances if not each.read),
        unsafe=unsafe,
        safe=safe,
        asked=None if sheet.plan is None else view_plan(sheet.plan),
        choices=tuple(CHOICES[verdict] for verdict in sheet.verdicts),
        files=tuple((title, text) for title, text in files if text),
    )


def _label_fields(danger: Mapping[str, Any]) -> list[tuple[str, str]]:
    names = [*_LABELS, *(name for name in danger if name not in _LABELS and name not in _IN_KIND)]
    if "changing_cause" in danger:
        names.remove("cause_of_danger")  # repeats changing_cause and fixed_circumstances
    texts = {**danger, **{name: " ".join(danger.get(name) or ()) for name in DANGER_LISTS}}
    found = [(_LABELS.get(name, _plain(name).capitalize()), texts.get(name)) for name in names]
    return [(label, value if isinstance(value, str) else json.dumps(value)) for label, value in found if value]


def _plain(value: object) -> str:
    return str(value).replace("_", " ")
