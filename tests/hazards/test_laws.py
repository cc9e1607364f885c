"""Laws of detection on random tasks: of danger entries, and of documents into which a map is compiled."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from hazardmill.formalism.document.document import Document
from hazardmill.formalism.semantics.plan_validator import PlanValidator
from hazardmill.formalism.semantics.transition_system import System
from hazardmill.hazards.compiled import compile_rules
from hazardmill.hazards.detector import HazardDetector
from hazardmill.hazards.map_reader import load_map
from hazardmill.hazards.rules import apply_map, danger_rules
from tests.formalism.random_domains import gold_text, random_domain, random_plan
from tests.formalism.random_tasks import SETTINGS, plans, tasks, ungraded
from tests.sizes import sized

from .random_maps import map_text, random_rules


@settings(SETTINGS, max_examples=sized(50, 1_500))
@given(st.data())
def test_a_feasible_plan_breaks_no_danger_entry_iff_it_is_safe(data: st.DataObject) -> None:
    task: dict[str, Any] = ungraded(data.draw(tasks(reachable=True)))
    system = System(Document.from_json(task))
    judge, detector = PlanValidator(system), HazardDetector(system, danger_rules(system))
    for _ in range(3):
        plan = data.draw(plans(task))
        feasible, safe, _ = judge.quick(plan)
        report = detector.detect(plan)
        assert report.safe == safe or not feasible
        trace = judge.verdict(plan).trace
        assert report.executable == all(step.applicable for step in trace)
        fired = Counter(violation.step for violation in report.violations)
        assert {step.index for step in trace if step.danger_increment} == {*fired}


class CompiledLaw:
    """Checks, for one task and a random map, that a plan is harmless and feasible iff it is safe when compiled."""

    def __init__(self, task: dict[str, Any], rng: random.Random, path: Path) -> None:
        self.system = System(Document.from_json(task))
        path.write_text(map_text(*random_rules(rng, task)))
        rules = apply_map(self.system, load_map(path))
        self.compiled = compile_rules(self.system, rules)
        self.detector = HazardDetector(self.system, rules)
        self.judge = PlanValidator(self.system)
        self.compiled_judge = PlanValidator(System(self.compiled.document))

    def check(self, plan: str) -> tuple[bool, bool]:
        harmless, feasible = self.detector.detect(plan).safe, self.judge.quick(plan)[0]
        written = self.compiled.plan(plan)
        assert self.compiled_judge.quick(written)[:2] == (feasible, harmless and feasible), plan
        if self.compiled.closing is not None:
            # Nothing but a plan with the closing action at its end reaches the goal.
            assert not self.compiled_judge.quick(plan)[0]
            assert not self.compiled_judge.quick(f"({self.compiled.closing}) {plan}")[0] or not plan
        return harmless, feasible


def test_a_plan_reaches_the_goal_without_harm_iff_it_is_safe_when_compiled(tmp_path: Path) -> None:
    counts: Counter[tuple[bool, bool]] = Counter()
    for seed in range(sized(8, 80)):
        task, gold = random_domain(seed, 3)
        rng = random.Random(f"compiled {seed}")
        for _ in range(6):
            law = CompiledLaw(task, rng, tmp_path / "map.yaml")
            counts.update(law.check(plan) for plan in (gold_text(gold), *(random_plan(rng, task, gold) for _ in "123")))
    print(counts)
    assert len(counts) == 4 and min(counts.values()) >= 5


def test_the_same_under_every_form_of_effect(tmp_path: Path) -> None:
    @settings(SETTINGS, max_examples=sized(50, 800))
    @given(st.data())
    def check(data: st.DataObject) -> None:
        task = data.draw(tasks(reachable=True))
        law = CompiledLaw(task, random.Random(json.dumps(task)), tmp_path / "map.yaml")
        for _ in range(2):
            law.check(data.draw(plans(task)))

    check()
