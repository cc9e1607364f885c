from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hazardmill.errors import SearchLimitReached
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.document.expressions import freeze
from hazardmill.formalism.proofs.situations import readable_state, universe
from hazardmill.formalism.search.budget import Effort
from hazardmill.formalism.semantics.transition_system import System
from tests.sizes import sized

from . import brute_universe
from .bench import bench, bench_document
from .brute_universe import TooLarge
from .oracle import plan_string
from .random_tasks import SETTINGS, Maker
from .soup import action, boolean, integer, soup_document

WET, NEAR, LAMP = ("fluent", "wet"), ("fluent", "child_near", "?w"), ("fluent", "lamp")
BENCH, SINK = ("child_near", "bench"), ("child_near", "sink")


def everything(system, area, limit=10_000):
    """U as texts: ``(state, action, flips)``."""
    actions = system.all_actions()
    effort = Effort(limit, len(actions))
    return [
        (readable_state(system, bits, numbers), act.text, flips)
        for bits, numbers, act, flips in area.situations(actions, effort)
    ]


def area_of(document, name, *conditions):
    system = System(document)
    return system, universe(system, name, conditions)


def test_a_state_is_readable_however_long_its_integers_are():
    system = System(soup_document(fluents__4=integer("n"), initial=[[["bowl_at", "kitchen"], True]]))
    for value, text in (
        (-3, "-3"),
        (2**127, str(2**127)),
        (3**20_000, "(about 2^31699)"),
        (-(2**128), "-(about 2^128)"),
    ):
        assert readable_state(system, system.initial.bits, (value,)) == ("(bowl_at kitchen)", f"(= (n) {text})")


def test_starts_come_with_few_flips_first():
    system, area = area_of(bench_document(), "pour", ("and", NEAR, WET, LAMP))
    assert area.context == (BENCH, SINK, ("wet",)) and not area.single_flips
    assert area.copies == (
        (),
        (BENCH,),
        (SINK,),
        (("wet",),),
        (BENCH, SINK),
        (BENCH, ("wet",)),
        (SINK, ("wet",)),
        (BENCH, SINK, ("wet",)),
    )
    # Nothing that decides what is possible reads the context: one start is explored for all.
    assert area.starts == ((),)
    found = everything(system, area)
    assert len(found) == len(set(found)) == 96 * 8
    assert [flips for *_, flips in found[::96]] == list(area.copies)
    # The first state in which something is held is the first in which something can be poured.
    assert found[:2] == [
        (("(child_near bench)", "(held cup)", "(wet)", "(= (speed) 0)"), "(pour cup bench)", ()),
        (("(child_near bench)", "(held cup)", "(wet)", "(= (speed) 0)"), "(pour cup sink)", ()),
    ]


@pytest.mark.parametrize(
    "condition, context",
    [
        (LAMP, ()),
        (True, ()),
        (("fluent", "child_near", "sink"), (SINK,)),
        (NEAR, (BENCH, SINK)),
        (("and", ("same", "?w", "sink"), NEAR), (BENCH, SINK)),
        (("exists", (("?p", "place"),), ("fluent", "child_near", "?p")), (BENCH, SINK)),
        # Over a type without objects nothing is read.
        (("exists", (("?n", "nothing"),), NEAR), ()),
        (("or", ("not", WET), False), (("wet",),)),
    ],
)
def test_the_context_that_is_read(condition, context):
    task = bench()
    task["types"].append(["nothing", "object"])
    _, area = area_of(Document.from_json(task), "pour", condition)
    assert area.context == context
    _, area = area_of(Document.from_json(task), "pour", LAMP, condition)
    assert area.context == context
    assert len(area.copies) == 2 ** len(context)


def test_context_is_read_under_bindings_that_are_never_possible():
    task = bench()
    task["actions"].append(action("wipe", ["same", "?w", "sink"], [], [["?w", "place"]]))
    _, area = area_of(Document.from_json(task), "wipe", NEAR)
    assert area.context == (BENCH, SINK)


@pytest.mark.parametrize(
    "changed",
    [
        action("knock", ["fluent", "wet"]),
        action("knock", True, [["assign", ["fluent", "lamp"], True, ["fluent", "wet"]]]),
        action("knock", True, [["assign", ["fluent", "wet"], True, True]]),
    ],
    ids=["precondition", "effect's condition", "effect"],
)
def test_context_that_decides_is_explored_from_every_start(changed):
    task = bench()
    task["actions"].append(changed)
    system, area = area_of(Document.from_json(task), "pour", WET)
    assert (area.starts, area.copies) == (((), (("wet",),)), ((),))
    # The decision goes by what is read: (child_near ?w) still decides nothing.
    assert universe(system, "pour", (NEAR,)).starts == ((),)
    found = everything(system, area)
    assert len({(state, act) for state, act, _ in found}) == len(found) == 192


def test_over_eight_context_fluents():
    for size in (8, 9):
        task = bench()
        names = [f"c{i}" for i in range(size)]
        task["fluents"] += [boolean(name, "context") for name in names]
        _, area = area_of(Document.from_json(task), "pour", ("and", *(("fluent", name) for name in names)))
        assert len(area.context) == size
        assert area.single_flips == (size == 9)
        assert len(area.copies) == (256 if size == 8 else 10)


def test_a_limit_ends_it():
    system, area = area_of(bench_document(), "pour", WET)
    assert len(everything(system, area, 48)) == 192
    for limit in (0, 1, 47):
        with pytest.raises(SearchLimitReached):
            everything(system, area, limit)


def test_more_context_than_can_be_listed(monkeypatch):
    monkeypatch.setattr("hazardmill.formalism.proofs.situations.MOST_READ", 1)
    with pytest.raises(SearchLimitReached, match="depend on more than 1 ground context fluents"):
        universe(System(bench_document()), "pour", (NEAR,))


@st.composite
def cases(draw):
    """A small task, one of its actions and a condition over it."""
    maker = Maker(draw, finite=True)
    task = maker.task()
    if maker.chance(4):
        # A fluent that effects write.
        next(fluent for fluent in task["fluents"] if fluent["name"] == "at")["kind"] = "context"
    chosen = maker.one(task["actions"])
    if maker.chance(2):
        chosen["precondition"] = True
    condition = maker.condition(chosen["parameters"], 2)
    return task, chosen["name"], ["or", ["fluent", "hot"], condition] if maker.chance(2) else condition


@pytest.mark.parametrize("examples", [sized(100, 300)])
def test_situations_equal_the_oracles(examples):
    tally = Counter()

    @settings(SETTINGS, max_examples=examples)
    @given(cases())
    def check(case):
        task, name, condition = case
        try:
            expected, single = brute_universe.situations(task, name, (condition,))
        except TooLarge:
            tally["large"] += 1
            return
        system, area = area_of(Document.from_json(task), name, freeze(condition))
        assert area.single_flips == single
        found = everything(system, area, 1_000_000)
        assert found == [
            (brute_universe.shown(task, state), plan_string([ground]), flips) for state, ground, _, flips in expected
        ]
        if len(area.copies) > 1:
            # One start explored for all, or each explored: the same.
            slow = replace(area, starts=area.copies, copies=area.starts)
            assert everything(system, slow, 1_000_000) == found
        tally["copied" if len(area.copies) > 1 else "explored" if len(area.starts) > 1 else "no context"] += 1
        tally["empty"] += not found

    check()
    print(tally)
    assert min(tally["copied"], tally["explored"], tally["no context"]) >= examples / 10
    assert tally["large"] <= examples / 10 and tally["empty"] <= examples / 2
