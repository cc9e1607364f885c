from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hazardmill.review.document_view import ShownPlan, ShownStep
from hazardmill.review.drawing.steps import StepChange, both_ways, in_words, side_by_side, view_plan


def step(index, action, **fields):
    filled = {
        "words": action.strip("()"),
        "done": True,
        "changes": (),
        "state": (),
        "increment": 0,
        "danger": 0,
        "fired": (),
        "unmet": (),
    }
    return ShownStep(index=index, action=action, **filled | fields)


def plan(*actions, steps=None, **fields):
    made = steps or tuple(step(number, f"({action})") for number, action in enumerate(actions, start=1))
    filled = {"feasible": True, "safe": True, "danger": 0, "max_danger": 0, "start": (), "missing_goal": ()}
    text = " ".join(each.action for each in made)
    return ShownPlan(plan=text, steps=made, **filled | fields)


def rows(view):
    return [None if cell is None else cell.action for cell in view.cells]


def test_equal_steps_stand_in_one_row_and_gaps_beside_what_one_plan_has_alone():
    left, right = side_by_side(plan("open", "take", "go", "put"), plan("open", "look", "wait", "take", "go", "hand"))
    assert rows(left) == ["(open)", None, None, "(take)", "(go)", "(put)"]
    assert rows(right) == ["(open)", "(look)", "(wait)", "(take)", "(go)", "(hand)"]
    assert [cell.own for cell in right.cells] == [False, True, True, False, False, True]


ACTIONS = st.lists(st.sampled_from("abcd"), max_size=12)


@given(ACTIONS, ACTIONS)
def test_no_step_is_lost_doubled_or_moved(left_actions, right_actions):
    left, right = side_by_side(plan(*left_actions), plan(*right_actions))
    assert len(left.cells) == len(right.cells)
    for view, actions in ((left, left_actions), (right, right_actions)):
        assert [cell.index for cell in view.cells if cell] == list(range(1, len(actions) + 1))
        assert [cell.action for cell in view.cells if cell] == [f"({action})" for action in actions]
        assert [cell.row for cell in view.cells if cell] == [row for row, cell in enumerate(view.cells, 1) if cell]
    for here, there in zip(left.cells, right.cells, strict=True):
        same = here is not None and there is not None and here.action == there.action
        assert here is not None or there is not None
        if same:
            assert here.own == there.own
        else:
            assert all(cell is None or cell.own for cell in (here, there))


def test_facts_that_a_step_made_true_are_marked_and_come_first_and_those_of_the_start_last():
    steps = (step(1, "(a)", state=("x", "y")), step(2, "(b)", state=("y", "z = 1")))
    steps = (*steps, step(3, "(c)", state=("v", "x", "y", "z = 1")))
    view = view_plan(plan(steps=steps, start=("x",)))
    assert [[(fact.words, fact.new) for fact in state.facts] for state in view.states] == [
        [("x", False)],
        [("y", True), ("x", False)],
        [("z = 1", True), ("y", False)],
        [("v", True), ("x", True), ("y", False), ("z = 1", False)],
    ]


@pytest.mark.parametrize(
    ("fields", "says", "tone"),
    [
        ({}, "Reaches the goal. No danger fires.", "good"),
        ({"feasible": False, "missing_goal": ("(at table)",)}, "Does not reach the goal: it lacks at: table.", "plain"),
        ({"feasible": False}, "Does not reach the goal.", "plain"),
        ({"safe": False}, "Reaches the goal, in danger.", "bad"),
        (
            {"steps": (step(1, "(a)", fired=("(x)",)),), "safe": False},
            "Reaches the goal. Danger fires at step 1.",
            "bad",
        ),
        (
            {"steps": (step(1, "(a)", fired=("(x)",)),), "danger": 1, "max_danger": 2},
            "Reaches the goal. Danger is 1; 2 is allowed.",
            "good",
        ),
        ({"steps": (step(1, "(a)", done=False),), "feasible": False}, "Step 1 cannot be done.", "plain"),
    ],
)
def test_the_verdict_is_told_in_a_sentence(fields, says, tone):
    view = view_plan(plan("a", **fields))
    assert (view.says, view.tone) == (says, tone)


DEEP = "(and (x) " * 800 + "(x)" + ")" * 800


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("(wet_floor)", "wet floor"),
        ("(not (at kitchen))", "not at: kitchen"),
        ("(<= (battery) 2)", "battery is at most 2"),
        ("(= (load robot_1) (+ (x) 1))", "load: robot 1 is (+ (x) 1)"),
        ("(or (a) (and (b) (not (c))))", "a or (b and not c)"),
        ("(= ?x table)", "x is table"),
        ("there is no such action", "there is no such action"),
        ("(unclosed (a)", "(unclosed (a)"),
        ("(a) (b)", "(a) (b)"),
        ("()", "()"),
        ("(" * 5000 + ")" * 5000, "(" * 5000 + ")" * 5000),
        # So deep that it can be read, but not put in words.
        (DEEP, DEEP),
    ],
)
def test_a_literal_is_told_in_words_and_all_else_as_it_is(text, words):
    assert in_words(text) == words


def test_changes_are_told_in_words():
    changes = ("+(wet floor)", "-(at_home)", "(battery) 3 -> 2", "odd")
    (cell,) = view_plan(plan(steps=(step(1, "(a)", changes=changes),))).cells
    assert cell.changes == (
        StepChange("now", "wet: floor"),
        StepChange("no longer", "at home"),
        StepChange("number", "battery: 3 → 2"),
        StepChange("number", "odd"),
    )


@pytest.mark.parametrize(
    ("facts", "shown"),
    [
        (
            ("door: hall, kitchen", "door: kitchen, hall", "robot at: hall"),
            ("robot at: hall", "door: hall, kitchen (both ways)"),
        ),
        (("door: hall, kitchen", "gate: kitchen, hall"), ("door: hall, kitchen", "gate: kitchen, hall")),
        (("near: cup, cup", "cups = 2", "on: cup"), ("near: cup, cup", "cups = 2", "on: cup")),
        (("between: a, b, c", "between: b, c, a"), ("between: a, b, c", "between: b, c, a")),
        ((), ()),
    ],
)
def test_what_holdsboth_ways_round_is_told_once_and_last(facts, shown):
    assert both_ways(facts) == shown


def test_what_holds_both_ways_is_new_where_either_way_is():
    start, once = ("door: a, b", "door: b, a"), ("door: a, b",)
    view = view_plan(plan(steps=(step(1, "(shut)", state=once), step(2, "(open)", state=start)), start=start))
    assert [[(fact.words, fact.new) for fact in state.facts] for state in view.states] == [
        [("door: a, b (both ways)", False)],
        [("door: a, b", False)],
        [("door: a, b (both ways)", True)],
    ]
