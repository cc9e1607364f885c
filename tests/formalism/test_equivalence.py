from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import astuple
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hazardmill.errors import DocumentError
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.document.expressions import freeze, iff, nnf
from hazardmill.formalism.proofs.equivalence import Distinction, SituationCounts, compare
from hazardmill.formalism.proofs.situations import universe
from hazardmill.formalism.semantics.transition_system import System
from tests.sizes import sized

from .bench import bench, bench_document
from .brute_universe import TooLarge, counts, shown, truths
from .oracle import plan_string
from .random_tasks import SETTINGS, Maker
from .soup import action, boolean

LAMP, GLOVES, WET, SPEED = (("fluent", name) for name in ("lamp", "gloves", "wet", "speed"))
HELD, SEALED, NEAR = ("fluent", "held", "?v"), ("fluent", "sealed", "?v"), ("fluent", "child_near", "?w")
CUP, JUG = ("same", "?v", "cup"), ("same", "?v", "jug")
PLACES, VESSELS, BOTTLES = (("?p", "place"),), (("?u", "vessel"),), (("?b", "bottle"),)
NEAR_P = ("fluent", "child_near", "?p")
WET_LAMP = ("and", WET, LAMP)


def no(part):
    return ("not", part)


EQUAL = {
    "and commutes": (("and", LAMP, WET), ("and", WET, LAMP)),
    "or commutes": (("or", LAMP, NEAR), ("or", NEAR, LAMP)),
    "De Morgan, and": (no(("and", LAMP, WET)), ("or", no(LAMP), no(WET))),
    "De Morgan, or": (no(("or", LAMP, NEAR)), ("and", no(LAMP), no(NEAR))),
    "nested and": (("and", LAMP, ("and", WET, GLOVES)), ("and", LAMP, WET, GLOVES)),
    "nested or": (("or", ("or", LAMP), ("or", WET, GLOVES)), ("or", LAMP, WET, GLOVES)),
    "double negation": (no(no(WET_LAMP)), WET_LAMP),
    "one operand": (("or", ("and", WET)), WET),
    "said twice": (("and", WET, LAMP, WET), WET_LAMP),
    "absorption": (("and", WET, ("or", WET, LAMP)), WET),
    "distribution": (
        ("and", LAMP, ("or", WET, GLOVES)),
        ("or", ("and", LAMP, WET), ("and", LAMP, GLOVES)),
    ),
    "implied by the precondition": (("and", HELD, LAMP), LAMP),
    "negation implied by the precondition": (("and", no(SEALED), WET), WET),
    "exists implied by the precondition": (("exists", VESSELS, ("fluent", "held", "?u")), True),
    "never the case": (("or", ("fluent", "broken", "?v"), WET), WET),
    "contradiction": (("and", LAMP, no(LAMP)), False),
    "imply": (("imply", WET, LAMP), ("or", no(WET), LAMP)),
    "contraposition": (("imply", WET, LAMP), ("imply", no(LAMP), no(WET))),
    "iff": (iff(WET, LAMP), ("or", WET_LAMP, ("and", no(WET), no(LAMP)))),
    "iff commutes": (iff(WET, LAMP), iff(LAMP, WET)),
    "swapped =": (("=", SPEED, 1), ("=", 1, SPEED)),
    "swapped <": (("<", SPEED, 2), (">", 2, SPEED)),
    "swapped >=": ((">=", SPEED, 1), ("<=", 1, SPEED)),
    "negated <": (no(("<", SPEED, 1)), (">=", SPEED, 1)),
    "negated =": (no(("=", SPEED, 1)), ("or", ("<", SPEED, 1), (">", SPEED, 1))),
    "integers": ((">", SPEED, 1), (">=", SPEED, 2)),
    "bounds": (("<", SPEED, 1), ("=", SPEED, 0)),
    "a sum": ((">", ("+", SPEED, 1), 2), ("=", ("-", SPEED, 1), 1)),
    "swapped objects": (("same", "?v", "cup"), ("same", "cup", "?v")),
    "the other object": (no(CUP), JUG),
    "unfolded exists": (
        ("exists", PLACES, NEAR_P),
        ("or", ("fluent", "child_near", "bench"), ("fluent", "child_near", "sink")),
    ),
    "unfolded forall": (
        ("forall", PLACES, NEAR_P),
        ("and", ("fluent", "child_near", "sink"), ("fluent", "child_near", "bench")),
    ),
    "negated quantifier": (no(("exists", PLACES, NEAR_P)), ("forall", PLACES, no(NEAR_P))),
    "one of a type": (("exists", BOTTLES, ("fluent", "held", "?b")), ("fluent", "held", "jug")),
}

# Left, right, precision, recall. U is a full product (bench.py), so the shares can be worked out by hand.
ONE_LITERAL_APART = {
    "one more": (("and", WET, LAMP), WET, 1, Fraction(1, 2)),
    "one less": (WET, ("and", WET, LAMP), Fraction(1, 2), 1),
    "one more of three": (("and", WET, LAMP, no(GLOVES)), ("and", WET, LAMP), 1, Fraction(1, 2)),
    "one more branch": (("or", WET, LAMP), WET, Fraction(2, 3), 1),
    "one branch less": (LAMP, ("or", LAMP, GLOVES), 1, Fraction(2, 3)),
    "negated": (LAMP, no(LAMP), 0, 0),
    "one negated": (("and", WET, GLOVES), ("and", WET, no(GLOVES)), 0, 0),
    "another fluent": (WET, NEAR, Fraction(1, 2), Fraction(1, 2)),
    "a constant for a parameter": (NEAR, ("fluent", "child_near", "bench"), Fraction(3, 4), Fraction(3, 4)),
    "another constant": (("fluent", "held", "cup"), ("fluent", "held", "jug"), Fraction(2, 3), Fraction(2, 3)),
    "another object": (CUP, JUG, 0, 0),
    "another number": (("=", SPEED, 1), ("=", SPEED, 2), 0, 0),
    "< for <=": (("<", SPEED, 1), ("<=", SPEED, 1), 1, Fraction(1, 2)),
    "> a lower number": ((">", SPEED, 0), (">", SPEED, 1), Fraction(1, 2), 1),
    "a looser bound in an and": (("and", WET, (">=", SPEED, 1)), ("and", WET, ("=", SPEED, 2)), Fraction(1, 2), 1),
    "exists for forall": (("exists", PLACES, NEAR_P), ("forall", PLACES, NEAR_P), Fraction(1, 3), 1),
    "the converse": (("imply", WET, LAMP), ("imply", LAMP, WET), Fraction(2, 3), Fraction(2, 3)),
    "or for and": (("or", WET, LAMP), ("and", WET, LAMP), Fraction(1, 3), 1),
    "always": (True, WET, Fraction(1, 2), 1),
    "never": (False, WET, None, 0),
    "against never": (WET, False, 0, None),
}


@pytest.mark.parametrize("left, right", EQUAL.values(), ids=EQUAL)
def test_equal_though_written_otherwise(left, right):
    for candidate, reference in ((left, right), (right, left)):
        found = compare(bench_document(), "pour", candidate, reference)
        assert (found.equal, found.first, found.flags) == (True, None, ())
        expected = counts(truths(bench(), "pour", left, right))
        assert found.counts == SituationCounts(*expected)
        assert expected[1] == expected[2] == 0
        assert found.precision == found.recall == (1.0 if expected[0] else None)


@pytest.mark.parametrize("left, right, precision, recall", ONE_LITERAL_APART.values(), ids=ONE_LITERAL_APART)
def test_one_literal_apart(left, right, precision, recall):
    found = compare(bench_document(), "pour", left, right)
    assert found.equal is False
    assert (found.precision, found.recall) == (
        None if precision is None else float(precision),
        None if recall is None else float(recall),
    )
    assert found.counts == SituationCounts(*counts(truths(bench(), "pour", left, right)))
    other = compare(bench_document(), "pour", right, left)
    assert (other.precision, other.recall) == (found.recall, found.precision)


def test_what_neither_reads_is_not_flipped():
    # 48 states, of which half suit each of the four ways to pour; twice as many for each context fluent that is read.
    for condition, read in ((LAMP, 0), (WET, 1), (NEAR, 2), (("or", WET, NEAR), 3)):
        found = compare(bench_document(), "pour", condition, True).counts
        assert found.both + found.left_only + found.right_only + found.neither == 4 * 24 * 2**read


def test_the_first_distinguishing_situation():
    found = compare(bench_document(), "pour", ("and", WET, no(LAMP)), WET)
    start = ("(child_near bench)", "(held cup)", "(lamp)", "(wet)", "(= (speed) 0)")
    assert found.first == Distinction(start, "(pour cup bench)", "right", ())
    # Only in the opposite circumstances does it show.
    found = compare(bench_document(), "pour", ("or", WET, LAMP), ("or", WET, ("and", LAMP, NEAR), ("and", LAMP, WET)))
    state = ("(child_near bench)", "(held cup)", "(lamp)", "(= (speed) 0)")
    assert found.first == Distinction(state, "(pour cup sink)", "left", ("(wet)",))


def test_json_lists_are_conditions_too():
    found = compare(System(bench_document()), "pour", ["and", ["fluent", "wet"]], ["not", ["not", ["fluent", "wet"]]])
    assert found.equal
    told = json.loads(json.dumps(compare(bench_document(), "pour", ["fluent", "wet"], True).to_json()))
    assert (told["equal"], told["precision"], told["recall"]) == (False, 1.0, 0.5)
    assert told["counts"] == {"both": 96, "left_only": 0, "right_only": 96, "neither": 0}
    assert told["first"]["flipped"] == ["(wet)"] and told["first"]["holds"] == "right"


@pytest.mark.parametrize(
    "name, left, right, message",
    [
        ("spill", True, True, "action 'spill' is not declared"),
        ("pour", ("fluent", "wett"), True, "the left condition of pour: fluent 'wett' is not declared"),
        ("pour", True, ("fluent", "held", "?x"), "the right condition of pour: parameter '.x' is not declared"),
        ("pour", True, ("fluent", "held", "bench"), "the right condition of pour: held needs type vessel for .v"),
        ("pour", SPEED, True, "is an integer, but a condition is wanted"),
        ("pour", True, "wet", "the right condition of pour: wanted a condition"),
        ("pour", None, True, "the left condition of pour: wanted a condition"),
        ("pour", ["xor", LAMP, WET], True, "is not an operator for conditions"),
        ("pour", ["exists", [["?v", "vessel"]], True], True, "is in use already"),
    ],
)
def test_a_condition_that_does_not_fit(name, left, right, message):
    with pytest.raises(DocumentError, match=message):
        compare(bench_document(), name, left, right)


def test_conditions_nested_beyond_all_measure():
    deep = LAMP
    for _ in range(100_000):
        deep = ("not", deep)
    with pytest.raises(DocumentError, match="nested"):
        compare(bench_document(), "pour", deep, True)


def test_past_the_limit_nothing_is_said():
    for limit in (0, 1, 47, 70):
        found = compare(bench_document(), "pour", WET, WET, limit)
        assert (found.equal, found.precision, found.recall, found.counts, found.first) == (None,) * 5
        assert found.flags == ("limit",)
    # 48 states are to be seen; comparing the conditions in each of their copies counts as work, too.
    assert compare(bench_document(), "pour", WET, WET, 71).equal
    # A difference that was seen by then is one, all the same.
    found = compare(bench_document(), "pour", LAMP, no(LAMP), 47)
    assert found.equal is None and found.first.action == "(pour cup bench)"


def test_what_is_too_large_to_be_ground(monkeypatch):
    variables = tuple((f"?x{i}", "object") for i in range(4))
    wide = ("forall", variables, ("or", NEAR, CUP))
    assert compare(bench_document(), "pour", wide, ("or", NEAR, CUP)).equal
    monkeypatch.setattr("hazardmill.formalism.semantics.ground_size.MOST_PARTS", 500)
    # Comparing many conditions on one system does not use anything up.
    system = System(bench_document())
    for _ in range(50):
        assert compare(system, "pour", ("or", NEAR, CUP), ("or", CUP, NEAR)).equal
    found = compare(system, "pour", wide, True)
    assert (found.equal, found.counts, found.first, found.flags) == (None, None, None, ("limit",))
    monkeypatch.setattr("hazardmill.formalism.semantics.ground_size.MOST_ACTIONS", 5)
    assert compare(bench_document(), "pour", LAMP, LAMP).flags == ("limit",)


def test_over_eight_context_fluents_are_flipped_one_at_a_time():
    # Every assignment of the eight, 2^8; of nine, none and one at a time.
    for size, situations, flags in ((8, 256, ()), (9, 10, ("single_flips",))):
        names = [f"c{i}" for i in range(size)]
        task = bench(actions=[action("act")], realised_by=None)
        task["fluents"] += [boolean(name, "context") for name in names]
        document = Document.from_json(task)
        every = ("and", *(("fluent", name) for name in names))
        some = ("or", *(("fluent", name) for name in names))
        found = compare(document, "act", some, every)
        assert found.counts == (SituationCounts(1, 254, 0, 1) if size == 8 else SituationCounts(0, 9, 0, 1))
        assert found.flags == flags
        assert sum(astuple(found.counts)) == situations
        assert compare(document, "act", some, every, 0).flags == (*flags, "limit")


def test_an_action_that_is_never_possible():
    task = bench()
    task["actions"].append(action("never", ["fluent", "broken", "cup"]))
    found = compare(Document.from_json(task), "never", LAMP, no(LAMP))
    assert (found.equal, found.precision, found.recall, found.counts) == (True, None, None, SituationCounts(0, 0, 0, 0))


_PROGRAM = """
import json, sys
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.proofs.equivalence import compare
from hazardmill.formalism.proofs.redundancy import redundant_literals
task, pairs = json.load(sys.stdin)
document = Document.from_json(task)
said = [compare(document, "pour", left, right).to_json() for left, right in pairs]
print(json.dumps([said, [each.to_json() for each in redundant_literals(document)]]))
"""


def test_the_same_under_every_hash_seed():
    pairs = [pair[:2] for pair in (*EQUAL.values(), *ONE_LITERAL_APART.values())]
    # A context that decides what is possible makes every start one to explore.
    task = bench([["and", WET, HELD], ["or", NEAR, LAMP, WET]])
    task["actions"].append(action("knock", ["fluent", "child_near", "sink"], [["assign", LAMP, True, WET]]))
    given_ = json.dumps([task, pairs])
    said = set()
    for seed in ("0", "1", "4242"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", _PROGRAM], input=given_, capture_output=True, text=True, check=True, env=environment
        )
        said.add(done.stdout)
    assert len(said) == 1


@st.composite
def cases(draw):
    """A small task, one of its actions, and two conditions over it; context may be read or written by actions."""
    maker = Maker(draw, finite=True)
    task = maker.task()
    if maker.chance(3):
        # A fluent that effects write.
        next(fluent for fluent in task["fluents"] if fluent["name"] == "at")["kind"] = "context"
    chosen = maker.one(task["actions"])
    if not maker.chance(3):
        # Else U is empty more often than not.
        chosen["precondition"] = True
    left = maker.condition(chosen["parameters"], 2)
    right = maker.condition(chosen["parameters"], 2)
    if maker.chance(2):
        right = ["and" if maker.chance(2) else "or", left, right]
    return task, chosen["name"], left, right


@pytest.mark.parametrize("examples", [sized(50, 150)])
def test_laws(examples):
    met = set()

    @settings(SETTINGS, max_examples=examples)
    @given(cases())
    def check(case):
        task, name, left, right = case
        document, expr = Document.from_json(task), freeze(left)
        for same in (left, nnf(expr), no(no(expr)), ("and", expr, True), ("or", False, expr)):
            found = compare(document, name, left, same, 2_000)
            assert found.first is None
            assert found.equal is (None if "limit" in found.flags else True)
        if found.equal is None:
            return
        opposite = compare(document, name, left, no(expr), 2_000)
        empty = not sum(astuple(opposite.counts))
        assert opposite.equal == empty
        assert opposite.counts.both == opposite.counts.neither == 0
        one, other = (compare(document, name, *pair, 2_000) for pair in ((left, right), (right, left)))
        met.add((one.equal, empty, bool(one.flags)))
        if not one.flags and not other.flags:
            assert (one.precision, one.recall) == (other.recall, other.precision)
            assert (one.first is None) == one.equal

    check()
    assert {(True, False, False), (False, False, False), (True, True, False)} <= met


@pytest.mark.parametrize("examples", [sized(200, 300)])
def test_comparisons_equal_the_oracles(examples):
    tally = dict.fromkeys(("equal", "unequal", "empty", "flipped", "deciding", "large"), 0)

    @settings(SETTINGS, max_examples=examples)
    @given(cases())
    def check(case):
        task, name, left, right = case
        try:
            judged = truths(task, name, left, right)
        except TooLarge:
            tally["large"] += 1
            return
        found = compare(Document.from_json(task), name, left, right)
        expected = counts(judged)
        assert found.counts == SituationCounts(*expected)
        both, left_only, right_only, _ = expected
        assert found.equal == (left_only == right_only == 0)
        assert found.precision == (both / (both + left_only) if both + left_only else None)
        assert found.recall == (both / (both + right_only) if both + right_only else None)
        first = next((each for each in judged if each[1] != each[2]), None)
        if first is None:
            assert found.first is None
        else:
            (state, ground, _, flips), holds, _ = first
            assert found.first == Distinction(
                shown(task, state),
                plan_string([ground]),
                "left" if holds else "right",
                tuple(plan_string([(atom[0], atom[1:])]) for atom in flips),
            )
            tally["flipped"] += bool(flips)
        tally["equal" if found.equal else "unequal"] += 1
        tally["empty"] += not judged
        system = System(Document.from_json(task))
        tally["deciding"] += len(universe(system, name, (freeze(left), freeze(right))).starts) > 1

    check()
    print(tally)
    part = examples / 300
    assert tally["equal"] + tally["unequal"] >= 250 * part and tally["large"] <= 30 * part
    assert min(tally["equal"], tally["unequal"]) >= 80 * part and min(tally["flipped"], tally["empty"]) >= 20 * part
    assert tally["deciding"] >= 20 * part
