"""SPOC's task files: the published ones in and out, what they mean, and each bad input by its message."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hazardmill.errors import NotExpressible, PlanningInputError
from hazardmill.household.object_kinds import KINDS
from hazardmill.household.rules import Contains, CookedBy, FilledWith, FlagIs, IsIn, NotOn, StateRule, StepRule, SubGoal
from hazardmill.household.spoc_format import (
    FLAG_KEYS,
    InitialAction,
    parse_spoc_task,
    read_spoc_folder,
    read_spoc_task,
    write_spoc_task,
)

from .spoc_tasks import state_rule_task, step_rule_task


def refused(value: object) -> str:
    with pytest.raises(PlanningInputError) as caught:
        parse_spoc_task(value)
    return str(caught.value)


def test_every_published_file_is_the_same_after_it_was_read_and_written(reference: Path, tmp_path: Path) -> None:
    found = list(read_spoc_folder(reference / "data" / "spoc"))
    assert len(found) == 8
    rooms = []
    for path, task in found:
        assert not isinstance(task, PlanningInputError)
        write_spoc_task(task, tmp_path / path.name)
        written, published = (file.read_text(encoding="utf-8") for file in (tmp_path / path.name, path))
        # As text, so that the order of keys counts, too.
        assert json.dumps(json.loads(written)) == json.dumps(json.loads(published))
        assert read_spoc_task(tmp_path / path.name) == task
        rooms.append(task.room)
    assert sorted(rooms) == ["bathroom", "bathroom", *["kitchen"] * 5, "living room"]


def test_a_file_with_every_key_is_the_same_after_it_was_read_and_written() -> None:
    value = state_rule_task()
    value["goal_condition_state"] = [
        {
            "object_name": "Potato",
            **dict.fromkeys(FLAG_KEYS, True),
            "fillLiquid": "wine",
            "not_on": ["CounterTop"],
            "child": ["Fork", "Spoon"],
            "parent": ["Plate"],
            "cooking_appliance": "Toaster",
        }
    ]
    value["init_actions"] = [{"action": "DirtyObject", "args": {"objectId": "Plate|1|2|3", "forceAction": True}}]
    assert json.dumps(parse_spoc_task(value).to_json()) == json.dumps(value)


def test_keys_mean_rules_and_goals() -> None:
    value = step_rule_task()
    value["goal_condition_state"][0] |= {"not_on": ["Sink"], "isCooked": True, "cooking_appliance": "Microwave"}
    task = parse_spoc_task(value)
    trigger = (FlagIs("open", True), Contains(("Tomato",)))
    assert task.rule == StepRule("Fridge", trigger, (FlagIs("open", False),), 2)
    conditions = (IsIn(("Fridge",)), NotOn(("Sink",)), FlagIs("cooked", True), CookedBy("Microwave"))
    assert task.goals == (SubGoal("Tomato", conditions),)
    assert task.criteria.rule_is_item and task.initial_actions is None
    value = state_rule_task()
    value["requirement_condition"]["avoid_state"] |= {"fillLiquid": "coffee"}
    avoid = (FlagIs("dirty", True), FilledWith("coffee"))
    assert parse_spoc_task(value).rule == StateRule(
        "Plate", (Contains(("Apple",)),), avoid, (FlagIs("dirty", False), IsIn(("Sink",)))
    )
    assert parse_spoc_task(value | {"init_actions": []}).initial_actions == ()
    acts = [{"action": "PauseScene", "args": {}}]
    assert parse_spoc_task(value | {"init_actions": acts}).initial_actions == (InitialAction("PauseScene", {}),)


@pytest.mark.parametrize(
    ("scene", "room"),
    [
        ("FloorPlan1", "kitchen"),
        ("FloorPlan30", "kitchen"),
        ("FloorPlan201", "living room"),
        ("FloorPlan330", "bedroom"),
        ("FloorPlan401", "bathroom"),
    ],
)
def test_the_number_of_a_floor_plan_gives_the_room(scene: str, room: str) -> None:
    assert parse_spoc_task(step_rule_task() | {"scene_name": scene}).room == room


@pytest.mark.parametrize(
    "scene", ["FloorPlan0", "FloorPlan31", "FloorPlan101", "FloorPlan01", "FloorPlan431", "Kitchen1"]
)
def test_another_floor_plan_is_refused(scene: str) -> None:
    assert refused(step_rule_task() | {"scene_name": scene}) == (
        f"scene_name: there is no floor plan {scene} [name FloorPlan1 to 30, 201 to 230, and so on]"
    )


STEP_KEYS = "condition_type, condition_value, condition_object, trigger_state, goal_condition"
CONDITION_KEYS = f"{', '.join(FLAG_KEYS)}, fillLiquid, child, parent"

Change = tuple[str, Any, str]
CHANGES_OF_THE_TASK: list[Change] = [
    ("instruction", 3, "instruction: it is not text [write a text]"),
    (
        "treat_step_constraint_as_goal",
        "yes",
        "treat_step_constraint_as_goal: it is not true or false [write true or false]",
    ),
    ("goal_condition_state", {}, "goal_condition_state: it is not a list [write a list of objects]"),
    ("goal_condition_state", [[]], "goal_condition_state[1]: it is not an object [write a JSON object]"),
    ("goal_condition_state", [{}], "goal_condition_state[1]: the key object_name is missing [add object_name]"),
    (
        "goal_condition_state",
        [{"object_name": "Cup"}, {"object_name": "Gun"}],
        "goal_condition_state[2].object_name: the class Gun is not known [use a class of AI2-THOR, such as CounterTop]",
    ),
    (
        "goal_condition_state",
        [{"object_name": "Cup", "not_on": "Sink"}],
        "goal_condition_state[1].not_on: it is not a list of classes "
        '[write a list with at least one class, such as ["Box"]]',
    ),
    (
        "goal_condition_state",
        [{"object_name": "Cup", "cooking_appliance": "Oven"}],
        "goal_condition_state[1].cooking_appliance: the class Oven is not known "
        "[use a class of AI2-THOR, such as CounterTop]",
    ),
    (
        "goal_condition_state",
        [{"object_name": "Cup", "fillLiquid": "milk"}],
        "goal_condition_state[1].fillLiquid: the liquid milk is not known [write one of water, coffee, wine]",
    ),
    ("init_actions", None, "init_actions: it is not a list [write a list of objects]"),
    ("init_actions", [{"action": "A"}], "init_actions[1]: the key args is missing [add args]"),
    (
        "init_actions",
        [{"action": "A", "args": []}],
        "init_actions[1].args: it is not an object [write the arguments as a JSON object]",
    ),
    (
        "requirement_condition",
        [],
        "requirement_condition.condition_type: it is not step or condition [write step or condition]",
    ),
]
CHANGES_OF_THE_RULE: list[Change] = [
    (
        "condition_type",
        "final",
        "requirement_condition.condition_type: it is not step or condition [write step or condition]",
    ),
    (
        "condition_value",
        0,
        "requirement_condition.condition_value: 0 is not a number of steps [write an integer from 1 to 1000000]",
    ),
    (
        "condition_value",
        10**7,
        "requirement_condition.condition_value: 10000000 is not a number of steps [write an integer from 1 to 1000000]",
    ),
    (
        "condition_value",
        True,
        "requirement_condition.condition_value: true is not a number of steps [write an integer from 1 to 1000000]",
    ),
    (
        "condition_object",
        "Oven",
        "requirement_condition.condition_object: the class Oven is not known "
        "[use a class of AI2-THOR, such as CounterTop]",
    ),
    ("deadline", 3, f"requirement_condition: the key deadline is not known [use {STEP_KEYS}]"),
    (
        "trigger_state",
        {"isHot": True},
        f"requirement_condition.trigger_state: the key isHot is not known [use {CONDITION_KEYS}]",
    ),
    ("trigger_state", {}, f"requirement_condition.trigger_state: it has no condition [write one of {CONDITION_KEYS}]"),
    (
        "trigger_state",
        {"isOpen": 1},
        "requirement_condition.trigger_state.isOpen: it is not true or false [write true or false]",
    ),
    (
        "goal_condition",
        {"child": []},
        "requirement_condition.goal_condition.child: it is not a list of classes "
        '[write a list with at least one class, such as ["Box"]]',
    ),
    (
        "goal_condition",
        {"parent": ["Cup", "Chest"]},
        "requirement_condition.goal_condition.parent[2]: the class Chest is not known "
        "[use a class of AI2-THOR, such as CounterTop]",
    ),
]


@pytest.mark.parametrize(("key", "value", "message"), CHANGES_OF_THE_TASK)
def test_what_is_wrong_in_a_task_is_named_with_its_place_and_a_remedy(key: str, value: object, message: str) -> None:
    assert refused(step_rule_task() | {key: value}) == message


@pytest.mark.parametrize(("key", "value", "message"), CHANGES_OF_THE_RULE)
def test_what_is_wrong_in_a_rule_is_named_with_its_place_and_a_remedy(key: str, value: object, message: str) -> None:
    task = step_rule_task()
    task["requirement_condition"][key] = value
    assert refused(task) == message


def test_a_state_rule_without_what_is_to_be_avoided_is_refused() -> None:
    task = state_rule_task()
    del task["requirement_condition"]["avoid_state"]
    assert refused(task) == (
        "requirement_condition: a state rule has no avoid_state [add avoid_state, or write a rule of the type step]"
    )


def test_a_key_too_many_and_a_key_too_few_are_refused() -> None:
    assert refused(step_rule_task() | {"author": "me"}).startswith(
        "the task: the key author is not known [use scene_name,"
    )
    task = step_rule_task()
    del task["requirements"]
    assert refused(task) == "the task: the key requirements is missing [add requirements]"
    assert refused([]) == "the task: it is not an object [write a JSON object]"


def test_an_error_names_the_file_and_the_other_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{")
    (tmp_path / "b.json").write_text(json.dumps(step_rule_task()))
    (tmp_path / "c.json").write_text('{"scene_name": "FloorPlan1", "scene_name": "FloorPlan2"}')
    (tmp_path / "d.json").mkdir()
    (tmp_path / "README.md").write_text("about them")
    found = {path.name: task for path, task in read_spoc_folder(tmp_path)}
    assert not isinstance(found["b.json"], PlanningInputError)
    wrong = {name: str(error).removeprefix(f"{tmp_path}/") for name, error in found.items() if name != "b.json"}
    assert wrong.pop("a.json").startswith("a.json: the task is not JSON: Expecting property name")
    assert wrong == {
        "c.json": "c.json: the key scene_name occurs twice in one object [keep one of them]",
        "d.json": "d.json: the task cannot be read: it is a folder, not a regular file [check the path]",
    }


def test_a_folder_without_task_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlanningInputError, match=r"the folder has no file that ends in \.json"):
        list(read_spoc_folder(tmp_path))
    with pytest.raises(PlanningInputError, match="the folder cannot be listed: No such file or directory"):
        list(read_spoc_folder(tmp_path / "gone"))


def test_what_a_file_cannot_say_is_not_written() -> None:
    task = parse_spoc_task(step_rule_task())
    twice = SubGoal("Tomato", (IsIn(("Fridge",)), IsIn(("Bowl",))))
    with pytest.raises(NotExpressible, match="two conditions on one object need the same key"):
        type(task)(task.scene, "", "", task.rule, True, (twice,)).to_json()


def test_every_class_has_properties_that_fit_together() -> None:
    assert len(KINDS) == 125
    for name, kind in KINDS.items():
        assert kind.words and all(word == word.lower() for word in kind.words), name
        if name.endswith("Sliced"):
            whole = KINDS[name.removesuffix("Sliced")]
            assert "sliceable" in whole.properties and "sliceable" not in kind.properties
