"""Which literals made a condition true, or keep it from being true.

The functions here work on ground conditions in negation normal form, as ``ground_nnf`` returns them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hazardmill.formalism.document.expressions import COMPARISONS, QUANTIFIERS, Expr, nnf, render, substitute
from hazardmill.formalism.semantics.condition_compiler import Numbers, compare
from hazardmill.formalism.semantics.transition_system import System


def ground_nnf(system: System, expr: Expr, binding: Mapping[str, str]) -> Expr:
    """Return the ground negation normal form of a condition.

    Args:
        system: The task.
        expr: A lifted condition.
        binding: Object by parameter.

    Returns:
        The condition with quantifiers unfolded over objects in document order; operands keep their order.
    """
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
    """Return whether a ground condition in negation normal form holds in a state.

    Slower than a compiled condition, but it can be asked about each part of a condition on its own.
    """
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
    """Return the value of a ground integer term."""
    if isinstance(expr, int):
        return expr
    if expr[0] == "fluent":
        return int(system.value(expr[1:], 0, numbers))
    first, *rest = (term_value(system, child, numbers) for child in expr[1:])
    return first - rest[0] if expr[0] == "-" else first + sum(rest)


def unmet_literals(system: System, expr: Expr, bits: int, numbers: Numbers) -> tuple[str, ...]:
    """Return the literals that keep a ground condition (negation normal form) from holding.

    Returns:
        Each as text, once, in order: of a conjunction those of the parts that fail, of a disjunction those of every
        branch. An empty disjunction and the constant false give ``false``. Empty where the condition holds.
    """
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
    """Return the literals that make a ground condition (negation normal form) hold, as text and each once.

    All parts of a conjunction count, and of a disjunction the first branch that holds.
    """
    return tuple(dict.fromkeys(render(literal) for literal in supporting_literals(system, expr, bits, numbers)))


def supporting_literals(system: System, expr: Expr, bits: int, numbers: Numbers) -> Iterator[Expr]:
    """Yield the literals that ``support`` renders, as expressions; one may come several times.

    The condition must hold in the state.
    """
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
