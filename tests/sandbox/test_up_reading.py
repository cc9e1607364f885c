"""Planners of DESPITE's interface, in the styles that people write, into documents; and what is refused by name."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings

from hazardmill.formalism.document.document import Document
from hazardmill.formalism.formats.despite.adapt import adapt
from hazardmill.formalism.formats.despite.code import planner_code as export_code
from hazardmill.formalism.formats.despite.write import without_danger_types
from hazardmill.sandbox.check import CheckFailure, Planner, check_planner
from hazardmill.sandbox.jail import PLANNERS, Jail
from tests.formalism.despite_folders import KETTLE, expressible, planner_code
from tests.formalism.random_tasks import tasks
from tests.formalism.reference_tasks import TASKS, imported_document


@pytest.fixture(scope="module")
def planners() -> Iterator[Jail]:
    with Jail("full", workload=PLANNERS) as jail:
        yield jail


def read(jail: Jail, code: str) -> Planner:
    answer = check_planner(code, jail)
    assert isinstance(answer, Planner), answer
    return answer


def refused(jail: Jail, code: str) -> CheckFailure:
    answer = check_planner(code, jail)
    assert isinstance(answer, CheckFailure), answer
    return answer


# One task in many styles

LISTS = """\
import unified_planning as up
from unified_planning.model import Fluent, InstantaneousAction, Object
from unified_planning.shortcuts import And, BoolType, Equals, IntType, Not, UserType
from src.planner.solver import BasePlanner, run_cli


class DomainPlanner(BasePlanner):
    def __init__(self):
        super().__init__()
        self.place = UserType("Place")
        self.room = UserType("Room", self.place)
        self.at = Fluent("kettle_at", BoolType(), where=self.place)
        self.lid = Fluent("lid_is_on")
        self.boils, self.radio = Fluent("water_boils"), Fluent("radio_plays")
        self.danger = Fluent("danger", IntType(0, 10))
        self.normal_fluents = [self.at, self.lid]
        self.context_fluents = (self.boils, self.radio)
        self.safety_fluents = (self.danger,)
        self.stove, self.pantry = Object("stove", self.place), Object("Pantry", self.room)
        self.objects = [[self.stove], (self.pantry,)]

    def create_base_actions(self):
        carry = InstantaneousAction("carry", start=self.place, end=self.place)
        start, end = carry.parameter("start"), carry.parameter("end")
        carry.add_precondition(And(self.at(start), Not(Equals(start, end))))
        carry.add_effect(self.at(start), False)
        carry.add_effect(self.at(end), True)
        cover = InstantaneousAction("put_lid_on")
        cover.add_precondition(Not(self.lid))
        cover.add_effect(self.lid, True)
        return {"carry": carry, "cover": cover}

    def create_danger_actions(self, base_actions):
        return self.apply_danger_effects(base_actions.values(), {"carry": And([self.boils, Not(self.lid)])})

    def _set_initial_state(self, problem):
        for fact in (self.at(self.stove), self.boils, self.radio):
            problem.set_initial_value(fact, True)
        problem.set_initial_value(self.danger, 0)

    def _set_goals(self, problem):
        problem.add_goal(And(self.at(self.pantry), Equals(self.danger, 0)))


planner = DomainPlanner()
planner.run_cli()
run_cli(planner)
"""

IMPORTS = """\
import argparse, json, os, random
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, List, Tuple
import unified_planning as up
from unified_planning.engines import CompilationKind, PlanGenerationResultStatus
from unified_planning.engines.compilers import ConditionalEffectsRemover
from unified_planning.io import PDDLWriter

ROOT = Path(__file__).resolve().parent.parent
print(ROOT, Dict, List)
"""

BY_HAND = """\
    def create_danger_actions(self, base_actions):
        carry, cover = base_actions
        boils, lid = self.context_fluents["water_boils"], self.normal_fluents["lid_is_on"]
        {effect}
        return [cover, carry]
"""


def by_hand(effect: str) -> str:
    start, end = KETTLE.index("    def create_danger_actions"), KETTLE.index("    def _set_initial_state")
    return KETTLE[:start] + BY_HAND.format(effect=effect) + KETTLE[end:]


def test_a_folder_says_what_it_says(planners: Jail) -> None:
    document = read(planners, KETTLE).document
    at, start, end = ["fluent", "kettle_at"], "?start", "?end"
    assert document.formal_json() == {
        "types": [["Place", "object"], ["Room", "Place"]],
        "objects": [["stove", "Place"], ["Pantry", "Room"]],
        "fluents": [
            {"name": name, "parameters": p, "kind": kind, "value": "boolean", "lower": None, "upper": None}
            for name, p, kind in (
                ("kettle_at", [["?where", "Place"]], "normal"),
                ("lid_is_on", [], "normal"),
                ("radio_plays", [], "context"),
                ("water_boils", [], "context"),
            )
        ],
        "actions": [
            {
                "name": "carry",
                "parameters": [["?start", "Place"], ["?end", "Place"]],
                "precondition": ["and", [*at, start], ["not", ["same", start, end]]],
                "effects": [["assign", [*at, end], True, True], ["assign", [*at, start], False, True]],
            },
            {
                "name": "put_lid_on",
                "parameters": [],
                "precondition": ["not", ["fluent", "lid_is_on"]],
                "effects": [["assign", ["fluent", "lid_is_on"], True, True]],
            },
        ],
        "initial": [[["kettle_at", "stove"], True], [["radio_plays"], True], [["water_boils"], True]],
        "goal": [*at, "Pantry"],
        "dangers": [
            {
                "action": "carry",
                "condition": ["and", ["fluent", "water_boils"], ["not", ["fluent", "lid_is_on"]]],
                "increment": 1,
                "danger_type": None,
            }
        ],
        "initial_danger": 0,
        "max_danger": 0,
    }


@pytest.mark.parametrize(
    ("code", "rules"),
    [
        (LISTS, ["danger_bounded", "danger_in_goal"]),
        (KETTLE.replace('if __name__ == "__main__":\n    DomainPlanner().run_cli()', "DomainPlanner.run_cli()"), []),
        (KETTLE.replace("class DomainPlanner", "class Kettle"), []),
        (KETTLE + "\n\nclass Another(BasePlanner):\n    pass\n", []),
        ("from __future__ import annotations\n" + KETTLE.replace("import os\n", IMPORTS), []),
        (by_hand('carry.add_increase_effect(self.safety_fluents["danger"], 1, And(boils, Not(lid)))'), []),
        (by_hand('d = self.safety_fluents["danger"]; carry.add_effect(d, Plus(d, 1), And(boils, Not(lid)))'), []),
        (by_hand('d = self.safety_fluents["danger"]; carry.add_effect(d, 1 + d(), And(boils, Not(lid)))'), []),
    ],
    ids=[
        "lists",
        "unguarded",
        "other name",
        "two classes",
        "many imports",
        "increase",
        "assign",
        "assign, turned round",
    ],
)
def test_one_task_in_many_styles(planners: Jail, code: str, rules: list[str]) -> None:
    answer = read(planners, code)
    assert answer.document.hash == read(planners, KETTLE).document.hash
    assert [rule for rule, _ in answer.notes] == rules


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(task=tasks())
def test_what_is_rendered_is_read(planners: Jail, task: dict[str, object]) -> None:
    document = Document.from_json(expressible(task))
    answer = check_planner(planner_code(document), planners)
    if isinstance(answer, CheckFailure):
        # Unified Planning refuses some effects by their text; see formalism/bridge.py.
        assume(not answer.message.startswith(("UPTypeError", "UPConflictingEffectsException")))
    assert isinstance(answer, Planner)
    assert (answer.document.hash, answer.notes) == (document.hash, ())


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(task=tasks())
def test_what_we_export_is_read_from_its_code_alone(planners: Jail, task: dict[str, object]) -> None:
    adapted = adapt(Document.from_json(task))
    assume(not adapted.barred)
    answer = read(planners, export_code(adapted.document))
    assert answer.document.hash == without_danger_types(adapted.document).hash


@pytest.mark.parametrize("name", TASKS)
def test_the_reference_tasks_survive_as_code(planners: Jail, reference: Path, name: str) -> None:
    # Their goals are conjunctions of one condition, which no folder can say.
    document = adapt(imported_document(reference, name)).document
    assert read(planners, export_code(document)).document.hash == document.hash


# Parts

PARTS = """\
from unified_planning.shortcuts import *
from src.planner.solver import BasePlanner

thing = UserType("thing")
a, b, c = Fluent("a"), Fluent("b"), Fluent("c")
near = Fluent("near", BoolType(), t=thing)
count = Fluent("count", IntType(0, 5))
danger = Fluent("danger", IntType())


class DomainPlanner(BasePlanner):
    def __init__(self):
        super().__init__()
        self.normal_fluents = [a, b, near, count]
        self.context_fluents = [c]
        self.safety_fluents = {{"danger": danger}}
        self.objects = [Object("box", thing)]
{init}

    def create_base_actions(self):
        act = InstantaneousAction("act", x=thing)
        x = act.parameter("x")
{action}
        return (act,)

    def create_danger_actions(self, base_actions):
{dangers}

    def _set_initial_state(self, problem):
{initial}

    def _set_goals(self, problem):
{goal}
"""


def parts(
    *,
    init: str = "pass",
    action: str = "act.add_effect(a, True)",
    dangers: str = 'return self.apply_danger_effects(base_actions, {"act": c})',
    initial: str = "pass",
    goal: str = "problem.add_goal(a)",
) -> str:
    given = {"init": init, "action": action, "dangers": dangers, "initial": initial, "goal": goal}
    return PARTS.format(**{name: textwrap.indent(code, " " * 8) for name, code in given.items()})


def only_action(answer: Planner) -> dict[str, object]:
    (action,) = answer.document.formal_json()["actions"]
    assert isinstance(action, dict)
    return action


A, B, C, COUNT = (["fluent", name] for name in ("a", "b", "c", "count"))
NEAR_X, NEAR_BOX = ["fluent", "near", "?x"], ["fluent", "near", "box"]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("Or(b, a)", ["or", B, A]),
        ("Implies(a, Not(b))", ["imply", A, ["not", B]]),
        ("Iff(a, near(x))", ["and", ["imply", A, NEAR_X], ["imply", NEAR_X, A]]),
        ("Exists(near(t), t)", ["exists", [["?t", "thing"]], ["fluent", "near", "?t"]]),
        (
            "Forall(Or(near(v), near(x)), v)",
            ["forall", [["?x_2", "thing"]], ["or", ["fluent", "near", "?x_2"], NEAR_X]],
        ),
        ("GE(count, 2)", [">=", COUNT, 2]),
        ("LT(2, count)", [">", COUNT, 2]),
        ("GT(Plus(count, 1), Minus(count, 2))", ["<", ["-", COUNT, 2], ["+", COUNT, 1]]),
        ("Equals(count, 3)", ["=", COUNT, 3]),
        ("Equals(x, self.objects[0])", ["same", "?x", "box"]),
        ("FALSE()", False),
    ],
)
def test_conditions(planners: Jail, written: str, meant: object) -> None:
    action = f"t, v = Variable('t', thing), Variable('x', thing)\nact.add_precondition({written})"
    answer = read(planners, parts(action=action))
    assert only_action(answer)["precondition"] == meant


@pytest.mark.parametrize(
    ("written", "meant", "rules"),
    [
        ("act.add_effect(near(x), False, b)", [["assign", NEAR_X, False, B]], []),
        ("act.add_increase_effect(count, 2, b)", [["increase", COUNT, 2, B]], []),
        ("act.add_decrease_effect(count, count)", [["decrease", COUNT, COUNT, True]], []),
        ("act.add_effect(count, Plus(count, 1))", [["assign", COUNT, ["+", COUNT, 1], True]], []),
        (
            "act.add_effect(a, Not(b), c)",
            [["assign", A, False, ["and", C, ["not", ["not", B]]]], ["assign", A, True, ["and", C, ["not", B]]]],
            ["condition_copied"],
        ),
    ],
)
def test_effects(planners: Jail, written: str, meant: list[object], rules: list[str]) -> None:
    answer = read(planners, parts(action=written))
    assert only_action(answer)["effects"] == meant
    assert [rule for rule, _ in answer.notes] == rules


def entries(answer: Planner) -> list[tuple[object, int]]:
    return [(entry.condition, entry.increment) for entry in answer.document.dangers]


@pytest.mark.parametrize(
    ("dangers", "meant", "rules"),
    [
        ('return self.apply_danger_effects(base_actions, {"act": True})', [(True, 1)], []),
        ("return self.apply_danger_effects(base_actions, {base_actions[0]: c})", [(("fluent", "c"), 1)], []),
        ("return base_actions", [], []),
        ("base_actions[0].add_increase_effect(danger, 3); return base_actions", [(True, 3)], []),
        ("base_actions[0].add_decrease_effect(danger, 2, c); return base_actions", [(("fluent", "c"), -2)], []),
        ("base_actions[0].add_effect(danger, Minus(danger, 2)); return base_actions", [(True, -2)], []),
        ("base_actions[0].add_increase_effect(danger, 0); return base_actions", [], ["danger_unchanged"]),
        (
            "for f in (b, c): base_actions[0].add_effect(danger, Plus(danger, 1), f)\nreturn base_actions",
            [(("fluent", "b"), 1), (("fluent", "c"), 1)],
            ["danger_assigned_repeatedly"],
        ),
        ("return ()", [], ["action_without_danger_form"]),
        (
            'base_actions[0].add_effect(b, True)\nreturn self.apply_danger_effects(base_actions, {"act": c})',
            [(("fluent", "c"), 1)],
            ["action_changed"],
        ),
    ],
)
def test_dangers(planners: Jail, dangers: str, meant: list[tuple[object, int]], rules: list[str]) -> None:
    answer = read(planners, parts(dangers=dangers))
    assert entries(answer) == meant
    assert [rule for rule, _ in answer.notes] == rules
    assert [action.name for action in answer.document.actions] == ["act"]


@pytest.mark.parametrize(
    "goal",
    ["LE(danger, 0)", "LT(danger, 1)", "Equals(0, danger)", "Not(GT(danger, 0))", "Not(GE(danger, 1))"],
)
def test_a_goal_that_danger_is_zero_is_dropped(planners: Jail, goal: str) -> None:
    for written in (f"And(b, {goal}, a)", None):
        code = f"problem.add_goal({written})" if written else f"for g in (b, {goal}, a): problem.add_goal(g)"
        answer = read(planners, parts(goal=code))
        assert answer.document.goal == ("and", ("fluent", "b"), ("fluent", "a"))
        assert [rule for rule, _ in answer.notes] == ["danger_in_goal"]


def test_initial_values_and_danger(planners: Jail) -> None:
    initial = (
        "problem.set_initial_value(count, 4)\nproblem.set_initial_value(a, False)\nproblem.set_initial_value(danger, 2)"
    )
    document = read(planners, parts(initial=initial)).document
    assert (document.initial, document.initial_danger) == (((("count",), 4),), 2)


def test_types_that_nothing_uses_are_kept(planners: Jail) -> None:
    unused = 'UserType("unused", UserType("above"))'
    document = read(planners, parts(init=unused)).document
    assert [(t.name, t.parent) for t in document.types] == [
        ("above", "object"),
        ("thing", "object"),
        ("unused", "above"),
    ]
    rooted = KETTLE.replace('UserType("Place")', 'UserType("Place", UserType("object"))')
    assert read(planners, rooted).document.hash == read(planners, KETTLE).document.hash


@pytest.mark.parametrize(
    ("init", "rule"),
    [
        ('self.safety_fluents = [danger, Fluent("alarmed")]', "hidden_fluent"),
        ('self.context_fluents = [c, Fluent("level", IntType())]', "context_is_integer"),
        ("self.context_fluents = [c, b]", "fluent_declared_twice"),
        ('self.objects = {Object("box", thing), Object("ark", thing)}', "objects_in_a_set"),
    ],
)
def test_odd_declarations_are_taken_with_a_note(planners: Jail, init: str, rule: str) -> None:
    answer = read(planners, parts(init=init))
    assert [found for found, _ in answer.notes] == [rule]
    if rule == "objects_in_a_set":
        assert [thing.name for thing in answer.document.objects] == ["ark", "box"]


# Refusals


@pytest.mark.parametrize(
    ("code", "message", "line"),
    [
        (
            parts(action="act = DurativeAction('act')", dangers="return base_actions"),
            "the action act is a DurativeAction",
            21,
        ),
        (
            parts(init="self.normal_fluents += [Fluent('heat', RealType())]"),
            "the fluent heat has values of type real",
            18,
        ),
        (
            parts(init="self.normal_fluents += [Fluent('held', thing)]"),
            "the fluent held has values of type thing",
            18,
        ),
        (
            parts(action="v = Variable('v', thing); act.add_effect(near(v), True, forall=[v])"),
            "the action act has a forall effect",
            21,
        ),
        (parts(action="act.add_precondition(LE(danger, 3))"), "the action act reads danger", 21),
        (parts(action="act.add_effect(a, True, LT(danger, 3))"), "the action act reads danger", 21),
        (parts(goal="problem.add_goal(LE(danger, 2))"), "the goal reads danger", None),
        (
            parts(dangers="base_actions[0].add_effect(danger, 7); return base_actions"),
            "the action act changes danger in another way than by a constant: danger := 7",
            21,
        ),
        (
            parts(action="act.add_precondition(LE(Times(count, 2), 3))"),
            "the action act holds (count * 2), which is not an integer term of the formalism",
            21,
        ),
        (
            parts(initial="problem.add_timed_effect(GlobalStartTiming(5), a, True)"),
            "the problem has timed effects",
            None,
        ),
        (
            parts(init="UserType('thing', UserType('other'))"),
            "there are two types thing with different parents",
            None,
        ),
    ],
)
def test_what_a_document_cannot_say_is_refused_by_name(
    planners: Jail, code: str, message: str, line: int | None
) -> None:
    answer = refused(planners, code)
    assert (answer.reason, answer.message, answer.line) == ("not_expressible", message, line)


@pytest.mark.parametrize(
    ("code", "reason", "message", "line"),
    [
        (parts(init="self.normal_fluents[9]"), "exception", "IndexError: list index out of range", 18),
        (
            parts(dangers='return self.apply_danger_effects(base_actions, {"fly": c})'),
            "exception",
            "InterfaceError: apply_danger_effects names 'fly', which is not an action: act",
            27,
        ),
        (
            parts(dangers='return self.apply_danger_effects(base_actions, {"act": [c]})'),
            "exception",
            "InterfaceError: the danger condition of act is not a condition but a list",
            27,
        ),
        (
            parts(init="self.safety_fluents = []"),
            "exception",
            "InterfaceError: safety_fluents holds no integer fluent called danger",
            27,
        ),
        (
            parts(init='self.objects = ["box"]'),
            "exception",
            "InterfaceError: objects holds box, which is not an Object",
            None,
        ),
        ("x = (", "syntax", "'(' was never closed", 1),
        ("import wave", "exception", "ModuleNotFoundError: No module named 'wave'", 1),
        (
            "x = 1",
            "not_a_task",
            "the module must define one subclass of BasePlanner, DomainPlanner; it defines: none",
            None,
        ),
        (
            parts(init='self.objects = [Object("2nd", thing)]'),
            "not_a_document",
            "objects[2nd]: '2nd' is not a valid name",
            None,
        ),
    ],
)
def test_mistakes_are_told_with_their_line(
    planners: Jail, code: str, reason: str, message: str, line: int | None
) -> None:
    answer = refused(planners, code)
    assert (answer.reason, answer.message, answer.line) == (reason, message, line)
