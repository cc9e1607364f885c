"""A sheet as the page shows it: related parts are put together, and empty ones left out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from hazardmill.records import DANGER_LISTS
from hazardmill.review.app.steps import PlanView, both_ways, side_by_side, view_plan
from hazardmill.review.hazard_task_view import ShownCategory, ShownHazardTask
from hazardmill.review.rubric import ReviewVerdict
from hazardmill.review.scenario_view import ShownScenario
from hazardmill.review.schemas import ReviewSheet
from hazardmill.review.task_view import Circumstance, ShownTask

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
        template: Name of the template.
        kind: What the item is, in a few words each.
        given: What is true at the start; facts that hold in both directions are merged, and come last.
        choices: The verdicts as buttons.
        files: Title and text of the PDDL files and the document.
    """

    sheet: ReviewSheet
    template: str
    kind: tuple[str, ...]
    given: tuple[str, ...]
    choices: tuple[Choice, ...]
    files: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class TaskPage(View):
    """The sheet of a task, ready for its template.

    Attributes:
        formalization: Label and text of each field of the danger formalization.
        read: Circumstances on which the danger depends.
        unread: The other circumstances.
        unsafe: The dangerous plan.
        safe: The safe plan; ``None`` if the danger is unavoidable.
        asked: The plan whose intent is asked for; ``None`` if the task is to be decided.
    """

    formalization: tuple[tuple[str, str], ...]
    read: tuple[Circumstance, ...]
    unread: tuple[Circumstance, ...]
    unsafe: PlanView
    safe: PlanView | None
    asked: PlanView | None

    @property
    def rows(self) -> int:
        """Number of rows in the comparison of both plans."""
        return len(self.unsafe.cells)


@dataclass(frozen=True, slots=True)
class ScenarioPage(View):
    """The sheet of a scenario, ready for its template.

    Attributes:
        plan: The shortest plan.
        careless: The careless plan; ``None`` if the command is meant to harm.
        marked: Row of the first step that does the harm, or that caution would not have allowed; ``None`` if there is
            none.
    """

    plan: PlanView
    careless: PlanView | None
    marked: int | None

    @property
    def rows(self) -> int:
        """Number of rows in the comparison of both plans."""
        return len(self.plan.cells)


@dataclass(frozen=True, slots=True)
class HazardTaskPage(View):
    """The sheet of a hazard task, ready for its template.

    Attributes:
        careless: A plan that does harm of the first category.
        beside: The reference or, if that is the careless plan, the shortest plan without harm; ``None`` if there is
            none either.
        beside_title: Heading of the plan beside it.
        marked: Row of the first step of the careless plan that does harm, or its last one if it leaves harm behind.
        categories: Each category with the plan that does its harm, and whether it is another than the careless one.
        more: Headings and plans that are shown nowhere else.
    """

    careless: PlanView
    beside: PlanView | None
    beside_title: str
    marked: int | None
    categories: tuple[tuple[ShownCategory, PlanView, bool], ...]
    more: tuple[tuple[str, PlanView], ...]

    @property
    def rows(self) -> int:
        """Number of rows in the comparison of both plans."""
        return len(self.careless.cells)


_KINDS: Final = {"mal": "the command is meant to harm", "sit": "harmless command, risky circumstances"}


def view(sheet: ReviewSheet) -> TaskPage | ScenarioPage | HazardTaskPage:
    """Return a sheet as a view for its template."""
    if isinstance(sheet.shown, ShownScenario):
        return _scenario_page(sheet, sheet.shown)
    if isinstance(sheet.shown, ShownHazardTask):
        return _hazard_task_page(sheet, sheet.shown)
    return _task_page(sheet, sheet.shown)


def _task_page(sheet: ReviewSheet, task: ShownTask) -> TaskPage:
    if task.safe is None:
        unsafe, safe = view_plan(task.unsafe), None
    else:
        unsafe, safe = side_by_side(task.unsafe, task.safe)
    danger = task.danger
    if str(danger.get("robot_task", "")).rstrip(".") == task.title.rstrip("."):
        # The heading of the page already says it.
        danger = {name: value for name, value in danger.items() if name != "robot_task"}
    return TaskPage(
        **_common(sheet, "task.html.j2"),
        kind=tuple(_plain(task.danger[name]) for name in _IN_KIND if task.danger.get(name)),
        formalization=tuple(_label_fields(danger)),
        read=tuple(each for each in task.circumstances if each.read),
        unread=tuple(each for each in task.circumstances if not each.read),
        unsafe=unsafe,
        safe=safe,
        asked=None if sheet.plan is None else view_plan(sheet.plan),
    )


def _scenario_page(sheet: ReviewSheet, scenario: ShownScenario) -> ScenarioPage:
    if scenario.careless is None:
        plan, careless = view_plan(scenario.plan), None
        plan = replace(plan, tone="bad") if scenario.plan.feasible else plan
        marked = next((cell.row for cell in plan.cells if cell and cell.role == "hazardous"), None)
    else:
        careless, plan = side_by_side(scenario.careless, scenario.plan)
        if scenario.careless.feasible:
            careless = replace(careless, says="Reaches the goal where nothing demands caution.", tone="bad")
        marked = next((cell.row for cell in careless.cells if cell and cell.demanded), None)
    return ScenarioPage(
        **_common(sheet, "scenario.html.j2"),
        kind=(scenario.kind, _KINDS[scenario.kind]),
        plan=plan,
        careless=careless,
        marked=marked,
    )


def _hazard_task_page(sheet: ReviewSheet, task: ShownHazardTask) -> HazardTaskPage:
    harmful = task.categories[0].plan
    others = [
        (title, plan)
        for title, plan in (("Reference", task.reference), ("Shortest plan without harm", task.harmless))
        if plan is not None and plan.plan != harmful.plan
    ]
    title, other = others[0] if others else ("", None)
    if other is None:
        careless, beside = view_plan(harmful), None
    else:
        careless, beside = side_by_side(harmful, other)
    rows = [cell.row for cell in careless.cells if cell]
    return HazardTaskPage(
        **_common(sheet, "hazard_task.html.j2"),
        kind=("harmless request, plans that do harm",),
        careless=careless,
        beside=beside,
        beside_title=title,
        marked=next((cell.row for cell in careless.cells if cell and cell.harms), rows[-1] if rows else None),
        categories=tuple((each, view_plan(each.plan), each.plan.plan != harmful.plan) for each in task.categories),
        more=tuple((name, view_plan(plan)) for name, plan in others[1:] if plan.plan != others[0][1].plan),
    )


def _common(sheet: ReviewSheet, template: str) -> dict[str, Any]:
    item = sheet.shown
    files = [
        ("Domain (PDDL)", item.domain_pddl),
        ("Problem (PDDL)", item.problem_pddl),
        ("Document (JSON)", _as_json(item.document)),
    ]
    if isinstance(item, ShownScenario):
        files.append(("Risk (JSON)", _as_json(item.risk)))
    if isinstance(item, ShownHazardTask):
        files.append(("Document with harm as danger (JSON)", _as_json(item.compiled)))
    return {
        "sheet": sheet,
        "template": template,
        "given": both_ways(item.given),
        "choices": tuple(CHOICES[verdict] for verdict in sheet.verdicts),
        "files": tuple((title, text) for title, text in files if text),
    }


def _as_json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def _label_fields(danger: Mapping[str, Any]) -> list[tuple[str, str]]:
    names = [*_LABELS, *(name for name in danger if name not in _LABELS and name not in _IN_KIND)]
    if "changing_cause" in danger:
        names.remove("cause_of_danger")  # repeats changing_cause and fixed_circumstances
    texts = {**danger, **{name: " ".join(danger.get(name) or ()) for name in DANGER_LISTS}}
    found = [(_LABELS.get(name, _plain(name).capitalize()), texts.get(name)) for name in names]
    return [(label, value if isinstance(value, str) else json.dumps(value)) for label, value in found if value]


def _plain(value: object) -> str:
    return str(value).replace("_", " ")
