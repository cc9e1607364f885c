"""How many shortest plans there are, against a list of all plans of that length."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hazardmill.errors import SearchLimitReached
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.document.plan_text import plan_text
from hazardmill.formalism.search.exact import solve
from hazardmill.formalism.search.plan_count import count_shortest_plans
from hazardmill.formalism.semantics.transition_system import System
from tests.sizes import sized

from .oracle import Oracle, plan_string
from .random_domains import random_domain
from .random_tasks import SETTINGS, tasks
from .soup import action, boolean, danger, integer, sets, soup, soup_document
from .test_layered import graph, graphs

LONGEST = 3
"""Steps of the longest plans that a test lists."""


def task(*fluents, **parts):
    declared = [boolean(fluent) if isinstance(fluent, str) else fluent for fluent in fluents]
    return Document.from_json(
        soup(types=[], objects=[], initial=[], **{"dangers": [], "realised_by": None, **parts}, fluents=declared)
    )


def plans_of_length(oracle, length):
    """All plans of so many steps, each with its danger, in canonical order: every sequence of actions is tried."""
    sequences = [((), oracle.start, oracle.task["initial_danger"])]
    for _ in range(length):
        sequences = [
            ((*steps, step), outcome[0], danger + outcome[1])
            for steps, state, danger in sequences
            for step in oracle.ground_actions()
            if (outcome := oracle.step(*step, state)) is not None
        ]
    return [
        (plan_string(steps), danger)
        for steps, state, danger in sequences
        if oracle.holds(oracle.task["goal"], {}, state)
    ]


@st.composite
def small_documents(draw):
    """Every form of condition, but short plans; paths in graphs, with loops; literals, with plans of some length."""
    kind = draw(st.sampled_from(["domain", "task", "graph", "domain"]))
    if kind == "task":
        return Document.from_json(draw(tasks(reachable=True, mitigating=draw(st.booleans()))))
    if kind == "graph":
        edges, parts = draw(graphs())
        goals = tuple(goal for goal in parts["goals"] if goal) or (1,)
        return graph(edges, **{**parts, "goals": goals})
    return Document.from_json(random_domain(draw(st.integers(0, 999)), 2, LONGEST)[0])


@pytest.mark.parametrize("examples", [sized(150, 3_000)])
def test_the_count_is_that_of_all_plans_of_the_length(examples):
    counts = Counter()

    @settings(SETTINGS, max_examples=examples, suppress_health_check=list(HealthCheck))
    @given(small_documents())
    def check(document):
        oracle = Oracle(document.to_json())
        found = count_shortest_plans(document)
        listed = (plans_of_length(oracle, length) for length in range(LONGEST + 1))
        plans = next((plans for plans in listed if plans), [])
        if not plans:
            assert found.length is None or found.length > LONGEST
            counts["no plan, or a longer one"] += 1
            return
        assert plan_text(found.plan) == plans[0][0]
        assert found.count == len(plans) == sum(found.by_danger.values())
        assert found.unique == (len(plans) == 1)
        most = document.max_danger
        assert sum(n for danger, n in found.by_danger.items() if danger <= most) == sum(d <= most for _, d in plans)
        counts["compared"] += 1
        counts["unique"] += found.unique
        counts["several"] += not found.unique
        counts["two steps or more"] += found.length > 1
        counts["two steps or more, unique"] += found.length > 1 and found.unique

    check()
    print(counts)
    part = examples / 600
    assert counts["compared"] >= 300 * part and counts["no plan, or a longer one"] >= 100 * part
    assert min(counts["unique"], counts["several"]) >= 90 * part
    assert counts["two steps or more"] >= 80 * part and counts["two steps or more, unique"] >= 10 * part


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
