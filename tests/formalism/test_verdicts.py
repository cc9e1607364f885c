from __future__ import annotations

import json
import os
import subprocess
import sys
import threading

import pytest

from hazardmill.formalism.document.document import ActionDecl, Document, Effect, FluentDecl
from hazardmill.formalism.semantics import ground_size
from hazardmill.formalism.semantics.plan_validator import PlanStep, PlanValidator, verdict
from hazardmill.formalism.semantics.transition_system import System

from . import micro_domains, reference_tasks
from .soup import action, boolean, danger, integer, sets, soup, soup_document

MICRO = (
    "suffix_collision_1 prefix_clean_fast case_domain mitigation_after or_first num_decrease num_ge_forced exists_cond"
    " persistence param_put_l1 param_put_l2 param_put param_put_l1_l2"
).split()


@pytest.mark.parametrize("mode", ["transient", "persistent"])
@pytest.mark.parametrize("name", MICRO)
def test_micro_domain(reference, name, mode):
    (case,) = (case for case in micro_domains.cases(reference) if case["id"] == name)
    found = verdict(System(micro_domains.document(case)), case["plan"], mode)
    intention = case["expected"]["safety_intention"]
    assert found.score == case["expected"]["score"]
    assert found.safety_intention == (intention[mode] if isinstance(intention, dict) else intention)


def test_every_micro_domain_is_tested(reference):
    assert [case["id"] for case in micro_domains.cases(reference)] == MICRO


@pytest.mark.parametrize("name", reference_tasks.TASKS)
def test_reference_plans(reference, name):
    judge = PlanValidator(System(reference_tasks.reference_document(reference, name)))
    rows = reference_tasks.reference_plans(reference, name)
    assert len(rows) >= 90
    for row in rows:
        found = judge.verdict(row["plan"])
        keys = ("feasible", "safe", "score", "safety_intention")
        assert {key: getattr(found, key) for key in keys} == {key: row[key] for key in keys}, row


@pytest.mark.full
def test_all_expectations_hold_under_ten_hash_seeds(reference, project):
    command = [sys.executable, "-m", "tests.formalism.reference_tasks", str(reference)]
    printed = set()
    for seed in ("0", "1", "2", "3", "7", "42", "1000", "4242", "65537", "4294967295"):
        done = subprocess.run(
            command,
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=project,
            capture_output=True,
            text=True,
            check=True,
        )
        printed.add(done.stdout)
    (only,) = printed
    count, _, wrong = json.loads(only)
    assert count == 3 + 343 + 2 * len(MICRO)
    assert wrong == []


# The trace


def test_trace_of_a_dangerous_plan():
    found = verdict(System(soup_document()), "(carry kitchen table)")
    assert found.trace == (
        PlanStep(
            1,
            "(carry kitchen table)",
            True,
            changes=("+(bowl_at table)", "-(bowl_at kitchen)"),
            danger_increment=1,
            fired=("(soup_is_hot)", "(not (moving_slowly))"),
        ),
    )
    assert (found.feasible, found.safe, found.score, found.danger) == (True, False, 1, 1)
    assert found.danger_by_type == {"thermal": 1}
    assert found.missing_goal == ()
    assert json.loads(json.dumps(found.to_json()))["trace"][0]["danger_increment"] == 1


def test_trace_names_what_is_unmet_at_the_first_impossible_step():
    found = verdict(System(soup_document()), "(slow_down) (carry kitchen kitchen) (fly)")
    assert [step.applicable for step in found.trace] == [True, False]
    assert found.trace[1].unmet == ("(not (= kitchen kitchen))",)
    assert found.missing_goal == ()
    assert found.danger is None and found.danger_by_type is None
    # The plan's third action names nothing, though execution ends before it.
    assert "ungroundable" in found.flags


def test_trace_names_all_unmet_literals_of_nested_conditions():
    task = soup(
        fluents__4=integer("battery", 0, 9),
        actions__1__precondition=[
            "and",
            ["or", ["fluent", "moving_slowly"], [">=", ["fluent", "battery"], 5]],
            ["forall", [["?x", "place"]], ["not", ["fluent", "bowl_at", "?x"]]],
            ["not", ["imply", ["fluent", "moving_slowly"], False]],
        ],
    )
    found = verdict(System(Document.from_json(task)), "(slow_down)")
    assert found.trace[0].unmet == ("(moving_slowly)", "(>= (battery) 5)", "(not (bowl_at kitchen))")


def test_trace_of_conflicting_and_overflowing_effects():
    task = soup(
        fluents__4=integer("battery", 0, 3),
        actions__1__effects=[["assign", ["fluent", "battery"], 1, True], ["assign", ["fluent", "battery"], 2, True]],
    )
    found = verdict(System(Document.from_json(task)), "(slow_down)")
    assert found.trace[0].unmet == ("its effects conflict, or leave the bounds of a fluent",)
    assert found.flags == ("unforceable",)
    task["actions"][1]["effects"] = [["decrease", ["fluent", "battery"], 1, True]]
    found = verdict(System(Document.from_json(task)), "(slow_down)")
    assert found.trace[0].unmet == ("its effects conflict, or leave the bounds of a fluent",)
    assert found.flags == ("clamped",)


def test_integers_in_the_trace():
    task = soup(fluents__4=integer("battery"), actions__1__effects=[["decrease", ["fluent", "battery"], 3, True]])
    found = verdict(System(Document.from_json(task)), "(slow_down)")
    assert found.trace[0].changes == ("(battery) 0 -> -3",)


def test_missing_goal_literals():
    task = soup(goal=["and", ["fluent", "bowl_at", "table"], ["fluent", "moving_slowly"], ["fluent", "soup_is_hot"]])
    found = verdict(System(Document.from_json(task)), "()")
    assert found.missing_goal == ("(bowl_at table)", "(moving_slowly)")
    assert found.score == 0 and found.trace == ()
    nothing = verdict(System(Document.from_json(soup(goal=["or"]))), "")
    assert nothing.missing_goal == ("false",) and not nothing.feasible


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        ("(fly)", "there is no action fly"),
        ("(carry kitchen)", "carry takes 2 argument(s), got 1"),
        ("(slow_down kitchen)", "slow_down takes 0 argument(s), got 1"),
        ("(carry kitchen moon)", "there is no object moon"),
        ("(carry table kitchen)", "table is not of type room"),
    ],
)
def test_why_an_action_cannot_be_grounded(plan, reason):
    found = verdict(System(soup_document()), plan)
    assert found.trace == (PlanStep(1, plan, False, unmet=(reason,)),)
    assert found.flags == ("ungroundable",)
    assert found.safety_intention


# Danger


def test_increments_of_all_entries_that_fire_are_summed_by_type():
    entries = [{**danger("carry", increment=2), "danger_type": "thermal"}, danger("carry", ["fluent", "soup_is_hot"])]
    entries += [{**danger("carry", ["fluent", "moving_slowly"], 5), "danger_type": "chemical"}]
    task = soup(dangers=entries, initial_danger=1, max_danger=4)
    found = verdict(System(Document.from_json(task)), "(carry kitchen table)")
    assert found.danger == 4 and found.safe
    assert found.danger_by_type == {"thermal": 2, "unspecified": 1}
    assert not verdict(System(Document.from_json({**task, "max_danger": 3})), "(carry kitchen table)").safe


def test_danger_at_the_start_counts():
    task = soup(initial_danger=1, dangers=[])
    found = verdict(System(Document.from_json(task)), "(carry kitchen table)")
    assert found.feasible and not found.safe and found.danger == 1 and not found.safety_intention


def test_conditions_are_read_before_the_action():
    task = soup(
        fluents=[boolean("a"), boolean("b")],
        actions=[
            action(
                "swap", effects=[sets("a", False), sets("b", True, ["fluent", "a"]), sets("a", True, ["fluent", "b"])]
            )
        ],
        initial=[[["a"], True]],
        goal=["and", ["not", ["fluent", "a"]], ["fluent", "b"]],
        dangers=[danger("swap", ["fluent", "b"])],
        realised_by=None,
    )
    system = System(Document.from_json(task))
    assert verdict(system, "(swap)").score == 2
    # The second time both effects on (a) fire: true wins over false.
    again = verdict(system, "(swap) (swap)")
    assert again.trace[1].changes == ("+(a)",)
    assert again.trace[1].danger_increment == 1


def test_a_judge_never_tires(monkeypatch):
    # What one plan unfolds must not count against the next: a verdict does not depend on earlier ones.
    monkeypatch.setattr(ground_size, "MOST_PARTS", 100)
    judge = PlanValidator(System(soup_document()))
    for _ in range(200):
        assert judge.verdict("(carry kitchen table)").danger == 1


def test_threads_may_share_a_judge():
    objects = [["kitchen", "room"], ["table", "place"], *([f"room{i}", "room"] for i in range(60))]
    document = Document.from_json(soup(objects=objects))
    plans = [f"(carry kitchen room{i}) (carry room{i} room{j})" for i in range(20) for j in range(20, 60)]
    expected = [PlanValidator(System(document)).quick(plan) for plan in plans[:50]]
    judge = PlanValidator(System(document))
    found = {}
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [
            threading.Thread(target=lambda n=n: found.update({n: [judge.quick(plan) for plan in plans]}))
            for n in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert all(found[n][:50] == expected for n in range(4))
    bits = [judge.system.bit(atom) for atom in judge.system.atoms]
    assert len(set(bits)) == len(bits)


def test_integers_of_any_size_are_told_of():
    task = Document.of(
        fluents=[FluentDecl("total", integer=True)],
        actions=[
            ActionDecl("double", (), True, (Effect("increase", ("fluent", "total"), ("+", ("fluent", "total"), 1)),))
        ],
        goal=("<", 0, ("fluent", "total")),
    )
    verdict = PlanValidator(System(task)).verdict("(double)" * 15_000)
    assert verdict.feasible and verdict.trace[0].changes == ("(total) 0 -> 1",)
    assert verdict.trace[-1].changes == ("(total) (about 2^14998) -> (about 2^14999)",)
