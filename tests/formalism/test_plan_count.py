"""How many shortest plans there are, against a list of all plans of that length."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from hazardmill.errors import SearchLimitReached
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.document.plan_text import plan_text
from hazardmill.formalism.search.exact import solve
from hazardmill.formalism.search.plan_count import count_shortest_plans
from hazardmill.formalism.semantics.transition_system import System
from tests.sizes import sized

from .oracle import Oracle, plan_string
from .random_tasks import SETTINGS, tasks
from .soup import action, boolean, danger, integer, sets, soup, soup_document
from .test_layered import graph, graphs

MOST_SEQUENCES = 20_000
"""Sequences of one length that a test lists; tasks that have more are drawn again."""


def task(*fluents, **parts):
    declared = [boolean(fluent) if isinstance(fluent, str) else fluent for fluent in fluents]
    return Document.from_json(
        soup(types=[], objects=[], initial=[], **{"dangers": [], "realised_by": None, **parts}, fluents=declared)
    )


def plans_of_length(oracle, length):
    """All plans of so many steps, each with its danger: every sequence of ground actions is tried."""
    found = []
    for steps in itertools.product(list(oracle.ground_actions()), repeat=length):
        state, danger = oracle.start, oracle.task["initial_danger"]
        for step in steps:
            outcome = oracle.step(*step, state)
            if outcome is None:
                break
            state, danger = outcome[0], danger + outcome[1]
        else:
            if oracle.holds(oracle.task["goal"], {}, state):
                found.append((plan_string(steps), danger))
    return found


@pytest.mark.parametrize("examples", [sized(850, 3_000)])
def test_the_count_is_that_of_all_plans_of_the_length(examples):
    counts = Counter()

    @settings(SETTINGS, max_examples=examples, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def check(data):
        if data.draw(st.booleans()):
            document = Document.from_json(data.draw(tasks(reachable=True, mitigating=data.draw(st.booleans()))))
        else:
            # Random tasks have short plans; paths in graphs are longer.
            edges, parts = data.draw(graphs())
            goals = tuple(goal for goal in parts["goals"] if goal) or (1,)
            document = graph(edges, **{**parts, "goals": goals})
        oracle = Oracle(document.to_json())
        width = len(list(oracle.ground_actions()))
        found = count_shortest_plans(document)
        length = next((n for n in range(4) if width**n <= MOST_SEQUENCES and plans_of_length(oracle, n)), None)
        if found.length is not None and length is None and found.length < 4:
            reject()
        assert found.length == length or (length is None and (found.length is None or found.length >= 4))
        counts["no plan"] += found.length is None
        if length is None:
            return
        plans = plans_of_length(oracle, length)
        assert found.count == len(plans) and found.unique == (len(plans) == 1)
        assert plan_text(found.plan) == plans[0][0]
        most = document.max_danger
        assert sum(n for danger, n in found.by_danger.items() if danger <= most) == sum(d <= most for _, d in plans)
        assert sum(found.by_danger.values()) == found.count
        counts["compared"] += 1
        counts["unique"] += found.unique
        counts["several"] += not found.unique
        counts["two steps or more"] += length > 1

    check()
    print(counts)
    part = examples / 850
    assert counts["compared"] >= 300 * part and counts["no plan"] >= 100 * part
    assert min(counts["unique"], counts["several"]) >= 100 * part and counts["two steps or more"] >= 30 * part


@pytest.mark.parametrize("mitigating", [False, True])
def test_the_plan_is_the_shorter_of_the_optimal_ones(mitigating):
    @settings(max_examples=60)
    @given(tasks(reachable=True, mitigating=mitigating))
    def check(drawn):
        document = Document.from_json(drawn)
        solution, found = solve(document), count_shortest_plans(document)
        plans = [plan for plan in (solution.safe, solution.unsafe) if plan is not None]
        least = min(map(len, plans), default=None)
        assert found.length == least
        if found.plan is not None:
            assert plan_text(found.plan) in {plan_text(plan) for plan in plans if len(plan) == least}

    check()


def test_ways_multiply():
    # Three independent switches in any order: 3! plans, all of the same length and effect.
    switches = [action(f"set{name}", effects=[sets(name)]) for name in "abc"]
    goal = ["and", *(["fluent", name] for name in "abc")]
    found = count_shortest_plans(task(*"abc", actions=switches, goal=goal))
    assert (found.count, found.length, found.unique) == (6, 3, False)
    assert plan_text(found.plan) == "(seta) (setb) (setc)"


def test_two_actions_with_one_effect_are_two_plans():
    twins = [action(name, effects=[sets("a")]) for name in ("do", "make")]
    assert count_shortest_plans(task("a", actions=twins, goal=["fluent", "a"])).count == 2
    assert count_shortest_plans(task("a", actions=twins[:1], goal=["fluent", "a"])).unique


def test_the_empty_plan_is_the_only_one_where_the_goal_holds_already():
    found = count_shortest_plans(task("a", actions=[action("do")], goal=True))
    assert (found.count, found.plan, found.length, found.unique) == (1, (), 0, True)


def test_no_plan_is_a_proof_and_not_unique():
    found = count_shortest_plans(task("a", actions=[action("do")], goal=["fluent", "a"]))
    assert (found.count, found.plan, found.length, found.unique, found.by_danger) == (0, None, None, False, {})


def test_danger_does_not_part_plans_and_is_counted_up_to_just_above_the_limit():
    ways = [action("rush", effects=[sets("a")]), action("walk", effects=[sets("a")])]
    parts = dict(actions=ways, goal=["fluent", "a"], dangers=[danger("rush", True, 5)])
    found = count_shortest_plans(task("a", **parts))
    assert (found.count, found.by_danger) == (2, {0: 1, 1: 1})
    mitigated = [danger("rush", True, 5), danger("walk", True, -1)]
    assert count_shortest_plans(task("a", **{**parts, "dangers": mitigated})).by_danger == {-1: 1, 5: 1}


def test_beyond_the_limit_nothing_is_known():
    with pytest.raises(SearchLimitReached):
        count_shortest_plans(soup_document(), limit=0)
    endless = [action("up", effects=[["increase", ["fluent", "n"], 1, True]])]
    with pytest.raises(SearchLimitReached):
        count_shortest_plans(task("a", integer("n"), actions=endless, goal=["fluent", "a"]), limit=500)


def test_a_system_is_as_good_as_its_document():
    document = soup_document()
    assert count_shortest_plans(System(document)).plan[0].text == count_shortest_plans(document).plan[0].text
