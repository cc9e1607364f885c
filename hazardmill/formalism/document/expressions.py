"""Conditions and integer terms as nested tuples, the same shape as their JSON.

| form | meaning |
| --- | --- |
| ``True``, ``False`` | constant condition |
| ``("fluent", name, arg...)`` | a Boolean fluent (condition) or integer one (term); an arg is an object or ``?x`` |
| ``("not", c)`` ``("and", c...)`` ``("or", c...)`` ``("imply", a, b)`` | connectives; operands keep their order |
| ``("exists", (("?x", type)...), c)`` ``("forall", ...)`` | quantifiers over objects |
| ``("=", s, t)`` ``("<", ...)`` ``("<=", ...)`` ``(">", ...)`` ``(">=", ...)`` | comparisons of integer terms |
| ``("same", a, b)`` | equality of two objects or parameters; no effect can change it |
| ``7`` ``("+", t...)`` ``("-", s, t)`` | integer terms |

``iff(a, b)`` is stored as two implications.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

Expr: TypeAlias = Any
"""A nested tuple of the forms above. The type checker cannot express recursive aliases of tuples."""

CONNECTIVES = frozenset({"and", "or", "not", "imply"})
QUANTIFIERS = frozenset({"exists", "forall"})
COMPARISONS = frozenset({"=", "<", "<=", ">", ">="})
ARITHMETIC = frozenset({"+", "-"})

TRUE: Expr = True
FALSE: Expr = False

_NEGATED_COMPARISON = {"<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def canonical_json(value: object) -> str:
    """Return a value as JSON with sorted keys and no spaces.

    Equal values give equal bytes on every machine, so the text serves as a sort key and as the input of hashes.
    Characters outside ASCII are not escaped.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def freeze(value: object) -> Expr:
    """Return a JSON value with its lists turned into tuples at every level.

    Other values, dictionaries among them, are returned unchanged, and nothing is checked: that is left to
    ``validation.check_condition``.
    """
    if isinstance(value, list | tuple):
        return tuple(freeze(item) for item in value)
    return value


def iff(left: Expr, right: Expr) -> Expr:
    """Return the equivalence of two conditions in the form in which documents store it: two implications."""
    return ("and", ("imply", left, right), ("imply", right, left))


def negate(expr: Expr) -> Expr:
    """Return the negation of a condition; constants are flipped, and a double ``not`` is dropped.

    Nothing is pushed inwards: for that there is ``nnf``.
    """
    if expr is True or expr is False:
        return not expr
    if expr[0] == "not":
        return expr[1]
    return ("not", expr)


def children(expr: Expr) -> tuple[Expr, ...]:
    """Return the direct sub-expressions of a condition or term, left to right.

    A fluent, ``same`` and constants have none: the arguments of a fluent are names, not expressions. A quantifier has
    one, its body.
    """
    if isinstance(expr, bool | int) or expr[0] in ("fluent", "same"):
        return ()
    if expr[0] in QUANTIFIERS:
        return (expr[2],)
    return tuple(expr[1:])


def walk(expr: Expr) -> Iterator[Expr]:
    """Yield every sub-expression of an expression, parents before children, left to right."""
    yield expr
    for child in children(expr):
        yield from walk(child)


def fluents_of(expr: Expr) -> Iterator[Expr]:
    """Yield the ``("fluent", name, arg...)`` nodes of an expression, left to right, repetitions included."""
    return (node for node in walk(expr) if isinstance(node, tuple) and node[0] == "fluent")


def substitute(expr: Expr, binding: Mapping[str, str]) -> Expr:
    """Replace parameters by objects in a condition or term.

    Args:
        expr: The expression.
        binding: Object by parameter, such as ``{"?to": "kitchen"}``; a name that it does not hold stays.

    Returns:
        The expression with the same shape. Quantifiers are kept, and a variable that a quantifier binds shadows a
        parameter of the same name.
    """
    if isinstance(expr, bool | int):
        return expr
    head = expr[0]
    if head == "fluent":
        return (head, expr[1], *(binding.get(arg, arg) for arg in expr[2:]))
    if head == "same":
        return (head, *(binding.get(arg, arg) for arg in expr[1:]))
    if head in QUANTIFIERS:
        bound = {name for name, _ in expr[1]}
        inner = {name: value for name, value in binding.items() if name not in bound}
        return (head, expr[1], substitute(expr[2], inner))
    return (head, *(substitute(child, binding) for child in expr[1:]))


def nnf(expr: Expr, positive: bool = True) -> Expr:
    """Return the negation normal form: ``not`` only before fluents, ``same`` and ``=``; no ``imply``.

    The order of operands is kept, and quantifiers are not unfolded. A negated inequality becomes the opposite one; a
    negated ``=`` stays a literal, because there is no single comparison that is its opposite.

    Args:
        expr: A condition.
        positive: Whether to return the form of the condition itself, not that of its negation.
    """
    if expr is True or expr is False:
        return expr if positive else not expr
    head = expr[0]
    if head == "not":
        return nnf(expr[1], not positive)
    if head == "imply":
        if positive:
            return ("or", nnf(expr[1], False), nnf(expr[2], True))
        return ("and", nnf(expr[1], True), nnf(expr[2], False))
    if head in ("and", "or"):
        flipped = head if positive else ("or" if head == "and" else "and")
        return (flipped, *(nnf(child, positive) for child in expr[1:]))
    if head in QUANTIFIERS:
        flipped = head if positive else ("forall" if head == "exists" else "exists")
        return (flipped, expr[1], nnf(expr[2], positive))
    if not positive and head in _NEGATED_COMPARISON:
        return (_NEGATED_COMPARISON[head], *expr[1:])
    return expr if positive else ("not", expr)


def is_literal(expr: Expr) -> bool:
    """Return whether a condition in negation normal form is a single literal (or a constant)."""
    if isinstance(expr, bool):
        return True
    inner = expr[1] if expr[0] == "not" else expr
    return inner[0] in ("fluent", "same") or inner[0] in COMPARISONS


def render(expr: Expr) -> str:
    """Return an expression as a person reads it: ``(and (robot_at counter) (not (wet floor)))``.

    The notation is that of PDDL, with ``true`` and ``false`` for constants; ``same`` is written ``=``. It is shown in
    messages and traces, and no code reads it back.
    """
    if isinstance(expr, bool):
        return "true" if expr else "false"
    if isinstance(expr, int):
        return str(expr)
    head = expr[0]
    if head == "fluent":
        return "(" + " ".join(expr[1:]) + ")"
    if head == "same":
        return f"(= {expr[1]} {expr[2]})"
    if head in QUANTIFIERS:
        variables = " ".join(f"{name} - {type_}" for name, type_ in expr[1])
        return f"({head} ({variables}) {render(expr[2])})"
    return "(" + " ".join([head, *(render(child) for child in expr[1:])]) + ")"


def all_of(parts: Iterable[Expr]) -> Expr:
    """Return the conjunction of conditions, with what is constant or repeated folded away.

    A disjunction among them loses the branches that another part excludes, and is dropped if another part is one of its
    branches. Nothing else is simplified: two conditions that are equivalent but differ in form count as different.

    Args:
        parts: The conditions; nested conjunctions are unfolded.

    Returns:
        ``True`` without parts that matter, ``False`` if one part is false or the negation of another one; otherwise the
        only part that is left, or an ``and`` in the order of the parts.
    """
    kept = _unfold(parts, "and")
    if False in kept or any(negate(part) in kept for part in kept):
        return False
    known = {part for part in kept if part is not True and part[0] != "or"}
    found: dict[Expr, None] = {}
    for part in kept:
        if part is True or (part[0] == "or" and not known.isdisjoint(part[1:])):
            continue
        if part[0] == "or":
            part = any_of(branch for branch in part[1:] if negate(branch) not in known)
        found[part] = None
    if list(found) != [part for part in kept if part is not True]:
        # What was left of a disjunction may decide others.
        return all_of(found)
    return _joined("and", found)


def any_of(parts: Iterable[Expr]) -> Expr:
    """Return the disjunction of conditions, with what is constant or repeated folded away.

    Args:
        parts: The conditions; nested disjunctions are unfolded.

    Returns:
        ``False`` without parts that matter, ``True`` if one part is true or the negation of another one; otherwise the
        only part that is left, or an ``or`` in the order of the parts.
    """
    kept = _unfold(parts, "or")
    if True in kept or any(negate(part) in kept for part in kept):
        return True
    return _joined("or", [part for part in kept if part is not False])


def none_of(parts: Iterable[Expr]) -> Expr:
    """Return the condition that no part holds, folded as by ``all_of``; negations stand only before what cannot split.

    Args:
        parts: The conditions.
    """
    return all_of(_split_negation(part) for part in parts)


def _split_negation(part: Expr) -> Expr:
    if isinstance(part, tuple) and part[0] == "or":
        return all_of(_split_negation(branch) for branch in part[1:])
    if isinstance(part, tuple) and part[0] == "and":
        return any_of(_split_negation(branch) for branch in part[1:])
    return negate(part)


def _unfold(parts: Iterable[Expr], head: str) -> dict[Expr, None]:
    found: dict[Expr, None] = {}
    for part in parts:
        operands = part[1:] if isinstance(part, tuple) and part[0] == head else (part,)
        found.update(dict.fromkeys(operands))
    return found


def _joined(head: str, parts: Collection[Expr]) -> Expr:
    if not parts:
        return head == "and"
    return next(iter(parts)) if len(parts) == 1 else (head, *parts)
