"""Scenes that are put together object by object."""

from __future__ import annotations

import pytest

from hazardmill.household.scene import ROOMS, shipped_scene
from hazardmill.household.scene_draft import SceneDraft


@pytest.mark.parametrize("room", ROOMS)
def test_a_draft_of_a_scene_has_the_same_objects(room: str) -> None:
    scene = shipped_scene(room)
    again = SceneDraft.of(scene).scene()
    assert again.room == scene.room
    assert dict(again.by_name) == dict(scene.by_name)


def test_objects_are_numbered_by_class_and_fixed_receptacles_come_first() -> None:
    draft = SceneDraft("kitchen")
    mug = draft.add("Mug", None, "dirty", filled="coffee")
    sink = draft.add("SinkBasin")
    second = draft.add("Mug", sink)
    draft.add("Faucet", controls=sink)
    assert [draft.names()[thing] for thing in (mug, second)] == ["Mug (1)", "Mug (2)"]
    scene = draft.scene()
    assert [thing.name for thing in scene.objects] == ["SinkBasin (1)", "Faucet (1)", "Mug (1)", "Mug (2)"]
    assert scene.by_name["Mug (1)"].filled == "coffee"
    assert scene.by_name["Mug (2)"].place == "SinkBasin (1)"
    assert scene.by_name["Faucet (1)"].controls == "SinkBasin (1)"


def test_what_was_in_a_removed_object_is_where_that_was() -> None:
    draft = SceneDraft("kitchen")
    counter = draft.add("CounterTop")
    bowl = draft.add("Bowl", counter)
    egg = draft.add("Egg", bowl)
    assert [*egg.holders()] == [bowl, counter]
    draft.remove(bowl)
    assert egg.place is counter
    assert draft.kinds == {"CounterTop", "Egg"}
