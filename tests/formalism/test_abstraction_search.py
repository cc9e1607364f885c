"""Search by refining projections finds plans as short as ``solve`` does, and proves absence where it does."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from hazardmill.errors import SearchLimitReached, UsageError
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.document.plan_text import plan_text
from hazardmill.formalism.search.abstraction_search import find_shortest_plan
from hazardmill.formalism.search.exact import solve
from hazardmill.formalism.semantics.plan_validator import PlanValidator
from hazardmill.formalism.semantics.transition_system import System

from .random_tasks import SETTINGS, tasks
from .soup import action, boolean, danger, sets, soup_document
from .test_search import task


def test_plans_of_random_tasks_are_as_short_as_those_of_solve() -> None:
    lengths = []

    @SETTINGS
    @given(tasks(reachable=True))
    def compare(drawn: dict[str, Any]) -> None:
        system = System(Document.from_json(drawn))
        solution, judge = solve(system), PlanValidator(system)
        for safe, wanted in ((True, solution.safe), (False, solution.unsafe)):
            plan = find_shortest_plan(system, safe=safe).plan
            assert (plan is None) == (wanted is None)
            if plan is not None and wanted is not None:
                assert len(plan) == len(wanted)
                assert judge.quick(plan_text(plan))[:2] == (True, safe)
                lengths.append(len(plan))

    compare()
    assert len(lengths) > 50 and {0, 1, 2} <= {*lengths}


def switches(count: int, **more: object) -> Document:
    """A task with switches that have nothing to do with the goal, which takes two steps."""
    names = [f"switch{number}" for number in range(count)]
    actions = [action(f"flip_{name}", effects=[sets(name)]) for name in names]
    actions += [action("first", effects=[sets("p")]), action("second", ["fluent", "p"], [sets("done")])]
    fluents = [boolean(name) for name in (*names, "p", "done")]
    return task(fluents=fluents, actions=actions, goal=["fluent", "done"], **more)


def test_what_does_not_matter_is_not_searched() -> None:
    found = find_shortest_plan(switches(40))
    assert found.plan is not None and plan_text(found.plan) == "(first) (second)"
    assert (found.seen, found.expanded < 10) == (2, True)


def test_absence_is_proved_without_what_does_not_matter() -> None:
    barred = switches(40, dangers=[danger("second")])
    assert find_shortest_plan(barred).plan is None
    unsafe = find_shortest_plan(barred, safe=False).plan
    assert unsafe is not None and plan_text(unsafe) == "(first) (second)"


def test_the_limit_is_a_refusal_and_falling_danger_is_refused() -> None:
    with pytest.raises(SearchLimitReached):
        find_shortest_plan(switches(3), limit=1)
    with pytest.raises(UsageError, match="danger can fall"):
        find_shortest_plan(soup_document(dangers=[danger("carry", increment=-1)]))
