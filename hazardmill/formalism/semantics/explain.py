"""Which literals made a condition true, or keep it from being true."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hazardmill.formalism.document.expressions import COMPARISONS, QUANTIFIERS, Expr, nnf, render, substitute
from hazardmill.formalism.semantics.condition_compiler import Numbers, compare
from hazardmill.formalism.semantics.transition_system import System


def ground_nnf(system: System, expr: Expr, binding: Mapping[str, str]) -> Expr:
    """The ground negation normal form: quantifiers unfolded over objects in order, operands in order."""
    return _unfold(system, nnf(expr), binding)


def _unfold(system: System, expr: Expr, binding: Mapping[str, str]) -> Expr:
    if isinstance(expr, bool):
        return expr
    head = expr[0]
    if head in QUANTIFIERS:
        parts = tuple(_unfold(system, expr[2], inner) for inner in system.bindings(expr[1], binding))
        return ("and" if head == "forall" else "or", *parts)
    if head in ("and", "or"):
        return (head, *(_unfold(system, child, binding) for child in expr[1:]))
    return substitute(expr, binding)


def evaluate(system: System, expr: Expr, bits: int, numbers: Numbers) -> bool:
    """The truth of a ground condition in negation normal form."""
    if isinstance(expr, bool):
        return expr
    head = expr[0]
    if head == "and":
        return all(evaluate(system, child, bits, numbers) for child in expr[1:])
    if head == "or":
        return any(evaluate(system, child, bits, numbers) for child in expr[1:])
    if head == "not":
        return not evaluate(system, expr[1], bits, numbers)
    if head == "same":
        return bool(expr[1] == expr[2])
    if head in COMPARISONS:
        return compare(head, term_value(system, expr[1], numbers), term_value(system, expr[2], numbers))
    return bool(system.value(expr[1:], bits, numbers))


def term_value(system: System, expr: Expr, numbers: Numbers) -> int:
    """The value of a ground term."""
    if isinstance(expr, int):
        return expr
    if expr[0] == "fluent":
        return int(system.value(expr[1:], 0, numbers))
    first, *rest = (term_value(system, child, numbers) for child in expr[1:])
    return first - rest[0] if expr[0] == "-" else first + sum(rest)


def unmet_literals(system: System, expr: Expr, bits: int, numbers: Numbers) -> tuple[str, ...]:
    """The literals that keep a ground condition (negation normal form) from holding, each once, in order."""
    return tuple(dict.fromkeys(render(literal) for literal in _unmet(system, expr, bits, numbers)))


def _unmet(system: System, expr: Expr, bits: int, numbers: Numbers) -> Iterator[Expr]:
    if evaluate(system, expr, bits, numbers):
        return
    if isinstance(expr, tuple) and expr[0] in ("and", "or") and len(expr) > 1:
        for child in expr[1:]:
            yield from _unmet(system, child, bits, numbers)
    else:
        yield False if expr == ("or",) else expr


def support(system: System, expr: Expr, bits: int, numbers: Numbers) -> tuple[str, ...]:
    """The literals that make a ground condition (negation normal form) hold.

    All of a conjunction, the first branch that holds of a disjunction.
    """
    return tuple(dict.fromkeys(render(literal) for literal in supporting_literals(system, expr, bits, numbers)))


def supporting_literals(system: System, expr: Expr, bits: int, numbers: Numbers) -> Iterator[Expr]:
    """As ``support``, the literals themselves."""
    if isinstance(expr, bool):
        return
    if expr[0] == "and":
        for child in expr[1:]:
            yield from supporting_literals(system, child, bits, numbers)
    elif expr[0] == "or":
        holding = next((child for child in expr[1:] if evaluate(system, child, bits, numbers)), None)
        if holding is not None:
            yield from supporting_literals(system, holding, bits, numbers)
    else:
        yield expr
