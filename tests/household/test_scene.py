"""Scenes are read strictly, and objects are numbered by class."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hazardmill.errors import PlanningInputError
from hazardmill.household.object_kinds import KINDS
from hazardmill.household.scene import FORMAT, ROOMS, Scene, read_scene, shipped_scene

MUG = {"class": "Mug"}
BURNER = {"class": "StoveBurner"}


def test_the_objects_of_a_class_are_numbered_in_the_order_of_the_file() -> None:
    scene = Scene.of("kitchen", [MUG, {"class": "Fridge"}, {"class": "Mug", "in": "Fridge (1)"}])
    assert [thing.name for thing in scene.objects] == ["Mug (1)", "Fridge (1)", "Mug (2)"]
    assert [thing.symbol for thing in scene.objects] == ["Mug_1", "Fridge_1", "Mug_2"]


def test_an_object_of_each_class_has_properties_that_a_scene_may_give_it() -> None:
    for name, kind in KINDS.items():
        if name == "Floor":
            continue
        (usual, *slices) = Scene.of("hall", [{"class": name}]).all_objects
        said = Scene.of("hall", [{"class": name, "properties": [*kind.properties]}])
        assert said.objects == (usual,) and usual.properties == kind.properties
        assert {thing.kind for thing in slices} <= KINDS.keys(), name


def test_slices_are_numbered_after_those_of_the_start() -> None:
    scene = Scene.of("kitchen", [{"class": "Apple"}, {"class": "AppleSliced"}, {"class": "Apple"}])
    come = [(thing.name, thing.slice_of) for thing in scene.all_objects[3:]]
    assert come == [
        ("AppleSliced (2)", "Apple (1)"),
        ("AppleSliced (3)", "Apple (1)"),
        ("AppleSliced (4)", "Apple (2)"),
        ("AppleSliced (5)", "Apple (2)"),
    ]


def test_a_fixed_control_is_at_what_it_controls() -> None:
    scene = Scene.of("kitchen", [BURNER, {"class": "StoveKnob", "controls": "StoveBurner (1)"}])
    assert scene.by_name["StoveKnob (1)"].place == "StoveBurner (1)"


@pytest.mark.parametrize("room", ROOMS)
def test_a_shipped_room_is_the_same_as_yaml_and_as_json(room: str, tmp_path: Path) -> None:
    scene = shipped_scene(room)
    entries: list[dict[str, Any]] = []
    for thing in scene.objects:
        entry = {"class": thing.kind, "in": thing.place, "controls": thing.controls, "filled": thing.filled}
        entries.append({key: value for key, value in entry.items() if value} | {"states": sorted(thing.states)})
    path = tmp_path / "scene.json"
    path.write_text(json.dumps({"format": FORMAT, "room": room, "objects": entries}), encoding="utf-8")
    assert read_scene(path) == scene


def test_there_are_only_the_shipped_rooms() -> None:
    with pytest.raises(PlanningInputError, match=r"no room 'attic' \[name one of bathroom"):
        shipped_scene("attic")


def test_the_state_on_is_no_boolean(tmp_path: Path) -> None:
    path = tmp_path / "scene.yaml"
    path.write_text(f"format: {FORMAT}\nroom: hall\nobjects: [{{class: Candle, states: [on]}}]\n", encoding="utf-8")
    assert read_scene(path).objects[0].states == {"on"}


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([], "objects: List should have at least 1 item"),
        ([{"class": "Mgu"}], r"objects\[1\].class: the class 'Mgu' is unknown \[did you mean Mug\?, or give"),
        ([MUG, {"class": "Floor"}], r"objects\[2\].class: the floor is one place that every scene has"),
        ([{"class": "tea pot"}], r"objects\[1\].class: 'tea pot' is not a valid name of a class"),
        ([MUG | {"weight": 3}], r"objects\[1\].weight: Extra inputs are not permitted"),
        ([MUG | {"properties": ["heavy"]}], "the property 'heavy' is unknown"),
        ([MUG | {"properties": ["sliceable"]}], "what is sliceable must be pickable"),
        ([MUG | {"properties": ["basin", "receptacle", "pickable"]}], "what is basin cannot be pickable"),
        ([MUG | {"states": ["wet"]}], r"objects\[1\].states: the state 'wet' is unknown"),
        ([MUG | {"states": ["on"]}], r"Mug \(1\) is not toggleable, so it cannot be on"),
        ([MUG | {"filled": "tea"}], "the liquid 'tea' is unknown"),
        ([{"class": "Fork", "filled": "wine"}], r"Fork \(1\) is not fillable"),
        ([MUG, MUG | {"in": "Shelf (1)"}], r"objects\[2\].in: there is no 'Shelf \(1\)' in the scene"),
        ([{"class": "Fork"}, MUG | {"in": "Fork (1)"}], r"Fork \(1\) is no receptacle"),
        ([MUG, BURNER | {"in": "Mug (1)"}], r"StoveBurner \(1\) is a fixed receptacle, so it cannot be in another"),
        ([MUG, {"class": "Faucet", "in": "Mug (1)"}], r"Faucet \(1\) is fixed, and Mug \(1\) can move"),
        ([MUG | {"in": "Mug (2)"}, MUG | {"in": "Mug (1)"}], r"Mug \(1\) would be in itself"),
        ([BURNER, MUG | {"controls": "StoveBurner (1)"}], r"Mug \(1\) is not toggleable"),
        ([MUG, {"class": "StoveKnob", "controls": "Mug (1)"}], r"'Mug \(1\)' is not a fixed receptacle that needs"),
        (
            [BURNER, *[{"class": "StoveKnob", "controls": "StoveBurner (1)"}] * 2],
            r"objects\[3\].controls: StoveBurner \(1\) has a control already",
        ),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place(entries: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(PlanningInputError, match=message) as caught:
        Scene.of("kitchen", entries)
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", None, "the scene is empty"),
        ("format: [", 1, "neither JSON nor YAML"),
        ("format: hazardmill-scene/9\nroom: hall\nobjects: [{class: Mug}]", 1, "this version reads"),
        (f"format: {FORMAT}\nroom: hall\nroom: hall\n", 3, "the key 'room' is used twice"),
        (f"format: {FORMAT}\nroom: hall\nobjects:\n  - class: Mug\n    in: Shelf (1)\n", 5, "there is no 'Shelf"),
    ],
)
def test_a_file_is_refused_with_its_line(text: str, line: int | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "scene.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(PlanningInputError, match=message) as caught:
        read_scene(path)
    assert (caught.value.file, caught.value.line) == (str(path), line)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlanningInputError, match="the scene cannot be read: No such file"):
        read_scene(tmp_path / "none.yaml")
