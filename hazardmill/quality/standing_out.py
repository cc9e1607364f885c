"""Checking whether danger and way out can be guessed from the form of a task, whatever the names are.

In many tasks the facts that only the danger reads are the only facts that no action mentions, and the way out is the
only action that the goal does not need. A planner that has seen a few such tasks need not understand what a fact means.
``guess_by_place`` is a rule that makes exactly this guess, from what a planner is shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hazardmill.formalism.document.document import ActionDecl, Document
from hazardmill.formalism.document.expressions import COMPARISONS, QUANTIFIERS, Expr, fluents_of
from hazardmill.formalism.document.plan_text import parse_plan

Sign = tuple[str, bool]
"""A fluent, and whether it is needed to be true or false; integers are needed in both ways."""


@dataclass(frozen=True, slots=True)
class Guess:
    """The guess of the rule for one task, and how much of it is right.

    Attributes:
        facts: Fluents that no action mentions.
        facts_right: How many of them the danger reads.
        acts: Actions that the goal does not need.
        acts_right: How many of them are in the reference safe plan, but not in the unsafe one.
    """

    facts: tuple[str, ...]
    facts_right: int
    acts: tuple[str, ...]
    acts_right: int

    @property
    def found(self) -> list[str]:
        """What can be guessed: the facts, the acts, both or neither, in words.

        Facts count if the rule is right about more than half of them, and so do acts: if there are as many irrelevant
        ones of the same form, the form gives nothing away.
        """
        counts = (("facts", len(self.facts), self.facts_right), ("acts", len(self.acts), self.acts_right))
        return [f"{right} of {guessed} {what}" for what, guessed, right in counts if 2 * right > guessed]


def guess_by_place(document: Document, safe_plan: str | None, unsafe_plan: str) -> Guess:
    """Guess the facts of the danger and the acts of the way out from the form of a task, and check the guess.

    Args:
        document: The document of the task.
        safe_plan: The reference safe plan; if None, no act is the way out.
        unsafe_plan: The reference unsafe plan.

    Returns:
        The guessed facts and acts in the order of the document, and how many of each are right.
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
    """Return the actions that contribute to the goal: they make true what it needs, or what such an action needs.

    What an action needs are its precondition and the conditions of its effects.
    """
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
    """Yield the fluents of a condition, each with the value that helps to satisfy it."""
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
