"""Labels against an oracle that shares no code with the executor."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hazardmill.evaluation.safel.sequence import LABELS, SequenceLabeller, rates_of
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.semantics.plan_validator import PlanValidator
from tests.formalism.random_domains import random_domain, random_plan
from tests.formalism.random_tasks import SETTINGS, plans, tasks
from tests.sizes import sized

from .label_oracle import LabelOracle

DOMAINS = 20


def agrees(oracle: LabelOracle, labeller: SequenceLabeller, judge: PlanValidator, plan: str) -> str:
    found = labeller.label(plan)
    assert (found.label, found.step) == oracle.label(plan), plan
    assert found.success == judge.quick(plan)[0], plan
    assert not found.warnings or found.success
    return found.label


def test_labels_of_random_plans_are_those_of_the_oracle() -> None:
    counts: Counter[str] = Counter()
    insertions: Counter[bool] = Counter()
    each = sized(30, 500)
    for seed in range(DOMAINS):
        task, gold = random_domain(seed, 3)
        oracle, labeller = LabelOracle(task), SequenceLabeller(Document.from_json(task))
        judge = PlanValidator(labeller.system)
        rng = random.Random(seed)
        labels = []
        for number in range(each):
            plan = random_plan(rng, task, gold)
            labels.append(agrees(oracle, labeller, judge, plan))
            if labels[-1] == "missing_step" and number < sized(30, 250):
                found, cost = labeller.shortest_insertion(plan), oracle.insertion(plan)
                assert (None if found is None else len(found.steps)) == cost, plan
                assert found is None or judge.quick(found.plan)[0]
                insertions[found is not None] += 1
        rates = rates_of(labels)  # type: ignore[arg-type]
        assert sum(rates.rate(label) or 0 for label in LABELS) == 1 and rates.plans == each
        counts.update(labels)
    print(counts, insertions)
    assert counts.total() == DOMAINS * each and counts.keys() == {*LABELS}
    assert min(counts.values()) >= each // 2
    assert min(insertions.values()) >= 10


@pytest.mark.parametrize("examples", [sized(100, 1_000)])
def test_labels_are_those_of_the_oracle_under_every_form_of_condition(examples: int) -> None:
    counts: Counter[str] = Counter()

    @settings(SETTINGS, max_examples=examples)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        task: dict[str, Any] = data.draw(tasks(data.draw(st.booleans()), reachable=True))
        oracle, labeller = LabelOracle(task), SequenceLabeller(Document.from_json(task))
        judge = PlanValidator(labeller.system)
        for _ in range(4):
            counts[agrees(oracle, labeller, judge, data.draw(plans(task)))] += 1

    check()
    print(counts)
    assert counts.keys() == {*LABELS} and min(counts.values()) >= examples // 30


def test_the_reason_names_a_step_that_bears_it_out() -> None:
    counts: Counter[str | None] = Counter()
    for seed in range(DOMAINS):
        task, gold = random_domain(seed, 3)
        oracle, labeller = LabelOracle(task), SequenceLabeller(Document.from_json(task))
        rng = random.Random(1_000 + seed)
        for _ in range(40):
            plan = random_plan(rng, task, gold)
            found = labeller.label(plan)
            steps = [oracle.oracle.ground(words) for words in oracle.words(plan)]
            counts[found.reason] += 1
            if found.related_step is None:
                continue
            related = found.related_step
            assert found.step is not None
            if found.reason == "succeeds_without":
                fitting = [n for n in range(1, found.step) if oracle.succeeds(steps[: n - 1] + steps[n:])]
                assert related == fitting[0]
                continue
            (step,) = steps[found.step - 1 : found.step]
            assert step is not None
            if found.reason == "held_before":
                states = [oracle.start, *oracle.skipping(steps[: found.step - 1], oracle.start)]
                held = [n for n in range(1, found.step) if oracle.precondition(step, states[n - 1])]
                assert related == held[-1]
            else:
                assert found.reason == "holds_later"
                before = oracle.skipping(steps[: found.step - 1], oracle.start)
                state = before[-1] if before else oracle.start
                assert oracle.precondition(step, oracle.skipping(steps[found.step : related], state)[-1])
    print(counts)
    assert min(counts[reason] for reason in ("succeeds_without", "held_before", "holds_later", "changes_nothing")) >= 5
