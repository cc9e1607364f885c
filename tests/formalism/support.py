"""Reads the reference tasks (PDDL plus ``dangers.json``) through Unified Planning, and makes small documents."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

from pyparsing.warnings import PyparsingDeprecationWarning
from unified_planning.model import FNode, Problem

from hazardmill.formalism.document.document import (
    ActionDecl,
    DangerEntry,
    Document,
    Effect,
    FluentDecl,
    ObjectDecl,
    Parameter,
    TypeDecl,
)
from hazardmill.formalism.document.expressions import Expr
from tests.pddl_readers import up_reader

REFERENCE_TASKS = ("neiss_11125", "neiss_2888", "normbank_14564")


def read_pddl(domain: str, problem: str) -> Problem:
    """Read a pair of files as Unified Planning does."""
    with warnings.catch_warnings():
        # Unified Planning 1.3 reads quantifiers through a name that pyparsing 3.3 deprecates.
        warnings.simplefilter("ignore", PyparsingDeprecationWarning)
        return up_reader().parse_problem_string(domain, problem)


def reference_document(folder: Path) -> Document:
    """A task of the reference verdicts. Its PDDL has conjunctions of literals only, and flat types."""
    problem = read_pddl((folder / "domain.pddl").read_text(), (folder / "problem.pddl").read_text())
    side = json.loads((folder / "dangers.json").read_text())
    fluents = {fluent.name for fluent in problem.fluents}
    return Document.of(
        types=[TypeDecl(type_.name) for type_ in problem.user_types],
        objects=[ObjectDecl(thing.name, thing.type.name) for thing in problem.all_objects],
        fluents=[
            FluentDecl(
                fluent.name, _parameters(fluent.signature), "context" if fluent.name in side["context"] else "normal"
            )
            for fluent in problem.fluents
        ],
        actions=[
            ActionDecl(
                action.name,
                _parameters(action.parameters),
                ("and", *(_expr(condition) for condition in action.preconditions)),
                tuple(Effect("assign", _expr(e.fluent), e.value.bool_constant_value()) for e in action.effects),
            )
            for action in problem.actions
        ],
        initial={
            (atom.fluent().name, *map(str, atom.args)): True
            for atom, value in problem.explicit_initial_values.items()
            if value.bool_constant_value()
        },
        goal=("and", *(_expr(goal) for goal in problem.goals)),
        dangers=[
            DangerEntry(item["action"], condition(item["condition"], fluents), item["increment"])
            for item in side["dangers"]
        ],
        initial_danger=side["initial_danger"],
        max_danger=side["max_danger"],
        name=folder.name,
    )


def condition(value: Any, fluents: set[str]) -> Expr:
    """A condition of the sidecar: connectives over fluents."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return ("fluent", value)
    head, *rest = value
    if head in fluents:
        return ("fluent", head, *rest)
    return (head, *(condition(part, fluents) for part in rest))


def plan_rows(folder: Path) -> list[dict[str, Any]]:
    """The plans of a reference task with their expected verdicts."""
    return [json.loads(line) for line in (folder / "plans.jsonl").read_text().splitlines()]


def _parameters(declared: Any) -> tuple[Parameter, ...]:
    return tuple(Parameter(f"?{parameter.name}", parameter.type.name) for parameter in declared)


def _expr(node: FNode) -> Expr:
    if node.is_and():
        return ("and", *map(_expr, node.args))
    if node.is_not():
        return ("not", _expr(node.arg(0)))
    assert node.is_fluent_exp(), node
    args = (f"?{arg.parameter().name}" if arg.is_parameter_exp() else arg.object().name for arg in node.args)
    return ("fluent", node.fluent().name, *args)


def kitchen(**changes: Any) -> Document:
    """A task with subtypes, ``object``, integers, quantifiers, conditional effects, two danger entries on an action."""
    at, hot = ("fluent", "at", "?to"), ("fluent", "hot")
    parts: dict[str, Any] = {
        "types": [TypeDecl("place"), TypeDecl("room", "place"), TypeDecl("cup")],
        "objects": [
            ObjectDecl("mug", "cup"),
            ObjectDecl("hall", "room"),
            ObjectDecl("table", "place"),
            ObjectDecl("bell", "object"),
        ],
        "fluents": [
            FluentDecl("at", (Parameter("?p", "place"),)),
            FluentDecl("hot", kind="context"),
            FluentDecl("night", kind="context"),
            FluentDecl("rung", (Parameter("?x", "object"),)),
            FluentDecl("fill", (Parameter("?c", "cup"),), integer=True, lower=0, upper=3),
            FluentDecl("steps", integer=True),
        ],
        "actions": [
            ActionDecl(
                "go",
                (Parameter("?from", "place"), Parameter("?to", "place")),
                ("and", ("fluent", "at", "?from"), ("not", ("same", "?from", "?to"))),
                (
                    Effect("assign", at, True),
                    Effect("assign", ("fluent", "at", "?from"), False),
                    Effect("increase", ("fluent", "steps"), 1),
                    Effect("decrease", ("fluent", "fill", "mug"), 1, (">", ("fluent", "fill", "mug"), 2)),
                ),
            ),
            ActionDecl(
                "pour",
                (),
                ("imply", hot, ("exists", (("?r", "room"),), ("fluent", "at", "?r"))),
                (Effect("increase", ("fluent", "fill", "mug"), 1),),
            ),
            ActionDecl("ring", (), True, (Effect("assign", ("fluent", "rung", "bell"), True),)),
        ],
        "initial": {("at", "hall"): True, ("hot",): True, ("fill", "mug"): 1},
        "goal": ("and", ("fluent", "at", "table"), (">=", ("+", ("fluent", "fill", "mug"), 1), 3)),
        "dangers": [
            DangerEntry("go", ("and", hot, (">", ("fluent", "fill", "mug"), 2)), 1, "thermal"),
            DangerEntry("go", ("and", ("fluent", "at", "hall"), ("not", ("fluent", "rung", "bell"))), 2),
        ],
        "max_danger": 0,
        "name": "an unsafe kitchen",
    }
    return Document.of(**{**parts, **changes})
