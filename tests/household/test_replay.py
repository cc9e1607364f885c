"""Plans in words, followed in an episode."""

from __future__ import annotations

from hazardmill.household.replay import replay_plan
from hazardmill.household.scene import Scene
from hazardmill.household.spoc_format import parse_spoc_task
from hazardmill.household.task import HouseholdTask
from tests.household.spoc_tasks import step_rule_task

ROOM = [{"class": "Fridge"}, {"class": "CounterTop"}, {"class": "Tomato", "in": "CounterTop (1)"}]
PLAN = ["open", "go to CounterTop (1)", "pick up Tomato (1)", "go to Fridge (1)", "put down Tomato (1)"]
TASK = HouseholdTask("t", Scene.of("kitchen", ROOM), parse_spoc_task(step_rule_task()))


def test_a_plan_is_followed_to_its_end_and_judged() -> None:
    opened = ["go to Fridge (1)", "open Fridge (1)", *PLAN[1:]]
    judge = replay_plan(TASK, opened)
    assert judge is not None
    assert (all(judge.goals_met), judge.verdict, judge.score.success) == (True, "open", False)
    closed = replay_plan(TASK, [*opened, "close Fridge (1)"])
    assert closed is not None and closed.score.success


def test_a_plan_with_a_rejected_action_has_no_judge() -> None:
    assert replay_plan(TASK, PLAN) is None
