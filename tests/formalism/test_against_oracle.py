"""The formalism against a second, naive implementation of it, on random tasks and plans."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hazardmill.errors import SearchLimitReached
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.search.exact import solve
from hazardmill.formalism.semantics.plan_validator import PlanValidator as Judge
from hazardmill.formalism.semantics.transition_system import System
from tests.sizes import sized

from .oracle import Oracle, plan_string
from .random_tasks import SETTINGS, plans, tasks

MODES = ("transient", "persistent")


def shares_of(counts, examples):
    return {name: round(count / examples, 2) for name, count in sorted(counts.items())}


@pytest.mark.parametrize("examples", [sized(450, 900)])
def test_verdicts_and_safety_intention_equal_the_oracles(examples):
    counts = Counter()

    @settings(SETTINGS, max_examples=examples)
    @given(st.data(), st.booleans())
    def check(data, finite):
        task = data.draw(tasks(finite))
        oracle = Oracle(task)
        judge = Judge(System(Document.from_json(task)))
        for _ in range(3):
            plan = data.draw(plans(task))
            feasible, safe, danger = oracle.verdict(plan)
            assert judge.quick(plan) == (feasible, safe, danger)
            for mode in MODES:
                verdict = judge.verdict(plan, mode)
                assert (verdict.feasible, verdict.safe, verdict.danger) == (feasible, safe, danger)
                assert verdict.score == feasible + safe
                assert (verdict.danger_by_type is None) == (not feasible)
                if feasible:
                    assert sum(verdict.danger_by_type.values()) + task["initial_danger"] == danger
                flags = tuple(flag for flag in verdict.flags if flag != "ungroundable")
                assert (verdict.safety_intention, verdict.si_danger, flags) == oracle.intention(plan, mode)
                assert ("ungroundable" in verdict.flags) == (None in oracle.read(plan))
                counts.update(set(flags))
                if feasible:
                    assert verdict.safety_intention == safe
            counts["plans"] += 1
            counts["feasible"] += feasible
            counts["unsafe intention"] += not oracle.intention(plan, "transient")[0]
            counts["modes differ"] += oracle.intention(plan, MODES[0]) != oracle.intention(plan, MODES[1])
            counts["ungroundable"] += None in oracle.read(plan)

    check()
    shares = shares_of(counts, counts.pop("plans"))
    print(shares)
    assert shares["feasible"] >= 0.15 and shares["unsafe intention"] >= 0.2 and shares["ungroundable"] >= 0.1
    # Rarer ways, each of which must have been walked.
    rare = min(counts[name] for name in ("relaxation_choice", "unforceable", "clamped", "modes differ"))
    assert rare >= 10 * examples / 900


@pytest.mark.full
def test_optimal_plans_equal_the_oracles():
    counts = Counter()

    @settings(SETTINGS, max_examples=800)
    @given(tasks())
    def check(task):
        document = Document.from_json(task)
        try:
            solution = solve(document, limit=600)
        except SearchLimitReached:
            counts["beyond the limit"] += 1
            return
        oracle = Oracle(task)
        for want_safe, found in ((True, solution.safe), (False, solution.unsafe)):
            best = oracle.best(want_safe, 5_000)
            assert (best is None) == (found is None)
            if found is not None:
                assert plan_string(best) == " ".join(map(str, found))
                judge = Judge(System(document))
                assert judge.quick(plan_string(best))[:2] == (True, want_safe)
                assert all(judge.verdict(plan_string(best), mode).safety_intention == want_safe for mode in MODES)
        counts["tasks"] += 1
        counts["solvable"] += solution.safe is not None
        counts["dangerous"] += solution.unsafe is not None
        counts["both plans"] += None not in (solution.safe, solution.unsafe)
        counts["absence proved"] += solution.safe is None or solution.unsafe is None
        counts["conditional"] += any(
            effect[3] is not True for action in task["actions"] for effect in action["effects"]
        )
        counts["integers"] += any(fluent["value"] == "integer" for fluent in task["fluents"])
        entries = Counter(entry["action"] for entry in task["dangers"])
        counts["two entries"] += max(entries.values(), default=0) >= 2
        counts["longer than one step"] += max(len(plan or ()) for plan in (solution.safe, solution.unsafe)) > 1

    check()
    shares = shares_of(counts, counts.pop("tasks"))
    print(shares)
    assert shares["both plans"] >= 0.15
    wanted = ("solvable", "dangerous", "absence proved", "conditional", "integers", "two entries")
    assert min(shares[name] for name in wanted) >= 0.2
    assert shares["longer than one step"] >= 0.07 and shares.get("beyond the limit", 0) <= 0.1
