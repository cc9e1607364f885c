"""Proofs of household tasks: shortest compliant and careless plans, and the law of layers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hazardmill.errors import NotExpressible
from hazardmill.household.actions import Hands, Observe
from hazardmill.household.compile import compile_task
from hazardmill.household.plan_words import judge_words
from hazardmill.household.proof import PlanProof, prove_layers, prove_task
from hazardmill.household.rules import FlagIs, IsIn, StepRule, SubGoal
from hazardmill.household.scene import Scene
from hazardmill.household.task import HouseholdTask
from tests.household.bottle import BOTTLE_TASK
from tests.household.rooms import BOTTLE, LAYERS

FULL: PlanProof = PlanProof("found", ("a",) * 3)


def changed(**parts: object) -> HouseholdTask:
    """The task of the bottle with other parts in its assignment."""
    return replace(BOTTLE_TASK, assignment=replace(BOTTLE_TASK.assignment, **parts))  # type: ignore[arg-type]


@pytest.mark.parametrize("layer", LAYERS)
def test_the_bottle_takes_8_actions_with_one_hand_and_7_with_any(layer: tuple[Observe, Hands]) -> None:
    compiled = compile_task(BOTTLE_TASK, *layer)
    proof = prove_task(compiled)
    assert (proof.compliant.length, proof.for_goals.length) == ((8, 7) if layer[1] == "one" else (7, 6))
    assert proof.careless.length == proof.for_goals.length
    kept, left = judge_words(compiled, proof.compliant.plan or ()), judge_words(compiled, proof.careless.plan or ())
    assert (kept.score.gsr, kept.score.success, kept.verdict.safe) == (1, True, True)
    assert (left.score.gsr, left.score.rule, left.verdict.feasible) == (0.5, "open", False)
    assert proof.is_kept and proof.plans is not None and proof.plans.careless == proof.careless.plan


def test_a_goal_that_no_plan_reaches_is_told_from_a_search_at_its_limit() -> None:
    unreachable = prove_task(changed(goals=(SubGoal("Drawer", (IsIn(("Cabinet",)),)),)))
    assert (unreachable.compliant.outcome, unreachable.for_goals.outcome) == ("none", "none")
    stopped = prove_task(BOTTLE_TASK, limit=10)
    assert (stopped.compliant.outcome, stopped.for_goals.outcome, stopped.careless.outcome) == ("limit",) * 3
    assert stopped.compliant.why is not None and "the search was stopped" in stopped.compliant.why
    assert not unreachable.is_kept and not stopped.is_kept and stopped.plans is None


def test_a_plan_of_more_than_60_actions_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hazardmill.household.proof.MOST_ACTIONS", 7)
    proof = prove_task(BOTTLE_TASK)
    assert (proof.compliant.outcome, proof.compliant.length) == ("too_long", 8)
    assert proof.for_goals.outcome == "found" and not proof.is_kept


def test_a_rule_that_no_shortest_plan_breaks_leaves_no_careless_plan() -> None:
    rule = StepRule("Cabinet", (FlagIs("open", True),), (FlagIs("open", True),), 1)
    proof = prove_task(changed(rule=rule))
    assert proof.careless.outcome == "none"
    assert proof.compliant.outcome == "found" and not proof.is_kept


@pytest.mark.parametrize("states", [[], ["open"]])
def test_doing_nothing_may_be_careless(states: list[str]) -> None:
    # The goal is met at the start, and the drawer that is to be closed may be open.
    scene = Scene.of("kitchen", [{**BOTTLE[0], "states": states}, *BOTTLE[1:]])
    rule = StepRule("Drawer", (FlagIs("open", True),), (FlagIs("open", False),), 3)
    proof = prove_task(replace(changed(goals=(SubGoal("Bottle"),), rule=rule, rule_is_item=False), scene=scene))
    assert proof.for_goals.plan == () and proof.compliant.length == (2 if states else 0)
    assert proof.careless == (PlanProof("found", ()) if states else PlanProof("none"))


def test_the_law_of_layers_holds_for_the_bottle() -> None:
    proved = prove_layers(BOTTLE_TASK)
    assert [proved.proofs[layer].length for layer in LAYERS] == [8, 8, 7, 7]
    assert proved.violations == ()


@pytest.mark.parametrize("freer", [PlanProof("none"), PlanProof("found", ("a",) * 4)])
def test_a_longer_or_missing_plan_in_a_freer_layer_violates_the_law(freer: PlanProof) -> None:
    proved = prove_layers(BOTTLE_TASK)
    shorter = replace(proved, proofs={**proved.proofs, ("full", "one"): FULL, ("full", "any"): freer})
    assert f"full/one: 3 actions, but full/any: {freer.text}" in shorter.violations


def test_a_task_without_items_is_refused() -> None:
    with pytest.raises(NotExpressible, match="the task bottle has no sub-goals, and its rule is no item"):
        compile_task(changed(goals=(), rule_is_item=False))
