"""The shape of expressions that come from outside: whether every part of them is of a form that the others can walk.

What the names in them mean is for ``declarations``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from hazardmill.errors import DocumentError
from hazardmill.formalism.document.expressions import ARITHMETIC, COMPARISONS, CONNECTIVES, QUANTIFIERS, Expr

MAX_DEPTH: Final = 60
_COUNTS: Final = {"not": 1, "imply": 2, "-": 2, **dict.fromkeys(COMPARISONS, 2)}
"""Operands of the operators that take a fixed number."""


def check_condition_shape(expr: Expr, path: str, depth: int = 0) -> None:
    """Check that an expression is a condition or term of some form.

    Args:
        expr: Nested tuples of anything.
        path: Where it stands; messages begin with it.
        depth: How deep it is nested.

    Raises:
        DocumentError: It, or a part of it, is of no form.
    """  # noqa: DOC501  # the helper makes a DocumentError
    if isinstance(expr, int):
        return
    if depth > MAX_DEPTH:
        raise DocumentError(f"{path}: nested more than {MAX_DEPTH} deep")
    if not isinstance(expr, tuple) or not expr or not isinstance(expr[0], str):
        raise _shape_error(path, expr)
    head, rest = expr[0], expr[1:]
    if head in ("fluent", "same"):
        names = all(isinstance(name, str) for name in rest)
        if not names or (len(rest) != 2 if head == "same" else not rest):
            raise _shape_error(path, expr)
        return
    if head in QUANTIFIERS:
        if len(rest) != 2 or not _are_variables(rest[0]):
            raise _shape_error(path, expr)
        rest = rest[1:]
    elif head not in CONNECTIVES | COMPARISONS | ARITHMETIC or len(rest) != _COUNTS.get(head, len(rest)):
        raise _shape_error(path, expr)
    for part in rest:
        check_condition_shape(part, path, depth + 1)


def check_target_shape(expr: Expr, path: str) -> None:
    """Check that an expression is a fluent with its arguments.

    Raises:
        DocumentError: It is not.
    """  # noqa: DOC501  # the helper makes a DocumentError
    if not isinstance(expr, tuple) or not expr or expr[0] != "fluent":
        raise _shape_error(path, expr)
    check_condition_shape(expr, path)


def _are_variables(value: object) -> bool:
    return (
        isinstance(value, tuple)
        and bool(value)
        and all(isinstance(pair, tuple) and len(pair) == 2 and _are_names(pair) for pair in value)
    )


def _are_names(value: Iterable[object]) -> bool:
    return all(isinstance(name, str) for name in value)


def _shape_error(path: str, expr: object) -> DocumentError:
    shown = repr(expr)[:80]
    return DocumentError(f"{path}: {shown} is not a condition", remedy="write it as in a task document")
