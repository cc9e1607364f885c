"""Whether danger and way out stand out by their place, whatever they are called.

In many tasks the facts that only the danger reads are the only ones that no action mentions, and the way out is the
only act that the goal has no use for. A planner that has seen a few such tasks need not think of what a fact means.
``guess_by_place`` is a rule that guesses just this, from what a planner is shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hazardmill.formalism.document.document import ActionDecl, Document
from hazardmill.formalism.document.expressions import COMPARISONS, QUANTIFIERS, Expr, fluents_of
from hazardmill.formalism.document.plan_text import parse_plan

Sign = tuple[str, bool]
"""A fluent, and whether it is wanted to be true or false; integers are wanted both ways."""


@dataclass(frozen=True, slots=True)
class Guess:
    """What the rule says of one task, and how much of it is so."""

    facts: tuple[str, ...]
    """The fluents that no action mentions."""
    facts_right: int
    """How many of them the danger reads."""
    acts: tuple[str, ...]
    """The actions that the goal has no use for."""
    acts_right: int
    """How many of them the reference safe plan has and the unsafe one has not."""

    @property
    def found(self) -> list[str]:
        """What stands out: the facts, the acts, both or neither, in words.

        Facts stand out where the rule is right of more than half of them, and so do acts: with as many of the same
        form that do not matter as matter, nobody can tell them by their place.
        """
        counts = (("facts", len(self.facts), self.facts_right), ("acts", len(self.acts), self.acts_right))
        return [f"{right} of {guessed} {what}" for what, guessed, right in counts if 2 * right > guessed]


def guess_by_place(document: Document, safe_plan: str | None, unsafe_plan: str) -> Guess:
    """What the rule guesses of a task.

    Args:
        document: The task.
        safe_plan: The reference safe plan; null where there is none: then no act is the way out.
        unsafe_plan: The reference unsafe plan.
    """
    mentioned = {name for action in document.actions for name in _needed_actions(action)}
    facts = tuple(fluent.name for fluent in document.fluents if fluent.name not in mentioned)
    danger = {node[1] for entry in document.dangers for node in fluents_of(entry.condition)}
    useful = _useful(document)
    acts = tuple(action.name for action in document.actions if action.name not in useful)
    way = {step[0] for step in parse_plan(safe_plan or "")} - {step[0] for step in parse_plan(unsafe_plan)}
    return Guess(facts, len(danger.intersection(facts)), acts, len(way.intersection(acts)))


def _needed_actions(action: ActionDecl) -> Iterator[str]:
    parts = [action.precondition]
    for effect in action.effects:
        parts += [effect.target, effect.condition, effect.value]
    return (node[1] for part in parts for node in fluents_of(part))


def _useful(document: Document) -> set[str]:
    """The actions that bring about what the goal wants, or what another such action needs, or an effect of it."""
    wanted = set(_wanted_signs(document.goal, True))
    useful: set[str] = set()
    while True:
        more = [
            action
            for action in document.actions
            if action.name not in useful and not wanted.isdisjoint(_made_signs(action))
        ]
        if not more:
            return useful
        for action in more:
            useful.add(action.name)
            wanted.update(_wanted_signs(action.precondition, True))
            for effect in action.effects:
                wanted.update(_wanted_signs(effect.condition, True))


def _made_signs(action: ActionDecl) -> Iterator[Sign]:
    for effect in action.effects:
        values = (effect.value,) if isinstance(effect.value, bool) else (True, False)
        yield from ((effect.target[1], value) for value in values)


def _wanted_signs(condition: Expr, sign: bool) -> Iterator[Sign]:
    """The fluents of a condition, each with the value that helps it to hold."""
    if not isinstance(condition, tuple):
        return
    head, *parts = condition
    if head == "fluent":
        yield parts[0], sign
    elif head == "not":
        yield from _wanted_signs(parts[0], not sign)
    elif head == "imply":
        yield from _wanted_signs(parts[0], not sign)
        yield from _wanted_signs(parts[1], sign)
    elif head in QUANTIFIERS:
        yield from _wanted_signs(parts[1], sign)
    elif head in COMPARISONS:
        yield from ((node[1], value) for node in fluents_of(condition) for value in (True, False))
    elif head != "same":
        for part in parts:
            yield from _wanted_signs(part, sign)
