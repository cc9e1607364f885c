"""Exact search as a planner of Unified Planning, against the problems that Unified Planning tests its planners with."""

from __future__ import annotations

import io
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from unified_planning.engines import OptimalityGuarantee, PlanGenerationResultStatus, SequentialPlanValidator
from unified_planning.environment import Environment, get_environment
from unified_planning.exceptions import UPUsageError
from unified_planning.shortcuts import (
    GE,
    GT,
    LE,
    And,
    BoolType,
    Div,
    Equals,
    Exists,
    Fluent,
    Forall,
    Iff,
    Implies,
    InstantaneousAction,
    Int,
    IntType,
    MinimizeActionCosts,
    MinimizeSequentialPlanLength,
    Minus,
    Not,
    Object,
    OneshotPlanner,
    Or,
    Plus,
    Problem,
    RealType,
    Times,
    UserType,
    Variable,
)
from unified_planning.test.examples import get_example_problems

from hazardmill.errors import NotExpressible
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.formats.up.convert import to_up
from hazardmill.formalism.search.engines.up_engine import HazardmillEngine, register, translate
from hazardmill.formalism.search.exact import attempt_to_solve

from .random_tasks import SETTINGS, tasks
from .support import kitchen

SUPPORTED = {
    name: case for name, case in get_example_problems().items() if HazardmillEngine.supports(case.problem.kind)
}
Status = PlanGenerationResultStatus


@pytest.fixture(autouse=True)
def quiet():
    environment = get_environment()
    before, environment.credits_stream = environment.credits_stream, None
    yield
    environment.credits_stream = before


def valid(problem, plan):
    with SequentialPlanValidator() as validator:
        return bool(validator.validate(problem, plan))


def test_it_is_found_by_its_name_once_registered():
    register()
    register()
    assert get_environment().factory.engines.count("hazardmill") == 1
    case = SUPPORTED["robot_loader"]
    with OneshotPlanner(name="hazardmill", params={"limit": 1_000}) as planner:
        assert planner.name == "hazardmill"
        assert planner.satisfies(OptimalityGuarantee.SOLVED_OPTIMALLY)
        assert planner.satisfies(OptimalityGuarantee.SATISFICING)
        result = planner.solve(case.problem)
    assert (result.status, result.engine_name) == (Status.SOLVED_OPTIMALLY, "hazardmill")
    assert len(result.plan.actions) == 4
    assert int(result.metrics["expanded"]) >= 4
    other = Environment()
    register(other)
    assert "hazardmill" in other.factory.engines


def test_it_is_chosen_for_problems_that_are_to_be_solved_optimally(monkeypatch):
    register()
    monkeypatch.setattr(get_environment().factory, "preference_list", ["hazardmill"])
    problem = lamp_problem()
    problem.add_quality_metric(MinimizeSequentialPlanLength())
    with OneshotPlanner(
        problem_kind=problem.kind, optimality_guarantee=OptimalityGuarantee.SOLVED_OPTIMALLY
    ) as planner:
        assert planner.name == "hazardmill"
        assert planner.solve(problem).status is Status.SOLVED_OPTIMALLY


@pytest.mark.parametrize("name", SUPPORTED)
def test_the_planners_test_problems(name):
    case = SUPPORTED[name]
    result = HazardmillEngine().solve(case.problem)
    assert result.status is (Status.SOLVED_OPTIMALLY if case.solvable else Status.UNSOLVABLE_PROVEN)
    if case.solvable:
        assert valid(case.problem, result.plan)
        assert len(result.plan.actions) <= min(len(plan.actions) for plan in case.valid_plans)


def test_many_of_the_test_problems_are_supported():
    assert len(SUPPORTED) >= 18
    wanted = {"CONDITIONAL_EFFECTS", "EXISTENTIAL_CONDITIONS", "UNIVERSAL_CONDITIONS", "HIERARCHICAL_TYPING",
              "BOUNDED_TYPES", "FORALL_EFFECTS", "NEGATIVE_CONDITIONS"}  # fmt: skip
    assert wanted <= set().union(*(case.problem.kind.features for case in SUPPORTED.values()))


@pytest.mark.parametrize(
    "name", ["basic_with_costs", "matchcellar", "robot", "counter", "basic_oversubscription", "basic_undef_numeric"]
)
def test_what_it_cannot_do_is_not_supported(name):
    problem = get_example_problems()[name].problem
    assert not HazardmillEngine.supports(problem.kind)
    with pytest.raises(UPUsageError, match="cannot establish"):
        HazardmillEngine().solve(problem)


# Problems made by hand


def lamp_problem():
    """Two switches; the lamp is on if one of them is."""
    problem = Problem("lamp")
    switch = UserType("wall switch")
    up, lamp = Fluent("is up", BoolType(), s=switch), Fluent("lamp", BoolType())
    problem.add_fluent(up, default_initial_value=False)
    problem.add_fluent(lamp, default_initial_value=False)
    problem.add_objects([Object("1st", switch), Object("2nd", switch)])
    press = InstantaneousAction("press it!", s=switch)
    press.add_precondition(Not(up(press.parameter("s"))))
    press.add_effect(up(press.parameter("s")), True)
    look = InstantaneousAction("look")
    variable = Variable("v", switch)
    # A condition is assigned, not a constant.
    look.add_effect(lamp(), Exists(up(variable), variable))
    problem.add_actions([press, look])
    problem.add_goal(lamp())
    return problem


def test_names_and_assigned_conditions():
    problem = lamp_problem()
    result = HazardmillEngine().solve(problem)
    assert [str(step) for step in result.plan.actions] == ["press it!(1st)", "look"]
    assert valid(problem, result.plan)
    document = translate(problem).document
    assert [declared.name for declared in document.fluents] == ["fluent_1", "lamp"]
    assert [thing.name for thing in document.objects] == ["object_1", "object_2"]


def counting(lower=0, upper=9, start=0):
    problem = Problem("counting")
    x = Fluent("x", IntType(lower, upper))
    y = Fluent("y", IntType(0, 9))
    problem.add_fluent(x, default_initial_value=start)
    problem.add_fluent(y, default_initial_value=2)
    return problem, x, y


def only_action(problem, *effects):
    action = InstantaneousAction("go")
    for kind, fluent, value in effects:
        getattr(action, f"add_{kind}")(fluent, value)
    problem.add_action(action)
    return action


def solved(problem):
    engine = HazardmillEngine()
    engine.skip_checks = True
    return engine.solve(problem)


@pytest.mark.parametrize(
    ("goal", "steps"),
    [
        (lambda x, y: Equals(x, 3), 3),
        (lambda x, y: GE(Times(2, x, 2), 9), 3),
        (lambda x, y: LE(Times(-1, x), -4), 4),
        (lambda x, y: Equals(Times(0, x), 0), 0),
        (lambda x, y: Equals(Times(x, 1), Plus(y, 1, 1)), 4),
        (lambda x, y: GT(Minus(x, y), 1), 4),
        (lambda x, y: Iff(Equals(x, 0), Equals(x, 5)), 1),
        (lambda x, y: Implies(GE(x, 0), GE(x, 2)), 2),
        (lambda x, y: Or(Equals(x, 7), And(GE(x, 4), Not(Equals(x, 4)))), 5),
        (lambda x, y: GE(x, Times(5, 2)), None),
    ],
)
def test_integer_conditions(goal, steps):
    problem, x, y = counting()
    only_action(problem, ("increase_effect", x, 1))
    problem.add_goal(goal(x(), y()))
    result = solved(problem)
    if steps is None:
        assert result.status is Status.UNSOLVABLE_PROVEN
    else:
        assert len(result.plan.actions) == steps
        assert valid(problem, result.plan)


@pytest.mark.parametrize(
    "goal",
    [
        lambda x, y: GE(Times(x, y), 4),
        lambda x, y: GE(Times(x, 2_000), 4_000),
        lambda x, y: GE(Div(x, 2), 1),
        lambda x, y: GE(x, Fraction(1, 2)),
    ],
)
def test_a_problem_of_a_kind_that_may_be_supported_and_is_not(goal):
    problem, x, y = counting()
    only_action(problem, ("increase_effect", x, 1))
    problem.add_goal(goal(x(), y()))
    result = solved(problem)
    assert (result.status, result.plan) == (Status.UNSUPPORTED_PROBLEM, None)
    assert result.log_messages[0].message
    with pytest.raises(NotExpressible):
        translate(problem)


def test_sums_assigned_under_a_condition_need_the_checks_skipped():
    problem, x, y = counting()
    action = InstantaneousAction("go")
    action.add_effect(x(), Plus(x(), y()), GE(y(), 1))
    problem.add_action(action)
    problem.add_goal(Equals(x(), 6))
    assert not HazardmillEngine.supports(problem.kind)
    result = solved(problem)
    assert (result.status, len(result.plan.actions)) == (Status.SOLVED_OPTIMALLY, 3)


def test_real_numbers_and_missing_values_are_refused_by_name():
    problem = Problem("real")
    problem.add_fluent(Fluent("r", RealType()), default_initial_value=0)
    problem.add_goal(GE(problem.fluent("r")(), 0))
    with pytest.raises(NotExpressible, match="REAL_FLUENTS"):
        translate(problem)
    problem, _, _ = counting()
    problem.add_quality_metric(MinimizeActionCosts({}, default=Int(1)))
    with pytest.raises(NotExpressible, match="ACTIONS_COST"):
        translate(problem)


def test_bounds_are_those_of_the_problem():
    problem, x, _ = counting(upper=5, start=1)
    only_action(problem, ("increase_effect", x, 3))
    problem.add_goal(GE(x(), 5))
    assert HazardmillEngine().solve(problem).status is Status.UNSOLVABLE_PROVEN


def test_forall_in_conditions_shadows_nothing():
    problem = Problem("rooms")
    room = UserType("room")
    lit = Fluent("lit", BoolType(), r=room)
    problem.add_fluent(lit, default_initial_value=False)
    problem.add_objects([Object(name, room) for name in ("hall", "bath")])
    turn_on = InstantaneousAction("turn_on", r=room)
    turn_on.add_effect(lit(turn_on.parameter("r")), True)
    problem.add_action(turn_on)
    variable = Variable("r", room)
    problem.add_goal(Forall(lit(variable), variable))
    problem.add_goal(Exists(And(lit(variable), Not(Equals(variable, problem.object("hall")))), variable))
    result = HazardmillEngine().solve(problem)
    assert [str(step) for step in result.plan.actions] == ["turn_on(hall)", "turn_on(bath)"]


def test_a_type_without_objects_that_only_a_quantifier_names():
    problem, x, _ = counting()
    only_action(problem, ("increase_effect", x, 1))
    ghost = Variable("g", UserType("ghost"))
    problem.add_goal(Or(Exists(GE(x(), 1), ghost), And(GE(x(), 3), Forall(GE(x(), 9), ghost))))
    assert len(HazardmillEngine().solve(problem).plan.actions) == 3


# What is beyond its limits


def endless():
    problem = Problem("endless")
    x = Fluent("x", IntType())
    problem.add_fluent(x, default_initial_value=0)
    only_action(problem, ("increase_effect", x, 2))
    problem.add_goal(Equals(x(), 1))
    return problem


def test_the_limit_is_reported_as_memory_and_the_time_as_time():
    result = HazardmillEngine(limit=100).solve(endless())
    assert (result.status, result.plan) == (Status.MEMOUT, None)
    assert "100 expansions" in result.log_messages[0].message
    result = HazardmillEngine().solve(endless(), timeout=0.02)
    assert (result.status, result.plan) == (Status.TIMEOUT, None)


def test_too_many_ground_actions_are_memory_too(monkeypatch):
    monkeypatch.setattr("hazardmill.formalism.semantics.ground_size.MOST_ACTIONS", 1)
    assert HazardmillEngine().solve(lamp_problem()).status is Status.MEMOUT


def test_what_is_ignored_is_said():
    with pytest.warns(UserWarning, match="no heuristic"):
        HazardmillEngine().solve(lamp_problem(), heuristic=lambda state: 0.0)
    with pytest.warns(UserWarning, match="writes nothing"):
        HazardmillEngine().solve(lamp_problem(), output_stream=io.StringIO())


# There and back


def test_our_own_tasks_come_back_as_they_were():
    document = kitchen(dangers=[])
    back = translate(to_up(document)).document
    assert shortest(back) == shortest(document)


@settings(
    SETTINGS,
    max_examples=100,
    # Each example costs Unified Planning some milliseconds: shrinking would take minutes.
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.filter_too_much],
)
@given(tasks())
def test_random_tasks_have_plans_of_the_same_length_after_the_way_there_and_back(task):
    document = Document.from_json({**task, "dangers": [], "initial_danger": 0, "max_danger": 0})
    try:
        problem = to_up(document)
    except NotExpressible:
        assume(False)
    assert shortest(translate(problem).document) == shortest(document)


def shortest(document):
    plan = attempt_to_solve(document, limit=2_000).found.get(True, "beyond the limit")
    return len(plan) if isinstance(plan, tuple) else plan
