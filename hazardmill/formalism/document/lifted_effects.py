"""Effects that hold for all objects of a type, as PDDL writes them with ``forall``.

A document keeps one effect per object. Where it matters how an effect was written, its lifted form is kept beside.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from hazardmill.formalism.document.document import Effect, Operation, Parameter
from hazardmill.formalism.document.expressions import Expr, substitute

MAX_UNFOLDED: Final = 10_000
"""Most effects that the ``forall`` effects of one action may unfold into."""


@dataclass(frozen=True, slots=True)
class LiftedEffect:
    """An effect as an action declares it, for each binding of its own variables.

    Attributes:
        operation: As of an ``Effect``.
        target: A fluent; its arguments may be parameters of the action and variables.
        value: As of an ``Effect``.
        condition: Read before the action, over parameters and variables; true for an unconditional effect.
        variables: What a ``forall`` around the effect binds, the outermost first; mostly empty.
    """

    operation: Operation
    target: Expr
    value: Expr
    condition: Expr = True
    variables: tuple[Parameter, ...] = ()

    @classmethod
    def of(cls, effect: Effect) -> LiftedEffect:
        """Return an effect of a document as one without variables."""
        return cls(effect.operation, effect.target, effect.value, effect.condition)

    def count(self, objects_of: Callable[[str], Sequence[str]]) -> int:
        """Return how many effects it unfolds into."""
        return math.prod(len(objects_of(variable.type)) for variable in self.variables)

    def unfold(self, objects_of: Callable[[str], Sequence[str]]) -> Iterator[Effect]:
        """Yield one effect per binding of its variables.

        Args:
            objects_of: Returns the objects of a type and its subtypes, in order.

        Yields:
            Effects without variables; the last variable changes fastest.
        """
        names = [variable.name for variable in self.variables]
        for things in itertools.product(*(objects_of(variable.type) for variable in self.variables)):
            binding = dict(zip(names, things, strict=True))
            parts = (substitute(part, binding) for part in (self.target, self.value, self.condition))
            yield Effect(self.operation, *parts)


def are_too_many(effects: Iterable[LiftedEffect], objects_of: Callable[[str], Sequence[str]]) -> bool:
    """Return whether the ``forall`` effects of an action unfold into more effects than it may have."""
    return sum(effect.count(objects_of) for effect in effects if effect.variables) > MAX_UNFOLDED
