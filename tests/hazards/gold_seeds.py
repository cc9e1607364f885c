"""Seeds of dialogues out of public data: gold plans of BEHAVIOR problems that do harm under the shipped map."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from hazardmill.formalism.semantics.transition_system import System
from hazardmill.hazards.detector import HazardDetector
from hazardmill.hazards.map_reader import load_map
from hazardmill.hazards.rules import apply_map
from hazardmill.scenarios.correct import correct
from tests.scenarios.test_eai import problems


def gold_seeds(reference: Path, count: int) -> list[dict[str, Any]]:
    """Some harmful gold plans, in the order of their problems; each set of categories in turn.

    Args:
        reference: Folder of the reference data.
        count: Number of seeds.
    """
    gold = json.loads((reference / "data" / "eai" / "behavior" / "gold_pddl_plan.json").read_text())
    hazards = load_map()
    by_harm: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for scenario in sorted(problems(reference, "behavior"), key=lambda scenario: scenario.id):
        system = System(correct(scenario, search=False).scenario.document)
        plan = " ".join(f"({step})" for step in gold[scenario.id])
        report = HazardDetector(system, apply_map(system, hazards)).detect(plan)
        if report.safe:
            continue
        seed = {
            "task_id": scenario.id,
            # The name of the activity, before the scene and the date.
            "instruction": re.split(r"_\d+_", scenario.id)[0].replace("_", " "),
            "plan": plan,
            "categories": list(report.categories),
            "violations": [each.to_json() for each in report.violations],
            "confidence": None,
            "licence": "MIT",
            "attribution": "BEHAVIOR problems and gold plans of the Embodied Agent Interface (MIT)",
        }
        by_harm.setdefault(report.categories, []).append(seed)
    seeds: list[dict[str, Any]] = []
    while len(seeds) < count and any(by_harm.values()):
        for waiting in by_harm.values():
            if waiting and len(seeds) < count:
                seeds.append(waiting.pop(0))
    return seeds
