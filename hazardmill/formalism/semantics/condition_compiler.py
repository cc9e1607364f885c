"""Conditions compiled for evaluation against states.

A state is ``(bits, numbers)``: one Python integer holding all ground Boolean fluents, and a tuple of the ground
integer ones. Most conditions are conjunctions of Boolean literals, and those are one mask and one comparison;
everything else is a closure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from hazardmill.formalism.document.expressions import COMPARISONS, QUANTIFIERS, Expr

if TYPE_CHECKING:
    from hazardmill.formalism.semantics.transition_system import System

Numbers: TypeAlias = tuple[int, ...]
Test: TypeAlias = Callable[[int, Numbers], bool]
TermOf: TypeAlias = Callable[[Numbers], int]


@dataclass(frozen=True, slots=True)
class CompiledCondition:
    """A compiled condition: it holds where ``bits & mask == value`` and ``test`` agrees.

    Attributes:
        mask: The bits that the condition reads as literals of a conjunction.
        value: What these bits must be.
        test: The part that is not a conjunction of Boolean literals; None where there is none.
    """

    mask: int
    value: int
    test: Test | None = None

    def holds(self, bits: int, numbers: Numbers) -> bool:
        """Return whether the condition holds in a state."""
        return bits & self.mask == self.value and (self.test is None or self.test(bits, numbers))

    @property
    def always(self) -> bool:
        """Whether it holds in every state, judged by its form alone."""
        return not self.mask and not self.value and self.test is None

    @property
    def never(self) -> bool:
        """Whether it holds in no state, judged by its form alone."""
        return bool(self.value & ~self.mask)


ALWAYS: Final = CompiledCondition(0, 0)
NEVER: Final = CompiledCondition(0, 1)


def conjunction(parts: Iterable[CompiledCondition]) -> CompiledCondition:
    """Return the condition that holds where all parts hold.

    Masks are merged, so a conjunction of literals stays one comparison. Without parts it holds everywhere; literals
    that contradict each other give ``NEVER``.
    """
    mask = value = 0
    tests: list[Test] = []
    for part in parts:
        if part.never or (mask & part.mask) & (value ^ part.value):
            return NEVER
        mask |= part.mask
        value |= part.value
        if part.test is not None:
            tests.append(part.test)
    if not tests:
        return CompiledCondition(mask, value)
    if len(tests) == 1:
        return CompiledCondition(mask, value, tests[0])
    every = tuple(tests)
    return CompiledCondition(mask, value, lambda bits, numbers: all(test(bits, numbers) for test in every))


def disjunction(parts: Iterable[CompiledCondition]) -> CompiledCondition:
    """Return the condition that holds where at least one part holds.

    Without parts it holds nowhere. A single part is returned as it is; of several, the result is a closure over all.
    """
    kept: list[CompiledCondition] = []
    for part in parts:
        if part.always:
            return ALWAYS
        if not part.never:
            kept.append(part)
    if not kept:
        return NEVER
    if len(kept) == 1:
        return kept[0]
    if all(part.test is None for part in kept):
        pairs = tuple((part.mask, part.value) for part in kept)
        return CompiledCondition(0, 0, lambda bits, _: any(bits & mask == value for mask, value in pairs))
    branches = tuple(kept)
    return CompiledCondition(0, 0, lambda bits, numbers: any(branch.holds(bits, numbers) for branch in branches))


class Compiler:
    """Compiles conditions and terms of one system, for one binding of parameters at a time.

    It does not bound what quantifiers unfold into: callers check the size first (``ground_size``).
    """

    def __init__(self, system: System) -> None:
        self._system = system

    def condition(self, expr: Expr, binding: Mapping[str, str], positive: bool = True) -> CompiledCondition:
        """Return a condition, or its negation, in compiled form.

        Args:
            expr: A condition that fits the system's document.
            binding: Object by parameter or variable.
            positive: Whether to compile the condition itself, not its negation.
        """
        if isinstance(expr, bool):
            return ALWAYS if expr == positive else NEVER
        head = expr[0]
        if head == "fluent":
            bit = 1 << self._system.bit(tuple(binding.get(part, part) for part in expr[1:]))
            return CompiledCondition(bit, bit if positive else 0)
        if head == "not":
            return self.condition(expr[1], binding, not positive)
        if head == "same":
            left, right = (binding.get(part, part) for part in expr[1:])
            return ALWAYS if (left == right) == positive else NEVER
        if head in COMPARISONS:
            return self._comparison(expr, binding, positive)
        if head == "imply":
            parts = [self.condition(expr[1], binding, not positive), self.condition(expr[2], binding, positive)]
            return disjunction(parts) if positive else conjunction(parts)
        if head in QUANTIFIERS:
            parts = [self.condition(expr[2], inner, positive) for inner in self._system.bindings(expr[1], binding)]
        else:
            parts = [self.condition(child, binding, positive) for child in expr[1:]]
        return conjunction(parts) if (head in ("and", "forall")) == positive else disjunction(parts)

    def _comparison(self, expr: Expr, binding: Mapping[str, str], positive: bool) -> CompiledCondition:
        left, right = self.term(expr[1], binding), self.term(expr[2], binding)
        if isinstance(left, int) and isinstance(right, int):
            return ALWAYS if compare(expr[0], left, right) == positive else NEVER
        first, second = _as_function(left), _as_function(right)
        operator = expr[0]
        if operator == "=":
            return CompiledCondition(0, 0, lambda _, numbers: (first(numbers) == second(numbers)) == positive)
        if not positive:
            operator = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}[operator]
        if operator in (">", ">="):
            first, second = second, first
        if operator in ("<", ">"):
            return CompiledCondition(0, 0, lambda _, numbers: first(numbers) < second(numbers))
        return CompiledCondition(0, 0, lambda _, numbers: first(numbers) <= second(numbers))

    def term(self, expr: Expr, binding: Mapping[str, str]) -> int | TermOf:
        """Compile an integer term; a constant is returned as an integer."""
        if isinstance(expr, int):
            return expr
        if expr[0] == "fluent":
            index = self._system.index(tuple(binding.get(part, part) for part in expr[1:]))
            return lambda numbers: numbers[index]
        parts = [self.term(child, binding) for child in expr[1:]]
        constant, functions = 0, []
        for place, part in enumerate(parts):
            sign = -1 if expr[0] == "-" and place else 1
            if isinstance(part, int):
                constant += sign * part
            else:
                functions.append((sign, part))
        if not functions:
            return constant
        signed = tuple(functions)
        return lambda numbers: constant + sum(sign * function(numbers) for sign, function in signed)


def compare(operator: str, left: int, right: int) -> bool:
    """Compare two integers by one of the operators ``=``, ``<``, ``<=``, ``>``, ``>=``.

    Returns:
        Whether ``left operator right`` holds.
    """
    if operator == "=":
        return left == right
    if operator in (">", ">="):
        left, right = right, left
    return left < right if operator in ("<", ">") else left <= right


def _as_function(term: int | TermOf) -> TermOf:
    if isinstance(term, int):
        return lambda _: term
    return term
