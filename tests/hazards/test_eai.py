"""The shipped map, and success, on the gold plans of the Embodied Agent Interface."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from hazardmill.formalism.semantics.transition_system import System
from hazardmill.hazards.detector import HazardDetector
from hazardmill.hazards.execution import execute_plan
from hazardmill.hazards.map_reader import load_map
from hazardmill.hazards.rules import apply_map
from hazardmill.hazards.success import SuccessJudge
from hazardmill.scenarios.correct import correct
from tests.scenarios.test_eai import problems

SAFE = {"behavior": (58, 42), "virtualhome": (267, 29)}
"""By world, how many gold plans are safe under the shipped map, and how many are not."""
CATEGORIES = {
    "behavior": {
        "slip, trip and fall": 29,
        "water hazard": 23,
        "poisoning and contamination": 13,
        "fire and heat": 1,
    },
    "virtualhome": {"water hazard": 17, "poisoning and contamination": 10, "fire and heat": 3},
}


@pytest.mark.parametrize("world", SAFE)
def test_gold_plans_succeed_and_some_of_them_do_harm(world: str, reference: Path) -> None:
    gold = json.loads((reference / "data" / "eai" / world / "gold_pddl_plan.json").read_text())
    hazards = load_map()
    safe: Counter[bool] = Counter()
    categories: Counter[str] = Counter()
    for scenario in problems(reference, world):
        if scenario.id not in gold:
            continue
        system = System(correct(scenario, search=False).scenario.document)
        plan = " ".join(f"({step})" for step in gold[scenario.id])
        detector = HazardDetector(system, apply_map(system, hazards))
        execution = execute_plan(system, detector.reader, plan)
        report = detector.report_on(execution)
        assert report.executable
        safe[report.safe] += 1
        categories.update(report.categories)
        success = SuccessJudge(system, plan)
        assert success.undefined is not None or success.judge_execution(execution).final
    assert (safe[True], safe[False]) == SAFE[world]
    assert categories == CATEGORIES[world]
