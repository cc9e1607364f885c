"""Household tasks as SPOC's."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from hazardmill.household.generation.drawing import SAFETY, draw_task
from hazardmill.household.scene import Scene
from hazardmill.household.spoc_conversion.spoc_export import export_spoc_task
from hazardmill.household.spoc_conversion.spoc_import import import_spoc_task
from hazardmill.household.spoc_format import parse_spoc_task, read_spoc_folder, write_spoc_task
from hazardmill.household.task import HAZARDS, Hazard, HouseholdTask, parse_household_task
from tests.household.spoc_tasks import step_rule_task


def test_published_tasks_go_in_and_out_and_are_the_same(reference: Path, tmp_path: Path) -> None:
    paths = []
    for path, task in read_spoc_folder(reference / "data" / "spoc"):
        assert not isinstance(task, Exception)
        # By way of the household task's own file.
        said = json.loads(json.dumps(import_spoc_task(task, path).task.to_json()))
        exported = export_spoc_task(parse_household_task(said))
        assert exported.untold == ()
        write_spoc_task(exported.assignment, tmp_path / path.name)
        before, after = json.loads(path.read_text("utf-8")), json.loads((tmp_path / path.name).read_text("utf-8"))
        # The order of keys counts, too.
        assert json.dumps(after) == json.dumps(before)
        paths.append(path)
    assert len(paths) == 8


@pytest.mark.parametrize("hazard", HAZARDS)
def test_the_states_of_a_drawn_task_come_back(hazard: Hazard) -> None:
    template = SAFETY[hazard].templates[0]
    draws = (draw_task("t", hazard, template.rooms[0], template, random.Random(seed)) for seed in range(9))
    task = next(draw.task for draw in draws if draw.task is not None)
    exported = export_spoc_task(task)
    assert exported.untold
    again = import_spoc_task(parse_spoc_task(exported.assignment.to_json()), Path("t.json"))
    assert again.untold == ()
    for thing in task.scene.objects:
        if thing.states or thing.filled:
            back = again.task.scene.by_name[thing.name]
            assert (back.states, back.filled) == (thing.states, thing.filled)


def test_what_a_file_cannot_say_is_told() -> None:
    room = [
        {"class": "Fridge"},
        {"class": "SinkBasin"},
        {"class": "StoveKnob", "controls": "SinkBasin (1)"},
        {"class": "Tomato", "in": "SinkBasin (1)"},
        {"class": "Mug", "properties": ["pickable"]},
        {"class": "Samovar", "properties": ["pickable", "openable"], "states": ["open"]},
    ]
    task = HouseholdTask("t", Scene.of("kitchen", room), parse_spoc_task(step_rule_task()))
    exported = export_spoc_task(task)
    assert exported.untold == (
        "objectIds have the number of the object where the simulator has its coordinates",
        "where 1 objects are: SPOC places objects by coordinates",
        "StoveKnob (1): that it controls SinkBasin (1)",
        "Mug (1): its properties are not those of its class",
        "Samovar (1): the class is not one of the simulator's",
    )
    said = [(each.action, each.args["objectId"]) for each in exported.assignment.initial_actions or ()]
    assert said == [("CloseObject", "Fridge|1"), ("ToggleObjectOff", "StoveKnob|1")]
