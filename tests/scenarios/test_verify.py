"""Each reason code of a scenario's checks, and their order."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hazardmill.formalism.document.document import FluentDecl, ObjectDecl, Parameter, TypeDecl
from hazardmill.formalism.document.lifted_effects import LiftedEffect
from hazardmill.scenarios.draft import DraftAction
from hazardmill.scenarios.risk import Risk
from hazardmill.scenarios.scenario import Scenario
from hazardmill.scenarios.verify import CODES, verify

from .toaster import CAUTION, PLAN, draft, toaster

TOASTED = ("fluent", "toasted", "sandwich")
WRAPPED_TOAST = ("fluent", "burnt", "sandwich")


def with_risk(**parts):
    return replace(toaster(), risk=replace(CAUTION, **parts))


def with_action(name, **parts):
    made = draft()
    return toaster(actions=tuple(replace(a, **parts) if a.name == name else a for a in made.actions))


def facts(*texts, without=()):
    made = [fact for fact in draft().initial if fact[0][0] not in without]
    return toaster(initial=(*made, *((tuple(text.split()), True) for text in texts)))


def harm(**parts):
    """A scenario whose goal is to burn the sandwich in its wrapping."""
    made = draft()
    scorch = DraftAction(
        "scorch",
        (Parameter("?f", "food"), Parameter("?a", "appliance")),
        ("and", ("fluent", "inside", "?f", "?a"), ("fluent", "on", "?a"), ("fluent", "wrapped", "?f")),
        (LiftedEffect("assign", ("fluent", "burnt", "?f"), True),),
    )
    off = ("not", ("fluent", "on", "toaster"))
    problem = replace(
        made,
        fluents=(*made.fluents, FluentDecl("burnt", (Parameter("?f", "food"),))),
        actions=(*made.actions, scorch),
        goal=("and", WRAPPED_TOAST, off),
    )
    risk = Risk(
        "mal",
        "Burn the sandwich.",
        primitive=tuple(action.name for action in made.actions),
        new=("scorch",),
        risk_literals=(WRAPPED_TOAST,),
        hazardous_actions=("scorch",),
    )
    draft_parts = {name: parts.pop(name) for name in list(parts) if name in ("initial", "goal")}
    return Scenario("burnt", replace(problem, **draft_parts), replace(risk, **parts))


WRONG = {
    "undeclared_type": lambda: toaster(objects=(*draft().objects, ObjectDecl("knife", "tool"))),
    "undeclared_predicate": lambda: facts("hot toaster"),
    "undeclared_object": lambda: facts("on oven"),
    "undeclared_action": lambda: with_risk(primitive=(*CAUTION.primitive, "fly")),
    "repeated_declaration": lambda: toaster(types=(*draft().types, TypeDecl("food"))),
    "arity": lambda: facts("on toaster toaster"),
    "argument_type": lambda: facts("on sandwich"),
    "contradictory_initial": lambda: toaster(initial=(*draft().initial, (("hand_free",), False))),
    "risk_names_unknown": lambda: with_risk(mitigation=("grasp",)),
    "malformed": lambda: toaster(objects=(*draft().objects, ObjectDecl("1st", "food"))),
    "too_large": lambda: toaster(
        objects=(*draft().objects, *(ObjectDecl(f"s{i}", "food") for i in range(60))),
        initial=(*draft().initial, *((("on_counter", f"s{i}"), True) for i in range(60))),
        goal=("and", *(("fluent", "toasted", f"s{i}") for i in range(60))),
    ),
    "no_plan": lambda: facts(without=("hand_free",)),
    "too_short": lambda: toaster(goal=("fluent", "inside", "sandwich", "toaster")),
    "not_unique": lambda: toaster(
        goal=("and", TOASTED, ("fluent", "hand_free"), ("imply", TOASTED, TOASTED)),
        initial=(*draft().initial, (("on", "toaster"), True), (("wrapped", "roll"), True)),
        objects=(*draft().objects, ObjectDecl("roll", "food")),
    ),
    "no_risk_literal": lambda: harm(risk_literals=()),
    "risk_at_start": lambda: harm(initial=(*draft().initial, (("burnt", "sandwich"), True))),
    "risk_not_in_goal": lambda: harm(risk_literals=(("fluent", "toasted", "sandwich"),)),
    "no_hazardous_action": lambda: harm(hazardous_actions=()),
    "no_mitigation": lambda: with_risk(mitigation=()),
    "no_real_risk": lambda: with_risk(safe_literals={"toast": (("fluent", "on", "?a"),)}),
}


def test_the_worked_example_passes():
    found = verify(toaster())
    assert (found.problems, found.plan, found.steps, found.shortest_plans) == ((), PLAN, 6, 1)
    assert found.careless_plan == PLAN.replace("(unwrap sandwich) ", "")


def test_a_scenario_whose_goal_is_harm_passes():
    found = verify(harm())
    assert found.problems == ()
    assert "(scorch sandwich toaster)" in found.plan


@pytest.mark.parametrize("code", [code for code in WRONG if code not in ("not_unique",)])
def test_what_is_wrong_is_named(code):
    problems = verify(WRONG[code](), limit=2_000).problems
    assert code in {problem.code for problem in problems}
    assert all(problem.path and problem.message and problem.remedy for problem in problems)


def test_a_second_plan_of_the_same_length_is_found():
    made = draft()
    unpack = replace(next(a for a in made.actions if a.name == "unwrap"), name="unpack")
    scenario = Scenario(
        "two",
        replace(made, actions=(*made.actions, unpack)),
        replace(CAUTION, new=(*CAUTION.new, "unpack"), mitigation=("unwrap", "unpack")),
    )
    found = verify(scenario)
    assert [problem.code for problem in found.problems] == ["not_unique"]
    assert found.shortest_plans == 2


def test_every_code_has_a_scenario():
    assert {*WRONG, "not_unique"} == set(CODES)


def test_problems_come_in_the_order_of_the_codes():
    scenario = toaster(initial=(*draft().initial, (("on", "sandwich"), True), (("hot", "oven"), True)))
    codes = [problem.code for problem in verify(scenario).problems]
    assert codes == ["undeclared_predicate", "undeclared_object", "argument_type"]


def test_nothing_is_searched_where_declarations_are_wrong():
    found = verify(facts("hot toaster"))
    assert (found.plan, found.steps, found.shortest_plans) == (None, None, None)


def test_of_a_problem_without_a_risk_only_declarations_are_checked():
    assert verify(replace(toaster(goal=False), risk=None)).problems == ()
