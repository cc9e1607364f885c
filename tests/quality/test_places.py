"""A rule that knows no words finds danger and way out where they stand out by their place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from formalism.soup import action, boolean, danger, sets, soup_document

from hazardmill.formalism.document.document import Document
from hazardmill.quality.standing_out import guess_by_place

HOT, SLOWLY, LAMP = ["fluent", "soup_is_hot"], ["fluent", "moving_slowly"], ["fluent", "lamp_is_on"]
UNSAFE, SAFE = "(carry kitchen table)", "(slow_down) (carry kitchen table)"


def test_the_only_unmentioned_facts_and_the_only_useless_act_stand_out() -> None:
    guess = guess_by_place(soup_document(), SAFE, UNSAFE)
    assert (guess.facts, guess.facts_right) == (("soup_is_hot", "window_is_open"), 1)
    assert (guess.acts, guess.acts_right) == (("slow_down",), 1)
    # One fact of two is a coin; the one act is not.
    assert guess.found == ["1 of 1 acts"]
    bare = guess_by_place(soup_document(fluents__3=boolean("window_is_open"), initial=[]), SAFE, UNSAFE)
    assert bare.found == ["1 of 1 acts"]
    two = {"dangers": [danger("carry", ["and", HOT, ["fluent", "window_is_open"], ["not", SLOWLY]])]}
    assert guess_by_place(soup_document(**two), SAFE, UNSAFE).found == ["2 of 2 facts", "1 of 1 acts"]


def test_as_many_idle_facts_and_acts_hide_both() -> None:
    idle = soup_document(
        fluents__4=boolean("lamp_is_on"),
        actions__2=action("switch_off_lamp", LAMP, [sets("lamp_is_on", False)]),
        initial__3=[["lamp_is_on"], True],
    )
    assert guess_by_place(idle, SAFE, UNSAFE).found == []


def test_a_fact_that_an_act_mentions_is_not_guessed() -> None:
    read = soup_document(actions__1__effects=[["assign", SLOWLY, True, ["fluent", "window_is_open"]]])
    assert guess_by_place(read, SAFE, UNSAFE).facts == ("soup_is_hot",)


@pytest.mark.parametrize(
    ("goal", "useful"),
    [
        (["fluent", "bowl_at", "table"], {"carry"}),
        (["not", SLOWLY], {"speed_up"}),
        (["imply", ["not", LAMP], SLOWLY], {"slow_down", "switch_on"}),
        (["exists", [["?p", "place"]], ["and", ["fluent", "bowl_at", "?p"], LAMP]], {"carry", "switch_on"}),
        ([">", ["fluent", "steps"], 1], {"walk"}),
    ],
)
def test_acts_are_useful_that_bring_about_what_the_goal_wants(goal: list[Any], useful: set[str]) -> None:
    document = soup_document(
        goal=goal,
        fluents__4=boolean("lamp_is_on"),
        fluents__5={**boolean("steps"), "value": "integer"},
        actions__2=action("speed_up", True, [sets("moving_slowly", False)]),
        actions__3=action("switch_on", True, [sets("lamp_is_on")]),
        actions__4=action("walk", True, [["increase", ["fluent", "steps"], 1, True]]),
    )
    useless = set(guess_by_place(document, None, "").acts)
    assert {each.name for each in document.actions} - useless == useful


def test_what_a_useful_act_needs_is_useful_too() -> None:
    needed = soup_document(actions__0__precondition=["and", ["fluent", "bowl_at", "?from"], SLOWLY])
    assert guess_by_place(needed, None, UNSAFE).acts == ()
    helping = soup_document(actions__0__effects__0=["assign", ["fluent", "bowl_at", "?to"], True, SLOWLY])
    assert guess_by_place(helping, None, UNSAFE).acts == ()


@pytest.mark.parametrize(("trial", "facts", "acts", "either"), [("first", 16, 17, 23), ("second", 17, 2, 18)])
def test_how_much_stands_out_in_the_trials(reference: Path, trial: str, facts: int, acts: int, either: int) -> None:
    lines = (reference / "trials" / trial / "tasks.jsonl").read_text().splitlines()
    tasks = [json.loads(line) for line in lines]
    found = [
        guess_by_place(Document.from_json(task["document"]), task["safe_plan"], task["unsafe_plan"]).found
        for task in tasks
    ]
    assert sum(any(" facts" in each for each in one) for one in found) == facts
    assert sum(any(" acts" in each for each in one) for one in found) == acts
    assert sum(map(bool, found)) == either
