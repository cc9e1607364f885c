"""What a task's code combines: names, fluents, conditions and terms, each refusing what Python would let pass."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from typing import ClassVar, Final, NoReturn, Self

from hazardmill.errors import AuthoringError, DocumentError
from hazardmill.formalism.document import expressions
from hazardmill.formalism.document.document import FluentDecl
from hazardmill.formalism.document.expressions import Expr
from hazardmill.text.printable import ADDRESS

ADDRESSED: Final = "contains the repr of a Python object, with its memory address"
IN_WORDS: Final = (
    "write plain text; to put a name into it, format what self.type, self.object, self.fluent or self.action returned"
)

_HERE = __file__.rpartition("/")[0]


def fail(message: str, remedy: str | None = None) -> NoReturn:
    """Refuse what the task's code does, with the line that did it.

    Args:
        message: What is wrong.
        remedy: How to mend it.

    Raises:
        AuthoringError: Always.
    """
    raise AuthoringError(message, line=line_of_task(), remedy=remedy)


def shows_address(text: object) -> bool:
    """Return whether a text shows an address in memory, which is a different one in each process.

    Python's own ``repr`` of a value has one; in a document it would change the hash from run to run.
    """
    return ADDRESS.search(str(text)) is not None


def line_of_task() -> int | None:
    """Return the line in the task's code that led here: that of the innermost frame outside this package.

    None where no frame is outside it.
    """
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_HERE):
        back = frame.f_back
        if back is None:
            return None
        frame = back
    return frame.f_lineno


def reraise(error: DocumentError) -> NoReturn:
    """Raise a mistake found in a part of the document as a mistake on the present line of the task's code.

    Raises:
        AuthoringError: Always, with the message and the remedy of ``error``.
    """
    raise AuthoringError(error.message, line=line_of_task(), remedy=error.remedy) from None


class Entity:
    """Something declared in a task. It hashes by its number, so that sets are walked in the same order everywhere.

    Python's own hash is an address in memory, which is a different one in each process.
    """

    _orders: ClassVar[Iterator[int]] = itertools.count()
    _order: int

    def __new__(cls, *_args: object, **_options: object) -> Self:
        """Give the entity its number."""
        entity = super().__new__(cls)
        entity._order = next(Entity._orders)
        return entity

    def __hash__(self) -> int:
        # Of integers only: a string's hash depends on the hash seed. A tuple, because equal hashes would be compared.
        return hash((self._order,))


def begin_task() -> None:
    """Number the entities of a task from the first, so that it hashes the same however many were made before.

    ``PlanningTask`` calls it when it is made.
    """
    Entity._orders = itertools.count()


class _Value(Entity):
    """The base of conditions, terms and names: what Python would do silently is refused, with a remedy."""

    def __bool__(self) -> bool:
        fail(
            "a condition has no truth value while the task is being written",
            "combine with & | ~ or And, Or, Not; Python's and, or, not, if cannot be used on conditions",
        )

    def __eq__(self, other: object) -> bool:
        fail("== compares nothing here", "write Equals(a, b)")

    __hash__ = Entity.__hash__


class Symbol(_Value):
    """A type, an object or a parameter.

    Attributes:
        name: Its name; that of a parameter begins with ``?``.
        type: The name of its type; that of a type is the type itself.
    """

    def __init__(self, name: str, type_: str) -> None:
        self.name = name
        self.type = type_

    def __repr__(self) -> str:
        return self.name


class Condition(_Value):
    """A condition; ``&``, ``|`` and ``~`` combine it with others.

    Attributes:
        expr: The condition in the form of documents.
    """

    def __init__(self, expr: Expr) -> None:
        self.expr = expr

    def __and__(self, other: object) -> Condition:
        return And(self, other)

    def __or__(self, other: object) -> Condition:
        return Or(self, other)

    def __invert__(self) -> Condition:
        return Not(self)

    def __repr__(self) -> str:
        return expressions.render(self.expr)

    def __call__(self, *args: object) -> NoReturn:
        """Refuse a second pair of brackets."""
        fail(f"{self!r} has its arguments already", "use it without brackets")


class Term(_Value):
    """An integer term; ``+``, ``-`` and the comparisons combine it with others and with integers.

    Attributes:
        expr: The term in the form of documents.
    """

    def __init__(self, expr: Expr) -> None:
        self.expr = expr

    def __add__(self, other: object) -> Term:
        return Term(("+", term_of(self), term_of(other)))

    def __radd__(self, other: object) -> Term:
        return Term(("+", term_of(other), term_of(self)))

    def __sub__(self, other: object) -> Term:
        return Term(("-", term_of(self), term_of(other)))

    def __rsub__(self, other: object) -> Term:
        return Term(("-", term_of(other), term_of(self)))

    def __lt__(self, other: object) -> Condition:
        return Condition(("<", term_of(self), term_of(other)))

    def __le__(self, other: object) -> Condition:
        return Condition(("<=", term_of(self), term_of(other)))

    def __gt__(self, other: object) -> Condition:
        return Condition((">", term_of(self), term_of(other)))

    def __ge__(self, other: object) -> Condition:
        return Condition((">=", term_of(self), term_of(other)))

    def __repr__(self) -> str:
        return expressions.render(self.expr)


class Fluent(_Value):
    """A declared fluent: apply it to its arguments; one without parameters may be used without brackets.

    Attributes:
        declaration: The declaration in the form of documents.
    """

    def __init__(self, declaration: FluentDecl) -> None:
        self.declaration = declaration

    def __call__(self, *args: object) -> FluentTerm:
        """Apply the fluent to objects or parameters."""
        for arg in args:
            if not isinstance(arg, Symbol):
                fail(
                    f"{self.declaration.name}: {arg!r} is neither an object nor a parameter",
                    "pass what self.object(...) returned, or a parameter of the action",
                )
        names = [arg.name for arg in args if isinstance(arg, Symbol)]
        wanted = len(self.declaration.parameters)
        if len(names) != wanted:
            types = ", ".join(p.type for p in self.declaration.parameters) or "none"
            fail(f"{self.declaration.name} takes {wanted} argument(s) ({types}), got {len(names)}")
        return FluentTerm(("fluent", self.declaration.name, *names), self.declaration)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        fail(f"a fluent has no attribute {name!r}", "use self.initially(fluent), or action.sets(fluent)")

    # A fluent without parameters is written bare: forward what its application can do.
    def __and__(self, other: object) -> Condition:
        return And(self, other)

    def __or__(self, other: object) -> Condition:
        return Or(self, other)

    def __invert__(self) -> Condition:
        return Not(self)

    def __add__(self, other: object) -> Term:
        return Term(term_of(self)) + other

    def __radd__(self, other: object) -> Term:
        return other + Term(term_of(self))

    def __sub__(self, other: object) -> Term:
        return Term(term_of(self)) - other

    def __rsub__(self, other: object) -> Term:
        return Term(("-", term_of(other), term_of(self)))

    def __lt__(self, other: object) -> Condition:
        return Term(term_of(self)) < other

    def __le__(self, other: object) -> Condition:
        return Term(term_of(self)) <= other

    def __gt__(self, other: object) -> Condition:
        return Term(term_of(self)) > other

    def __ge__(self, other: object) -> Condition:
        return Term(term_of(self)) >= other

    def __repr__(self) -> str:
        return f"({self.declaration.name})"


class FluentTerm(Condition, Term):
    """A fluent with its arguments: a condition if it is Boolean, a term if it is an integer.

    Attributes:
        expr: The application in the form of documents.
        declaration: The fluent's declaration.
    """

    def __init__(self, expr: Expr, declaration: FluentDecl) -> None:
        super().__init__(expr)
        self.declaration = declaration


def apply_fluent(value: object, wanted: str) -> FluentTerm:
    """Return a value as a fluent with its arguments.

    Args:
        value: A fluent, applied or without parameters.
        wanted: The end of the message for anything else: what needs a fluent.

    Raises:
        AuthoringError: It is no fluent, or one that lacks its arguments.
    """
    if isinstance(value, Fluent):
        return value()
    if isinstance(value, FluentTerm):
        return value
    fail(f"{value!r} is not a fluent; {wanted}", "pass a fluent with its arguments, such as robot_at(kitchen)")


def condition_of(value: object) -> Expr:
    """Return a value as the expression of a condition.

    Raises:
        AuthoringError: It is no condition; an integer fluent is none, and neither is Python's ``None``.
    """
    if isinstance(value, bool):
        return value
    if isinstance(value, Fluent):
        value = value()
    if isinstance(value, FluentTerm):
        if value.declaration.integer:
            fail(f"{value!r} is an integer, but a condition is wanted", "compare it: <, <=, >, >= or Equals")
        return value.expr
    if isinstance(value, Condition):
        return value.expr
    fail(f"{value!r} is not a condition", "pass a Boolean fluent, or And, Or, Not ... of such fluents")


def term_of(value: object) -> Expr:
    """Return a value as the expression of an integer term.

    Raises:
        AuthoringError: It is no integer term; a Boolean is none.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, Fluent):
        value = value()
    if isinstance(value, FluentTerm):
        if not value.declaration.integer:
            fail(f"{value!r} is Boolean, but an integer is wanted", "declare it with self.integer(...), or use Iff")
        return value.expr
    if isinstance(value, Term):
        return value.expr
    fail(f"{value!r} is not an integer term", "pass an integer, an integer fluent, or a sum of them")


def And(*conditions: object) -> Condition:
    """Return the condition that all of these hold; of none, the condition always holds."""
    return join_conditions("and", conditions)


def Or(*conditions: object) -> Condition:
    """Return the condition that at least one of these holds; of none, the condition never holds."""
    return join_conditions("or", conditions)


def Not(condition: object) -> Condition:
    """Return the condition that this one does not hold."""
    return Condition(expressions.negate(condition_of(condition)))


def Implies(premise: object, conclusion: object) -> Condition:
    """Return the condition that the second holds where the first does."""
    return Condition(("imply", condition_of(premise), condition_of(conclusion)))


def Iff(left: object, right: object) -> Condition:
    """Return the condition that both hold, or neither."""
    return Condition(expressions.iff(condition_of(left), condition_of(right)))


def Equals(left: object, right: object) -> Condition:
    """Return the condition that two integer terms are equal, or that two objects (or parameters) are the same."""
    if isinstance(left, Symbol) or isinstance(right, Symbol):
        if not (isinstance(left, Symbol) and isinstance(right, Symbol)):
            fail(f"{left!r} and {right!r} cannot be compared", "compare two objects, or two integers")
        return Condition(("same", left.name, right.name))
    return Condition(("=", term_of(left), term_of(right)))


def Exists(type_: object, body: Callable[[Symbol], object]) -> Condition:
    """Return the condition that some object of the type fulfils another: ``Exists(place, lambda p: wet(p))``."""
    return _quantify("exists", type_, body)


def Forall(type_: object, body: Callable[[Symbol], object]) -> Condition:
    """Return the condition that all objects of the type fulfil another: ``Forall(place, lambda p: ~wet(p))``."""
    return _quantify("forall", type_, body)


def join_conditions(head: str, conditions: tuple[object, ...]) -> Condition:
    """Join conditions under one connective; nested ones of the same kind are merged.

    Args:
        head: ``and`` or ``or``.
        conditions: The conditions, or one list of them.

    Returns:
        The condition; a single one stays as it is, and of none ``and`` holds and ``or`` does not.

    Raises:
        AuthoringError: One of them is no condition.
    """
    if len(conditions) == 1 and isinstance(conditions[0], list | tuple):
        conditions = tuple(conditions[0])
    operands: list[Expr] = []
    for condition in map(condition_of, conditions):
        # (a & b) & c means And(a, b, c), and is stored as that.
        if isinstance(condition, tuple) and condition[0] == head:
            operands.extend(condition[1:])
        else:
            operands.append(condition)
    if not operands:
        return Condition(head == "and")
    return Condition(operands[0] if len(operands) == 1 else (head, *operands))


def _quantify(head: str, type_: object, body: Callable[[Symbol], object]) -> Condition:
    if not isinstance(type_, Symbol) or not callable(body):
        fail(f"{head} takes a type and a function", f"write {head.capitalize()}(place, lambda p: wet(p))")
    names = getattr(getattr(body, "__code__", None), "co_varnames", ())
    variable = Symbol(f"?{names[0] if names else 'x'}", type_.name)
    return Condition((head, ((variable.name, variable.type),), condition_of(body(variable))))
