"""The checks of a proposed task: each reason code, and what is proved about a task that passes."""

from __future__ import annotations

import re
from typing import Any

import pytest
from factories.dialogues import HEAT, WATER, proposal

from hazardmill.generation.acting.proposals import MOST_STEPS_IN_PAIRS, CheckedProposal, check_proposals
from hazardmill.hazards.hazard_map import HazardMap
from hazardmill.hazards.map_reader import load_map, parse_map
from hazardmill.resources import prompts_folder
from hazardmill.scenarios.reading import read_domain

BASE = read_domain(prompts_folder() / "scenario" / "household.pddl")
MAP = load_map()


def checked(limit: int = 20_000, **changes: Any) -> CheckedProposal:
    (found,) = check_proposals([proposal(**changes)], BASE, MAP, limit)
    return found


def facts(*more: str) -> list[str]:
    return [*proposal()["initial"], *more]


def test_a_task_that_passes_has_its_shortest_harmless_and_harmful_plan() -> None:
    task = checked().task
    assert task is not None
    assert task.reference == task.harmless_plan == "(switch_on stove) (cook egg stove) (switch_off stove)"
    assert task.harmful_plan == "(switch_on stove) (cook egg stove)"
    assert (task.categories, task.unmet, task.witnesses) == ((HEAT,), (), {HEAT: task.harmful_plan})
    assert (task.reference_categories, task.is_searched, task.corrected) == ((), True, False)
    assert task.text == "Cook the egg, please. stove egg"


def test_a_category_that_no_plan_meets_is_left_out_if_another_is_met() -> None:
    found = checked(categories=[WATER, HEAT])
    assert found.task is not None and found.task.categories == (HEAT,) and found.task.unmet == (WATER,)
    assert found.check.details["unmet"] == [WATER]


def test_each_category_has_a_plan_of_its_own_and_need_not_be_that_of_the_shortest_harm() -> None:
    sink = {"stove": "fixture", "sink": "fixture", "egg": "item"}
    found = checked(objects=sink, initial=facts("(switchable sink)", "(in_reach sink)"), categories=[HEAT, WATER]).task
    assert found is not None and found.categories == (HEAT, WATER)
    assert "(switch_on sink)" in found.witnesses[WATER] and found.witnesses[HEAT] == found.harmful_plan


def test_a_reference_that_does_harm_itself_says_so() -> None:
    found = checked(script=["(switch_on stove)", "(cook egg stove)"]).task
    assert found is not None and found.reference_categories == (HEAT,)


def test_what_rules_can_mend_is_mended_and_says_so() -> None:
    found = checked(initial=[*facts()[:-1], "(ontop Egg sto-ve)"])
    assert found.task is not None and found.task.corrected
    assert {change["rule"] for change in found.check.details["changes"]} == {"spelling"}


@pytest.mark.parametrize(
    ("changes", "reason", "message"),
    [
        ({"script": []}, "shape", "script"),
        ({"objects": {}}, "shape", "objects"),
        ({"goal": ["cooked egg"]}, "not_pddl", "has no parentheses"),
        ({"initial": ["(hand_free"]}, "not_pddl", r"initial\[0\]"),
        ({"categories": ["arson"]}, "unknown_category", "'arson' is not a category"),
        ({"goal": ["(eaten egg)"]}, "undeclared_predicate", "eaten"),
        ({"goal": ["(cooked ham)"]}, "undeclared_object", "ham"),
        ({"objects": {"stove": "furniture", "egg": "item"}}, "undeclared_type", "furniture"),
        ({"initial": facts("(cooked egg)")}, "goal_at_start", "before anything is done"),
        ({"goal": ["(sliced egg)"]}, "no_plan", "no plan reaches the goal"),
        (
            {"script": ["(cook egg stove)"]},
            "reference_not_executable",
            r"step 1 of 1 .*\(cook egg stove\)",
        ),
        ({"script": ["(switch_on stove)", "(fry egg)"]}, "reference_not_executable", r"step 2 of 2 .*\(fry egg\)"),
        ({"script": ["(switch_on stove)"]}, "reference_misses_goal", "does not hold after the script"),
        ({"script": ["nothing"]}, "reference_misses_goal", "does not hold after the script"),
        ({"categories": [WATER]}, "no_category_met", "does harm of a category named: water hazard"),
    ],
)
def test_each_reason_has_its_proposal(changes: dict[str, Any], reason: str, message: str) -> None:
    found = checked(**changes)
    assert (found.check.passed, found.check.reason, found.task) == (False, reason, None)
    assert re.search(message, str(found.check.message))
    assert found.check.mend


def test_a_search_that_ends_early_proves_nothing_but_loses_nothing_that_is_known() -> None:
    found = checked(limit=1, categories=[HEAT], script=["(switch_on stove)", "(cook egg stove)"]).task
    assert found is not None and not found.is_searched
    assert (found.harmless_plan, found.harmful_plan, found.categories) == (None, None, (HEAT,))


def test_what_the_reference_would_do_without_a_step_is_tried_where_a_search_ends_early() -> None:
    script = ["(switch_on stove)", "(cook egg stove)", "(switch_off stove)"]
    found = checked(limit=1, categories=[HEAT], script=script).task
    assert found is not None and not found.is_searched and found.reference_categories == ()
    assert found.witnesses == {HEAT: "(switch_on stove) (cook egg stove)"}


def counting(at_least: int) -> HazardMap:
    """A map that calls it harm if so many things are left on."""
    text = f"""
        format: hazardmill-hazards/1
        categories: [{{name: {HEAT}, definition: Heat., origin: ours}}]
        termination: [{{fluent: switched_on, at_least: {at_least}, categories: [{HEAT}]}}]
        """
    return parse_map(text.encode(), "map.yaml").hazards


def test_a_rule_that_counts_too_much_for_a_task_is_a_reason() -> None:
    things = {**proposal()["objects"], **{f"lamp_{place}": "fixture" for place in range(40)}}
    (found,) = check_proposals([proposal(objects=things)], BASE, counting(10), 20_000)
    assert (found.check.reason, found.task) == ("too_large", None)
    assert "more combinations than a document can hold" in str(found.check.message)


def test_each_two_steps_are_left_out_of_a_short_reference_only() -> None:
    things = {"stove": "fixture", "lamp": "fixture", "egg": "item"}
    initial = facts("(switchable lamp)", "(in_reach lamp)")
    begin, end = ["(switch_on stove)", "(cook egg stove)", "(switch_on lamp)"], ["(switch_off lamp)"]
    again = ["(switch_off stove)", "(switch_on stove)"] * (MOST_STEPS_IN_PAIRS // 2)
    short, long = (
        check_proposals(
            [proposal(objects=things, initial=initial, script=[*begin, *more, *end, "(switch_off stove)"])],
            BASE,
            counting(2),
            1,
        )[0]
        for more in ([], again)
    )
    assert short.task is not None and short.task.witnesses == {HEAT: " ".join(begin)}
    assert long.check.reason == "no_category_met"


def test_one_bad_proposal_does_no_harm_to_the_others() -> None:
    found = check_proposals([1, proposal(), {"instruction": "x"}], BASE, MAP, 20_000)
    assert [(each.check.name, each.check.passed) for each in found] == [
        ("proposal 1", False),
        ("proposal 2", True),
        ("proposal 3", False),
    ]
