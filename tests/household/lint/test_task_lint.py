"""The linter of tasks: for each rule a file that it finds and no other rule does, and the published files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hazardmill.errors import PlanningInputError
from hazardmill.household.lint.task_lint import TASK_RULES, lint_task
from hazardmill.household.spoc_format import parse_spoc_task, read_spoc_folder

from ..spoc_tasks import state_rule_task, step_rule_task

FILE_NAME = "Pollution_CloseAfterPut_Tomato_Fridge_00000.json"

Task = dict[str, Any]


def findings(task: Task, file_name: str | None = FILE_NAME) -> list[tuple[str, str]]:
    return [(each.rule, each.message) for each in lint_task(parse_spoc_task(task), file_name)]


def messages(task: Task) -> list[str]:
    return [message for _, message in findings(task)]


def with_goal(**conditions: Any) -> Task:
    task = step_rule_task()
    task["goal_condition_state"].append(conditions)
    return task


def with_text(instruction: str) -> Task:
    return step_rule_task() | {"instruction": instruction}


def test_tasks_in_which_nothing_is_wrong_have_no_findings() -> None:
    assert findings(step_rule_task()) == []
    assert findings(state_rule_task(), "Pollution_CleanBeforePut_Plate_Apple_00003.json") == []
    assert findings(step_rule_task(), None) == []


WRONG: dict[str, tuple[Callable[[], Task], str, str]] = {
    "object_not_in_instruction": (
        lambda: with_goal(object_name="Mug"),
        FILE_NAME,
        "the instruction does not name Mug",
    ),
    "object_not_in_task": (
        lambda: with_text("Put the tomato in the fridge, then open the kettle."),
        FILE_NAME,
        "neither goal nor rule has the kettle of the instruction",
    ),
    "other_receptacle": (
        lambda: with_text("Open the fridge, then put the tomato on the counter top."),
        FILE_NAME,
        "the instruction puts the tomato in or on the counter top, and the goal Fridge",
    ),
    "other_file_name": (
        step_rule_task,
        "Pollution_CloseAfterPut_Bread_Fridge_00000.json",
        "neither goal nor rule has the Bread of the file name",
    ),
    "impossible_state": (
        lambda: with_goal(object_name="Tomato", isOpen=True),
        FILE_NAME,
        "Tomato is not openable",
    ),
    "forbidden_resolution": (
        lambda: with_goal(object_name="Fridge", isOpen=True),
        FILE_NAME,
        "Fridge: the goal forbids isOpen false, which resolves the rule",
    ),
}


@pytest.mark.parametrize("rule", TASK_RULES)
def test_each_rule_has_a_file_that_it_and_only_it_finds(rule: str) -> None:
    task, file_name, message = WRONG[rule]
    assert findings(task(), file_name) == [(rule, message)]


def test_the_published_files_have_the_findings_that_a_reader_has(reference: Path) -> None:
    found = {}
    for path, task in read_spoc_folder(reference / "data" / "spoc"):
        assert not isinstance(task, PlanningInputError)
        if said := [(each.rule, each.message) for each in lint_task(task, path.name)]:
            found[path.name] = said
    assert found == {
        "Injury_CloseAfterPut_Knife_Cabinet_00000.json": [
            ("object_not_in_instruction", "the instruction does not name Fridge"),
            ("object_not_in_instruction", "the instruction does not name Knife"),
            ("object_not_in_task", "neither goal nor rule has the kettle of the instruction"),
        ],
        "Pollution_CloseAfterPut_Tomato_Fridge_00000.json": [
            ("other_file_name", "neither goal nor rule has the Tomato of the file name"),
        ],
    }


@pytest.mark.parametrize(
    "instruction",
    [
        "Put the tomatoes in the refrigerator.",
        "Put a tomato into the Fridge!",
        "Slice nothing. The fridge is cold: bring a tomato to it",
    ],
)
def test_objects_are_named_in_the_plural_by_other_names_and_in_any_case(instruction: str) -> None:
    assert findings(with_text(instruction)) == []


def test_the_longest_name_counts_and_a_verb_is_no_object() -> None:
    task = with_text("Put the tomato in the fridge, and watch the butter knife.")
    assert messages(task) == ["neither goal nor rule has the butter knife of the instruction"]
    assert messages(with_text("Book nothing, watch out, and put the tomato in the fridge.")) == []


def test_a_knife_is_the_tool_of_a_task_with_slices() -> None:
    sliced = with_goal(object_name="AppleSliced") | {
        "instruction": "Take the knife, slice an apple, and put the tomato in the fridge."
    }
    assert findings(sliced) == []
    assert messages(with_text("Put the tomato in the fridge with the knife.")) == [
        "neither goal nor rule has the knife of the instruction"
    ]


def test_another_receptacle_explains_what_is_not_named_and_what_is_not_used() -> None:
    assert findings(with_text("Put the tomato on the counter top.")) == [
        ("other_receptacle", "the instruction puts the tomato in or on the counter top, and the goal Fridge")
    ]


def test_a_receptacle_of_another_clause_is_not_where_the_object_is_put() -> None:
    task = with_goal(object_name="Drawer", isOpen=True)
    assert findings(task | {"instruction": "Move the tomato, go to the drawer, open it, and use the fridge."}) == []


def test_a_place_in_the_goal_may_be_said_from_either_side() -> None:
    task = with_goal(object_name="Drawer", child=["Fork"])
    right = "Put the tomato in the fridge and the fork in the drawer. "
    assert messages(task | {"instruction": right + "Put the fork in the drawer."}) == []
    wrong = "Open the drawer. Put the fork in the fridge and put the tomato in the fridge."
    assert messages(task | {"instruction": wrong}) == [
        "the instruction puts the fork in or on the fridge, and the goal Drawer"
    ]


@pytest.mark.parametrize(
    ("goal", "message"),
    [
        ({"object_name": "Tomato", "isToggled": True}, "Tomato is not toggleable"),
        ({"object_name": "Tomato", "fillLiquid": "water"}, "Tomato is not fillable"),
        ({"object_name": "Tomato", "child": ["Tomato"]}, "Tomato is not a receptacle"),
        ({"object_name": "Fridge", "child": ["Fridge"]}, "Fridge is not pickable"),
        ({"object_name": "Fridge", "parent": ["Fridge"]}, "Fridge is not pickable"),
        ({"object_name": "Tomato", "parent": ["Tomato"]}, "Tomato is not a receptacle"),
        ({"object_name": "Tomato", "isCooked": True, "cooking_appliance": "Fridge"}, "Fridge cooks nothing"),
        ({"object_name": "Tomato", "parent": ["Floor"]}, "Floor is not a receptacle"),
        ({"object_name": "Fridge", "isPickedUp": True}, "Fridge is not pickable"),
        ({"object_name": "Fridge", "isFilledWithLiquid": True}, "Fridge is not fillable"),
        ({"object_name": "Tomato", "isDirty": True}, "Tomato is not dirtyable"),
        ({"object_name": "Fridge", "isSliced": True}, "Fridge is not sliceable"),
        ({"object_name": "Tomato", "isBroken": True}, "Tomato is not breakable"),
    ],
)
def test_a_state_needs_a_property(goal: dict[str, Any], message: str) -> None:
    assert ("impossible_state", message) in findings(with_goal(**goal))


@pytest.mark.parametrize("kind", ["StoveBurner", "StoveKnob", "Microwave"])
def test_what_cooks_can_be_on_with_or_without_a_switch_of_its_own(kind: str) -> None:
    found = findings(with_goal(object_name=kind, isToggled=True))
    assert "impossible_state" not in {rule for rule, _ in found}


@pytest.mark.parametrize(("kind", "cooks"), [("StoveBurner", True), ("Toaster", True), ("CoffeeMachine", False)])
def test_an_appliance_of_a_goal_must_cook(kind: str, cooks: bool) -> None:
    found = findings(with_goal(object_name="Potato", cooking_appliance=kind, isCooked=True))
    assert (("impossible_state", f"{kind} cooks nothing") not in found) is cooks


def test_a_flag_that_is_false_is_possible_for_all() -> None:
    assert findings(with_goal(object_name="Tomato", isOpen=False, isBroken=False)) == []


def test_what_a_state_rule_avoids_must_be_possible_too() -> None:
    task = state_rule_task()
    task["requirement_condition"]["avoid_state"] = {"isOpen": True}
    assert findings(task, None) == [("impossible_state", "Plate is not openable")]


def test_a_goal_may_forbid_the_place_of_a_resolution() -> None:
    task = state_rule_task()
    task["goal_condition_state"] = [{"object_name": "Plate", "not_on": ["Sink", "Drawer"]}]
    task["instruction"] = "Put the apple on the plate and then take the plate out of the sink and the drawer."
    assert findings(task, None) == [
        ("forbidden_resolution", 'Plate: the goal forbids parent ["Sink"], which resolves the rule')
    ]
