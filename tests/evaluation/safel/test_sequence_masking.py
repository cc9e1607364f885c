"""Each rule masks all later ones at the same step: a plan per pair, and one where the mistake of the first is mended.

The mended one shows that the second rule fits at that step: by another spelling, a wider bound or another start.
"""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from hazardmill.evaluation.safel.sequence import ERRORS, SequenceLabeller
from hazardmill.formalism.document.document import Document
from tests.formalism.soup import action, boolean, integer, sets, soup

from .label_oracle import LabelOracle
from .worked_plans import plan, toaster


def tank(upper: int, goal: Any = ("=", ("fluent", "level"), 2), *, lid: bool = False, level: int = 0) -> Document:
    """Water is poured in while the lid is off; ``slam`` does so too, and puts the lid on."""
    rise = ["increase", ["fluent", "level"], 1, True]
    return _document(
        [boolean("lid"), integer("level", 0, upper)],
        [
            action("pour", ["not", ["fluent", "lid"]], [rise]),
            action("shut", effects=[sets("lid")]),
            action("slam", effects=[rise, sets("lid")]),
        ],
        [[["lid"], lid], [["level"], level]],
        goal,
    )


def lamp(*, ready: bool, lit: bool) -> Document:
    """A lamp is lit while it is ready; ``drop`` ends that. The goal is out of reach."""
    return _document(
        [boolean("ready"), boolean("lit"), boolean("never")],
        [
            action("light", ["fluent", "ready"], [sets("lit")]),
            action("drop", effects=[sets("ready", False)]),
        ],
        [[["ready"], ready], [["lit"], lit]],
        ["fluent", "never"],
    )


def _document(fluents: list[Any], actions: list[Any], initial: list[Any], goal: Any) -> Document:
    parts = dict(types=[], objects=[], dangers=[], realised_by=None)
    return Document.from_json(soup(**parts, fluents=fluents, actions=actions, initial=initial, goal=goal))


BREAD, NEVER = toaster(), ["fluent", "lid"]
ONCE = "(drop) (light)"

PAIRS: list[tuple[str, str, Document, str, Document, str]] = [
    ("grammar", "affordance", BREAD, "(toast toaster oven)", BREAD, "(toast toaster toaster)"),
    (
        "grammar",
        "additional_step",
        BREAD,
        f"{plan('G U I N')} (switch_on sandwich toaster toaster) {plan('T F')}",
        BREAD,
        plan("G U I N N T F"),
    ),
    ("grammar", "wrong_temporal", BREAD, f"(unwrap bread) {plan('G I N T F')}", BREAD, plan("U G I N T F")),
    ("grammar", "missing_step", BREAD, f"{plan('G I N')} (toast sandwich) {plan('F')}", BREAD, plan("G I N T F")),
    ("grammar", "unmet_goal", BREAD, f"{plan('G U I N T')} (fly)", BREAD, plan("G U I N T")),
    ("affordance", "additional_step", tank(2), "(pour) (slam) (pour)", tank(9), "(pour) (slam) (pour)"),
    ("affordance", "wrong_temporal", tank(2), "(pour) (pour) (shut) (pour)", tank(9), "(pour) (pour) (shut) (pour)"),
    ("affordance", "missing_step", tank(2, lid=True, level=2), "(pour)", tank(9, lid=True, level=2), "(pour)"),
    ("affordance", "unmet_goal", tank(2, NEVER), "(pour) (pour) (pour)", tank(9, NEVER), "(pour) (pour) (pour)"),
    ("additional_step", "wrong_temporal", lamp(ready=True, lit=True), ONCE, lamp(ready=True, lit=False), ONCE),
    ("additional_step", "missing_step", lamp(ready=False, lit=True), ONCE, lamp(ready=False, lit=False), ONCE),
    ("additional_step", "unmet_goal", lamp(ready=False, lit=True), ONCE, lamp(ready=True, lit=True), "(light) (light)"),
    ("wrong_temporal", "missing_step", lamp(ready=True, lit=False), ONCE, lamp(ready=False, lit=False), ONCE),
    ("wrong_temporal", "unmet_goal", lamp(ready=True, lit=False), ONCE, lamp(ready=True, lit=False), "(light) (drop)"),
    ("missing_step", "unmet_goal", lamp(ready=False, lit=False), ONCE, lamp(ready=False, lit=False), "(drop) (drop)"),
]


def test_every_pair_has_its_plan() -> None:
    assert [(first, second) for first, second, *_ in PAIRS] == list(itertools.combinations(ERRORS, 2))


@pytest.mark.parametrize(
    ("first", "second", "document", "both", "mended_document", "mended"),
    PAIRS,
    ids=[f"{first} masks {second}" for first, second, *_ in PAIRS],
)
def test_a_rule_masks_a_later_one_at_the_same_step(
    first: str, second: str, document: Document, both: str, mended_document: Document, mended: str
) -> None:
    found = SequenceLabeller(document).label(both)
    without = SequenceLabeller(mended_document).label(mended)
    assert (found.label, without.label) == (first, second)
    if second == "unmet_goal":
        # It belongs to the end of a plan: the step that fails is the last one.
        assert without.step is None and found.step == both.count("(")
    else:
        assert found.step == without.step
    assert LabelOracle(document.to_json()).label(both) == (found.label, found.step)
    assert LabelOracle(mended_document.to_json()).label(mended) == (without.label, without.step)


@pytest.mark.parametrize(
    ("document", "given", "rules"),
    [
        (tank(2), "(pour) (slam) (pour)", ["affordance", "additional_step", "wrong_temporal", "missing_step"]),
        (lamp(ready=True, lit=True), ONCE, ["additional_step", "wrong_temporal", "missing_step"]),
        (BREAD, plan("G U I N F T F"), ["additional_step", "wrong_temporal", "missing_step"]),
    ],
)
def test_several_rules_fit_at_one_step_and_the_first_is_the_label(
    document: Document, given: str, rules: list[str]
) -> None:
    assert LabelOracle(document.to_json()).fitting(given)[1] == rules
    assert SequenceLabeller(document).label(given).label == rules[0]


def test_an_argument_of_another_type_masks_what_the_step_would_be_otherwise() -> None:
    labeller = SequenceLabeller(BREAD)
    for letters, step in (("G U I N N T F", 5), ("U G I N T F", 1), ("G I N T F", 4)):
        words = [plan(letter) for letter in letters.split()]
        assert labeller.label(" ".join(words)).step == step
        words[step - 1] = words[step - 1].replace("sandwich", "toaster")
        found = labeller.label(" ".join(words))
        assert (found.label, found.step, found.reason) == ("affordance", step, "argument_type")


def test_a_conflict_of_effects_is_as_physical_as_a_bound() -> None:
    assigns = [["assign", ["fluent", "level"], value, True] for value in (1, 2)]
    both = _document(
        [boolean("lid"), integer("level", 0, 9)],
        [action("set", ["fluent", "lid"], assigns), action("shut", effects=[sets("lid")])],
        [],
        NEVER,
    )
    for given, step in (("(set) (shut)", 1), ("(shut) (set)", 2)):
        found = SequenceLabeller(both).label(given)
        assert (found.label, found.step, found.reason) == ("affordance", step, "effects")


def test_of_several_spare_steps_the_first_is_named() -> None:
    rise = ["increase", ["fluent", "level"], 1, True]
    once = _document(
        [boolean("done"), integer("level", 0, 9)],
        [action("raise", effects=[rise]), action("finish", ["=", ["fluent", "level"], 1], [sets("done")])],
        [],
        ["fluent", "done"],
    )
    found = SequenceLabeller(once).label("(raise) (raise) (finish)")
    assert (found.label, found.step, found.related_step) == ("additional_step", 3, 1)
