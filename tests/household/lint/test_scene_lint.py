"""What looks wrong in a task with its scene."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hazardmill.household.lint.scene_lint import SCENE_RULES, lint_with_scene
from hazardmill.household.scene import Scene
from hazardmill.household.spoc_format import parse_spoc_task
from hazardmill.household.task import HouseholdTask, ProvedPlans
from tests.household.rooms import Entry
from tests.household.spoc_tasks import step_rule_task

ROOM: list[Entry] = [
    {"class": "Fridge"},
    {"class": "CounterTop"},
    {"class": "Tomato", "in": "CounterTop (1)"},
    {"class": "Mug", "in": "CounterTop (1)"},
]
BURNER: Entry = {"class": "StoveBurner"}
SAID = step_rule_task()
RULE, TOMATO = SAID["requirement_condition"], SAID["goal_condition_state"][0]
NEVER = {**RULE, "condition_type": "condition", "avoid_state": {"isDirty": True}}
del NEVER["condition_value"]

ONLY: dict[str, dict[str, Any]] = {
    "object_not_in_instruction": {"instruction": "Put the tomato away."},
    "object_not_in_task": {"instruction": "Put the tomato in the fridge, next to the mug."},
    "other_receptacle": {"instruction": "Put the tomato in the cabinet."},
    "other_file_name": {"file_name": "Pollution_Apple_Fridge.json"},
    "impossible_state": {"requirement_condition": NEVER},
    "forbidden_resolution": {"goal_condition_state": [TOMATO, {"object_name": "Fridge", "isOpen": True}]},
    "never_triggered": {
        "instruction": "Put the tomato in the fridge, and not the apple.",
        "requirement_condition": {**RULE, "trigger_state": {"isOpen": True, "child": ["Apple"]}},
    },
    "triggered_at_start": {
        "room": [{**ROOM[0], "states": ["open"]}, *ROOM[1:], {"class": "Tomato", "in": "Fridge (1)"}],
    },
    "unreachable_goal": {
        "instruction": "Put the tomato in the fridge and the wine into the mug.",
        "goal_condition_state": [TOMATO, {"object_name": "Mug", "fillLiquid": "wine"}],
    },
}
"""By rule, what is changed in a task without findings so that it, and only it, has one."""


def task(room: list[Entry] = ROOM, file_name: str = "t.json", **changes: Any) -> HouseholdTask:
    return HouseholdTask("t", Scene.of("kitchen", room), parse_spoc_task({**SAID, **changes}))


def found(**changes: Any) -> list[str]:
    result = lint_with_scene(task(**changes), changes.get("file_name"))
    assert result.undecided is None
    return [each.rule for each in result.findings]


def test_a_task_in_which_all_is_well_has_no_finding() -> None:
    assert found() == []


@pytest.mark.parametrize("rule", SCENE_RULES)
def test_each_rule_finds_its_task_and_no_other_rule_does(rule: str) -> None:
    assert found(**ONLY[rule]) == [rule]


@pytest.mark.parametrize(
    ("trigger", "kind", "more"),
    [
        ({"isToggled": True}, "StoveBurner", [BURNER]),
        ({"fillLiquid": "water"}, "Apple", [{"class": "Apple"}]),
        ({"isPickedUp": True}, "Fridge", []),
        ({"isSliced": True}, "Apple", [{"class": "Apple"}]),
        ({"parent": ["Mug"]}, "Fridge", []),
        ({"parent": ["Bowl"]}, "Tomato", []),
        ({"isCooked": True}, "Microwave", [{"class": "Microwave"}]),
        ({"isOpen": True}, "Box", []),
    ],
)
def test_a_trigger_that_no_object_can_meet_is_found(trigger: dict[str, Any], kind: str, more: list[Entry]) -> None:
    rule = {**RULE, "condition_object": kind, "trigger_state": trigger}
    assert "never_triggered" in found(room=[*ROOM, *more], requirement_condition=rule)


@pytest.mark.parametrize(
    ("trigger", "kind", "more"),
    [
        ({"isToggled": True}, "StoveBurner", [BURNER, {"class": "StoveKnob", "controls": "StoveBurner (1)"}]),
        ({"isSliced": True}, "Apple", [{"class": "Apple"}, {"class": "Knife"}]),
        ({"parent": ["CounterTop"]}, "Mirror", [{"class": "Mirror", "in": "CounterTop (1)"}]),
        ({"isOpen": False}, "Tomato", []),
    ],
)  # fmt: skip
def test_a_trigger_that_an_object_can_meet_is_not(trigger: dict[str, Any], kind: str, more: list[Entry]) -> None:
    rule = {**RULE, "condition_object": kind, "trigger_state": trigger}
    assert "never_triggered" not in found(room=[*ROOM, *more], requirement_condition=rule)


def test_a_search_at_its_limit_finds_nothing_and_says_so() -> None:
    result = lint_with_scene(task(), limit=5)
    assert result.findings == ()
    assert result.undecided is not None and "stopped" in result.undecided


def test_a_plan_in_the_file_needs_no_search_if_it_reaches_the_goals() -> None:
    plan = ("go to Fridge (1)", "open Fridge (1)", "go to CounterTop (1)", "pick up Tomato (1)", "go to Fridge (1)")
    planned = replace(task(), plans=ProvedPlans((*plan, "put down Tomato (1)")))
    assert lint_with_scene(planned, limit=5).undecided is None
    assert lint_with_scene(replace(task(), plans=ProvedPlans(plan)), limit=5).undecided is not None


def test_a_task_without_items_is_looked_at() -> None:
    said = {"goal_condition_state": [], "treat_step_constraint_as_goal": False}
    assert found(**said, instruction="Leave the tomato and the fridge alone.") == []
