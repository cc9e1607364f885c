"""States as a simulator records them: lines of JSON with metadata of all objects."""

from __future__ import annotations

import json
from typing import Any

from hazardmill.household.spoc_format import FLAG_KEYS
from hazardmill.household.world_state import WorldState


def thing(name: str, *places: str, **flags: Any) -> dict[str, Any]:
    """Metadata as the simulator gives it, with a few of the keys that are of no use here."""
    other = {"name": name, "visible": True, "position": {"x": 0.1, "y": 1.0, "z": -0.3}, "mass": 1.0}
    said = {**other, **dict.fromkeys(FLAG_KEYS, False), "fillLiquid": None, "objectId": name}
    return said | {"parentReceptacles": [*places] or None} | flags


def line(state: int, *objects: dict[str, Any], episode: str = "one") -> str:
    return json.dumps({"episode_id": episode, "state": state, "objects": [*objects]})


def metadata(state: WorldState) -> list[dict[str, Any]]:
    """A state as a simulator would say it: with names of its own, and all receptacles of an object in one list."""
    names = {name: f"{each.kind}|{name}|0|0" for name, each in state.items()}
    said = []
    for name, each in state.items():
        places, place = [], each.place
        while place in state and names[place] not in places and place != name:
            places.append(names[place])
            place = state[place].place
        flags = {key: getattr(each, flag) for key, flag in FLAG_KEYS.items() if flag != "filled"}
        said.append(thing(names[name], *reversed(places), fillLiquid=each.filled, **flags))
    return said
