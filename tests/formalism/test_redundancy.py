from __future__ import annotations

import itertools
import json
from collections import Counter
from dataclasses import astuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hazardmill.formalism.document.document import Document
from hazardmill.formalism.document.expressions import freeze, iff, is_literal, nnf, render
from hazardmill.formalism.formats.pddl.reader import read_pddl
from hazardmill.formalism.proofs.redundancy import Redundant, redundant_literals
from hazardmill.formalism.semantics.transition_system import System

from .bench import bench, bench_document
from .brute_universe import TooLarge, situations
from .oracle import Oracle
from .random_tasks import SETTINGS, Maker
from .soup import action, boolean, danger, soup_document

LAMP, GLOVES, WET, LATE, SPEED = (("fluent", name) for name in ("lamp", "gloves", "wet", "late", "speed"))
HELD, SEALED, BROKEN = (("fluent", name, "?v") for name in ("held", "sealed", "broken"))
NEAR = ("fluent", "child_near", "?w")
VESSELS, PLACES = (("?u", "vessel"),), (("?p", "place"),)
HELD_U, BROKEN_U, NEAR_P = ("fluent", "held", "?u"), ("fluent", "broken", "?u"), ("fluent", "child_near", "?p")


def no(part):
    return ("not", part)


# Condition of pour, and the literals of its negation normal form that matter nowhere, by path.
CASES = {
    "every one matters": (("and", WET, no(LAMP)), {}),
    "every one matters in an or": (("or", WET, ("and", NEAR, GLOVES)), {}),
    "implied by the precondition": (("and", HELD, WET), {(1,): "(held ?v)"}),
    "negation implied by the precondition": (("and", WET, no(SEALED)), {(2,): "(not (sealed ?v))"}),
    "false by the precondition, in an or": (("or", WET, SEALED), {(2,): "(sealed ?v)"}),
    "never so": (("or", BROKEN, WET), {(1,): "(broken ?v)"}),
    "always so": (("and", no(BROKEN), WET), {(1,): "(not (broken ?v))"}),
    "of two that say the same, both": (("and", WET, LAMP, WET), {(1,): "(wet)", (3,): "(wet)"}),
    "absorbed": (("and", WET, ("or", WET, LAMP)), {(2, 2): "(lamp)"}),
    "with its opposite": (("or", LAMP, ("and", no(LAMP), WET)), {(2, 1): "(not (lamp))"}),
    "a lone literal that matters": (WET, {}),
    "a lone literal that is always so": (HELD, {(): "(held ?v)"}),
    # Its neutral element is true, which makes a difference everywhere.
    "a lone literal that is never so": (BROKEN, {}),
    "a constant is no literal": (True, {}),
    "nor is one among others": (("and", WET, True), {}),
    "nothing can happen": (False, {}),
    "an empty conjunction": (("and",), {}),
    "under a negation": (no(("or", LAMP, SEALED)), {(2,): "(not (sealed ?v))"}),
    "in an implication": (("imply", HELD, WET), {(1,): "(not (held ?v))"}),
    "both ways": (iff(WET, LAMP), {}),
    "both ways with what is so": (
        iff(HELD, WET),
        {(1, 1): "(not (held ?v))", (2, 1): "(not (wet))"},
    ),
    "a bound that is no limit": (("and", WET, ("<=", SPEED, 2)), {(2,): "(<= (speed) 2)"}),
    "a comparison that matters": (("and", WET, ("<", SPEED, 2)), {}),
    "a weaker comparison beside a stronger": (
        ("and", (">", SPEED, 1), no(("=", SPEED, 0))),
        {(2,): "(not (= (speed) 0))"},
    ),
    "the type says so": (("and", WET, no(("same", "?w", "cup"))), {(2,): "(not (= ?w cup))"}),
    "the object matters": (("and", WET, ("same", "?v", "cup")), {}),
    "some object": (("exists", PLACES, NEAR_P), {}),
    "some object, always": (("exists", VESSELS, HELD_U), {(2,): "(held ?u)"}),
    "some object, always, in an and": (("and", WET, ("exists", VESSELS, HELD_U)), {(2, 2): "(held ?u)"}),
    "some object, never, in an or": (("or", WET, ("exists", VESSELS, BROKEN_U)), {(2, 2): "(broken ?u)"}),
    "every object, never, in an or": (("or", WET, ("forall", VESSELS, BROKEN_U)), {(2, 2): "(broken ?u)"}),
    "every object": (("forall", PLACES, NEAR_P), {}),
    "every object, always": (("forall", VESSELS, no(BROKEN_U)), {(2,): "(not (broken ?u))"}),
    "one of them is the parameter": (("exists", VESSELS, ("and", HELD_U, WET)), {(2, 1): "(held ?u)"}),
    "inside a quantifier": (("forall", PLACES, ("imply", NEAR_P, ("and", LAMP, HELD))), {(2, 2, 2): "(held ?v)"}),
    "true for one instance only": (("or", NEAR, ("fluent", "child_near", "bench")), {}),
}


@pytest.mark.parametrize("condition, expected", CASES.values(), ids=CASES)
def test_literals(condition, expected):
    (found,) = redundant_literals(bench_document([condition]))
    assert {each.path: each.literal for each in found.redundant} == expected
    assert (found.entry, found.flags) == (0, ())
    assert brute(bench([condition]), freeze(condition)) == set(expected)


def test_what_is_said_of_one():
    document = bench_document([("or", LAMP, ("and", WET, no(SEALED))), ("or", SEALED, WET), ("exists", PLACES, NEAR_P)])
    told = [each.redundant for each in redundant_literals(System(document))]
    # Entries in the order of the document: sorted by canonical JSON.
    assert told == [
        (),
        (Redundant(1, "pour", (2, 2), "(not (sealed ?v))", "and", "(or (lamp) (and (wet) true))"),),
        (Redundant(2, "pour", (1,), "(sealed ?v)", "or", "(or false (wet))"),),
    ]
    assert [entry.condition[0] for entry in document.dangers] == ["exists", "or", "or"]
    (one,) = redundant_literals(bench_document([HELD]))
    assert json.loads(json.dumps(one.to_json()))["redundant"] == [
        {"entry": 0, "action": "pour", "path": [], "literal": "(held ?v)", "connective": "and", "replaced": "true"}
    ]


def test_a_literal_counts_wherever_one_of_the_instances_reads_it():
    # (held jug) matters to pouring the cup, not to pouring the jug.
    (found,) = redundant_literals(bench_document([("and", WET, ("fluent", "held", "jug"))]))
    assert found.redundant == ()


def test_context_is_flipped_only_where_the_condition_reads_it():
    # (late) is false and nothing changes it: a condition that reads it sees both.
    task = bench([("and", WET, no(LATE)), ("or", WET, NEAR)])
    assert [each.redundant for each in redundant_literals(Document.from_json(task))] == [(), ()]
    # As a normal fluent it would be false for ever.
    fluents = [{**fluent, "kind": "normal"} if fluent["name"] == "late" else fluent for fluent in task["fluents"]]
    first, _ = redundant_literals(Document.from_json({**task, "fluents": fluents}))
    assert [each.literal for each in first.redundant] == ["(not (late))"]


def test_context_that_decides_what_is_possible():
    # Only where it is wet can the lamp be switched on: that states differ by more than (wet) is found by exploring.
    task = bench([("or", WET, LAMP), ("and", LAMP, WET)], initial=[])
    task["actions"] = [
        action("switch", WET, [["assign", LAMP, True, True]]),
        action("pour", True, [], [["?v", "vessel"], ["?w", "place"]]),
    ]
    both, either = redundant_literals(Document.from_json(task))
    assert [each.literal for each in both.redundant] == ["(wet)"]
    assert [each.literal for each in either.redundant] == ["(lamp)"]


def test_an_action_that_is_never_possible():
    task = bench()
    task["actions"].append(action("never", ["fluent", "broken", "cup"]))
    task["dangers"] = [danger("never", ["and", LAMP, WET]), danger("pour", WET), danger("never", True)]
    found = redundant_literals(Document.from_json(task))
    assert [(each.flags, len(each.redundant)) for each in found] == [(("empty",), 2), ((), 0), ((), 0)]


def test_past_the_limit_an_entry_is_undecided_unless_each_literal_was_seen_to_matter():
    document = bench_document([("and", WET, HELD), ("and", WET, NEAR), True])
    found = redundant_literals(document, 10)
    decided = {render(entry.condition): astuple(each)[1:] for entry, each in zip(document.dangers, found, strict=True)}
    assert decided == {
        "(and (wet) (held ?v))": (None, ("limit",)),
        "(and (wet) (child_near ?w))": ((), ()),
        "true": ((), ()),
    }
    assert [each.redundant is None for each in redundant_literals(document, 73)] == [False] * 3
    assert [each.flags for each in redundant_literals(document, 0)].count(("limit",)) == 2


def test_a_task_too_wide_to_be_ground(monkeypatch):
    monkeypatch.setattr("hazardmill.formalism.semantics.ground_size.MOST_ACTIONS", 5)
    (found,) = redundant_literals(bench_document([WET]))
    assert (found.redundant, found.flags) == (None, ("limit",))


def test_over_eight_context_fluents_are_flipped_one_at_a_time():
    names = [f"c{i}" for i in range(9)]
    task = bench([("or", *(("fluent", name) for name in names)), ("and", *(("fluent", name) for name in names[:8]))])
    task["fluents"] += [boolean(name, "context") for name in names]
    every, some = redundant_literals(Document.from_json(task))
    assert (some.redundant, some.flags) == ((), ("single_flips",))
    assert (every.redundant, every.flags) == ((), ())
    # All false at the start: one flip at a time never makes nine true, so that no literal of an "and" of nine matters.
    task["dangers"] = [danger("pour", ["and", *(["fluent", name] for name in names)])]
    (found,) = redundant_literals(Document.from_json(task))
    assert (len(found.redundant), found.flags) == (9, ("single_flips",))


def test_the_soup_has_none():
    (found,) = redundant_literals(soup_document())
    assert (found.redundant, found.flags) == ((), ())


@pytest.mark.parametrize(
    "name, literals",
    [
        ("neiss_11125", []),
        ("neiss_2888", []),
        # Its action's precondition says both.
        ("normbank_14564", ["(food_needs_seasoning dish)", "(food_at dish prep_station)"]),
    ],
)
def test_reference_tasks(reference, name, literals):
    folder = reference / "verdicts" / name
    (found,) = redundant_literals(read_pddl(folder / "domain.pddl", folder / "problem.pddl", folder / "dangers.json"))
    assert [each.literal for each in found.redundant] == literals


# The naive oracle on random tasks.


def places(expr, path=(), neutral=True):
    """The literals' paths, and the neutral elements."""
    if isinstance(expr, bool):
        return
    if is_literal(expr):
        yield path, neutral
    elif expr[0] in ("and", "or"):
        for i in range(1, len(expr)):
            yield from places(expr[i], (*path, i), expr[0] == "and")
    else:
        yield from places(expr[2], (*path, 2), neutral)


def put(expr, path, by):
    if not path:
        return by
    return tuple(put(part, path[1:], by) if i == path[0] else part for i, part in enumerate(expr))


def brute(task, condition, name="pour"):
    """The paths of the redundant literals: each replaced in turn, and both read in every situation."""
    oracle = Oracle(task)
    form = nnf(condition)
    found, _ = situations(task, name, (condition,))
    return {
        path
        for path, neutral in places(form)
        if all(
            oracle.holds(form, env, state) == oracle.holds(put(form, path, neutral), env, state)
            for state, _, env, _ in found
        )
    }


@st.composite
def endangered(draw):
    maker = Maker(draw, finite=True)
    task = maker.task()
    if maker.chance(3):
        next(fluent for fluent in task["fluents"] if fluent["name"] == "at")["kind"] = "context"
    for each in task["actions"]:
        if not maker.chance(3):
            # Else U is empty more often than not.
            each["precondition"] = True
    return task


@pytest.mark.full
def test_redundant_literals_equal_the_oracles():
    tally = Counter()

    @settings(
        SETTINGS,
        max_examples=300,
    )
    @given(endangered())
    def check(task):
        document = Document.from_json(task)
        for each, entry in zip(redundant_literals(document), document.dangers, strict=True):
            try:
                expected = brute(task, entry.condition, entry.action)
            except TooLarge:
                tally["large"] += 1
                continue
            assert {one.path for one in each.redundant} == expected
            form = nnf(entry.condition)
            assert [one.path for one in each.redundant] == [path for path, _ in places(form) if path in expected]
            for one, (path, neutral) in itertools.product(each.redundant, places(form)):
                if one.path == path:
                    assert one.replaced == render(put(form, path, neutral))
            tally["some" if expected else "none"] += 1
            tally["literals"] += len(list(places(form)))
            tally["redundant"] += len(expected)
            tally["empty"] += "empty" in each.flags
            tally["quantified"] += "forall" in str(form) or "exists" in str(form)

    check()
    print(tally)
    assert tally["some"] + tally["none"] >= 400 and tally["large"] <= 40
    assert min(tally["some"], tally["none"], tally["quantified"]) >= 100
    assert tally["literals"] - tally["redundant"] >= 200
