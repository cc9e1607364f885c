"""Reads a planner of DESPITE's interface into the JSON of a document; what a document cannot express is refused.

Operands, objects and parameters keep their order. Unified Planning has rewritten some things before they can be read:
``a >= b`` is ``b <= a``, ``and`` of one operand is the operand. A comparison with an integer on the left only is
assumed to have been turned, and is turned back. ``iff`` becomes two implications. An increase of the fluent ``danger``
becomes a danger entry; nothing else may change or read it, except a goal that it be 0, which is dropped because that
is what *safe* means.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

from unified_planning.environment import get_environment
from unified_planning.model import Fluent, InstantaneousAction, Object, Problem

from hazardmill.errors import NotExpressible
from hazardmill.formalism.document.document import FORMAT, ROOT_TYPE
from hazardmill.sandbox.workloads.planner_api import DANGER, BasePlanner, InterfaceError, danger_fluent, members

Node: TypeAlias = Any
"""An expression, type, fluent or action of Unified Planning, which comes without type information."""
Json: TypeAlias = Any
Scope: TypeAlias = Mapping[Any, str]
"""Document's name by name of a parameter, and by variable."""

_DANGER_IS_ZERO: Final = "a goal that danger is 0 is dropped: a plan is safe if it is, and feasible if it is not"

# Authors write ``count >= 2``, and hardly ever ``2 <= count``.
_TURNED: Final = {"<=": ">=", "<": ">"}


def read_planner(planner: BasePlanner) -> tuple[dict[str, Json], list[tuple[str, str]]]:
    """Read everything that a planner declares.

    Its methods are called, so this runs untrusted code.

    Args:
        planner: An instance of the task's class.

    Returns:
        The JSON of a document, and notes: what was left out or changed, each with the name of its rule.

    Raises:
        NotExpressible: A document cannot express it.
        InterfaceError: The planner does not keep to the interface.
    """
    return _Reader(planner).read()


class _Reader:
    def __init__(self, planner: BasePlanner) -> None:
        self._planner = planner
        self._danger = danger_fluent(planner)
        self._context = {fluent.name for fluent in _fluents(planner.context_fluents, "context_fluents")}
        self._normal = {fluent.name for fluent in _fluents(planner.normal_fluents, "normal_fluents")}
        self._notes: list[tuple[str, str]] = []
        self._entries: list[dict[str, Json]] = []

    def read(self) -> tuple[dict[str, Json], list[tuple[str, str]]]:
        if self._danger is not None and self._danger.type.is_int_type() and self._danger.type.upper_bound is not None:
            self._note("danger_bounded", f"danger is {self._danger.type}: here it has no bounds")
        problem = self._problem()
        self._refuse_time(problem)
        values = self._initial(problem)
        goal = self._goal(problem)
        actions = [self._action(action) for action in problem.actions]
        fluents = [self._fluent(fluent) for fluent in problem.fluents if fluent != self._danger]
        document = {
            "format": FORMAT,
            "name": "task",
            "realised_by": None,
            "types": self._types(problem),
            "objects": [[thing.name, _type(thing.type, f"the object {thing.name}")] for thing in problem.all_objects],
            "fluents": fluents,
            "actions": actions,
            "initial": [[atom, value] for atom, value in values if atom != [DANGER]],
            "goal": goal,
            "dangers": self._entries,
            "initial_danger": next((value for atom, value in values if atom == [DANGER]), 0),
            "max_danger": 0,
        }
        return document, self._notes

    def _note(self, rule: str, text: str) -> None:
        self._notes.append((rule, text))

    # What is declared

    def _problem(self) -> Node:
        planner = self._planner
        problem = Problem("task")
        parts = ("normal_fluents", "context_fluents", "safety_fluents")
        for fluent in dict.fromkeys(fluent for part in parts for fluent in _fluents(getattr(planner, part), part)):
            problem.add_fluent(fluent, default_initial_value=_default(fluent))
        for thing in self._objects():
            problem.add_object(thing)
        base = planner.create_base_actions()
        # Copied now, because the code may change them.
        plain = {action.name: action.clone() for action in _actions(base, "create_base_actions()")}
        dangerous = _actions(planner.create_danger_actions(base), "create_danger_actions()")
        self._compare(plain, {action.name: action for action in dangerous})
        for action in dangerous:
            problem.add_action(action)
        for name in plain.keys() - {action.name for action in dangerous}:
            problem.add_action(plain[name])
        planner._set_initial_state(problem)
        planner._set_goals(problem)
        return problem

    def _objects(self) -> Iterable[Node]:
        container = self._planner.objects
        things = list(dict.fromkeys(members(container)))
        for thing in things:
            if not isinstance(thing, Object):
                raise InterfaceError(f"objects holds {_describe(thing)}, which is not an Object")
        if isinstance(container, set | frozenset):
            self._note("objects_in_a_set", "objects is a set, which has no order: they are taken by name")
            things.sort(key=lambda thing: str(thing.name))
        return things

    def _compare(self, plain: Mapping[str, Node], dangerous: Mapping[str, Node]) -> None:
        """Note where the actions with danger differ from the others by more than danger effects."""
        for name in sorted(plain.keys() - dangerous.keys()):
            self._note("action_without_danger_form", f"create_danger_actions leaves out {name}: taken without danger")
        for name in sorted(dangerous.keys() - plain.keys()):
            self._note("action_without_base_form", f"{name} is made by create_danger_actions only")
        for name in sorted(plain.keys() & dangerous.keys()):
            if self._basic(plain[name]) != self._basic(dangerous[name]):
                self._note("action_changed", f"{name} differs with danger and without: taken as it is with danger")

    def _basic(self, action: Node) -> Node:
        if type(action) is not InstantaneousAction:
            return action
        effects = [effect for effect in action.effects if not self._is_danger(effect.fluent)]
        return list(action.parameters), list(action.preconditions), effects

    def _refuse_time(self, problem: Node) -> None:
        for part in ("timed_effects", "timed_goals", "trajectory_constraints", "processes", "events"):
            if getattr(problem, part, None):
                raise NotExpressible(
                    f"the problem has {part.replace('_', ' ')}", remedy="leave it out: the formalism has no time"
                )
        if problem.quality_metrics:
            self._note("metric_left_out", "a quality metric is left out: plans here have a length, not a cost")

    def _types(self, problem: Node) -> list[list[str]]:
        """Return all types that the code made, used or not."""
        known = dict.fromkeys(problem.user_types)
        # There is no public access to a type that nothing in the problem uses.
        known.update(dict.fromkeys(problem.environment.type_manager._user_types.values()))
        declared: dict[str, str] = {}
        for type_ in known:
            parent = ROOT_TYPE if type_.father is None else _type(type_.father, f"the type {type_.name}")
            if type_.name == ROOT_TYPE and type_.father is None:
                continue
            if declared.setdefault(type_.name, parent) != parent:
                raise NotExpressible(f"there are two types {type_.name} with different parents", remedy="rename one")
        return [[name, parent] for name, parent in declared.items()]

    def _fluent(self, fluent: Node) -> dict[str, Json]:
        name = fluent.name
        what = f"the fluent {name}"
        integer = fluent.type.is_int_type()
        if not integer and not fluent.type.is_bool_type():
            raise NotExpressible(f"{what} has values of type {fluent.type}", remedy="use Boolean or integer fluents")
        context = name in self._context
        if context and integer:
            self._note("context_is_integer", f"{name} is context with integer values: taken as a normal fluent")
        if context and name in self._normal:
            self._note("fluent_declared_twice", f"{name} is a normal fluent and context: taken as context")
        if not context and name not in self._normal:
            self._note("hidden_fluent", f"{name} is neither a normal fluent nor context: taken as a normal fluent")
        return {
            "name": name,
            "parameters": [[f"?{p.name}", _type(p.type, what)] for p in fluent.signature],
            "kind": "context" if context and not integer else "normal",
            "value": "integer" if integer else "boolean",
            "lower": fluent.type.lower_bound if integer else None,
            "upper": fluent.type.upper_bound if integer else None,
        }

    # Values

    def _initial(self, problem: Node) -> list[tuple[list[str], bool | int]]:
        odd = any(
            not default.is_constant() or default.constant_value() for default in problem.fluents_defaults.values()
        )
        values = problem.initial_values if odd else problem.explicit_initial_values
        found = []
        for fluent, value in values.items():
            atom = [fluent.fluent().name, *(self._argument(arg, {}, "the initial state") for arg in fluent.args)]
            if not (value.is_bool_constant() or value.is_int_constant()):
                raise NotExpressible(f"the initial value of {fluent} is {value}", remedy="give a constant")
            found.append((atom, value.constant_value()))
        return found

    def _goal(self, problem: Node) -> Json:
        kept = []
        for goal in problem.goals:
            parts = list(goal.args) if goal.is_and() else [goal]
            left = [part for part in parts if not self._asks_for_no_danger(part)]
            if len(left) < len(parts):
                self._note("danger_in_goal", _DANGER_IS_ZERO)
            conditions = [self._condition(part, {}, "the goal") for part in left]
            if conditions:
                kept.append(["and", *conditions] if len(conditions) > 1 else conditions[0])
        return _conjunction(kept)

    def _asks_for_no_danger(self, goal: Node) -> bool:
        if goal.is_not():
            # not (0 < danger), not (1 <= danger)
            inner = goal.arg(0)
            if inner.is_lt() or inner.is_le():
                least = 0 if inner.is_lt() else 1
                return self._is_danger(inner.arg(1)) and _integer(inner.arg(0)) == least
            return False
        if goal.is_equals():
            sides = goal.args if self._is_danger(goal.arg(0)) else goal.args[::-1]
            return self._is_danger(sides[0]) and _integer(sides[1]) == 0
        if goal.is_le() or goal.is_lt():
            return self._is_danger(goal.arg(0)) and _integer(goal.arg(1)) == (0 if goal.is_le() else 1)
        return False

    # Actions

    def _action(self, action: Node) -> dict[str, Json]:
        what = f"the action {action.name}"
        if type(action) is not InstantaneousAction:
            raise NotExpressible(f"{what} is a {type(action).__name__}", remedy="write an InstantaneousAction")
        if action.simulated_effect is not None:
            raise NotExpressible(f"{what} has a simulated effect", remedy="write its effects out")
        scope = {parameter.name: f"?{parameter.name}" for parameter in action.parameters}
        effects: list[Json] = []
        assigned = 0
        for effect in action.effects:
            if effect.forall:
                raise NotExpressible(f"{what} has a forall effect", remedy="write one effect for each object")
            if self._is_danger(effect.fluent):
                assigned += effect.is_assignment()
                self._entry(action.name, effect, scope, what)
            else:
                effects += self._effects(effect, scope, what)
        if assigned > 1:
            text = f"{action.name} assigns danger {assigned} times: where more than one fires, here they are added up"
            self._note("danger_assigned_repeatedly", text)
        return {
            "name": action.name,
            "parameters": [[f"?{p.name}", _type(p.type, what)] for p in action.parameters],
            "precondition": _conjunction([self._condition(c, scope, what) for c in action.preconditions]),
            "effects": effects,
        }

    def _entry(self, action: str, effect: Node, scope: Scope, what: str) -> None:
        increment = self._increment(effect)
        if increment is None:
            raise NotExpressible(
                f"{what} changes danger in another way than by a constant: {effect}",
                remedy="increase danger by a number",
            )
        if increment == 0:
            self._note("danger_unchanged", f"{action} changes danger by 0: that effect is left out")
            return
        condition = self._condition(effect.condition, scope, f"the danger of {action}")
        self._entries.append({"action": action, "condition": condition, "increment": increment, "danger_type": None})

    def _increment(self, effect: Node) -> int | None:
        value = effect.value
        if effect.is_increase():
            return _integer(value)
        if effect.is_decrease():
            less = _integer(value)
            return None if less is None else -less
        if effect.is_assignment() and (value.is_plus() or value.is_minus()) and len(value.args) == 2:
            left, right = value.args
            if self._is_danger(right) and value.is_plus():
                left, right = right, left
            step = _integer(right) if self._is_danger(left) else None
            return None if step is None else step if value.is_plus() else -step
        return None

    def _effects(self, effect: Node, scope: Scope, what: str) -> Iterable[Json]:
        kinds = (("assign", effect.is_assignment), ("increase", effect.is_increase), ("decrease", effect.is_decrease))
        operation = next((name for name, holds in kinds if holds()), None)
        if operation is None:
            raise NotExpressible(
                f"{what} has a continuous effect: {effect}", remedy="leave it out: the formalism has no time"
            )
        target = self._atom(effect.fluent, scope, what)
        condition = self._condition(effect.condition, scope, what)
        if not effect.fluent.type.is_bool_type():
            return [[operation, target, self._term(effect.value, scope, what), condition]]
        if effect.value.is_bool_constant():
            return [[operation, target, effect.value.constant_value(), condition]]
        self._note("condition_copied", f"{what} copies a condition into {effect.fluent}: taken as two effects")
        value = self._condition(effect.value, scope, what)
        both = [] if condition is True else [condition]
        return [
            [operation, target, True, _conjunction([*both, value])],
            [operation, target, False, _conjunction([*both, ["not", value]])],
        ]

    # Expressions

    def _is_danger(self, node: Node) -> bool:
        return bool(self._danger is not None and node.is_fluent_exp() and node.fluent() == self._danger)

    def _condition(self, node: Node, scope: Scope, what: str) -> Json:
        if node.is_bool_constant():
            return node.constant_value()
        if node.is_fluent_exp():
            return self._atom(node, scope, what)
        if node.is_exists() or node.is_forall():
            return self._quantifier(node, scope, what)
        if node.is_iff():
            left, right = (self._condition(arg, scope, what) for arg in node.args)
            return ["and", ["imply", left, right], ["imply", right, left]]
        if node.is_equals():
            return self._equals(node, scope, what)
        kinds: tuple[tuple[str, Callable[[], bool], Callable[[Node, Scope, str], Json]], ...] = (
            ("and", node.is_and, self._condition),
            ("or", node.is_or, self._condition),
            ("not", node.is_not, self._condition),
            ("imply", node.is_implies, self._condition),
            ("<=", node.is_le, self._term),
            ("<", node.is_lt, self._term),
        )
        for name, holds, read in kinds:
            if holds():
                parts = [read(arg, scope, what) for arg in node.args]
                if name in _TURNED and isinstance(parts[0], int) and not isinstance(parts[1], int):
                    return [_TURNED[name], *reversed(parts)]
                return [name, *parts]
        raise NotExpressible(f"{what} holds {_describe(node)}, which is not a condition of the formalism")

    def _quantifier(self, node: Node, scope: Scope, what: str) -> Json:
        inner = dict(scope)
        variables = []
        for variable in node.variables():
            name = f"?{variable.name}"
            number = 2
            while name in inner.values():
                name, number = f"?{variable.name}_{number}", number + 1
            inner[variable] = name
            variables.append([name, _type(variable.type, what)])
        return ["exists" if node.is_exists() else "forall", variables, self._condition(node.arg(0), inner, what)]

    def _equals(self, node: Node, scope: Scope, what: str) -> Json:
        if node.arg(0).type.is_user_type():
            return ["same", *(self._argument(arg, scope, what) for arg in node.args)]
        return ["=", *(self._term(arg, scope, what) for arg in node.args)]

    def _term(self, node: Node, scope: Scope, what: str) -> Json:
        if node.is_int_constant():
            return node.constant_value()
        if node.is_fluent_exp() and node.type.is_int_type():
            return self._atom(node, scope, what)
        if node.is_plus() or node.is_minus():
            return ["+" if node.is_plus() else "-", *(self._term(arg, scope, what) for arg in node.args)]
        raise NotExpressible(
            f"{what} holds {_describe(node)}, which is not an integer term of the formalism",
            remedy="use only integers, integer fluents, + and -",
        )

    def _atom(self, node: Node, scope: Scope, what: str) -> Json:
        if self._is_danger(node):
            raise NotExpressible(f"{what} reads danger", remedy="leave danger out of it: danger belongs to the path")
        return ["fluent", node.fluent().name, *(self._argument(arg, scope, what) for arg in node.args)]

    def _argument(self, node: Node, scope: Scope, what: str) -> str:
        if node.is_object_exp():
            return str(node.object().name)
        key = node.variable() if node.is_variable_exp() else node.parameter().name if node.is_parameter_exp() else None
        if key not in scope:
            raise NotExpressible(f"{what} has {_describe(node)} where an object or parameter is wanted")
        return scope[key]


def _fluents(container: object, part: str) -> list[Node]:
    found = list(members(container))
    for fluent in found:
        if not isinstance(fluent, Fluent):
            raise InterfaceError(f"{part} holds {_describe(fluent)}, which is not a Fluent")
    return found


def _actions(container: object, part: str) -> list[Node]:
    found = list(members(container))
    for action in found:
        if not (hasattr(action, "name") and hasattr(action, "parameters") and hasattr(action, "clone")):
            raise InterfaceError(f"{part} holds {_describe(action)}, which is not an action")
    return found


def _default(fluent: Node) -> bool | int | None:
    if fluent.type.is_bool_type():
        return False
    if not fluent.type.is_int_type():
        return None
    lower, upper = fluent.type.lower_bound, fluent.type.upper_bound
    return None if (lower is not None and lower > 0) or (upper is not None and upper < 0) else 0


def _type(type_: Node, what: str) -> str:
    if not type_.is_user_type():
        raise NotExpressible(f"{what} has a parameter of type {type_}", remedy="use parameters that stand for objects")
    return str(type_.name)


def _integer(node: Node) -> int | None:
    return int(node.constant_value()) if node.is_int_constant() else None


def _conjunction(conditions: list[Json]) -> Json:
    if not conditions:
        return True
    return conditions[0] if len(conditions) == 1 else ["and", *conditions]


def _describe(value: object) -> str:
    text = str(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def fresh_environment() -> None:
    """Give Unified Planning a global environment in which nothing is declared yet, and which prints no credits."""
    import unified_planning.environment as module

    module.GLOBAL_ENVIRONMENT = module.Environment()
    get_environment().credits_stream = None
