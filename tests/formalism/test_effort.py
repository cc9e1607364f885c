"""A search refuses early: by expansions, by actions tried, by states kept."""

import pytest

from hazardmill.errors import SearchLimitReached
from hazardmill.formalism.document.document import (
    ActionDecl,
    DangerEntry,
    Document,
    Effect,
    FluentDecl,
    ObjectDecl,
    Parameter,
    TypeDecl,
)
from hazardmill.formalism.document.expressions import Expr
from hazardmill.formalism.search.budget import TRIES, Effort
from hazardmill.formalism.search.exact import applicable_actions, attempt_to_solve, solve
from hazardmill.formalism.semantics.transition_system import System


def wide(things: int) -> Document:
    """Every pair of things can be put in relation, in any order; the danger never fires, so all must be seen."""
    pair = (Parameter("?a", "thing"), Parameter("?b", "thing"))
    on = ("fluent", "on", "?a", "?b")
    impossible = ("and", ("fluent", "done"), ("not", ("fluent", "done")))
    return Document.of(
        types=[TypeDecl("thing")],
        objects=[ObjectDecl(f"thing_{i}", "thing") for i in range(things)],
        fluents=[FluentDecl("on", pair), FluentDecl("done"), FluentDecl("never")],
        actions=[
            ActionDecl("relate", pair, ("not", on), (Effect("assign", on, True),)),
            ActionDecl("finish", (), True, (Effect("assign", ("fluent", "done"), True),)),
            ActionDecl("dead", (), ("fluent", "never"), (Effect("assign", ("fluent", "done"), True),)),
        ],
        goal=("fluent", "done"),
        dangers=[DangerEntry("finish", impossible)],
    )


def test_a_task_of_many_actions_is_refused_long_before_its_states_are_all_seen():
    with pytest.raises(SearchLimitReached, match=r"states|trying"):
        solve(wide(20), limit=2_000)
    assert applicable_actions(System(wide(20)), limit=2_000) == ({"relate", "finish"}, False)


def test_a_small_task_of_the_same_kind_is_decided():
    solution = solve(wide(3), limit=2_000)
    assert solution.unsafe is None and solution.safe_text == "(finish)"
    assert applicable_actions(System(wide(3)), limit=2_000) == ({"relate", "finish"}, True)


@pytest.mark.parametrize(
    ("width", "kept", "allowed", "words"),
    [(1, 0, 10, "10 expansions"), (100, 0, 2, "trying 200 actions in 2 states"), (1, 10_001, 0, "10,001 states")],
)
def test_each_bound_refuses_by_itself(width, kept, allowed, words):
    effort = Effort(10, width)
    for _ in range(allowed):
        effort.expand(kept)
    with pytest.raises(SearchLimitReached, match=words):
        effort.expand(kept)
    assert effort.expanded == allowed and effort.tried <= 10 * TRIES


def test_a_state_that_was_expanded_before_costs_no_tries():
    effort = Effort(10, 1000)
    effort.expand(0)
    for _ in range(9):
        effort.revisit(0)
    assert (effort.expanded, effort.tried) == (10, 1000)
    with pytest.raises(SearchLimitReached, match="10 expansions"):
        effort.revisit(0)
    with pytest.raises(SearchLimitReached, match="10,001 states"):
        Effort(10, 1).revisit(10_001)


def test_time_is_a_limit_only_where_it_was_given():
    effort = Effort(1_000, 1, timeout_s=-1.0)
    with pytest.raises(SearchLimitReached, match="in the time that was given"):
        effort.expand(0)
    assert effort.timed_out
    patient = Effort(1_000, 1, timeout_s=3600.0)
    patient.expand(0)
    assert not patient.timed_out


def test_a_wide_task_ends_in_time_while_it_is_ground_and_while_it_is_searched():
    for seconds in (0.0, 0.05):
        attempt = attempt_to_solve(wide(60), timeout_s=seconds)
        assert attempt.timed_out and attempt.refusal is not None


def counting(things: int, goal: Expr = ("fluent", "done")) -> Document:
    """Each thing has a level that can be raised without end, and a switch; the goal is never reached."""
    one = (Parameter("?a", "object"),)
    level, on = ("fluent", "level", "?a"), ("fluent", "on", "?a")
    return Document.of(
        objects=[ObjectDecl(f"o{i}", "object") for i in range(things)],
        fluents=[FluentDecl("done"), FluentDecl("on", one), FluentDecl("level", one, integer=True)],
        actions=[
            ActionDecl("flip", one, True, (Effect("assign", on, True, ("not", on)),)),
            ActionDecl("raise", one, True, (Effect("increase", level, 1),)),
            ActionDecl("switch", one, ("not", on), (Effect("assign", on, True),)),
        ],
        goal=goal,
        dangers=[DangerEntry("switch", ("fluent", "done"))],
    )


def test_an_action_counts_for_as_many_plain_ones_as_can_be_tried_in_its_time():
    system = System(counting(2))
    work = {action.name: action.work for action in system.all_actions()}
    assert work == {"switch": 1, "flip": 4, "raise": 7}
    with pytest.raises(SearchLimitReached, match="24 per state"):
        solve(counting(2), limit=2_000)


def test_looking_at_a_large_goal_counts_in_every_state():
    every: Expr = ("fluent", "done")
    for name in ("?x", "?y", "?z"):
        every = ("forall", ((name, "object"),), ("or", every, ("fluent", "on", name)))
    small = attempt_to_solve(counting(12), 2_000)
    large = attempt_to_solve(counting(12, ("and", ("fluent", "done"), ("not", every))), 2_000)
    assert small.refusal is not None and large.refusal is not None
    assert 0 < large.expanded < small.expanded / 4
