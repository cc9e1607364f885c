"""Tasks in which no two effects of an action write different values to one fluent, for engines that mind the order.

Of two effects that write true and false to one Boolean, true wins. ENHSP applies them in an order of its own instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hazardmill.errors import DocumentError, NotExpressible
from hazardmill.formalism.document.document import Document, Effect
from hazardmill.formalism.document.expressions import Expr, all_of, negate


def settle_writes(document: Document) -> Document:
    """Return a task with the same states, in which an effect clears a fluent only where no other one sets it.

    Args:
        document: The task.

    Returns:
        The task itself if nothing is to be settled. Danger entries, limits and all else are kept.

    Raises:
        NotExpressible: The conditions would be larger than a document may be.
    """
    actions = tuple(replace(action, effects=settle_effects(action.effects)) for action in document.actions)
    if actions == document.actions:
        return document
    settled = replace(document, actions=actions)
    try:
        return Document.from_json(settled.to_json())
    except DocumentError as error:
        raise NotExpressible(f"the task is too large once its effects are settled: {error.message}") from error


def settle_effects(effects: Sequence[Effect]) -> tuple[Effect, ...]:
    """Return the effects of an action, of which one clears a fluent only where no other one sets it."""
    setting = [effect for effect in effects if effect.value is True]
    return tuple(_settle(effect, setting) for effect in effects)


def _settle(effect: Effect, setting: list[Effect]) -> Effect:
    if effect.value is not False:
        return effect
    others = [all_of([_meet(effect.target, other.target), other.condition]) for other in setting]
    losing = [negate(condition) for condition in others if condition is not False]
    return replace(effect, condition=all_of([effect.condition, *losing])) if losing else effect


def _meet(left: Expr, right: Expr) -> Expr:
    """Return the condition that two targets are one ground fluent."""
    if left[1] != right[1]:
        return False
    return all_of(_same(a, b) for a, b in zip(left[2:], right[2:], strict=True))


def _same(left: str, right: str) -> Expr:
    if left == right:
        return True
    return ("same", left, right) if left.startswith("?") or right.startswith("?") else False
