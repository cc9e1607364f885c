from __future__ import annotations

import json
from collections import Counter
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hazardmill.records import DangerType
from hazardmill.report.sankey import MOST, NOT_SAID, danger_flows, task_paths

pytestmark = pytest.mark.usefixtures("drawn_anew")

SVG = "{http://www.w3.org/2000/svg}"


def task(source: str = "neiss", setting: object = "kitchen", kind: str = "thermal", entity: object = "human") -> Any:
    danger = {"setting": setting, "entity_in_danger": entity}
    return {
        "source": source,
        "danger_group": DangerType(kind).group.value,
        "danger_type": kind,
        "danger": json.dumps(danger),
    }


TASKS = st.lists(
    st.builds(
        task,
        st.sampled_from([f"s{n}" for n in range(12)]),
        st.sampled_from([*(f"Room {n}: a corner" for n in range(12)), None, "", 7]),
        st.sampled_from([kind.value for kind in DangerType]),
        st.sampled_from(["human", "robot", "others", None]),
    ),
    max_size=60,
)


def test_settings_are_what_stands_before_a_colon() -> None:
    said = ["A private home: kitchen", "a private  HOME : hall", "garden", ":", None, 3]
    ways, folded = task_paths([task(setting=setting) for setting in said])
    assert Counter(way[1] for way in ways.elements()) == {"a private home": 2, "garden": 1, NOT_SAID: 3}
    assert folded == {}


def test_rare_sources_and_settings_are_put_together() -> None:
    tasks = [task(f"s{n}", f"room {n}") for n in range(MOST + 3) for _ in range(20 - n)]
    ways, folded = task_paths(tasks)
    assert folded == {"source": 3, "setting": 3}
    rare = sum(20 - n for n in range(MOST, MOST + 3))
    assert ways["other sources", "other settings", "physical", "thermal", "human"] == rare
    # One more than that is told: "other" would hide a name and save no room.
    assert task_paths([task(f"s{n}") for n in range(MOST + 1)])[1] == {}
    note = danger_flows(tasks).note
    assert note is not None and f"Only the {MOST} commonest settings are shown; other settings are 3 more." in note


def test_what_is_not_said_is_told_and_counted() -> None:
    drawn = danger_flows([task(), task(setting=None), task(entity=None), task(setting="", entity=None)])
    assert drawn.note is not None and "For 3 tasks setting or entity is not said." in drawn.note
    assert ("setting to danger group", NOT_SAID, "physical", "2") in drawn.grid.rows
    assert ("danger type to entity in danger", "thermal", NOT_SAID, "2") in drawn.grid.rows
    assert NOT_SAID not in danger_flows([task()]).alt


def test_names_that_are_long_are_cut_in_the_picture_only() -> None:
    name = "a" * 60
    drawn = danger_flows([task(setting=name)])
    shown = [node.text or "" for node in ElementTree.fromstring(drawn.standalone).iter(f"{SVG}text")]
    assert not any(name in text for text in shown) and any(text.startswith("aaaa") for text in shown)
    assert any(name in row for row in drawn.grid.rows)


@given(TASKS)
def test_every_task_goes_through_every_step(tasks: list[Any]) -> None:
    ways, _ = task_paths(tasks)
    assert ways.total() == len(tasks)
    assert all(number > 0 and len(way) == 5 and all(way) for way, number in ways.items())
    assert len({way[0] for way in ways}) <= MOST + 1 and len({way[1] for way in ways}) <= MOST + 2
    # The order of tasks does not matter.
    assert task_paths(list(reversed(tasks))) == (ways, task_paths(tasks)[1])
