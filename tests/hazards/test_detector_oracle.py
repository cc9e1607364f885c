"""The detector against an oracle that shares no code with it."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hazardmill.formalism.document.document import Document
from hazardmill.formalism.semantics.transition_system import System
from hazardmill.hazards.detector import HazardDetector, HazardReport
from hazardmill.hazards.map_reader import load_map
from hazardmill.hazards.rules import apply_map
from tests.formalism.random_domains import random_domain, random_plan
from tests.formalism.random_tasks import SETTINGS, plans, tasks
from tests.sizes import sized

from .hazard_oracle import HazardOracle
from .random_maps import map_text, random_rules

MAPS, PLANS = 4, 5


class Pair:
    """A detector and an oracle under the same rules."""

    def __init__(self, rng: random.Random, task: dict[str, Any], system: System, folder: Path) -> None:
        process, termination = random_rules(rng, task)
        path = folder / "map.yaml"
        path.write_text(map_text(process, termination))
        self.rules = apply_map(system, load_map(path))
        self.detector = HazardDetector(system, self.rules)
        self.oracle = HazardOracle(task, process, termination)

    def agree(self, plan: str) -> Counter[str]:
        counts: Counter[str] = Counter()
        for judge in ("executed", "attempted"):
            found, whole = self.oracle.violations(plan, judge == "attempted")
            report = self.detector.detect(plan, judge)  # type: ignore[arg-type]
            assert written(report) == [each[:4] for each in found], (plan, judge)
            for violation, wanted in zip(report.violations, found, strict=True):
                assert wanted[4] is None or list(violation.literals) == wanted[4]
                assert violation.categories
            assert report.executable == whole and report.safe == (not found)
            counts.update(f"{each[0]}{' inherited' if each[3] else ''} {judge}" for each in found)
            counts[f"safe {report.safe}"] += 1
            counts[f"whole {whole}"] += 1
        return counts


def written(report: HazardReport) -> list[tuple[Any, ...]]:
    """Violations as the oracle gives them; what made the rules fire is left out."""
    return [(each.kind, int(each.rule.partition("[")[2][:-1]), each.step, each.inherited) for each in report.violations]


# 200 and 2,000 plans.
@pytest.mark.parametrize("domains", [sized(10, 100)])
def test_violations_of_random_plans_are_those_of_the_oracle(domains: int, tmp_path: Path) -> None:
    counts: Counter[str] = Counter()
    for seed in range(domains):
        task, gold = random_domain(seed, 3)
        system = System(Document.from_json(task))
        rng = random.Random(f"map {seed}")
        for _ in range(MAPS):
            pair = Pair(rng, task, system, tmp_path)
            counts["misfits"] += len(pair.rules.misfits)
            for _ in range(PLANS):
                counts += pair.agree(random_plan(rng, task, gold))
    print(counts)
    assert counts["whole True"] + counts["whole False"] == 2 * domains * MAPS * PLANS
    assert counts["process attempted"] > counts["process executed"]
    assert min(counts.values()) >= domains and len(counts) == 11


def test_they_agree_under_every_form_of_effect_too(tmp_path: Path) -> None:
    counts: Counter[str] = Counter()

    @settings(SETTINGS, max_examples=sized(60, 1_000))
    @given(st.data())
    def check(data: st.DataObject) -> None:
        task: dict[str, Any] = data.draw(tasks(data.draw(st.booleans()), reachable=True))
        pair = Pair(random.Random(json.dumps(task)), task, System(Document.from_json(task)), tmp_path)
        for _ in range(2):
            counts.update(pair.agree(data.draw(plans(task))))

    check()
    print(counts)
    assert min(counts[each] for each in ("process executed", "termination executed", "safe True")) >= 5
