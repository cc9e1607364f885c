"""An item as every page shows it: related parts are put together, and empty ones left out.

The templates beside this module draw it. Each kind of item has a file of macros, which its layout names.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeAlias

from hazardmill.records import DANGER_LISTS
from hazardmill.review.document_view import ShownPlan
from hazardmill.review.drawing.steps import PlanView, both_ways, side_by_side, view_plan
from hazardmill.review.hazard_task_view import ShownCategory, ShownHazardTask
from hazardmill.review.item_view import AnyShown
from hazardmill.review.scenario_view import ShownScenario
from hazardmill.review.task_view import Circumstance, ShownTask

TEMPLATES: Final = Path(__file__).resolve().parent / "templates"
STATIC: Final = Path(__file__).resolve().parent / "static"
"""Folder of ``item.css`` and ``item.js``, for every page with an item."""

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
class ItemLayout:
    """What tasks, scenarios and hazard tasks have in common when they are drawn.

    Attributes:
        item: The item.
        noun: What it is called in a sentence: ``task``, ``scenario`` or ``hazard task``.
        template: Name of the template with the macros of its kind.
        kind: What the item is, in a few words each.
        record_title: Heading of the text of its record.
        given: What is true at the start; facts that hold in both directions are merged, and come last.
        panels: Name and title of each panel that ``panels`` and ``files`` of the templates draw.
        references: Label and plan of each plan that comes with the item; ``None`` for a plan that it does not have.
    """

    item: AnyShown
    noun: str
    template: str
    kind: tuple[str, ...]
    record_title: str
    given: tuple[str, ...]
    panels: tuple[tuple[str, str], ...]
    references: tuple[tuple[str, ShownPlan | None], ...]

    @property
    def files(self) -> tuple[tuple[str, str], ...]:
        """Title and text of the PDDL files and the document, written out anew each time."""
        item = self.item
        files = [
            ("Domain (PDDL)", item.domain_pddl),
            ("Problem (PDDL)", item.problem_pddl),
            ("Document (JSON)", _as_json(item.document)),
        ]
        if isinstance(item, ShownScenario):
            files.append(("Risk (JSON)", _as_json(item.risk)))
        if isinstance(item, ShownHazardTask):
            files.append(("Document with harm as danger (JSON)", _as_json(item.compiled)))
        return tuple((title, text) for title, text in files if text)


@dataclass(frozen=True, slots=True)
class TaskLayout(ItemLayout):
    """A task, ready for its template.

    Attributes:
        formalization: Label and text of each field of the danger formalization.
        read: Circumstances on which the danger depends.
        unread: The other circumstances.
        unsafe: The dangerous plan.
        safe: The safe plan; ``None`` if the danger is unavoidable.
    """

    formalization: tuple[tuple[str, str], ...]
    read: tuple[Circumstance, ...]
    unread: tuple[Circumstance, ...]
    unsafe: PlanView
    safe: PlanView | None

    @property
    def rows(self) -> int:
        """Number of rows in the comparison of both plans."""
        return len(self.unsafe.cells)


@dataclass(frozen=True, slots=True)
class ScenarioLayout(ItemLayout):
    """A scenario, ready for its template.

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
class HazardTaskLayout(ItemLayout):
    """A hazard task, ready for its template.

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


_OBJECTS: Final = ("objects", "Objects")
_FILES: Final = ("pddl", "PDDL and document")
_KINDS: Final = {"mal": "the command is meant to harm", "sit": "harmless command, risky circumstances"}


Layout: TypeAlias = TaskLayout | ScenarioLayout | HazardTaskLayout


def lay_out(shown: AnyShown) -> Layout:
    """Return an item as it is drawn.

    Args:
        shown: The item as it is shown to people.
    """
    if isinstance(shown, ShownScenario):
        return _lay_out_scenario(shown)
    if isinstance(shown, ShownHazardTask):
        return _lay_out_hazard_task(shown)
    return _lay_out_task(shown)


def _lay_out_task(task: ShownTask) -> TaskLayout:
    if task.safe is None:
        unsafe, safe = view_plan(task.unsafe), None
    else:
        unsafe, safe = side_by_side(task.unsafe, task.safe)
    danger = task.danger
    if str(danger.get("robot_task", "")).rstrip(".") == task.title.rstrip("."):
        # The heading of the page already says it.
        danger = {name: value for name, value in danger.items() if name != "robot_task"}
    return TaskLayout(
        **_common(task),
        noun="task",
        template="task_drawing.html.j2",
        panels=(("proof", "Proof"), ("code", "Code"), _FILES),
        references=(("dangerous", task.unsafe), ("safe", task.safe)),
        kind=tuple(_plain(task.danger[name]) for name in _IN_KIND if task.danger.get(name)),
        formalization=tuple(_label_fields(danger)),
        read=tuple(each for each in task.circumstances if each.read),
        unread=tuple(each for each in task.circumstances if not each.read),
        unsafe=unsafe,
        safe=safe,
    )


def _lay_out_scenario(scenario: ShownScenario) -> ScenarioLayout:
    if scenario.careless is None:
        plan, careless = view_plan(scenario.plan), None
        plan = replace(plan, tone="bad") if scenario.plan.feasible else plan
        marked = next((cell.row for cell in plan.cells if cell and cell.role == "hazardous"), None)
    else:
        careless, plan = side_by_side(scenario.careless, scenario.plan)
        if scenario.careless.feasible:
            careless = replace(careless, says="Reaches the goal where nothing demands caution.", tone="bad")
        marked = next((cell.row for cell in careless.cells if cell and cell.demanded), None)
    return ScenarioLayout(
        **_common(scenario),
        noun="scenario",
        template="scenario_drawing.html.j2",
        panels=(_OBJECTS, _FILES),
        references=(("careless", scenario.careless), ("plan", scenario.plan)),
        kind=(scenario.kind, _KINDS[scenario.kind]),
        plan=plan,
        careless=careless,
        marked=marked,
    )


def _lay_out_hazard_task(task: ShownHazardTask) -> HazardTaskLayout:
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
    return HazardTaskLayout(
        **_common(task, "Seeds: what the roles were shown"),
        noun="hazard task",
        template="hazard_task_drawing.html.j2",
        panels=(("categories", "Categories and other plans"), _OBJECTS, _FILES),
        references=(("careless", harmful), ("reference", task.reference)),
        kind=("harmless request, plans that do harm",),
        careless=careless,
        beside=beside,
        beside_title=title,
        marked=next((cell.row for cell in careless.cells if cell and cell.harms), rows[-1] if rows else None),
        categories=tuple((each, view_plan(each.plan), each.plan.plan != harmful.plan) for each in task.categories),
        more=tuple((name, view_plan(plan)) for name, plan in others[1:] if plan.plan != others[0][1].plan),
    )


def _common(item: AnyShown, record_title: str = "Record") -> dict[str, Any]:
    return {
        "item": item,
        "record_title": record_title,
        "given": both_ways(item.given),
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
