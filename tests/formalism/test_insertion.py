"""The fewest insertions that make a plan feasible. ``tests/evaluation/safel`` compares them with brute force."""

from __future__ import annotations

import pytest

from hazardmill.errors import SearchLimitReached
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.repair.insertion import InsertedStep, shortest_insertion
from hazardmill.formalism.repair.repair import repair_plan
from hazardmill.formalism.semantics.transition_system import System

from .soup import action, boolean, danger, integer, sets, soup, soup_document


def task(*fluents, **parts):
    declared = [boolean(fluent) if isinstance(fluent, str) else fluent for fluent in fluents]
    return Document.from_json(
        soup(types=[], objects=[], initial=[], **{"dangers": [], "realised_by": None, **parts}, fluents=declared)
    )


def chain(length):
    """Each action needs what the one before it gives, and none can be done twice."""
    steps = [
        action(
            f"s{place}",
            ["and", *([["fluent", f"p{place}"]] if place else []), ["not", ["fluent", f"p{place + 1}"]]],
            [sets(f"p{place + 1}")],
        )
        for place in range(length)
    ]
    return task(*(f"p{place}" for place in range(length + 1)), actions=steps, goal=["fluent", f"p{length}"])


@pytest.mark.parametrize(
    ("plan", "inserted"),
    [
        ("(s0) (s1) (s2) (s3)", []),
        ("(s1) (s3)", [(1, "(s0)"), (2, "(s2)")]),
        ("(s0)", [(2, "(s1)"), (2, "(s2)"), (2, "(s3)")]),
        ("", [(1, "(s0)"), (1, "(s1)"), (1, "(s2)"), (1, "(s3)")]),
    ],
)
def test_what_is_missing_is_inserted_where_it_is_needed(plan, inserted):
    found = shortest_insertion(System(chain(4)), plan)
    assert found.steps == tuple(InsertedStep(place, step) for place, step in inserted)
    assert found.plan == "(s0) (s1) (s2) (s3)"


@pytest.mark.parametrize("plan", ["(s1) (s0)", "(s0) (s0)", "(s0) (fly)", "(s0) (s1 s2)"])
def test_none_is_a_proof_even_where_deleting_a_step_would_do(plan):
    assert shortest_insertion(chain(4), plan) is None
    assert repair_plan(chain(4), plan, "feasible").plan is not None


def test_steps_are_kept_as_long_as_possible_and_the_first_action_wins():
    makers = [action(name, effects=[sets("p")]) for name in ("make", "craft")]
    wanted = task("p", actions=[action("go"), *makers], goal=["fluent", "p"])
    assert shortest_insertion(wanted, "(go) (go)").steps == (InsertedStep(3, "(craft)"),)


def test_danger_plays_no_part_even_where_it_falls():
    for increment in (5, -1):
        dangers = [danger("carry", True, increment)]
        assert shortest_insertion(soup_document(dangers=dangers), "").plan == "(carry kitchen table)"


def test_beyond_the_limit_nothing_is_known():
    endless = [action("up", effects=[["increase", ["fluent", "n"], 1, True]])]
    with pytest.raises(SearchLimitReached):
        shortest_insertion(task("a", integer("n"), actions=endless, goal=["fluent", "a"]), "", limit=500)
