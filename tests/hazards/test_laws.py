"""Laws of detection on random tasks: of danger entries, and of documents into which a map is compiled."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from hazardmill.formalism.document.document import Document
from hazardmill.formalism.semantics.plan_validator import PlanValidator
from hazardmill.formalism.semantics.transition_system import System
from hazardmill.hazards.detector import HazardDetector
from hazardmill.hazards.rules import danger_rules
from tests.formalism.random_tasks import SETTINGS, plans, tasks, ungraded
from tests.sizes import sized


@settings(SETTINGS, max_examples=sized(100, 1_500))
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
