"""Domains, problems and gold plans of the Embodied Agent Interface."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from hazardmill.formalism.semantics.plan_validator import PlanValidator
from hazardmill.formalism.semantics.transition_system import System
from hazardmill.scenarios.correct import correct
from hazardmill.scenarios.reading import read_domain, read_problem
from hazardmill.scenarios.scenario import Scenario


def problems(reference, world):
    folder = reference / "data" / "eai" / world
    base = read_domain(folder / f"{world}.pddl")
    for path in sorted((folder / "problem_pddl").rglob("*.pddl")):
        yield Scenario(path.stem, read_problem(base, path))


@pytest.mark.parametrize(
    ("world", "outcomes", "rules"),
    [
        ("behavior", {("passed", None): 99, ("corrected", None): 1}, {"numbered_object": 1}),
        (
            "virtualhome",
            {("passed", None): 216, ("corrected", None): 120, ("discarded", "argument_type"): 2},
            # Five facts that are written twice go with the others.
            {"mistyped_fact": 527, "repeated": 5},
        ),
    ],
)
def test_declarations_of_all_problems(reference, world, outcomes, rules):
    found, changes = Counter(), Counter()
    for scenario in problems(reference, world):
        done = correct(scenario, search=False)
        found[done.outcome, done.reason] += 1
        if done.outcome == "corrected":
            changes.update(change.rule for change in done.changes)
        if done.outcome == "discarded":
            assert all(problem.path == "goal" for problem in done.verification.problems)
    assert (found, changes) == (outcomes, rules)


def test_all_gold_plans_of_behavior_are_feasible(reference):
    gold = json.loads((reference / "data" / "eai" / "behavior" / "gold_pddl_plan.json").read_text())
    judged = Counter()
    for scenario in problems(reference, "behavior"):
        document = correct(scenario, search=False).scenario.document
        plan = " ".join(f"({step})" for step in gold[scenario.id])
        judged[PlanValidator(System(document)).quick(plan)[0]] += 1
    assert judged == {True: 100}


def test_effects_keep_what_their_forall_binds(reference):
    scenario = next(problems(reference, "behavior"))
    lifted = scenario.draft.lifted()
    assert "navigate_to" in lifted
    assert [[variable.name for variable in effect.variables] for effect in lifted["navigate_to"]] == [[], ["?objfrom"]]
    assert Scenario.from_json(json.loads(scenario.to_text())) == scenario
