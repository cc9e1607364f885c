"""The base domain that is shipped: it reads, and what it is made for can be done in it."""

from __future__ import annotations

from hazardmill.resources import prompts_folder
from hazardmill.scenarios.reading import read_domain, read_problem
from hazardmill.scenarios.scenario import Scenario
from hazardmill.scenarios.verify import verify
from tests.scenarios.toaster import CAUTION

PROBLEM = """(define (problem supper) (:domain household)
 (:objects carrot knife rag - item board sink fridge stove - fixture)
 (:init (hand_free) (ontop carrot stove) (openable fridge) (container fridge) (ontop knife board)
  (cutting_tool knife) (absorbent rag) (under rag sink) (water_source sink) (switchable sink) (heat_source stove)
  (switchable stove) (dirty board))
 (:goal {goal}))
"""


def planned(goal: str) -> list[str]:
    draft = read_problem(read_domain(prompts_folder() / "scenario" / "household.pddl"), PROBLEM.format(goal=goal))
    assert verify(Scenario("supper", draft)).problems == ()
    found = verify(Scenario("supper", draft, _risk(draft))).plan
    assert found is not None
    return [step.strip("() ") for step in found.split(") (")]


def _risk(draft):
    return type(CAUTION)("sit", "Cook.", primitive=tuple(action.name for action in draft.actions))


def test_everything_that_it_has_can_be_used() -> None:
    used: set[str] = set()
    for goal in (
        "(and (cooked carrot) (not (switched_on stove)))",
        "(sliced carrot)",
        "(not (dirty board))",
        "(and (inside knife fridge) (not (open fridge)) (hand_free))",
        "(and (ontop knife stove) (hand_free))",
        "(and (next_to knife sink) (hand_free))",
        "(and (under knife stove) (hand_free))",
        "(and (in_reach knife) (not (ontop knife board)) (hand_free))",
    ):
        used |= {step.split()[0] for step in planned(goal)}
    draft = read_domain(prompts_folder() / "scenario" / "household.pddl")
    assert used == {action.name for action in draft.actions}


def test_the_hand_is_needed_to_open_and_to_switch() -> None:
    plan = planned("(and (inside knife fridge) (hand_free))")
    assert plan.index("open fridge") < plan.index("grasp knife")
