"""Gold plans with one mistake get the label that the oracle gives, and the label that belongs to the mistake."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from hazardmill.evaluation.safel.sequence import SequenceLabeller
from hazardmill.formalism.document.document import Document
from tests.formalism.random_domains import gold_text, random_domain
from tests.sizes import sized

from .label_oracle import LabelOracle
from .mutations import MUTATIONS, Gold, gold_of_behavior, gold_of_tasks, mutants, rendered, table_of
from .worked_plans import plan, toaster

POSSIBLE = {
    "one step deleted": {"additional_step", "wrong_temporal", "missing_step", "unmet_goal", "success"},
    "one step doubled": {"additional_step", "success"},
    "two dependent steps swapped": {"additional_step", "wrong_temporal", "missing_step"},
    "last step dropped": {"unmet_goal"},
    "action name broken": {"grammar"},
    "object name broken": {"grammar"},
    "argument dropped": {"grammar"},
    "argument of another type": {"affordance"},
}
"""Labels that a plan with this mistake can have. One step too many is always spare, so it is never called missing."""


def agree_with_oracle(gold: Iterator[Gold]) -> dict[str, Counter[str]]:
    table: dict[str, Counter[str]] = {mutation: Counter() for mutation in MUTATIONS}
    for name, document, text in gold:
        oracle, labeller = LabelOracle(document.to_json()), SequenceLabeller(document)
        assert labeller.label(text).success, name
        assert oracle.label(text) == ("success", None), name
        for mutation, mutant in mutants(document, text):
            found = labeller.label(mutant)
            assert (found.label, found.step) == oracle.label(mutant), (name, mutant)
            table[mutation][found.label] += 1
    return table


def test_mistakes_in_the_plans_of_tasks(reference: Path) -> None:
    table = agree_with_oracle(gold_of_tasks(reference))
    print(rendered(table))
    assert table == table_of(gold_of_tasks(reference))
    for mutation, counts in table.items():
        assert counts.total() >= 7 and counts.keys() <= POSSIBLE[mutation], mutation


def test_mistakes_in_the_gold_plans_of_behavior(reference: Path) -> None:
    gold = list(gold_of_behavior(reference))
    assert len(gold) == 99
    table = agree_with_oracle(itertools.islice(gold, 0, None, sized(10, 1)))
    print(rendered(table))
    for mutation, counts in table.items():
        assert counts.total() >= 9 and counts.keys() <= POSSIBLE[mutation], mutation


def test_mistakes_in_the_plans_of_random_domains() -> None:
    def gold() -> Iterator[Gold]:
        for seed in range(sized(30, 200)):
            task, steps = random_domain(seed, 3)
            yield str(seed), Document.from_json(task), gold_text(steps)

    table = agree_with_oracle(gold())
    print(rendered(table))
    for mutation in ("action name broken", "object name broken", "argument dropped", "argument of another type"):
        assert table[mutation].keys() <= POSSIBLE[mutation]
    assert all(counts.total() >= 15 for counts in table.values())


def test_the_mistakes_are_what_they_are_called() -> None:
    found: dict[str, list[str]] = {mutation: [] for mutation in MUTATIONS}
    for mutation, mutant in mutants(toaster(), plan("G U I N T F")):
        found[mutation].append(mutant)
    assert found["one step deleted"] == [
        plan(letters) for letters in ("U I N T F", "G I N T F", "G U N T F", "G U I T F", "G U I N F")
    ]
    assert found["last step dropped"] == [plan("G U I N T")]
    assert found["one step doubled"][3] == plan("G U I N N T F")
    # Unwrapping depends on grasping, toasting on unwrapping, and so on; nothing depends on the toasting.
    assert found["two dependent steps swapped"] == [
        plan(letters) for letters in ("U G I N T F", "G T I N U F", "G U N I T F", "G U I T N F")
    ]
    assert found["action name broken"][0] == "(grasp_it sandwich) " + plan("U I N T F")
    assert found["object name broken"][5] == plan("G U I N T") + " (switch_off toaster_x)"
    assert found["argument dropped"][2] == plan("G U") + " (insert sandwich) " + plan("N T F")
    assert found["argument of another type"][2:4] == [
        plan("G U") + " (insert toaster toaster) " + plan("N T F"),
        plan("G U") + " (insert sandwich sandwich) " + plan("N T F"),
    ]
