"""SPOC's tasks in our rooms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hazardmill.household.document import SceneDocument
from hazardmill.household.scene import Scene
from hazardmill.household.scores import EpisodeJudge
from hazardmill.household.spoc_conversion.spoc_import import SpocImport, import_spoc_task
from hazardmill.household.spoc_format import parse_spoc_task, read_spoc_folder
from hazardmill.household.states import StateReader
from tests.household.spoc_tasks import step_rule_task, task_file

Action = dict[str, Any]


def imported(*actions: Action, name: str = "Pollution_x.json", said: dict[str, Any] | None = None) -> SpocImport:
    """Return a kitchen task with initial actions, imported."""
    task = {**(said or step_rule_task()), "init_actions": [*actions]}
    return import_spoc_task(parse_spoc_task(task), Path(name))


def act(action: str, object_id: str, **args: Any) -> Action:
    return {"action": action, "args": {"objectId": object_id, **args}}


def scene_after(*actions: Action) -> Scene:
    found = imported(*actions)
    assert found.untold == ()
    return found.task.scene


def test_all_published_tasks_have_what_they_name_and_begin_with_nothing_met(reference: Path) -> None:
    hazards = []
    for path, task in read_spoc_folder(reference / "data" / "spoc"):
        assert not isinstance(task, Exception)
        found = import_spoc_task(task, path).task
        assert found.name == path.stem
        assert found.scene.room == task.room.replace(" ", "_")
        hazards.append(found.hazard)
        world = SceneDocument(found.scene)
        judge = EpisodeJudge(found.criteria)
        judge.observe(StateReader(world).world_state(world.system.initial))
        assert judge.verdict == "untriggered"
        assert not all(judge.goals_met)
    assert hazards == ["object_damage", "fire", "fire", "fire", "injury", "pollution", "pollution", "fluid"]


def test_what_the_room_lacks_is_added_where_it_usually_is() -> None:
    scene = imported().task.scene
    # The fridge, where a tomato would be, is what the task is about.
    assert scene.by_name["Tomato (1)"].place == "CounterTop (1)"
    rule = step_rule_task()["requirement_condition"]
    goals = ({"object_name": "LettuceSliced"}, {"object_name": "Sink", "child": ["Spoon"]})
    scene = imported(said=task_file("i", "r", {**rule, "condition_object": "Toaster"}, *goals)).task.scene
    assert scene.by_name["Lettuce (1)"].place == "Fridge (1)"
    assert "LettuceSliced (1)" in scene.by_name
    assert [thing.kind for thing in scene.objects if thing.controls == "Sink (1)"] == ["Faucet"]
    assert {"Toaster (1)", "Spoon (1)", "Knife (1)"} <= set(scene.by_name)


def test_a_control_that_is_missing_comes_with_what_it_controls() -> None:
    said = {**step_rule_task(), "scene_name": "FloorPlan301"}
    said["requirement_condition"] = {**said["requirement_condition"], "condition_object": "Faucet"}
    scene = imported(said=said).task.scene
    assert scene.room == "bedroom"
    assert scene.by_name["Faucet (1)"].controls == "SinkBasin (1)"


@pytest.mark.parametrize(
    ("action", "name", "state"),
    [
        ("DirtyObject", "Bowl", "dirty"),
        ("OpenObject", "Fridge", "open"),
        ("ToggleObjectOn", "Faucet", "on"),
        ("BreakObject", "Bowl", "broken"),
        ("CookObject", "Egg", "cooked"),
    ],
)
def test_an_action_makes_a_state_of_the_scene(action: str, name: str, state: str) -> None:
    assert state in scene_after(act(action, f"{name}|1|2|3")).by_name[f"{name} (1)"].states


@pytest.mark.parametrize(
    ("action", "name", "state"),
    [("CleanObject", "Mug", "dirty"), ("CloseObject", "Fridge", "open"), ("ToggleObjectOff", "Faucet", "on")],
)
def test_an_action_undoes_a_state_of_the_scene(action: str, name: str, state: str) -> None:
    before = act("OpenObject" if state == "open" else "ToggleObjectOn", f"{name}|1")
    actions = [*([] if state == "dirty" else [before]), act(action, f"{name}|1")]
    assert state not in scene_after(*actions).by_name[f"{name} (1)"].states


def test_a_burner_is_turned_on_by_its_knob() -> None:
    assert "on" in scene_after(act("ToggleObjectOn", "StoveBurner|1")).by_name["StoveKnob (1)"].states


def test_liquids_are_filled_in_and_emptied() -> None:
    assert scene_after(act("FillObjectWithLiquid", "Bowl|1", fillLiquid="wine")).by_name["Bowl (1)"].filled == "wine"
    assert scene_after(act("EmptyLiquidFromObject", "Mug|1")).by_name["Mug (1)"].filled is None


def test_what_is_picked_up_and_put_elsewhere_is_there() -> None:
    scene = scene_after(act("PickupObject", "Apple|1"), act("PutObject", "Bowl|1"))
    assert scene.by_name["Apple (1)"].place == "Bowl (1)"


def test_objects_are_told_apart_by_their_ids_and_added_if_there_are_too_few() -> None:
    scene = scene_after(act("DirtyObject", "Bowl|1"), act("DirtyObject", "Bowl|1"), act("BreakObject", "Bowl|2"))
    assert scene.by_name["Bowl (1)"].states == {"dirty"}
    assert scene.by_name["Bowl (2)"].states == {"broken"}
    assert "Bowl (3)" not in scene.by_name


def test_what_is_disabled_is_not_there() -> None:
    assert "Bread (1)" not in scene_after(act("DisableObject", "Bread|1")).by_name
    assert "Lettuce (1)" not in scene_after(act("DisableObject", "Lettuce|1")).by_name


@pytest.mark.parametrize(
    ("actions", "why"),
    [
        ([act("PlaceObjectAtPoint", "Knife|1", position={"x": 1})], "PlaceObjectAtPoint: a scene has no coordinates"),
        ([act("DirtyObject", "Apple|1")], "DirtyObject: Apple is not dirtyable here"),
        ([act("FillObjectWithLiquid", "Apple|1")], "FillObjectWithLiquid: Apple is not fillable here"),
        ([act("FillObjectWithLiquid", "Bowl|1", fillLiquid="oil")], "FillObjectWithLiquid: the liquid is not known"),
        ([act("DisableObject", "Tomato|1")], "DisableObject: the task is about Tomato, which the scene keeps"),
        ([act("SliceObject", "Apple|1")], "SliceObject: no state of a scene is like this"),
        ([act("DirtyObject", "Grail|1")], "DirtyObject: it names no object of a known class"),
        ([act("PutObject", "Bowl|1")], "PutObject: nothing that can be carried was picked up before"),
        ([act("PickupObject", "Bowl|1"), act("PutObject", "Bowl|1")], "PutObject: an object would be in itself"),
    ],
)
def test_what_a_scene_cannot_say_is_kept_and_told(actions: list[Action], why: str) -> None:
    found = imported(*actions)
    [told] = found.untold
    assert told.startswith(f"init_actions[{len(actions)}] {why}")
    kept = found.task.assignment.initial_actions
    assert kept is not None
    assert [{"action": each.action, "args": each.args} for each in kept] == actions


def test_a_task_is_named_after_its_file_with_the_hazard_of_published_names() -> None:
    assert imported(name="Drop_a b.json").task.name == "Drop_a-b"
    assert imported(name="Drop_a b.json").task.hazard == "object_damage"
    assert imported(name="mine.json").task.hazard is None
