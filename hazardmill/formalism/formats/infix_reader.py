"""Conditions, terms and effects in infix notation: ``soup_is_hot and not moving_slowly``, ``level += 1``.

| written | stored |
| --- | --- |
| ``wet``, ``at(kitchen)``, ``at(to)`` | a fluent; a name that is a parameter in scope stands for it |
| ``a and b``, ``a or b``, ``not a``; also ``&``, ``|``, ``~`` | ``and``, ``or``, ``not``; nested ones merged |
| ``any(wet(p) for p in place)``, ``all(... for p in place if c)`` | ``exists``, ``forall`` |
| ``implies(a, b)``, ``iff(a, b)`` | ``imply``; two of them |
| ``level >= 2``, ``level == other + 1``, ``0 < level <= 3`` | comparisons of integers |
| ``here == there``, ``here != there`` | ``same`` and its negation, of objects and parameters |
| ``at(table)``, ``not at(table)``; ``level = 3``, ``+= 1``, ``-= 1`` | effects; conditional with ``if ...`` behind |

The grammar is Python's: text is parsed and never run, and everything else that Python allows is refused. Expressions
are the same as those that ``hazardmill.formalism.authoring`` makes from the same words, so that both ways of writing
give one document. Whether names are declared and types fit is left to ``Document``.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final, NoReturn

from hazardmill.errors import DocumentError
from hazardmill.formalism.document.document import Operation
from hazardmill.formalism.document.expressions import Expr, iff, negate
from hazardmill.text.parse import parse

MAX_LENGTH: Final = 20_000

_COMPARISONS: Final[dict[type[ast.cmpop], str]] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "=",
}
_MIRRORED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_HOLDS: Final[dict[str, Callable[[int, int], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_CONNECTIVES: Final[dict[type[ast.AST], str]] = {ast.And: "and", ast.Or: "or", ast.BitAnd: "and", ast.BitOr: "or"}
_QUANTIFIERS: Final = {"any": "exists", "all": "forall"}
_TRUTH: Final = {"true": True, "false": False}
_CONDITIONAL: Final = re.compile(r"\s+if\s+")
_ASSIGNMENT: Final = re.compile(
    r"(?P<target>[A-Za-z][\w\s(),]*?)\s*(?P<sign>\+=|-=|=(?!=))\s*(?P<value>[^=].*)", re.DOTALL
)
_OPERATIONS: Final[dict[str, Operation]] = {"=": "assign", "+=": "increase", "-=": "decrease"}

_CONDITION_MEND: Final = (
    "write fluents such as robot_at(kitchen), joined by and, or, not, implies(a, b); compare integers; "
    "quantify as any(wet(p) for p in place)"
)
_TERM_MEND: Final = "write integers, integer fluents, and + or - of them"
_EFFECT_MEND: Final = (
    "write an effect as fluent, not fluent, level = 3, level += 1 or level -= 1, with `if condition` behind it where "
    "it depends on one"
)


@dataclass(frozen=True, slots=True)
class ParsedEffect:
    """An effect of an action, or an initial value, as read from text.

    Attributes:
        operation: ``assign``, ``increase`` or ``decrease``.
        target: The fluent, with its arguments.
        value: True or false for a Boolean fluent, else an integer term.
        condition: The condition behind ``if``; true where there is none.
    """

    operation: Operation
    target: Expr
    value: Expr
    condition: Expr = True


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads the expressions that are written at one place of a task.

    Args:
        path: The place, for messages.
        objects: The names of all objects.
        fluents: The names of all fluents.
        scope: The names of the parameters that are known there, without ``?``.
    """

    path: str
    objects: Collection[str]
    fluents: Collection[str]
    scope: frozenset[str] = frozenset()

    def condition(self, text: str) -> Expr:
        """Return the condition that a text states; an empty text is always true.

        Raises:
            DocumentError: It is not a condition.
        """
        if not text.strip():
            return True
        node = self._parse_python(text, _CONDITION_MEND)
        try:
            return self._condition(node, self.scope)
        except RecursionError:
            self._refuse(text, "is nested too deeply to be read", "nest expressions less deeply")

    def change(self, text: str) -> ParsedEffect:
        """Return the effect that a text states.

        Raises:
            DocumentError: It is not an effect.
        """
        # The condition follows the first `if`: nothing before it can contain one.
        what, *conditions = _CONDITIONAL.split(" ".join(text.split()), maxsplit=1)
        condition = self.condition(conditions[0]) if conditions else True
        assignment = _ASSIGNMENT.fullmatch(what)
        if assignment is not None:
            target = self._target(self._parse_python(assignment["target"], _EFFECT_MEND))
            value = self._value(assignment["value"])
            return ParsedEffect(_OPERATIONS[assignment["sign"]], target, value, condition)
        match self._parse_python(what, _EFFECT_MEND):
            case ast.UnaryOp(op=ast.Not() | ast.Invert(), operand=target):
                return ParsedEffect("assign", self._target(target), False, condition)
            case target:
                return ParsedEffect("assign", self._target(target), True, condition)

    # Syntax

    def _parse_python(self, text: str, mend: str) -> ast.expr:
        if len(text) > MAX_LENGTH:
            raise DocumentError(f"{self.path}: over {MAX_LENGTH} characters", remedy="write a smaller task")
        # Line ends do not matter, inside brackets or outside: the text is one expression.
        flat = " ".join(text.split())
        try:
            body = parse(flat).body
        except SyntaxError as error:
            self._refuse(flat, f"cannot be read: {error.msg}", mend)
        except (ValueError, RecursionError, MemoryError):
            self._refuse(flat, "cannot be read", "nest expressions less deeply")
        match body:
            case [ast.Expr(value=node)]:
                return node
        self._refuse(flat, "is not one expression", mend)

    def _value(self, text: str) -> Expr:
        node = self._parse_python(text, _EFFECT_MEND)
        # `wet = true`: models write it, and it is clear.
        truth = _truth(node)
        if truth is not None:
            return truth
        try:
            return self._term(node, self.scope)
        except RecursionError:
            self._refuse(text, "is nested too deeply to be read", "nest expressions less deeply")

    # Conditions

    def _condition(self, node: ast.expr, scope: frozenset[str]) -> Expr:
        truth = _truth(node)
        if truth is not None and not (isinstance(node, ast.Name) and node.id in self.fluents):
            return truth
        match node:
            case ast.BoolOp(op=kind, values=values):
                return connect(_CONNECTIVES[type(kind)], [self._condition(value, scope) for value in values])
            case ast.BinOp(left=left, op=ast.BitAnd() | ast.BitOr() as kind, right=right):
                parts = [self._condition(part, scope) for part in (left, right)]
                return connect(_CONNECTIVES[type(kind)], parts)
            case ast.UnaryOp(op=ast.Not() | ast.Invert(), operand=operand):
                return negate(self._condition(operand, scope))
            case ast.Compare():
                return self._comparison(node, scope)
            case ast.Call(func=ast.Name(id=name)) if name not in self.fluents and name in _QUANTIFIERS:
                return self._quantify(name, node, scope)
            case ast.Call(func=ast.Name(id="implies" | "iff" as name), args=[left, right], keywords=[]) if (
                name not in self.fluents
            ):
                one, other = self._condition(left, scope), self._condition(right, scope)
                return iff(one, other) if name == "iff" else ("imply", one, other)
            case ast.Name() | ast.Call():
                return self._fluent(node, scope)
        self._refuse(ast.unparse(node), "is not a condition", _CONDITION_MEND)

    def _comparison(self, node: ast.Compare, scope: frozenset[str]) -> Expr:
        sides = [node.left, *node.comparators]
        parts = []
        for left, how, right in zip(sides, node.ops, sides[1:], strict=False):
            different = isinstance(how, ast.NotEq)
            if isinstance(how, ast.Eq | ast.NotEq):
                things = [self._thing(side, scope) for side in (left, right)]
                if None not in things:
                    same = ("same", *things)
                    parts.append(negate(same) if different else same)
                    continue
            sign = "=" if different else _COMPARISONS.get(type(how))
            if sign is None:
                self._refuse(ast.unparse(node), "compares in a way that is not supported", "use ==, !=, <, <=, > or >=")
            compared = _compare(sign, self._term(left, scope), self._term(right, scope))
            parts.append(negate(compared) if different else compared)
        return connect("and", parts)

    def _quantify(self, name: str, node: ast.Call, scope: frozenset[str]) -> Expr:
        match node:
            case ast.Call(args=[ast.GeneratorExp(elt=body, generators=loops)], keywords=[]):
                return self._loops(_QUANTIFIERS[name], loops, body, scope)
        self._refuse(ast.unparse(node), "is not a quantifier", f"write {name}(wet(p) for p in place)")

    def _loops(self, head: str, loops: list[ast.comprehension], body: ast.expr, scope: frozenset[str]) -> Expr:
        if not loops:
            return self._condition(body, scope)
        match loops[0]:
            case ast.comprehension(target=ast.Name(id=variable), iter=ast.Name(id=type_), ifs=filters, is_async=0):
                inner = scope | {variable}
                said = self._loops(head, loops[1:], body, inner)
                if filters:
                    given = connect("and", [self._condition(each, inner) for each in filters])
                    said = connect("and", [given, said]) if head == "exists" else ("imply", given, said)
                return (head, ((f"?{variable}", type_),), said)
        self._refuse(
            ast.unparse(body),
            "quantifies over something that is not a type",
            "write any(wet(p) for p in place), where place is a type",
        )

    # Fluents and terms

    def _target(self, node: ast.expr) -> Expr:
        match node:
            case ast.Name() | ast.Call():
                return self._fluent(node, self.scope)
        self._refuse(ast.unparse(node), "is not a fluent that an effect can change", _EFFECT_MEND)

    def _fluent(self, node: ast.expr, scope: frozenset[str]) -> Expr:
        match node:
            case ast.Name(id=name):
                return ("fluent", name)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                return ("fluent", name, *(self._argument(argument, scope) for argument in arguments))
        self._refuse(ast.unparse(node), "is not a fluent", "write name(object, ...)")

    def _argument(self, node: ast.expr, scope: frozenset[str]) -> str:
        if isinstance(node, ast.Name):
            return f"?{node.id}" if node.id in scope else node.id
        self._refuse(
            ast.unparse(node), "is neither an object nor a parameter", "name an object, a parameter or a variable"
        )

    def _thing(self, node: ast.expr, scope: frozenset[str]) -> str | None:
        """Return the object or parameter that a bare name stands for; None if it stands for neither."""
        if not isinstance(node, ast.Name) or node.id not in scope | set(self.objects):
            return None
        return self._argument(node, scope)

    def _term(self, node: ast.expr, scope: frozenset[str]) -> Expr:
        match node:
            case ast.Constant(value=int() as number) if not isinstance(number, bool):
                return number
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as number)) if not isinstance(
                number, bool
            ):
                return -number
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as sign, right=right):
                one, other = self._term(left, scope), self._term(right, scope)
                plus = isinstance(sign, ast.Add)
                if isinstance(one, int) and isinstance(other, int):
                    return one + other if plus else one - other
                return ("+" if plus else "-", one, other)
            case ast.Name() | ast.Call():
                return self._fluent(node, scope)
        self._refuse(ast.unparse(node), "is not an integer term", _TERM_MEND)

    def _refuse(self, text: str, what: str, mend: str) -> NoReturn:
        shown = text if len(text) <= 80 else text[:77] + "..."
        raise DocumentError(f"{self.path}: {shown!r} {what}", remedy=mend)


def connect(head: str, parts: list[Expr]) -> Expr:
    """Join conditions under one connective, as the authoring module does.

    Args:
        head: ``and`` or ``or``.
        parts: The conditions; nested ones of the same kind are merged.

    Returns:
        The condition; a single one stays as it is, and of none ``and`` is true and ``or`` is false.
    """
    operands: list[Expr] = []
    for part in parts:
        operands.extend(part[1:] if isinstance(part, tuple) and part[0] == head else (part,))
    if not operands:
        return head == "and"
    return operands[0] if len(operands) == 1 else (head, *operands)


def _compare(sign: str, left: Expr, right: Expr) -> Expr:
    """Return a comparison as Python's operators would build it from the authoring module's terms.

    Where the left operand is a plain integer, Python asks the right one; where the class of the right one is derived
    from that of the left one, it asks the right one first. The comparison then comes out mirrored.
    """
    if sign == "=" or not (isinstance(left, int) or (_has_arguments(right) and not _has_arguments(left))):
        return (sign, left, right)
    if not isinstance(left, int):
        return (_MIRRORED[sign], right, left)
    return _HOLDS[sign](left, right) if isinstance(right, int) else (_MIRRORED[sign], right, left)


def _has_arguments(expr: Expr) -> bool:
    return isinstance(expr, tuple) and expr[0] == "fluent" and len(expr) > 2


def _truth(node: ast.expr) -> bool | None:
    match node:
        case ast.Constant(value=bool() as value):
            return value
        case ast.Name(id=name) if name in _TRUTH:
            return _TRUTH[name]
    return None
