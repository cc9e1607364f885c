"""Effects on each object, one by one, told as one effect on all of them.

A document has no quantified effects: where PDDL says ``forall``, it has one effect per object.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hazardmill.formalism.document.document import Effect, Parameter
from hazardmill.formalism.document.expressions import substitute
from hazardmill.formalism.document.lifted_effects import LiftedEffect
from hazardmill.formalism.semantics.transition_system import System

_ANY = "?any"


def fold_effects(system: System, effects: Iterable[Effect]) -> tuple[Effect | LiftedEffect, ...]:
    """Return effects with those that differ in one object only, and name all that can stand there, as one.

    Args:
        system: The system of the document.
        effects: The effects of an action.

    Returns:
        The effects, in order; an effect on all objects stands where the first of its effects stood.
    """
    left = list(dict.fromkeys(effects))
    folded: list[Effect | LiftedEffect] = []
    while left:
        whole = next((each for each in _lifted(system, left[0]) if _is_in(system, each, left)), None)
        folded.append(whole or left[0])
        gone = {left[0]} if whole is None else {*whole.unfold(system.objects_of)}
        left = [each for each in left if each not in gone]
    return tuple(folded)


def _lifted(system: System, effect: Effect) -> Iterator[LiftedEffect]:
    """Yield an effect with each of its objects replaced by any object that can stand there."""
    _, name, *arguments = effect.target
    for parameter, argument in zip(system.fluents[name].parameters, arguments, strict=True):
        if not argument.startswith("?"):
            parts = (effect.target, effect.value, effect.condition)
            target, value, condition = (substitute(part, {argument: _ANY}) for part in parts)
            yield LiftedEffect(effect.operation, target, value, condition, (Parameter(_ANY, parameter.type),))


def _is_in(system: System, lifted: LiftedEffect, effects: list[Effect]) -> bool:
    return lifted.count(system.objects_of) > 1 and {*lifted.unfold(system.objects_of)} <= {*effects}
