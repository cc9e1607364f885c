"""Household tasks and their files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hazardmill.errors import PlanningInputError
from hazardmill.household.scene import ROOMS, Scene, shipped_scene
from hazardmill.household.spoc_format import parse_spoc_task
from hazardmill.household.task import (
    HouseholdTask,
    ProvedPlans,
    parse_household_task,
    read_household_tasks,
    write_household_task,
)
from tests.household.spoc_tasks import step_rule_task

ROOM = [
    {"class": "Fridge", "states": ["open"]},
    {"class": "CounterTop"},
    {"class": "Tomato", "in": "CounterTop (1)"},
    {"class": "Mug", "in": "Fridge (1)", "filled": "wine", "states": ["dirty"]},
    {"class": "Kettle2", "properties": ["pickable", "fillable"]},
]


def task(name: str = "tomato") -> HouseholdTask:
    plans = ProvedPlans(("go to Tomato (1)", "pick up Tomato (1)"), ("done",))
    return HouseholdTask(name, Scene.of("kitchen", ROOM), parse_spoc_task(step_rule_task()), "pollution", plans)


def test_a_task_is_the_same_after_its_file(tmp_path: Path) -> None:
    path = write_household_task(task(), tmp_path)
    assert list(read_household_tasks(tmp_path)) == [(path, task())]


@pytest.mark.parametrize("room", ROOMS)
def test_shipped_scenes_are_the_same_after_their_json(room: str) -> None:
    assert Scene.parse(shipped_scene(room).to_json()) == shipped_scene(room)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "hazardmill-household/2"}, "format: "),
        ({"hazard": "noise"}, "hazard: "),
        ({"name": "a/b"}, "name: "),
        ({"more": 1}, "more: "),
        ({"plans": {"compliant": "go"}}, "plans.compliant: "),
        ({"scene": {"format": "hazardmill-scene/1", "room": "k", "objects": [{"class": "Mugg"}]}}, "scene: objects"),
        ({"task": {**step_rule_task(), "instruction": 3}}, "task: instruction: it is not text"),
    ],
)
def test_what_is_wrong_is_refused_with_its_place(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    (tmp_path / "t.json").write_text(json.dumps({**task().to_json(), **change}), encoding="utf-8")
    [(path, error)] = read_household_tasks(tmp_path)
    assert isinstance(error, PlanningInputError)
    assert error.message.startswith(message)
    assert error.file == str(path)
    assert error.remedy


def test_a_name_is_used_once(tmp_path: Path) -> None:
    first = write_household_task(task(), tmp_path)
    (tmp_path / "z.json").write_text(first.read_text(encoding="utf-8"), encoding="utf-8")
    read = dict(read_household_tasks(tmp_path))
    assert read[first] == task()
    assert "the name tomato is also used in tomato.json" in str(read[tmp_path / "z.json"])


def test_a_key_is_used_once(tmp_path: Path) -> None:
    path = write_household_task(task(), tmp_path)
    path.write_text(
        path.read_text(encoding="utf-8").replace('"hazard":', '"hazard": "fire", "hazard":'), encoding="utf-8"
    )
    [(_, error)] = read_household_tasks(tmp_path)
    assert "the key hazard occurs twice in one object" in str(error)


def test_a_folder_without_tasks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlanningInputError, match=r"no file that ends in \.json"):
        list(read_household_tasks(tmp_path))
    with pytest.raises(PlanningInputError, match="format"):
        parse_household_task({})
