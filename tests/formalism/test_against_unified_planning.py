"""The formalism against Unified Planning's validator and simulator, on random tasks and plans.

``up_model`` builds the problem from the task's JSON alone and says where the translation has to help Unified Planning.
Plans are ground actions, as Unified Planning reads no plan strings; odd spellings are for ``test_against_oracle``.
"""

from __future__ import annotations

import copy
import json
import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hazardmill.errors import SearchLimitReached
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.search.exact import solve
from hazardmill.formalism.semantics.plan_validator import PlanValidator
from hazardmill.formalism.semantics.transition_system import System
from tests.sizes import sized

from .oracle import Oracle, plan_string
from .random_tasks import SETTINGS, tasks
from .up_model import UpTask

MODES = ("transient", "persistent")
SHARES = ("solvable", "dangerous", "conditional", "integers", "two entries", "negative increments")
FAST = 40


def count_features(counts, task):
    counts["tasks"] += 1
    counts["conditional"] += any(effect[3] is not True for action in task["actions"] for effect in action["effects"])
    counts["integers"] += any(fluent["value"] == "integer" for fluent in task["fluents"])
    entries = Counter(entry["action"] for entry in task["dangers"])
    counts["two entries"] += max(entries.values(), default=0) >= 2
    counts["negative increments"] += any(entry["increment"] < 0 for entry in task["dangers"])


def shares_of(counts):
    total = counts["tasks"]
    return {name: round(count / total, 2) for name, count in sorted(counts.items()) if name != "tasks"}


@st.composite
def ground_plans(draw, task):
    """Ground actions, most of them possible where they stand; half of the plans stop where the goal is reached."""
    oracle = Oracle(task)
    ground = list(oracle.ground_actions())
    state, plan = oracle.start, []
    stops = draw(st.booleans())
    for _ in range(draw(st.integers(0, 6))):
        if stops and oracle.holds(task["goal"], {}, state):
            break
        possible = [action for action in ground if oracle.step(*action, state) is not None]
        choices = possible if possible and draw(st.integers(0, 5)) else ground
        if not choices:
            break
        action = choices[draw(st.integers(0, len(choices) - 1))]
        outcome = oracle.step(*action, state)
        state = state if outcome is None else outcome[0]
        plan.append(action)
    return plan


def witnesses(task, most_states=60):
    """A safe plan and an unsafe one where a few steps lead to them: chance seldom finds both."""
    oracle = Oracle(task)
    ground = list(oracle.ground_actions())
    found, seen = {}, set()
    queue = [(oracle.start, task["initial_danger"], [])]
    for state, danger, plan in queue:
        if oracle.holds(task["goal"], {}, state):
            found.setdefault(danger <= task["max_danger"], plan)
        for action in ground:
            outcome = oracle.step(*action, state)
            node = outcome and (frozenset(outcome[0].items()), danger + outcome[1])
            if node and node not in seen and len(seen) < most_states:
                seen.add(node)
                queue.append((outcome[0], node[1], [*plan, action]))
    return list(found.values())


def shuffled(task, chance):
    """The same task, everything that may be reordered reordered."""
    other = copy.deepcopy(task)
    for part in ("types", "fluents", "actions", "initial", "dangers"):
        chance.shuffle(other[part])
    for action in other["actions"]:
        chance.shuffle(action["effects"])
    return other


@pytest.mark.parametrize("examples", [sized(FAST, 1_000)])
def test_verdicts_are_those_of_the_sequential_plan_validator(examples):
    counts = Counter()

    @settings(SETTINGS, max_examples=examples)
    @given(st.data(), st.booleans(), st.sampled_from((True, True, False)), st.randoms(use_true_random=False))
    def check(data, finite, mitigating, chance: random.Random):
        task = data.draw(tasks(finite, mitigating, reachable=True))
        document = Document.from_json(task)
        again = Document.from_json(json.loads(json.dumps(document.to_json())))
        assert again == document == Document.from_json(shuffled(task, chance))
        assert again.hash == document.hash == Document.from_json(shuffled(task, chance)).hash
        judge, peer = PlanValidator(System(document)), UpTask(document.to_json())
        seen = set()
        for plan in [*witnesses(task), data.draw(ground_plans(task)), data.draw(ground_plans(task))]:
            text = plan_string(plan)
            expected = peer.verdict(plan)
            assert judge.quick(text) == expected
            feasible, safe, danger = expected
            for mode in MODES:
                verdict = judge.verdict(text, mode)
                assert (verdict.feasible, verdict.safe, verdict.danger) == expected
                if feasible:
                    assert (verdict.safety_intention, verdict.si_danger) == (safe, danger)
            seen.add((feasible, safe))
        count_features(counts, task)
        counts["solvable"] += (True, True) in seen
        counts["dangerous"] += (True, False) in seen
        counts["infeasible"] += (False, False) in seen

    check()
    print(counts["tasks"], "tasks:", shares_of(counts))
    assert counts["tasks"] >= examples
    assert min(shares_of(counts)[name] for name in (*SHARES, "infeasible")) >= 0.2


@pytest.mark.parametrize(("examples", "depth", "nodes"), [sized((FAST, 4, 40), (1_000, 6, 60))])
def test_optimal_lengths_are_those_of_search_over_the_sequential_simulator(examples, depth, nodes):
    counts = Counter()

    @settings(SETTINGS, max_examples=examples)
    @given(st.sampled_from((True, True, False)).flatmap(lambda some: tasks(mitigating=some, reachable=True)))
    def check(task):
        document = Document.from_json(task)
        count_features(counts, task)
        try:
            solution = solve(document, limit=3_000)
        except SearchLimitReached:
            counts["beyond the limit"] += 1
            return
        *lengths, reached = UpTask(document.to_json()).shortest(depth, nodes)
        for plan, length in zip((solution.safe, solution.unsafe), lengths, strict=True):
            # What lies beyond the depth reached is not for this test to say.
            assert length == (None if plan is None or len(plan) > reached else len(plan))
        judge = PlanValidator(System(document))
        for plan, safe in ((solution.safe, True), (solution.unsafe, False)):
            if plan is not None:
                text = " ".join(step.text for step in plan)
                assert judge.quick(text)[:2] == (True, safe)
                assert all(judge.verdict(text, mode).safety_intention is safe for mode in MODES)
        counts["solvable"] += solution.safe is not None
        counts["dangerous"] += solution.unsafe is not None
        counts["longer than one step"] += max(length or 0 for length in lengths) > 1
        counts["absent"] += None in (solution.safe, solution.unsafe)
        counts["absent, and no state left"] += None in (solution.safe, solution.unsafe) and reached == float("inf")

    check()
    print(counts["tasks"], "tasks:", shares_of(counts))
    shares = shares_of(counts)
    assert counts["tasks"] >= examples
    assert min(shares[name] for name in (*SHARES, "absent", "absent, and no state left")) >= 0.2
    assert shares["longer than one step"] >= 0.1 and shares.get("beyond the limit", 0) <= 0.1
