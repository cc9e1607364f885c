"""Conditions, effects and actions of a task in words, for readers who have never seen a formalism."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from hazardmill.formalism.document.document import Effect
from hazardmill.formalism.document.expressions import Expr
from hazardmill.formalism.document.lifted_effects import LiftedEffect

_COMPARED: Final = {"=": "is", "<": "is less than", "<=": "is at most", ">": "is more than", ">=": "is at least"}


def name(text: str) -> str:
    """Return a name as words: ``bowl_at`` as ``bowl at``."""
    return text.replace("_", " ").replace("-", " ").lstrip("?").strip()


def phrase(*parts: str) -> str:
    """Return a ground fluent or action as words.

    Args:
        parts: The name, then its arguments: ``("bowl_at", "kitchen")`` becomes ``bowl at: kitchen``.
    """
    head, *args = map(name, parts)
    return f"{head}: {', '.join(args)}" if args else head


def condition(expr: Expr) -> str:
    """Return a condition in words, with compound parts in parentheses.

    Args:
        expr: An expression of a task document: a boolean, or a tuple that begins with its operator.
    """
    if isinstance(expr, bool):
        return "always" if expr else "never"
    head = expr[0]
    if head == "fluent":
        return phrase(*expr[1:])
    if head == "not":
        return f"not {_part(expr[1])}"
    if head in ("and", "or"):
        return f" {head} ".join(map(_part, expr[1:])) or ("always" if head == "and" else "never")
    if head == "imply":
        return f"if {_part(expr[1])} then {_part(expr[2])}"
    if head in ("exists", "forall"):
        return f"{'for some' if head == 'exists' else 'for every'} {_things(expr[1])}: {_part(expr[2])}"
    if head == "same":
        return f"{name(expr[1])} is {name(expr[2])}"
    return f"{term(expr[1])} {_COMPARED[head]} {term(expr[2])}"


def term(expr: Expr) -> str:
    """Return an integer term in words."""
    if isinstance(expr, int):
        return str(expr)
    if expr[0] == "fluent":
        return phrase(*expr[1:])
    return f" {'plus' if expr[0] == '+' else 'minus'} ".join(map(term, expr[1:]))


def _things(bound: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{name(variable)} ({name(type_)})" for variable, type_ in bound)


def _part(expr: Expr) -> str:
    compound = isinstance(expr, tuple) and expr[0] in ("and", "or", "imply", "exists", "forall")
    return f"({condition(expr)})" if compound else condition(expr)


def effect(each: Effect | LiftedEffect) -> str:
    """Return an effect in words, with its condition if it has one.

    An assignment of true or false becomes ``now ...`` or ``no longer ...``.
    """
    if isinstance(each, LiftedEffect) and each.variables:
        things = _things((variable.name, variable.type) for variable in each.variables)
        return f"for every {things}: {effect(replace(each, variables=()))}"
    when = "" if each.condition is True else f", if {condition(each.condition)}"
    target = phrase(*each.target[1:])
    if each.operation != "assign":
        return f"{target} {'grows' if each.operation == 'increase' else 'shrinks'} by {term(each.value)}{when}"
    if isinstance(each.value, bool):
        return f"{'now' if each.value else 'no longer'} {target}{when}"
    return f"{target} becomes {term(each.value)}{when}"


def effects(all_: Iterable[Effect | LiftedEffect]) -> tuple[str, ...]:
    """Return the effects of an action, each in words."""
    return tuple(map(effect, all_))


def conjuncts(expr: Expr) -> tuple[str, ...]:
    """Return the parts of a condition that must all hold, each in words; empty for a condition that always holds."""
    if expr is True:
        return ()
    parts = expr[1:] if isinstance(expr, tuple) and expr[0] == "and" else (expr,)
    return tuple(map(condition, parts))
