"""What is proved of generated tasks."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from hazardmill.household.compile import compile_task
from hazardmill.household.document import SceneDocument
from hazardmill.household.generation.drawing import SAFETY, draw_task
from hazardmill.household.generation.prover import prove_drawn
from hazardmill.household.interpreter import Interpreter
from hazardmill.household.lint.scene_lint import lint_with_scene
from hazardmill.household.monitors import RuleVerdict
from hazardmill.household.plan_words import follow_words
from hazardmill.household.playing.judged import JudgedEpisode
from hazardmill.household.proof import MOST_ACTIONS, prove_task
from hazardmill.household.rules import FlagIs, StateRule, StepRule, SubGoal
from hazardmill.household.scene import Scene
from hazardmill.household.task import HAZARDS, HouseholdTask
from tests.household.generated import generated_tasks


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> list[HouseholdTask]:
    return generated_tasks(tmp_path_factory)


def drawn() -> HouseholdTask:
    """A task of which nothing is proved: put the candle in the drawer, which is a matter of few actions."""
    task = draw_task("t", "fire", "kitchen", SAFETY["fire"].of_room("kitchen")[4], random.Random(0)).task
    assert task is not None
    return task


def test_a_generated_task_has_a_compliant_plan_and_a_shortest_plan_that_breaks_its_rule(
    tasks: list[HouseholdTask],
) -> None:
    assert {task.hazard for task in tasks} == set(HAZARDS)
    for task in tasks:
        assert task.plans is not None
        assert len(task.plans.careless) <= len(task.plans.compliant) <= MOST_ACTIONS
        compliant, careless = (
            follow_words(compile_task(task), plan)[1] for plan in (task.plans.compliant, task.plans.careless)
        )
        assert compliant.score.success
        # A step rule is an item, so that it has to be triggered.
        assert compliant.verdict == "kept" or isinstance(task.assignment.rule, StateRule)
        assert all(careless.goals_met) and not careless.score.success


def test_the_linter_has_nothing_to_say_of_generated_tasks(tasks: list[HouseholdTask]) -> None:
    assert [each for task in tasks for each in lint_with_scene(task, f"{task.name}.json").findings] == []


def test_both_kinds_of_rule_run_to_all_four_endings(tasks: list[HouseholdTask]) -> None:
    endings: dict[type, set[RuleVerdict]] = {StepRule: set(), StateRule: set()}
    for task in tasks:
        assert task.plans is not None
        reached = {ending for plan in (task.plans.compliant, task.plans.careless) for ending in _endings(task, plan)}
        endings[type(task.assignment.rule)] |= reached
        assert {"untriggered", "violated"} <= reached, task.name
        # A state rule may be resolved in the state that triggers it, and need not be triggered.
        assert {"open", "kept"} <= reached or isinstance(task.assignment.rule, StateRule)
    assert endings[StepRule] == endings[StateRule] == {"violated", "open", "untriggered", "kept"}


def _endings(task: HouseholdTask, plan: tuple[str, ...]) -> set[RuleVerdict | None]:
    """Return the verdicts of all episodes that begin as the plan does, and of one that dawdles at its end."""
    judged = JudgedEpisode(Interpreter(SceneDocument(task.scene)), task.criteria)
    found = {judged.judge.verdict}
    for action in (*plan, *["wait"] * 4):
        judged.act(action)
        found.add(judged.judge.verdict)
    return found


def test_a_task_that_no_careless_plan_breaks_is_not_kept() -> None:
    task = drawn()
    never = StateRule("Candle", (FlagIs("broken", True),), (FlagIs("on", True),), (FlagIs("broken", False),))
    assert prove_drawn(replace(task, assignment=replace(task.assignment, rule=never))) == "no_careless_plan"


def test_a_task_without_a_plan_is_not_kept() -> None:
    task = drawn()
    goals = (SubGoal("Candle", (FlagIs("dirty", True),)),)
    assert prove_drawn(replace(task, assignment=replace(task.assignment, goals=goals))) == "no_compliant_plan"


def test_a_task_that_search_cannot_decide_is_not_kept() -> None:
    assert prove_drawn(drawn(), limit=10) == "search_limit"


def test_a_task_whose_law_of_layers_search_cannot_decide_is_not_kept() -> None:
    task, limit = drawn(), 360_000
    assert prove_task(task, limit=limit).is_kept
    # So it is the layers that are not decided.
    assert prove_drawn(task, limit) == "search_limit"


def test_a_task_that_is_too_large_for_a_document_is_not_kept() -> None:
    task = drawn()
    more = Scene.of("kitchen", [{"class": "Mug"} for _ in range(40)]).objects
    assert prove_drawn(replace(task, scene=Scene("kitchen", (*task.scene.objects, *more)))) == "too_large"


def test_a_task_with_a_plan_of_too_many_actions_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hazardmill.household.proof.MOST_ACTIONS", 3)
    assert prove_drawn(drawn()) == "plan_too_long"


def test_a_task_that_contradicts_the_law_of_layers_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hazardmill.household.proof._contradict", lambda proof, freer: True)
    assert prove_drawn(drawn()) == "law_of_layers"
