from __future__ import annotations

import pytest

from hazardmill.errors import SearchLimitReached
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.document.plan_text import plan_text
from hazardmill.formalism.search.exact import applicable_actions, attempt_to_solve, solve
from hazardmill.formalism.semantics import ground_size
from hazardmill.formalism.semantics.plan_validator import PlanValidator
from hazardmill.formalism.semantics.transition_system import System

from . import reference_tasks
from .soup import action, boolean, danger, integer, sets, soup, soup_document


def task(**parts):
    """A task without types or objects, unless given."""
    return Document.from_json(
        soup(**{"types": [], "objects": [], "initial": [], "dangers": [], "realised_by": None, **parts})
    )


def test_both_optimal_plans():
    solution = solve(soup_document())
    assert solution.unsafe_text == "(carry kitchen table)"
    assert solution.safe_text == "(slow_down) (carry kitchen table)"
    assert (solution.plan_length, solution.safety_effort) == (2, 1)


@pytest.mark.parametrize("name", reference_tasks.TASKS)
def test_reference_plans_are_found(reference, name):
    # The lengths of the published reference plans, which are optimal for these tasks.
    document = reference_tasks.reference_document(reference, name)
    rows = {row["category"]: row["plan"] for row in reference_tasks.reference_plans(reference, name)}
    solution = solve(document)
    assert len(solution.safe) == rows["reference_safe"].count("(")
    assert len(solution.unsafe) == rows["reference_unsafe"].count("(")
    judge = PlanValidator(System(document))
    assert judge.quick(solution.safe_text)[:2] == (True, True)
    assert judge.quick(solution.unsafe_text)[:2] == (True, False)


def test_ties_go_by_name_then_by_the_order_of_objects():
    done = [sets("done")]
    zebra, ant = action("zebra", effects=done), action("ant", effects=done)
    tied = task(fluents=[boolean("done")], actions=[zebra, ant], goal=["fluent", "done"])
    assert solve(tied).safe_text == "(ant)"
    reach = action("reach", effects=done, parameters=[["?a", "spot"], ["?b", "spot"]])
    unlike = action("reach", ["not", ["same", "?a", "?b"]], done, [["?a", "spot"], ["?b", "spot"]])
    objects = [["z", "spot"], ["a", "spot"]]
    shared = dict(types=[["spot", "object"]], objects=objects, fluents=[boolean("done")], goal=["fluent", "done"])
    assert solve(task(actions=[reach], **shared)).safe_text == "(reach z z)"
    assert solve(task(actions=[unlike], **shared)).safe_text == "(reach z a)"


def test_ties_are_broken_over_the_whole_plan():
    # (b) (c) is met before (a) (d) by a search that expands (b) first; only the first action decides.
    actions = [
        action("a", effects=[sets("p")]),
        action("b", effects=[sets("q")]),
        action("c", ["fluent", "q"], [sets("done")]),
        action("d", ["fluent", "p"], [sets("done")]),
    ]
    tied = task(fluents=[boolean(name) for name in ("p", "q", "done")], actions=actions, goal=["fluent", "done"])
    assert solve(tied).safe_text == "(a) (d)"


def test_empty_plan_where_the_goal_holds_at_the_start():
    held = task(
        fluents=[boolean("done")],
        actions=[action("poke")],
        initial=[[["done"], True]],
        goal=["fluent", "done"],
        dangers=[danger("poke")],
    )
    solution = solve(held)
    assert solution.safe == () and solution.safe_text == ""
    assert solution.unsafe_text == "(poke)"
    # Half of 0 + 1 rounds to the even number.
    assert (solution.plan_length, solution.safety_effort) == (0, -1)


def test_unsafe_plan_may_lead_on_from_the_goal():
    actions = [action("finish", effects=[sets("done")]), action("poke", ["fluent", "done"])]
    late = task(fluents=[boolean("done")], actions=actions, goal=["fluent", "done"], dangers=[danger("poke")])
    assert solve(late).unsafe_text == "(finish) (poke)"


def test_absence_is_proved():
    unavoidable = solve(soup_document(dangers=[danger("carry")]))
    assert unavoidable.safe is None and unavoidable.unsafe_text == "(carry kitchen table)"
    assert (unavoidable.safe_text, unavoidable.plan_length, unavoidable.safety_effort) == (None, None, None)
    harmless = solve(soup_document(dangers=[]))
    assert harmless.unsafe is None and harmless.safe_text == "(carry kitchen table)"
    hopeless = solve(soup_document(goal=["and", ["fluent", "moving_slowly"], ["not", ["fluent", "moving_slowly"]]]))
    assert hopeless.safe is None and hopeless.unsafe is None
    assert hopeless.expanded > 0


@pytest.mark.parametrize(
    ("start", "most", "pokes"), [(0, 0, 1), (0, 3, 2), (0, 4, 3), (1, 4, 2), (-1, 0, 1), (5, 4, 0)]
)
def test_thresholds_and_initial_danger(start, most, pokes):
    # An increment of 2 a poke: as many as it takes to pass the limit.
    graded = task(
        fluents=[boolean("done")],
        actions=[action("poke", effects=[sets("done")])],
        goal=True,
        dangers=[danger("poke", increment=2)],
        initial_danger=start,
        max_danger=most,
    )
    solution = solve(graded)
    assert len(solution.unsafe) == pokes
    assert (solution.safe is None) == (start > most)


def test_limit_is_a_typed_refusal():
    counter = task(
        fluents=[integer("n", 0)],
        actions=[action("up", effects=[["increase", ["fluent", "n"], 1, True]])],
        goal=["<", ["fluent", "n"], 0],
    )
    with pytest.raises(SearchLimitReached, match="the search was stopped after 50 expansions"):
        solve(counter, limit=50)


def test_limit_does_not_cut_a_finished_search():
    assert solve(soup_document()).expanded == solve(soup_document(), limit=solve(soup_document()).expanded).expanded
    with pytest.raises(SearchLimitReached):
        solve(soup_document(), limit=solve(soup_document()).expanded - 1)


def test_too_many_ground_actions_are_refused(monkeypatch):
    monkeypatch.setattr(ground_size, "MOST_ACTIONS", 2)
    with pytest.raises(SearchLimitReached, match=r"3 ground actions; the limit is 2"):
        solve(soup_document())


def test_quantifiers_that_unfold_too_far_are_refused():
    objects = [[f"o{i}", "spot"] for i in range(100)]
    wide = ["exists", [[f"?v{i}", "spot"] for i in range(4)], ["fluent", "done"]]
    huge = task(
        types=[["spot", "object"]], objects=objects, fluents=[boolean("done")], actions=[action("a", wide)], goal=True
    )
    with pytest.raises(SearchLimitReached, match="ground parts"):
        solve(huge)


def test_mitigation_is_searched_by_layers():
    soothing = solve(soup_document(dangers=[danger("carry", increment=-1)], initial_danger=1))
    assert (soothing.safe_text, soothing.unsafe) == ("(carry kitchen table)", None)


def test_what_was_found_before_the_limit_is_kept():
    # Either plan takes one step; that the other kind does not exist would take every number to prove.
    fluents, up = [integer("n", 0)], [action("up", effects=[["increase", ["fluent", "n"], 1, True]])]
    endless = task(fluents=fluents, actions=up, goal=["=", ["fluent", "n"], 1], dangers=[danger("up", False)])
    attempt = attempt_to_solve(endless, limit=50)
    assert {safe: plan_text(plan) for safe, plan in attempt.found.items()} == {True: "(up)"}
    assert "50 expansions" in str(attempt.refusal)
    complete = attempt_to_solve(soup_document())
    assert complete.refusal is None
    assert set(complete.found) == {True, False}


def test_without_dangers_the_first_plan_is_all_there_is_to_find():
    up = action("up", effects=[["increase", ["fluent", "n"], 1, True]])
    endless = dict(fluents=[integer("n", 0)], actions=[up], goal=["=", ["fluent", "n"], 2])
    safe = solve(task(**endless), limit=50)
    assert (safe.safe_text, safe.unsafe) == ("(up) (up)", None)
    unsafe = solve(task(**endless, dangers=[danger("up")], initial_danger=1), limit=50)
    assert (unsafe.safe, unsafe.unsafe_text) == (None, "(up) (up)")


def test_applicable_actions():
    actions = [
        action("first", effects=[sets("p")]),
        action("second", ["fluent", "p"]),
        action("never", ["fluent", "q"]),
    ]
    dead = System(task(fluents=[boolean("p"), boolean("q")], actions=actions, goal=True))
    assert applicable_actions(dead) == ({"first", "second"}, True)
    assert applicable_actions(dead, limit=1) == ({"first"}, False)
