from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hazardmill.formalism.document import Document
from hazardmill.report.structure import structure_key

from .support import document

NAMES = (
    "place kitchen table bowl_at moving_slowly trips soup_is_hot window_is_open carry_bowl reduce_speed ?to ?p1".split()
)


def renamed(value: object, names: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: renamed(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [renamed(item, names) for item in value]
    return names.get(value, value) if isinstance(value, str) else value


@given(st.permutations([f"n{i}" for i in range(len(NAMES))]))
def test_the_key_does_not_see_names_nor_the_order_that_names_bring(fresh: list[str]) -> None:
    names = {old: ("?" if old.startswith("?") else "") + new for old, new in zip(NAMES, fresh, strict=True)}
    other = Document.from_json(renamed(document(), names)).to_json()
    assert structure_key(other) == structure_key(document())


def test_the_key_does_not_see_the_order_of_operands() -> None:
    other = document()
    condition = other["dangers"][0]["condition"]
    condition[1:] = reversed(condition[1:])
    assert structure_key(other) == structure_key(document())


def test_every_formal_change_changes_the_key() -> None:
    def change(path: list[Any], value: Any) -> str:
        other = copy.deepcopy(document())
        place = other
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value
        return structure_key(other)

    plain = document()
    trips = next(i for i, fluent in enumerate(plain["fluents"]) if fluent["name"] == "trips")
    keys = [
        structure_key(plain),
        change(["dangers", 0, "increment"], 2),
        change(["dangers", 0, "condition"], ["fluent", "soup_is_hot"]),
        change(["dangers", 0, "condition"], ["and", ["fluent", "soup_is_hot"], ["fluent", "moving_slowly"]]),
        change(["fluents", trips, "upper"], 4),
        change(["goal"], ["fluent", "bowl_at", "kitchen"]),
        change(["actions", 0, "precondition"], True),
        change(["initial"], plain["initial"][:-1]),
        change(["max_danger"], 1),
        change(["objects"], [*plain["objects"], ["shelf", "place"]]),
    ]
    assert len(set(keys)) == len(keys)


def test_a_reader_may_hand_over_json_text() -> None:
    assert structure_key(json.loads(json.dumps(document()))) == structure_key(document())
