"""Exact search where danger can fall: against two naive searches, and by hand."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hazardmill.errors import SearchLimitReached
from hazardmill.formalism.document.document import ActionDecl, DangerEntry, Document, Effect, FluentDecl
from hazardmill.formalism.search.exact import attempt_to_solve, solve
from hazardmill.formalism.semantics.plan_validator import PlanValidator
from hazardmill.formalism.semantics.transition_system import System
from tests.sizes import sized

from .oracle import Oracle, plan_string
from .random_tasks import SETTINGS, tasks

AT = ("fluent", "at")


def graph(edges, start=0, most=0, goals=(0,), lower=0, upper=9):
    """A task whose states are the numbers 0..9; edge ``i`` is the action ``e<i>``: (from, to, increment)."""
    return Document.of(
        fluents=[FluentDecl("at", integer=True, lower=lower, upper=upper)],
        actions=[
            ActionDecl(f"e{i:02}", (), ("=", AT, source), (Effect("assign", AT, target),))
            for i, (source, target, _) in enumerate(edges)
        ],
        goal=("or", *(("=", AT, goal) for goal in goals)),
        dangers=[DangerEntry(f"e{i:02}", True, increment) for i, (_, _, increment) in enumerate(edges) if increment],
        initial_danger=start,
        max_danger=most,
    )


def texts(edges, **parts):
    solution = solve(graph(edges, **parts))
    return solution.safe_text, solution.unsafe_text


def test_a_loop_that_mitigates_is_walked_as_often_as_it_takes():
    # In: 7 danger. Each round of e01 e02 takes 2 away; two must be left at most 3.
    safe, unsafe = texts([(0, 1, 7), (1, 2, -1), (2, 1, -1), (1, 3, 0)], goals=(3,), most=3)
    assert safe == "(e00) (e01) (e02) (e01) (e02) (e03)"
    assert unsafe == "(e00) (e03)"


def test_a_loop_that_harms_is_walked_until_the_limit_is_passed():
    safe, unsafe = texts([(0, 0, 2), (0, 1, -3)], goals=(1,), most=3)
    assert safe == "(e01)"
    assert unsafe == "(e00) (e00) (e00) (e00) (e01)"


def test_danger_above_the_limit_can_come_back():
    assert texts([(0, 0, -2), (0, 1, 0)], goals=(1,), start=5) == ("(e00) (e00) (e00) (e01)", "(e01)")


def test_thresholds_below_zero():
    assert texts([(0, 0, -2)], most=-3) == ("(e00) (e00)", "")
    assert texts([(0, 0, 1), (0, 0, -1)], start=-5, most=-3) == ("", "(e00) (e00) (e00)")


def test_the_empty_plan_answers_both_ways():
    assert texts([(0, 0, -1)]) == ("", None)
    assert texts([(0, 0, -1)], start=1) == ("(e00)", "")


def test_absence_is_proved_where_danger_falls_too_little():
    assert texts([(0, 1, 5), (1, 2, -2)], goals=(2,)) == (None, "(e00) (e01)")
    assert texts([(0, 1, -2), (1, 0, 2)], goals=(1,)) == ("(e00)", None)
    assert texts([(0, 0, -1)], goals=(5,)) == (None, None)


def test_loops_that_lead_nowhere_do_not_keep_the_search_going():
    # Danger falls for ever in 2 and rises for ever in 3, but the goal is out of reach from there.
    dead_ends = [(0, 1, 1), (0, 2, 0), (2, 2, -1), (0, 3, 0), (3, 3, 1)]
    assert texts(dead_ends, goals=(1,)) == (None, "(e00)")
    assert texts(dead_ends, goals=(1,), most=1) == ("(e00)", None)


def test_entries_on_one_action_are_summed_before_they_are_compared():
    document = graph([(0, 1, -1)], goals=(1,))
    both = Document.of(
        fluents=document.fluents,
        actions=document.actions,
        goal=document.goal,
        dangers=[*document.dangers, DangerEntry("e00", True, 2)],
    )
    assert (solve(both).safe, solve(both).unsafe_text) == (None, "(e00)")


def test_ties_are_broken_over_the_whole_plan():
    # All four roads have the length and the danger that is wanted; a cheaper one comes later in the order.
    edges = [(0, 2, 0), (0, 1, 0), (1, 3, -9), (1, 3, 0), (2, 3, 0), (2, 3, -5)]
    assert texts(edges, goals=(3,)) == ("(e00) (e04)", None)
    # Only one end is good enough: the first action that still allows it is not the first that is possible.
    assert texts(edges, goals=(3,), most=-8) == ("(e01) (e02)", "(e00) (e04)")
    # Of two actions from one state to another, the dangerous one counts for the unsafe plan only.
    assert texts([(0, 1, 0), (0, 1, 1), (0, 1, -1)], goals=(1,)) == ("(e00)", "(e01)")


def test_an_endless_space_is_no_obstacle_to_plans_that_are_near():
    assert texts([(0, 1, 3), (1, 0, -1)], upper=None, goals=(0, 1), most=2) == ("", "(e00)")
    endless = counter([("up", "increase", 1, -1), ("down", "decrease", 1, 2)], ("=", AT, 3))
    solution = solve(endless, limit=100)
    assert solution.safe_text == "(up) (up) (up)"
    assert solution.unsafe_text == " ".join(["(down)"] * 4 + ["(up)"] * 7)


def counter(moves, goal):
    return Document.of(
        fluents=[FluentDecl("at", integer=True)],
        actions=[ActionDecl(name, (), True, (Effect(operation, AT, by),)) for name, operation, by, _ in moves],
        goal=goal,
        dangers=[DangerEntry(name, True, increment) for name, _, _, increment in moves],
    )


def test_limit_is_a_typed_refusal_and_keeps_what_was_found():
    # There is an unsafe plan, but every number would have to be seen to prove that there is no safe one.
    endless = counter([("up", "increase", 1, 1), ("leap", "increase", 2, -1)], ("=", AT, 1))
    with pytest.raises(SearchLimitReached, match="the search was stopped after 50 expansions"):
        solve(endless, limit=50)
    attempt = attempt_to_solve(endless, limit=50)
    assert list(attempt.found) == [False]
    assert [str(action) for action in attempt.found[False]] == ["(up)"]
    assert attempt.refusal is not None
    assert (attempt.expanded, attempt.timed_out) == (50, False)


def test_layers_count_against_the_limit_where_no_state_is_new():
    slow = graph([(0, 0, -1), (0, 1, 0)], goals=(1,), start=10_000)
    with pytest.raises(SearchLimitReached):
        solve(slow, limit=5_000)
    assert len(solve(slow, limit=50_000).safe) == 10_001


def test_layers_count_against_memory(monkeypatch):
    monkeypatch.setattr("hazardmill.formalism.search.budget._SMALL", 100)
    monkeypatch.setattr("hazardmill.formalism.search.budget.KEPT", 0)
    with pytest.raises(SearchLimitReached, match="2 states, which take 0 MB with the data that belongs to them"):
        solve(graph([(0, 0, -1), (0, 1, 0)], goals=(1,), start=10_000))


@st.composite
def graphs(draw):
    """Edges, and the parts of the task; most have loops."""
    size = draw(st.integers(2, 4))
    node = st.integers(0, size - 1)
    edges = draw(st.lists(st.tuples(node, node, st.integers(-2, 3)), min_size=1, max_size=8))
    return edges, {
        "start": draw(st.integers(-2, 6)),
        "most": draw(st.integers(-6, 4)),
        "goals": tuple(draw(st.sets(node, min_size=1, max_size=2))),
    }


def naive(edges, start, most, goals, safe):
    """The least of the shortest plans as places of edges, by the best danger after exactly so many steps to the end.

    No shortest plan here is longer than 300 steps: of those that do not pass a state with the same danger twice, one
    that needs a loop gains at least 1 in 5 steps, and there are fewer than 40 to gain.
    """
    better = min if safe else max
    ahead = [{goal: 0 for goal in goals}]
    while 0 not in ahead[-1] or (start + ahead[-1][0] <= most) != safe:
        if len(ahead) > 300:
            return None
        following = {}
        for source, target, increment in edges:
            if target in ahead[-1]:
                value = increment + ahead[-1][target]
                following[source] = better(following.get(source, value), value)
        ahead.append(following)
    plan, at = [], 0
    for left in range(len(ahead) - 1, 0, -1):
        for place, (source, target, increment) in enumerate(edges):
            value = start + increment + ahead[left - 1].get(target, 0)
            if source == at and target in ahead[left - 1] and (value <= most) == safe:
                plan.append(place)
                at, start = target, start + increment
                break
    return plan


@pytest.mark.parametrize("examples", [sized(400, 1500)])
def test_plans_on_graphs_equal_the_naive_ones(examples):
    counts = Counter()

    @settings(SETTINGS, max_examples=examples)
    @given(graphs())
    def check(drawn):
        edges, parts = drawn
        solution = solve(graph(edges, **parts), limit=20_000)
        longest = 0
        for safe, found in ((True, solution.safe), (False, solution.unsafe)):
            expected = naive(edges, **parts, safe=safe)
            assert (found if found is None else [int(action.name[1:]) for action in found]) == expected
            counts["absent"] += found is None
            longest = max(longest, len(found or ()))
        negative = any(increment < 0 for _, _, increment in edges)
        counts["negative"] += negative
        counts["loops"] += negative and longest > 5
        counts["both"] += negative and None not in (solution.safe, solution.unsafe)
        counts["dangerous start"] += negative and parts["start"] > parts["most"] and bool(solution.safe)

    check()
    print(counts)
    part = examples / 1500
    assert counts["negative"] >= 700 * part
    assert min(counts[name] for name in ("absent", "both", "dangerous start")) >= 100 * part
    assert counts["loops"] >= 40 * part


@st.composite
def falling_tasks(draw):
    task = draw(tasks())
    for entry in task["dangers"]:
        entry["increment"] = draw(st.sampled_from((-3, -2, -1, -1, 1, 2, 3)))
    task["initial_danger"] = draw(st.integers(-2, 4))
    task["max_danger"] = draw(st.integers(-3, 3))
    return task


def brute_force(task, want_safe, depth, most_nodes):
    """The least of the shortest plans of up to ``depth`` steps, or None, by every danger of every state."""
    oracle = Oracle(task)
    actions = list(oracle.ground_actions())
    layer = {(frozenset(oracle.start.items()), task["initial_danger"]): ()}
    for _ in range(depth + 1):
        fitting = [
            plan
            for (state, danger), plan in layer.items()
            if (danger <= task["max_danger"]) == want_safe and oracle.holds(task["goal"], {}, dict(state))
        ]
        if fitting:
            return [actions[place] for place in min(fitting)]
        following = {}
        for (state, danger), plan in layer.items():
            for place, (name, args) in enumerate(actions):
                outcome = oracle.step(name, args, dict(state))
                if outcome is not None:
                    node = (frozenset(outcome[0].items()), danger + outcome[1])
                    following[node] = min(following.get(node, (*plan, place)), (*plan, place))
        if len(following) > most_nodes:
            raise OverflowError
        layer = following
    return None


@pytest.mark.parametrize("examples", [sized(80, 250)])
def test_plans_of_random_tasks_equal_the_naive_ones(examples):
    counts = Counter()

    @settings(SETTINGS, max_examples=examples)
    @given(falling_tasks())
    def check(task):
        document = Document.from_json(task)
        attempt = attempt_to_solve(document, limit=3_000)
        judge = PlanValidator(System(document))
        for want_safe, found in attempt.found.items():
            try:
                expected = brute_force(task, want_safe, 5, 400)
            except OverflowError:
                counts["too large"] += 1
                continue
            if found is None or len(found) > 5:
                assert expected is None
                counts["absent"] += found is None
            else:
                assert plan_string(expected) == " ".join(map(str, found))
                counts["found"] += 1
                counts["steps"] += len(found) > 0
            if found is not None:
                assert judge.quick(" ".join(map(str, found)))[:2] == (True, want_safe)
        counts["refused"] += attempt.refusal is not None
        counts["negative"] += any(entry["increment"] < 0 for entry in task["dangers"])

    check()
    print(counts)
    part = examples / 250
    assert counts["negative"] >= 120 * part
    assert min(counts["absent"], counts["found"]) >= 60 * part
    assert counts["steps"] >= 30 * part
    assert counts["refused"] <= 25 * part
