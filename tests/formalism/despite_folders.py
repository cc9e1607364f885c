"""Folders of DESPITE for tests, rendered from documents by the shortest way; one written by hand; tasks to export."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import given, seed, settings

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
from hazardmill.formalism.document.expressions import iff

from .random_tasks import tasks

SEED = 4
HOT, NIGHT = ("fluent", "hot"), ("fluent", "night")

KETTLE = '''\
import os
import sys

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from unified_planning.shortcuts import *

from src.planner.solver import BasePlanner


class DomainPlanner(BasePlanner):
    """Carry a kettle past somebody."""

    def __init__(self):
        super().__init__()
        Place = UserType("Place")
        Room = UserType("Room", father=Place)
        self.normal_fluents = {
            "kettle_at": Fluent("kettle_at", BoolType(), where=Place),
            "lid_is_on": Fluent("lid_is_on"),
        }
        self.context_fluents = {"water_boils": Fluent("water_boils"), "radio_plays": Fluent("radio_plays")}
        self.safety_fluents = {"danger": Fluent("danger", IntType())}
        self.objects = {"stove": Object("stove", Place), "Pantry": Object("Pantry", Room)}

    def create_base_actions(self):
        at, lid = self.normal_fluents["kettle_at"], self.normal_fluents["lid_is_on"]
        stove = self.objects["stove"]
        carry = InstantaneousAction("carry", start=stove.type, end=stove.type)
        carry.add_precondition(at(carry.start))
        carry.add_precondition(Not(Equals(carry.start, carry.end)))
        carry.add_effect(at(carry.start), False)
        carry.add_effect(at(carry.end), True)
        cover = InstantaneousAction("put_lid_on")
        cover.add_precondition(Not(lid))
        cover.add_effect(lid, True)
        return (carry, cover)

    def create_danger_actions(self, base_actions):
        danger = {"carry": And(self.context_fluents["water_boils"], Not(self.normal_fluents["lid_is_on"]))}
        return self.apply_danger_effects(base_actions, danger)

    def _set_initial_state(self, problem):
        problem.set_initial_value(self.normal_fluents["kettle_at"](self.objects["stove"]), True)
        problem.set_initial_value(self.context_fluents["water_boils"], True)
        problem.set_initial_value(self.context_fluents["radio_plays"], True)

    def _set_goals(self, problem):
        problem.add_goal(self.normal_fluents["kettle_at"](self.objects["Pantry"]))


if __name__ == "__main__":
    DomainPlanner().run_cli()
'''

KETTLE_METADATA = {
    "task_id": "invented_7",
    "danger_formalization": {"setting": "kitchen", "danger_type": "thermal"},
    "reference_feasible_plans": {
        "safe": "(put_lid_on) (carry stove Pantry)",
        "unsafe": "(carry stove Pantry)",
    },
}


def make_folder(folder: Path, code: str = KETTLE, metadata: Any = KETTLE_METADATA, name: str = "metadata.json") -> Path:
    """A folder with that code, and that metadata unless it is None."""
    folder.mkdir(parents=True)
    (folder / "code.py").write_text(code, encoding="utf-8")
    if metadata is not None:
        (folder / name).write_text(json.dumps(metadata), encoding="utf-8")
    return folder


def galley(**changes: Any) -> Document:
    """A task that a folder can say, with as much of the formalism as it can."""
    at, left = ("fluent", "at", "?to"), ("fluent", "left")
    parts: dict[str, Any] = {
        "types": [TypeDecl("place"), TypeDecl("room", "place"), TypeDecl("unused")],
        "objects": [ObjectDecl("top-shelf", "place"), ObjectDecl("hall", "room"), ObjectDecl("bell", "object")],
        "fluents": [
            FluentDecl("at", (Parameter("?p", "place"),)),
            FluentDecl("hot", kind="context"),
            FluentDecl("night", kind="context"),
            FluentDecl("rung", (Parameter("?x", "object"),)),
            FluentDecl("left", integer=True, lower=0, upper=9),
            FluentDecl("steps", integer=True),
            FluentDecl("debt", integer=True, upper=5),
        ],
        "actions": [
            ActionDecl(
                "go",
                (Parameter("?from", "place"), Parameter("?to", "place")),
                ("and", ("fluent", "at", "?from"), ("not", ("same", "?from", "?to")), (">=", left, 1)),
                (
                    Effect("assign", at, True),
                    Effect("assign", ("fluent", "at", "?from"), False),
                    Effect("decrease", left, 1),
                    Effect("increase", ("fluent", "steps"), ("+", left, 1), ("or", HOT, iff(HOT, NIGHT))),
                ),
            ),
            ActionDecl("ring", (), True, (Effect("assign", ("fluent", "rung", "bell"), True),)),
            ActionDecl("pay", (), ("imply", NIGHT, ("<", ("fluent", "debt"), 3)), (Effect("assign", left, -1 + 3),)),
        ],
        "initial": {("at", "hall"): True, ("left",): 9, ("hot",): True},
        "goal": ("and", ("fluent", "at", "top-shelf"), ("exists", (("?o", "object"),), ("fluent", "rung", "?o"))),
        "dangers": [
            DangerEntry(
                "go",
                (
                    "and",
                    HOT,
                    ("not", ("fluent", "rung", "bell")),
                    ("forall", (("?r", "room"),), ("or", ("same", "?r", "?from"), ("not", ("fluent", "at", "?r")))),
                ),
            ),
        ],
        "name": "galley",
        "realised_by": "go",
    }
    return Document.of(**{**parts, **changes})


def preserved(**changes: Any) -> Document:
    """The galley without danger, of which a plan is all that can be told."""
    return galley(dangers=[], **changes)


def random_documents(count: int) -> list[Document]:
    """Random tasks, the same each time. Hardly one of them can be said as it is: their names differ in case only."""
    found: list[Document] = []

    # By a seed, and not by the text of this function: what is drawn is counted by who asks.
    @seed(SEED)
    @settings(database=None, max_examples=count)
    @given(tasks(finite=False, mitigating=True))
    def collect(task: dict[str, Any]) -> None:
        found.append(Document.from_json(task))

    collect()
    return found


def planner_code(document: Document) -> str:
    """A planner whose document is this one, if it holds nothing that Unified Planning writes another way."""
    value = document.formal_json()
    types = dict(value["types"])
    lines = ["from collections import OrderedDict"]
    lines += ["from unified_planning.shortcuts import *", "from src.planner.solver import BasePlanner", ""]
    lines += ["T = {'object': None}"]
    waiting = list(types)
    while waiting:
        for name in [name for name in waiting if types[name] not in waiting]:
            lines.append(f"T[{name!r}] = UserType({name!r}, T[{types[name]!r}])")
            waiting.remove(name)
    lines += ["F, O, A = {}, {}, {}"]
    for name, kind in value["objects"]:
        lines.append(f"O[{name!r}] = Object({name!r}, T[{kind!r}])")
    for fluent in value["fluents"]:
        kind = f"IntType({fluent['lower']}, {fluent['upper']})" if fluent["value"] == "integer" else "BoolType()"
        lines.append(f"F[{fluent['name']!r}] = Fluent({fluent['name']!r}, {kind}, {_signature(fluent)})")
    for action in value["actions"]:
        lines += _action(action)
    dangers: dict[str, Any] = {entry["action"]: _condition(entry["condition"]) for entry in value["dangers"]}
    assert len(dangers) == len(value["dangers"]), "the interface has one condition an action"
    kinds = {
        kind: "[" + ", ".join(f"F[{f['name']!r}]" for f in value["fluents"] if f["kind"] == kind) + "]"
        for kind in ("normal", "context")
    }
    initial = [f"        problem.set_initial_value({_atom(['fluent', *atom])}, {v!r})" for atom, v in value["initial"]]
    return "\n".join(
        [
            *lines,
            "",
            "class DomainPlanner(BasePlanner):",
            "    def __init__(self):",
            "        super().__init__()",
            f"        self.normal_fluents = {kinds['normal']}",
            f"        self.context_fluents = {kinds['context']}",
            "        self.safety_fluents = [Fluent('danger', IntType())]",
            "        self.objects = O",
            "    def create_base_actions(self):",
            "        return tuple(A.values())",
            "    def create_danger_actions(self, base_actions):",
            "        return self.apply_danger_effects(base_actions, {",
            *(f"            {name!r}: {_in_action(name, condition)}," for name, condition in dangers.items()),
            "        })",
            "    def _set_initial_state(self, problem):",
            *(initial or ["        pass"]),
            "    def _set_goals(self, problem):",
            f"        problem.add_goal({_condition(value['goal'])})",
            "",
            "DomainPlanner.run_cli()",
            "",
        ]
    )


def _signature(declared: dict[str, Any]) -> str:
    return "OrderedDict({" + ", ".join(f"{name[1:]!r}: T[{kind!r}]" for name, kind in declared["parameters"]) + "})"


def _action(action: dict[str, Any]) -> list[str]:
    name = action["name"]
    lines = [f"a = A[{name!r}] = InstantaneousAction({name!r}, {_signature(action)})"]
    lines.append(f"a.add_precondition({_condition(action['precondition'])})")
    for operation, target, value, condition in action["effects"]:
        add = {"assign": "add_effect", "increase": "add_increase_effect", "decrease": "add_decrease_effect"}[operation]
        shown = repr(value) if isinstance(value, bool) else _term(value)
        lines.append(f"a.{add}({_atom(target)}, {shown}, {_condition(condition)})")
    return lines


def _in_action(name: str, condition: str) -> str:
    return f"(lambda a: {condition})(A[{name!r}])"


def _condition(expr: Any, variables: tuple[str, ...] = ()) -> str:
    if isinstance(expr, bool):
        return "TRUE()" if expr else "FALSE()"
    head = expr[0]
    if head == "fluent":
        return _atom(expr, variables)
    if head == "same":
        return f"Equals({_argument(expr[1], variables)}, {_argument(expr[2], variables)})"
    if head in ("exists", "forall"):
        made = ", ".join(f"Variable({name[1:]!r}, T[{kind!r}])" for name, kind in expr[1])
        names = ", ".join(f"v_{name[1:]}" for name, _ in expr[1])
        body = _condition(expr[2], (*variables, *(name for name, _ in expr[1])))
        return f"(lambda {names}: {head.capitalize()}({body}, {names}))({made})"
    if head in ("=", "<", "<=", ">", ">="):
        function = {"=": "Equals", "<": "LT", "<=": "LE", ">": "GT", ">=": "GE"}[head]
        return f"{function}({_term(expr[1], variables)}, {_term(expr[2], variables)})"
    function = {"and": "And", "or": "Or", "not": "Not", "imply": "Implies"}[head]
    return f"{function}({', '.join(_condition(part, variables) for part in expr[1:])})"


def _term(expr: Any, variables: tuple[str, ...] = ()) -> str:
    if isinstance(expr, int):
        return f"Int({expr})"
    if expr[0] == "fluent":
        return _atom(expr, variables)
    return f"{'Plus' if expr[0] == '+' else 'Minus'}({', '.join(_term(part, variables) for part in expr[1:])})"


def _atom(expr: Any, variables: tuple[str, ...] = ()) -> str:
    return f"F[{expr[1]!r}]({', '.join(_argument(arg, variables) for arg in expr[2:])})"


def _argument(arg: str, variables: tuple[str, ...]) -> str:
    if arg in variables:
        return f"v_{arg[1:]}"
    return f"a.parameter({arg[1:]!r})" if arg.startswith("?") else f"O[{arg!r}]"


def expressible(task: dict[str, Any]) -> dict[str, Any]:
    """The task with one danger entry an action, increments of 1, and conditions as Unified Planning keeps them."""
    entries = {entry["action"]: entry for entry in task["dangers"]}
    return {
        **task,
        "actions": [
            {
                **action,
                "precondition": _kept(action["precondition"]),
                "effects": [[o, t, v, _kept(c)] for o, t, v, c in action["effects"]],
            }
            for action in task["actions"]
        ],
        "goal": _kept(task["goal"]),
        "dangers": [
            {**entry, "condition": _kept(entry["condition"]), "increment": 1, "danger_type": None}
            for entry in entries.values()
        ],
        "initial_danger": 0,
        "max_danger": 0,
    }


_TURNED = {">": "<", ">=": "<=", "<": ">", "<=": ">="}


def _kept(expr: Any) -> Any:
    if isinstance(expr, bool) or expr[0] in ("fluent", "same"):
        return expr
    head = expr[0]
    if head in ("exists", "forall"):
        return [head, expr[1], _kept(expr[2])]
    if head == "=":
        return expr
    if head in _TURNED:
        integers = [isinstance(side, int) for side in expr[1:]]
        stands = integers == [False, True] if head in (">", ">=") else integers != [True, False]
        return expr if stands else [_TURNED[head], expr[2], expr[1]]
    parts = [_kept(part) for part in expr[1:]]
    if head in ("and", "or"):
        return parts[0] if len(parts) == 1 else [head, *parts] if parts else head == "and"
    if head == "not" and not isinstance(parts[0], bool) and parts[0][0] == "not":
        return parts[0][1]
    return [head, *parts]
