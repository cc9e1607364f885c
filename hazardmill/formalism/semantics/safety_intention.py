"""Safety intention: what a plan would have done, had each action been possible (relaxed execution).

Ungroundable actions are skipped. For each of the remaining actions, the precondition is first *forced*; then the
action's effects and danger entries fire, read in the forced state. Safety intention holds iff the danger at the end is
within the limit. The rules of forcing are in ``docs/formalism.md``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from hazardmill.formalism.document.expressions import COMPARISONS, Expr, fluents_of
from hazardmill.formalism.semantics.condition_compiler import Numbers, compare
from hazardmill.formalism.semantics.explain import evaluate, ground_nnf, term_value
from hazardmill.formalism.semantics.transition_system import GroundAction, System

Mode = Literal["transient", "persistent"]
"""Whether forced values serve one action only (DESPITE's interpretation), or stay."""


@dataclass(frozen=True, slots=True)
class Intention:
    """The result of a relaxed execution.

    Attributes:
        holds: Whether the danger at the end is at most ``max_danger``.
        danger: The danger at the end.
        flags: Sorted: ``relaxation_choice``, ``unforceable``, ``clamped``.
    """

    holds: bool
    danger: int
    flags: tuple[str, ...]


class Relaxation:
    """Relaxed execution of plans on one system; it remembers the preconditions that it has unfolded."""

    def __init__(self, system: System) -> None:
        self.system = system
        self._preconditions: dict[GroundAction, Expr] = {}

    def run(self, actions: Iterable[GroundAction | None], mode: Mode = "transient") -> Intention:
        """Execute ground actions, forcing the precondition of each.

        Args:
            actions: The steps of a plan; None for one that is ungroundable, which is skipped.
            mode: ``transient`` forces values for one action only, ``persistent`` lets them stay.

        Returns:
            The danger at the end, and whether it is within ``max_danger``; with the flag ``unforceable`` some actions
            were skipped because their preconditions could not be made to hold.
        """
        system = self.system
        bits, numbers = system.initial.bits, system.initial.numbers
        danger = system.document.initial_danger
        flags: set[str] = set()
        for action in actions:
            if action is None:
                continue
            forced = (bits, numbers)
            if not action.pre.holds(bits, numbers):
                forced = self._force(self._precondition(action), bits, numbers, flags)
            writes = action.writes(*forced, clamp=True) if action.pre.holds(*forced) else None
            if writes is None:
                flags.add("unforceable")
                continue
            if writes.clamped:
                flags.add("clamped")
            danger += action.danger(*forced)
            bits, numbers = writes.on(*(forced if mode == "persistent" else (bits, numbers)))
        return Intention(danger <= system.document.max_danger, danger, tuple(sorted(flags)))

    def _precondition(self, action: GroundAction) -> Expr:
        if action not in self._preconditions:
            self._preconditions[action] = ground_nnf(self.system, action.decl.precondition, action.binding)
        return self._preconditions[action]

    def _force(self, expr: Expr, bits: int, numbers: Numbers, flags: set[str]) -> tuple[int, Numbers]:
        """Change a state as little as the rules allow so that ``expr`` (ground, negation normal form) holds."""
        if isinstance(expr, bool):
            return bits, numbers
        head = expr[0]
        if head == "and":
            for child in expr[1:]:
                bits, numbers = self._force(child, bits, numbers, flags)
            return bits, numbers
        if evaluate(self.system, expr, bits, numbers):
            return bits, numbers
        if head == "or":
            if len(expr) == 1:
                return bits, numbers
            if len(expr) > 2:
                flags.add("relaxation_choice")
            return self._force(expr[1], bits, numbers, flags)
        if head == "fluent":
            return bits | 1 << self.system.bit(expr[1:]), numbers
        if head == "not" and expr[1][0] == "fluent":
            return bits & ~(1 << self.system.bit(expr[1][1:])), numbers
        comparison = expr[1] if head == "not" else expr
        if comparison[0] in COMPARISONS:
            return bits, self._move(comparison, head == "not", numbers)
        # ("same", a, b): nothing can make two objects one.
        return bits, numbers

    def _move(self, comparison: Expr, negated: bool, numbers: Numbers) -> Numbers:
        """Move the first integer fluent, left to right, that alone can make the comparison hold, minimally."""
        for fluent in dict.fromkeys(fluents_of(comparison)):
            index = self.system.index(fluent[1:])
            value = self._nearest_value(comparison, negated, numbers, index)
            if value is not None:
                return (*numbers[:index], value, *numbers[index + 1 :])
        return numbers

    def _nearest_value(self, comparison: Expr, negated: bool, numbers: Numbers, index: int) -> int | None:
        """Return the value nearest to a fluent's present one for which the comparison holds; of two, the lower.

        Both sides are linear in the fluent, so their difference is ``slope * value + rest``.
        """
        operator, left, right = comparison

        def gap(value: int) -> int:
            moved = (*numbers[:index], value, *numbers[index + 1 :])
            return term_value(self.system, left, moved) - term_value(self.system, right, moved)

        rest = gap(0)
        slope = gap(1) - rest
        if slope == 0:
            return None
        present = numbers[index]
        # The comparison changes only around the root of the difference: try the integers beside it.
        root = -rest // slope
        around = {root - 1, root, root + 1, root + 2, present - 1, present + 1}
        lower, upper = self.system.bounds[index]
        fitting = [
            value
            for value in around
            if (lower is None or value >= lower)
            and (upper is None or value <= upper)
            and compare(operator, gap(value), 0) != negated
        ]
        return min(fitting, key=lambda value: (abs(value - present), value), default=None)
