"""Every place of a draft that names a type, an object or a fluent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from hazardmill.formalism.document.expressions import QUANTIFIERS, Expr, children
from hazardmill.scenarios.draft import ProblemDraft

Part = Literal["initial", "goal", "precondition", "effect", "risk"]


@dataclass(frozen=True, slots=True)
class Application:
    """A fluent with its arguments where it is used.

    Attributes:
        part: What kind of part uses it.
        path: Where it stands, for messages.
        fluent: Its name.
        args: Its arguments: objects, parameters and variables.
        scope: Type by parameter and variable that it may name.
        reads: Whether its value is read there; else it is stated or written.
        action: The action it belongs to; None outside of actions.
    """

    part: Part
    path: str
    fluent: str
    args: tuple[str, ...]
    scope: Mapping[str, str]
    reads: bool
    action: str | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Another name where it is used: a type, or an object that is compared.

    Attributes:
        path: Where it stands, for messages.
        name: The name.
        scope: Type by parameter and variable; for objects.
    """

    path: str
    name: str
    scope: Mapping[str, str]


def types_used(draft: ProblemDraft) -> Iterator[Place]:
    """Yield each use of a type: by types, objects, parameters and variables, in the order of the draft."""
    for declared in draft.types:
        yield Place(f"types[{declared.name}]", declared.parent, {})
    for thing in draft.objects:
        yield Place(f"objects[{thing.name}]", thing.type, {})
    for fluent in draft.fluents:
        for parameter in fluent.parameters:
            yield Place(f"predicates[{fluent.name}]", parameter.type, {})
    for action in draft.actions:
        for parameter in action.parameters:
            yield Place(f"actions[{action.name}].parameters", parameter.type, {})
        for effect in action.effects:
            for variable in effect.variables:
                yield Place(f"actions[{action.name}].effects", variable.type, {})
    for path, expr in _conditions(draft):
        yield from (Place(path, type_, {}) for type_ in _quantified(expr))


def applications(draft: ProblemDraft) -> Iterator[Application]:
    """Yield each use of a fluent, in the order initial state, actions, goal."""
    for atom, _ in draft.initial:
        yield Application("initial", f"initial[{' '.join(atom)}]", atom[0], atom[1:], {}, reads=False)
    for action in draft.actions:
        path = f"actions[{action.name}]"
        scope = {parameter.name: parameter.type for parameter in action.parameters}
        yield from in_condition(action.precondition, "precondition", f"{path}.precondition", scope, action.name)
        for i, effect in enumerate(action.effects):
            inner = {**scope, **{variable.name: variable.type for variable in effect.variables}}
            where = f"{path}.effects[{i}]"
            yield from in_condition(effect.condition, "precondition", where, inner, action.name)
            if not isinstance(effect.value, bool):
                yield from in_condition(effect.value, "precondition", where, inner, action.name)
            if isinstance(effect.target, tuple) and len(effect.target) > 1:
                yield Application(
                    "effect", where, effect.target[1], effect.target[2:], inner, reads=False, action=action.name
                )
    yield from in_condition(draft.goal, "goal", "goal", {})


def in_condition(
    expr: Expr, part: Part, path: str, scope: Mapping[str, str], action: str | None = None
) -> Iterator[Application]:
    """Yield each use of a fluent in a condition or term.

    Args:
        expr: The condition.
        part: What kind of part it is.
        path: Where it stands.
        scope: Type by parameter that it may name; variables of quantifiers are added.
        action: The action it belongs to.
    """
    if isinstance(expr, tuple) and expr:
        if expr[0] == "fluent":
            yield Application(part, path, expr[1], expr[2:], scope, reads=True, action=action)
            return
        if expr[0] in QUANTIFIERS:
            scope = {**scope, **dict(expr[1])}
        for child in children(expr):
            yield from in_condition(child, part, path, scope, action)


def objects_compared(draft: ProblemDraft) -> Iterator[Place]:
    """Yield each argument of an equality of objects."""
    for action in draft.actions:
        scope = {parameter.name: parameter.type for parameter in action.parameters}
        yield from _same(action.precondition, f"actions[{action.name}].precondition", scope)
        for i, effect in enumerate(action.effects):
            inner = {**scope, **{variable.name: variable.type for variable in effect.variables}}
            yield from _same(effect.condition, f"actions[{action.name}].effects[{i}]", inner)
    yield from _same(draft.goal, "goal", {})


def _same(expr: Expr, path: str, scope: Mapping[str, str]) -> Iterator[Place]:
    if isinstance(expr, tuple) and expr:
        if expr[0] == "same":
            yield from (Place(path, name, scope) for name in expr[1:])
            return
        if expr[0] in QUANTIFIERS:
            scope = {**scope, **dict(expr[1])}
        for child in children(expr):
            yield from _same(child, path, scope)


def _conditions(draft: ProblemDraft) -> Iterator[tuple[str, Expr]]:
    for action in draft.actions:
        yield f"actions[{action.name}].precondition", action.precondition
        for i, effect in enumerate(action.effects):
            yield f"actions[{action.name}].effects[{i}]", effect.condition
    yield "goal", draft.goal


def _quantified(expr: Expr) -> Iterator[str]:
    if isinstance(expr, tuple) and expr and expr[0] in QUANTIFIERS:
        yield from (type_ for _, type_ in expr[1])
    if isinstance(expr, tuple) and expr:
        for child in children(expr):
            yield from _quantified(child)
