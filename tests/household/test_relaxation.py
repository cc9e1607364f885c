"""Leaving out what a task is not about changes no length that is proved."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest

from hazardmill.errors import SearchLimitReached
from hazardmill.formalism.search.exact import solve
from hazardmill.formalism.search.plan_count import count_shortest_plans
from hazardmill.household.compile import compile_task
from hazardmill.household.proof import prove_task
from hazardmill.household.rules import CookedBy, FlagIs, IsIn, NotOn, StepRule, SubGoal
from hazardmill.household.scene import Scene
from hazardmill.household.search.documents import SearchDocuments
from hazardmill.household.search.relaxation import RelaxedTask, relax
from hazardmill.household.task import HouseholdTask
from tests.household.bottle import BOTTLE_TASK
from tests.household.random_tasks import reachable_task
from tests.household.rooms import BOTTLE, LAYERS, Entry
from tests.household.word_search import search_words
from tests.sizes import sized

CLUTTER: list[Entry] = [
    {"class": "Fridge"},
    {"class": "Shelf"},
    {"class": "Book", "in": "Shelf (1)"},
    {"class": "Potato", "in": "Fridge (1)"},
    {"class": "Microwave"},
    {"class": "Mug"},
    {"class": "SinkBasin"},
    {"class": "Faucet", "controls": "SinkBasin (1)"},
]


def cluttered(*goals: SubGoal) -> HouseholdTask:
    """The task of the bottle in a room with more things, or one with other sub-goals there."""
    assignment = replace(BOTTLE_TASK.assignment, goals=goals or BOTTLE_TASK.assignment.goals)
    return replace(BOTTLE_TASK, scene=Scene.of("kitchen", [*BOTTLE, *CLUTTER]), assignment=assignment)


@pytest.mark.parametrize(
    ("goals", "more"),
    [
        ((), ["Shelf (1)"]),
        ((SubGoal("Potato", (CookedBy("Microwave"),)),), ["Fridge (1)", "Potato (1)", "Microwave (1)", "Shelf (1)"]),
        ((SubGoal("Mug", (FlagIs("filled", True),)),), ["SinkBasin (1)", "Faucet (1)", "Shelf (1)"]),
        ((SubGoal("Faucet", (FlagIs("on", True),)),), ["SinkBasin (1)", "Faucet (1)", "Shelf (1)"]),
    ],
)
def test_what_a_task_is_not_about_is_left_out(goals: tuple[SubGoal, ...], more: list[str]) -> None:
    relaxed = relax(cluttered(*goals))
    # The bottle of the rule, with what holds it, and the vessel, which may carry something.
    always = ["Drawer (1)", "Cabinet (1)", "Bottle (1)", "Mug (1)"]
    assert {thing.name for thing in relaxed.task.scene.objects} == {*always, *more}
    assert relaxed.leaves_out


def test_a_cluttered_room_takes_as_many_actions() -> None:
    proof = prove_task(cluttered())
    assert (proof.compliant.length, proof.for_goals.length) == (8, 7)


def test_the_task_itself_is_searched_where_a_plan_of_the_smaller_one_does_not_work() -> None:
    # In the smaller task the second apple can be cut where it lies, without the knife.
    apples = [{"class": "CounterTop"}, *({"class": "Apple", "in": "CounterTop (1)"} for _ in range(2))]
    knife = [{"class": "Shelf"}, {"class": "Cabinet"}, {"class": "Knife", "in": "Cabinet (1)"}]
    task = cluttered(SubGoal("Apple", (NotOn(("CounterTop",)),)))
    task = replace(task, scene=Scene.of("kitchen", [*apples, *knife]))
    smaller = compile_task(relax(task).task)
    found = solve(SearchDocuments(smaller, relax(task)).goals).safe
    assert found is not None and [action.name for action in found] == ["go_to_place", "pick_up_item", "slice", "done"]
    assert prove_task(task).for_goals.plan == (
        "go to CounterTop (1)", "pick up Apple (1)", "drop Apple (1)", "pick up Apple (2)",
    )  # fmt: skip


def on_a_counter(other: str, *things: str) -> Scene:
    """A room with a counter, one other receptacle, and these things on the counter."""
    sites: list[Entry] = [{"class": "CounterTop"}, {"class": other}]
    return Scene.of("kitchen", [*sites, *({"class": kind, "in": "CounterTop (1)"} for kind in things)])


def test_a_shorter_plan_of_the_smaller_task_proves_nothing_of_careless_plans() -> None:
    # There both apples are cut without the knife, and none is carried: no plan of that length breaks the rule.
    goals = (SubGoal("Apple", (NotOn(("CounterTop",)),)), SubGoal("Mug", (FlagIs("held", True),)))
    rule = StepRule("Apple", (FlagIs("held", True),), (IsIn(("Shelf",)),), 3)
    assignment = replace(BOTTLE_TASK.assignment, goals=goals, rule=rule, rule_is_item=False)
    scene = on_a_counter("Shelf", "Apple", "Apple", "Mug", "Knife")
    task = replace(BOTTLE_TASK, scene=scene, assignment=assignment)
    proof = prove_task(task)
    by_words = search_words(task, "partial", "one", 20_000)
    assert by_words is not None and (by_words.compliant, by_words.goals, by_words.careless) == (6, 6, True)
    assert (proof.compliant.length, proof.for_goals.length) == (6, 6)
    assert proof.careless.length == 6


def test_a_blade_that_is_left_out_beside_one_that_is_not_would_do() -> None:
    goals = (SubGoal("Apple", (NotOn(("CounterTop",)),)), SubGoal("ButterKnife", (IsIn(("Drawer",)),)))
    rule = StepRule("Drawer", (FlagIs("open", True),), (FlagIs("open", False),), 1)
    assignment = replace(BOTTLE_TASK.assignment, goals=goals, rule=rule, rule_is_item=False)
    task = replace(BOTTLE_TASK, assignment=assignment, scene=on_a_counter("Drawer", "Apple", "Knife", "ButterKnife"))
    assert relax(task).blade is not None
    by_words = search_words(task, "partial", "one", 20_000)
    assert by_words is not None and by_words.goals == prove_task(task).for_goals.length == 7


@pytest.mark.parametrize("seeds", [10, pytest.param(sized(20, 400), marks=pytest.mark.full)])
def test_proofs_find_the_lengths_of_search_in_the_whole_room(seeds: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(seeds):
        rng = random.Random(seed)
        task = reachable_task(rng, rng.choice((2, 3)), 2)
        if not relax(task).leaves_out:
            continue
        compiled = compile_task(task, *LAYERS[seed % len(LAYERS)])
        whole = SearchDocuments(compiled, RelaxedTask(task))
        try:
            compliant, goals = solve(whole.compliant, 500_000).safe, count_shortest_plans(whole.goals, 500_000)
        except SearchLimitReached:
            continue
        proof = prove_task(compiled)
        assert proof.compliant.length == (None if compliant is None else len(compliant) - 1), seed
        assert proof.for_goals.length == (None if goals.length is None else goals.length - 1), seed
        assert (proof.careless.outcome == "found") == any(goals.by_danger), seed
        seen.update([proof.compliant.outcome, f"careless: {proof.careless.outcome}"])
    assert seen["found"] > seeds // 5, seen
