"""Whether what an answer says about an action means the same as the task does, however it is written.

Preconditions are compared by ``proofs/equivalence``: they mean the same if both hold, or neither does, in every state
that the task can reach, for every instance of the action. Effects mean the same if, in every situation of U
(``proofs/situations``), both lead to the same state, or both to none.

Both comparisons are made in the task with a twin of the action added, which has what the answer says. The twin is never
executed on the way, so that the states are those of the task.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Final

from hazardmill.errors import DocumentError, SearchLimitReached
from hazardmill.formalism.document.document import ActionDecl, Document, Effect
from hazardmill.formalism.document.expressions import Expr
from hazardmill.formalism.proofs.equivalence import compare
from hazardmill.formalism.proofs.situations import universe
from hazardmill.formalism.semantics.transition_system import System

MOST_STATES: Final = 100_000
"""Most states to explore per answer: some seconds at most."""
_TWIN: Final = "twin"


def same_precondition(document: Document, action: ActionDecl, claimed: Expr, limit: int = MOST_STATES) -> bool | None:
    """Return whether a precondition means the same as that of an action.

    Args:
        document: The task.
        action: The action.
        claimed: The precondition in the answer, over the parameters of the action.
        limit: Maximum number of states to explore.

    Returns:
        Whether they mean the same; False if the claimed one does not fit the names and types of the task; None if no
        difference is found within the limit.
    """
    # Without precondition and effects the twin can be done in every state, and changes none.
    twin = ActionDecl(_twin_name(document), action.parameters)
    try:
        found = compare(_with_twin(document, twin), twin.name, claimed, action.precondition, limit)
    except DocumentError:
        return False
    except SearchLimitReached:
        return None
    # A difference is one wherever the limit comes.
    return False if found.first is not None else found.equal


def same_effects(
    document: Document, action: ActionDecl, claimed: Sequence[Effect], limit: int = MOST_STATES
) -> bool | None:
    """Return whether effects mean the same as those of an action.

    Args:
        document: The task.
        action: The action.
        claimed: The effects in the answer, over the parameters of the action, without variables.
        limit: Maximum number of states to explore.

    Returns:
        Whether they mean the same; False if the claimed ones do not fit the names and types of the task; None if no
        difference is found within the limit.
    """
    twin = ActionDecl(_twin_name(document), action.parameters, action.precondition, tuple(claimed))
    conditions = [effect.condition for effect in (*action.effects, *claimed)]
    try:
        system = System(_with_twin(document, twin))
        effort = system.effort(limit)
        actions = [each for each in system.all_actions() if each.name != twin.name]
        area = universe(system, action.name, conditions)
        for bits, numbers, instance, _ in area.situations(actions, effort):
            other = system.ground(twin.name, instance.args)
            if other is None or instance.step(bits, numbers) != other.step(bits, numbers):
                return False
    except DocumentError:
        return False
    except SearchLimitReached:
        return None
    return True


def _twin_name(document: Document) -> str:
    names = {each.name for each in document.actions}
    return next(name for number in range(len(names) + 1) if (name := f"{_TWIN}-{number}") not in names)


def _with_twin(document: Document, twin: ActionDecl) -> Document:
    """Return the task with another action.

    Raises:
        DocumentError: The action does not fit the names and types of the task.
    """
    parts = {each.name: getattr(document, each.name) for each in fields(document)}
    parts |= {"actions": [*document.actions, twin], "initial": dict(document.initial)}
    return Document.of(**parts)
