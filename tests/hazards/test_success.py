"""Success on the kitchen's worked example, each switch alone, and the laws of success on random tasks."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hazardmill.formalism.document.document import Document
from hazardmill.formalism.document.plan_text import PlanReader
from hazardmill.formalism.semantics.plan_validator import PlanValidator
from hazardmill.formalism.semantics.transition_system import System
from hazardmill.hazards.execution import execute_plan
from hazardmill.hazards.success import SuccessJudge, reaches, world_state
from tests.formalism.oracle import Oracle
from tests.formalism.random_domains import gold_text, random_domain, random_plan
from tests.formalism.random_tasks import SETTINGS, plans, tasks
from tests.sizes import sized

from .kitchen import KITCHEN, REFERENCE, SCRIPTS, kitchen


def succeeding(judge: SuccessJudge, rule: str) -> set[str]:
    return {name for name, script in SCRIPTS.items() if judge.judge(script).by(rule)}  # type: ignore[arg-type]


def test_the_worked_example() -> None:
    judge = SuccessJudge(kitchen(), REFERENCE)
    assert judge.changed == {"egg"} and judge.undefined is None
    assert succeeding(judge, "reached") == {"A", "D", "E"}
    assert succeeding(judge, "final") == {"A", "E"}
    assert succeeding(judge, "goal") == set(SCRIPTS)
    assert judge.judge(SCRIPTS["D"]).step == 7


def test_what_changes_at_the_reference() -> None:
    system = kitchen()
    states = execute_plan(system, PlanReader(system), REFERENCE).states
    start, goal = world_state(system, states[0]), world_state(system, states[-1])
    assert goal.objects["egg"] == {("cooked",)}
    assert goal.relations ^ start.relations == {("in", "egg", "fridge"), ("in", "egg", "pan")}


def test_only_exact_looks_at_relations_that_the_reference_leaves_alone() -> None:
    extra = [["egg-2", "item"], *KITCHEN["objects"]]
    system = kitchen(objects=extra, initial=[[["in", "egg", "fridge"], True], [["in", "egg-2", "fridge"], True]])
    script = REFERENCE.replace("(close fridge)", "(take egg-2 fridge) (put egg-2 pan) (close fridge)")
    assert SuccessJudge(system, REFERENCE).judge(script).reached is True
    assert SuccessJudge(system, REFERENCE, "exact").judge(script).reached is False
    assert SuccessJudge(system, REFERENCE, "exact").judge(REFERENCE).reached is True


def test_only_an_ignored_fluent_does_not_count() -> None:
    script = SCRIPTS["C"]
    assert SuccessJudge(kitchen(), REFERENCE).judge(script).reached is False
    assert SuccessJudge(kitchen(), REFERENCE, ignore=["open"]).judge(script).reached is True
    assert SuccessJudge(kitchen(), REFERENCE, ignore=["on"]).judge(script).reached is False


@pytest.mark.parametrize(
    ("reference", "ignore", "why"),
    [
        ("", [], "changes_nothing"),
        ("(open fridge) (close fridge)", [], "changes_nothing"),
        ("(open fridge)", ["open"], "changes_nothing"),
        ("(cook egg stove)", [], "cannot_be_executed"),
        ("(open fridge) (fly)", [], "cannot_be_executed"),
    ],
)
def test_a_reference_without_an_effect_defines_no_success(reference: str, ignore: list[str], why: str) -> None:
    judge = SuccessJudge(kitchen(), reference, ignore=ignore)
    assert judge.undefined == why
    found = judge.judge(REFERENCE)
    assert (found.reached, found.final, found.goal, found.step) == (None, None, True, None)


def test_a_plan_that_stops_does_not_succeed_where_it_was() -> None:
    found = SuccessJudge(kitchen(), REFERENCE).judge(f"{REFERENCE} (fly)")
    assert (found.reached, found.final, found.goal, found.step) == (False, False, False, 7)
    assert SuccessJudge(kitchen(), REFERENCE).judge("").reached is False


def test_fluents_without_arguments_and_integers_belong_to_somebody() -> None:
    level = {**KITCHEN["fluents"][0], "name": "level", "parameters": [], "value": "integer"}
    weight = {**level, "name": "weight", "parameters": [["?x", "item"], ["?p", "place"]]}
    rise = {
        "name": "rise",
        "parameters": [],
        "precondition": True,
        "effects": [
            ["increase", ["fluent", "level"], 1, True],
            ["increase", ["fluent", "weight", "egg", "pan"], 2, True],
        ],
    }
    system = kitchen(fluents=[*KITCHEN["fluents"], level, weight], actions=[*KITCHEN["actions"], rise])
    states = execute_plan(system, PlanReader(system), "(rise)").states
    state = world_state(system, states[-1])
    assert state.objects["world"] == {("level", 1)}
    assert ("weight", "egg", "pan", 2) in state.relations
    judge = SuccessJudge(system, "(rise)")
    assert judge.changed == {"world"}
    assert judge.judge("(rise)").reached and not judge.judge("(open pan)").reached
    assert not SuccessJudge(system, "(rise)", ignore=["level", "weight"]).judge("(rise)").reached


# Laws


def every_fluent(oracle: Oracle, state: dict[tuple[str, ...], Any]) -> dict[tuple[str, ...], Any]:
    return {atom: value for atom, value in state.items() if value}


def check_laws(task: dict[str, Any], reference: str, scripts: list[str]) -> int:
    """Assert the laws of success for scripts of a task; return how many succeeded."""
    system = System(Document.from_json(task))
    oracle, validator = Oracle(task), PlanValidator(system)
    required, exact = (SuccessJudge(system, reference, relations) for relations in ("required", "exact"))
    final = execute_plan(system, required.reader, reference).states[-1]
    goal = world_state(system, final)
    succeeded = 0
    for script in scripts:
        execution = execute_plan(system, required.reader, script)
        found = {"required": required.judge(script), "exact": exact.judge(script)}
        states = [oracle.start]
        for step in oracle.read(script)[: len(execution.done)]:
            states.append(oracle.step(*step, states[-1])[0])  # type: ignore[misc]
        for rule, judged in found.items():
            if required.undefined is not None:
                assert judged.reached is judged.final is None
                continue
            # The definition, state by state.
            start = world_state(system, execution.states[0])
            hits = [reaches(world_state(system, s), start, goal, rule) for s in execution.states[1:]]  # type: ignore[arg-type]
            assert judged.reached == (execution.whole and any(hits))
            assert judged.final == (execution.whole and bool(hits) and hits[-1])
            assert judged.step == (hits.index(True) + 1 if any(hits) else None)
            # Under `exact`, every fluent has its value of the reference.
            if rule == "exact":
                wanted = every_fluent(oracle, final_of(oracle, reference))
                assert hits == [every_fluent(oracle, state) == wanted for state in states[1:]]
        assert found["required"].reached or not found["exact"].reached
        assert all(judged.reached or not judged.final for judged in found.values())
        assert found["required"].goal == validator.quick(script)[0]
        succeeded += bool(found["required"].reached)
    return succeeded


def final_of(oracle: Oracle, plan: str) -> dict[tuple[str, ...], Any]:
    state = oracle.start
    for step in oracle.read(plan):
        state = oracle.step(*step, state)[0]  # type: ignore[misc]
    return state


def test_the_laws_of_success_on_random_domains() -> None:
    succeeded = 0
    for seed in range(sized(8, 60)):
        task, gold = random_domain(seed, 3)
        rng = random.Random(seed)
        scripts = [random_plan(rng, task, gold) for _ in range(12)]
        succeeded += check_laws(task, gold_text(gold), scripts)
    assert succeeded >= 8


@settings(SETTINGS, max_examples=sized(60, 800))
@given(st.data())
def test_the_laws_of_success_under_every_form_of_effect(data: st.DataObject) -> None:
    task = data.draw(tasks(reachable=True))
    reference, *scripts = (data.draw(plans(task)) for _ in range(3))
    check_laws(task, reference, [reference, *scripts])
