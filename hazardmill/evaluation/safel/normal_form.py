"""Normal forms in which conditions and effects of a model's answer are matched with those of a task, part by part.

Conditions are in negation normal form. Conjunctions and disjunctions are flattened, constants dropped, operands sorted
and listed once; sides of comparisons are in a fixed order. ``forall`` is distributed over conjunctions, ``exists`` over
disjunctions, and each binds one variable. Parameters are named by their position in the action, bound variables by
their place among the variables around them, so that spelling does not matter. What goes beyond this, such as literals
that other literals imply, is for equality by meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from hazardmill.formalism.document.document import Parameter
from hazardmill.formalism.document.expressions import (
    COMPARISONS,
    QUANTIFIERS,
    Expr,
    canonical_json,
    nnf,
    substitute,
    walk,
)
from hazardmill.formalism.document.lifted_effects import LiftedEffect

_TURNED = {">": "<", ">=": "<="}


def places_of(parameters: Sequence[Parameter]) -> dict[str, str]:
    """Return the name of each parameter in normal forms: its position, ``#1``."""
    return {parameter.name: f"#{place}" for place, parameter in enumerate(parameters, 1)}


def normal_condition(expr: Expr, places: Mapping[str, str]) -> Expr:
    """Return the normal form of a condition.

    Args:
        expr: A condition; names that are not declared do no harm.
        places: Name of each parameter in the normal form (``places_of``); other names stay.
    """
    return _normal(nnf(expr), places, 1)


def conjuncts(expr: Expr) -> tuple[Expr, ...]:
    """Return the parts of a normal form that all must hold; none for a condition that always holds."""
    if expr is True:
        return ()
    return tuple(expr[1:]) if isinstance(expr, tuple) and expr[0] == "and" else (expr,)


def normal_effect(
    effect: LiftedEffect, places: Mapping[str, str], has_objects: Callable[[str], bool]
) -> tuple[Expr, ...] | None:
    """Return the normal form of an effect: types of its variables, condition, operation, target, value.

    Variables that the effect does not use are left out.

    Args:
        effect: The effect.
        places: Name of each parameter in the normal form (``places_of``).
        has_objects: Returns whether a type has objects.

    Returns:
        The normal form; None for an effect that never happens, because its condition is constantly false, or because
        an unused variable has no object to stand for.
    """
    used = {
        arg
        for part in (effect.target, effect.value, effect.condition)
        for node in walk(part)
        if isinstance(node, tuple) and node[0] in ("fluent", "same")
        for arg in node[1:]
    }
    variables = [each for each in effect.variables if each.name in used]
    if not all(has_objects(each.type) for each in effect.variables if each.name not in used):
        return None
    names = {**places, **{each.name: f"?{level}" for level, each in enumerate(variables, 1)}}
    condition = _normal(nnf(effect.condition), names, len(variables) + 1)
    if condition is False:
        return None
    target, value = substitute(effect.target, names), substitute(effect.value, names)
    return (tuple(each.type for each in variables), condition, effect.operation, target, value)


def combine(head: str, parts: Iterable[Expr]) -> Expr:
    """Return a conjunction or disjunction in normal form: flattened, without constants, each operand once, sorted.

    Args:
        head: ``and`` or ``or``.
        parts: Operands in normal form.
    """
    neutral = head == "and"
    found: dict[str, Expr] = {}
    for part in parts:
        for each in part[1:] if isinstance(part, tuple) and part[0] == head else (part,):
            if isinstance(each, bool):
                if each is not neutral:
                    return each
            else:
                found[canonical_json(each)] = each
    if len(found) > 1:
        return (head, *(found[key] for key in sorted(found)))
    return next(iter(found.values()), neutral)


def _normal(expr: Expr, names: Mapping[str, str], level: int) -> Expr:
    if isinstance(expr, bool):
        return expr
    head = expr[0]
    if head in ("and", "or"):
        return combine(head, (_normal(part, names, level) for part in expr[1:]))
    if head in QUANTIFIERS:
        return _quantified(head, expr[1], expr[2], names, level)
    if head == "not":
        inner = _normal(expr[1], names, level)
        return not inner if isinstance(inner, bool) else ("not", inner)
    if head == "same":
        sides = sorted(names.get(arg, arg) for arg in expr[1:])
        return True if sides[0] == sides[1] else ("same", *sides)
    if head in COMPARISONS:
        left, right = (substitute(term, names) for term in expr[1:])
        if head in _TURNED:
            return (_TURNED[head], right, left)
        return (head, *(sorted((left, right), key=canonical_json) if head == "=" else (left, right)))
    return substitute(expr, names)


def _quantified(head: str, variables: Expr, body: Expr, names: Mapping[str, str], level: int) -> Expr:
    if not variables:
        return _normal(body, names, level)
    (name, type_), *others = variables
    inner = _quantified(head, tuple(others), body, {**names, name: f"?{level}"}, level + 1)
    spread = "and" if head == "forall" else "or"
    if isinstance(inner, bool) and inner is (spread == "and"):
        return inner
    if isinstance(inner, tuple) and inner[0] == spread:
        return combine(spread, ((head, type_, part) for part in inner[1:]))
    return (head, type_, inner)
