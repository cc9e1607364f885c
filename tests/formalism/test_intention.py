from __future__ import annotations

import pytest

from hazardmill.formalism.document.document import Document
from hazardmill.formalism.semantics.plan_validator import verdict
from hazardmill.formalism.semantics.transition_system import System

from .soup import action, boolean, danger, integer, sets, soup

N = ["fluent", "n"]


def relaxed(precondition, *, effects=(), watch=True, n=0, lower=0, upper=9, plan="(act)", mode="transient", **more):
    """The verdict of a plan on a task whose only action, ``act``, is dangerous while ``watch`` holds."""
    task = soup(
        types=[["spot", "object"]],
        objects=[["x", "spot"], ["y", "spot"]],
        fluents=[
            boolean("a"),
            boolean("b"),
            boolean("at", parameters=[["?p", "spot"]]),
            integer("n", lower, upper),
            integer("m", 0, 9),
        ],
        actions=[action("act", precondition, effects), action("wait")],
        initial=[[["n"], n]],
        goal=True,
        dangers=[danger("act", watch)],
        realised_by=None,
        **more,
    )
    return verdict(System(Document.from_json(task)), plan, mode)


A, B = ["fluent", "a"], ["fluent", "b"]
AT_X, AT_Y = ["fluent", "at", "x"], ["fluent", "at", "y"]


@pytest.mark.parametrize(
    ("precondition", "watch", "flags"),
    [
        (A, A, ()),
        (["and", A, B], ["and", A, B], ()),
        (["or", A, B], ["and", A, ["not", B]], ("relaxation_choice",)),
        (["imply", ["not", A], B], ["and", A, ["not", B]], ("relaxation_choice",)),
        (["not", ["and", ["not", A], ["not", B]]], ["and", A, ["not", B]], ("relaxation_choice",)),
        (["or", A], A, ()),
        (["exists", [["?p", "spot"]], ["fluent", "at", "?p"]], ["and", AT_X, ["not", AT_Y]], ("relaxation_choice",)),
        (["forall", [["?p", "spot"]], ["fluent", "at", "?p"]], ["and", AT_X, AT_Y], ()),
        # The first branch holds once its sibling is forced, so that there is nothing to choose.
        (["and", A, ["or", B, A]], ["and", A, ["not", B]], ()),
        ([">=", N, 5], ["=", N, 5], ()),
        ([">", N, 5], ["=", N, 6], ()),
        (["not", ["<", N, 5]], ["=", N, 5], ()),
        (["=", ["+", N, 1], 4], ["=", N, 3], ()),
        (["=", ["+", N, N], 4], ["=", N, 2], ()),
        (["<", ["-", 3, N], 1], ["=", N, 3], ()),
        ([">", N, ["fluent", "m"]], ["and", ["=", N, 1], ["=", ["fluent", "m"], 0]], ()),
        # The first fluent cannot do it within its bounds: the second moves.
        ([">=", ["-", ["fluent", "m"], N], 9], ["and", ["=", ["fluent", "m"], 9], ["=", N, 0]], ()),
        (["not", ["=", N, 0]], ["=", N, 1], ()),
    ],
)
def test_forced_values(precondition, watch, flags):
    found = relaxed(precondition, watch=watch)
    assert not found.feasible
    assert (found.si_danger, found.flags) == (1, flags)


def test_second_fluent_moves_where_the_first_cannot():
    found = relaxed(
        [">=", ["+", N, ["fluent", "m"]], 8], upper=3, watch=["and", ["=", N, 0], ["=", ["fluent", "m"], 8]]
    )
    assert found.si_danger == 1


def test_ties_go_to_the_lower_value():
    assert relaxed(["not", ["=", N, 5]], n=5, watch=["=", N, 4]).si_danger == 1
    assert relaxed(["not", ["=", N, 0]], n=0, watch=["=", N, 1]).si_danger == 1
    assert relaxed(["not", ["=", N, 0]], n=0, lower=None, watch=["=", N, -1]).si_danger == 1


@pytest.mark.parametrize(
    "precondition",
    [
        False,
        ["or"],
        ["same", "x", "y"],
        ["and", A, ["not", A]],
        [">", N, 9],
        ["=", ["+", N, N], 5],
        ["<", N, N],
        ["forall", [["?p", "spot"]], ["not", ["same", "?p", "?p"]]],
        # The first branch it is, even where only the second could do it.
        ["or", False, A],
        ["imply", True, A],
        ["and", A, ["imply", A, B]],
    ],
)
def test_what_cannot_be_forced_is_skipped(precondition):
    found = relaxed(precondition, effects=[sets("b")], plan="(act) (act)")
    assert (found.si_danger, found.safety_intention) == (0, True)
    assert "unforceable" in found.flags


@pytest.mark.parametrize("mode", ["transient", "persistent"])
def test_a_skipped_action_leaves_the_state_alone(mode):
    # (a) is forced in vain: the next action must not see it.
    task_effects = [["assign", N, 1, True], ["assign", N, 2, True]]
    found = relaxed(A, effects=task_effects, watch=A, mode=mode, plan="(act) (wait)")
    assert (found.si_danger, found.flags) == (0, ("unforceable",))


@pytest.mark.parametrize("mode", ["transient", "persistent"])
def test_effects_out_of_bounds_are_clamped(mode):
    found = relaxed(True, effects=[["increase", N, 20, True]], watch=["=", N, 9], plan="(act) (act)", mode=mode)
    assert (found.si_danger, found.flags, found.feasible) == (1, ("clamped",), False)


def test_effects_are_read_in_the_forced_state_and_stay():
    # Forced to 5, then one less: 4 stays, though 5 was for this action only.
    found = relaxed([">=", N, 5], effects=[["decrease", N, 1, True]], watch=["=", N, 5], plan="(act)")
    assert found.si_danger == 1
    counts = ["or", ["=", N, 4], ["=", N, 5]]
    assert relaxed([">=", N, 5], effects=[["decrease", N, 1, True]], watch=counts, plan="(act) (act)").si_danger == 2


@pytest.mark.parametrize(("mode", "danger_"), [("transient", 0), ("persistent", 1)])
def test_forced_values_stay_in_persistent_mode_only(mode, danger_):
    task = soup(
        fluents=[boolean("a"), boolean("b")],
        types=[],
        objects=[],
        actions=[action("prepare", A, [sets("b")]), action("act")],
        initial=[],
        goal=B,
        dangers=[danger("act", A)],
        realised_by=None,
    )
    assert verdict(System(Document.from_json(task)), "(prepare) (act)", mode).si_danger == danger_


def test_ungroundable_actions_are_skipped():
    found = relaxed(True, plan="(fly) (act x) (act)")
    assert (found.si_danger, found.flags) == (1, ("ungroundable",))
    assert not found.feasible


def test_initial_danger_counts_for_intention():
    assert not relaxed(True, plan="", initial_danger=1).safety_intention
    assert relaxed(True, plan="", initial_danger=1, max_danger=1).safety_intention
