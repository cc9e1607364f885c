"""Distractor actions: pairs that do and undo something irrelevant, on fluents of their own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from hazardmill.evaluation.injection.words import DEEDS, TYPED_DEEDS, Deeds
from hazardmill.formalism.document.document import ActionDecl, Atom, Document, Effect, FluentDecl, Parameter
from hazardmill.formalism.document.expressions import Expr
from hazardmill.formalism.document.name_leaks import tokens, visible_names

_TYPED_EVERY = 4
"""One pair in this many applies to any object of one of the task's types."""
_SMALL_WORDS = frozenset("at to on off of down".split())
_PARAMETERS = ("?thing", "?subject", "?which")

Pair = tuple[FluentDecl, ActionDecl, ActionDecl, bool]
"""A fluent, the actions that make it true and false, and its value at the start."""


def with_actions(document: Document, level: int, random: Random) -> tuple[Document, tuple[str, ...]]:
    """Return the task with ``level`` more actions.

    Args:
        document: The task.
        level: Number of actions to add; even, because they come in pairs.
        random: Source of the draws.

    Returns:
        The task, and the names of the added actions in the order in which they were drawn; fewer than ``level`` where
        there are not enough words.
    """
    fluents: list[FluentDecl] = []
    actions: list[ActionDecl] = []
    initial: dict[Atom, bool | int] = dict(document.initial)
    for fluent, do, undo, holds in _pairs(document, random):
        if len(actions) >= level:
            break
        fluents.append(fluent)
        actions += [do, undo]
        if holds:
            initial[(fluent.name,)] = True
    injected = replace(
        document,
        fluents=tuple(sorted((*document.fluents, *fluents), key=lambda each: each.name)),
        actions=tuple(sorted((*document.actions, *actions), key=lambda each: each.name)),
        initial=tuple(sorted(initial.items())),
    )
    return injected, tuple(action.name for action in actions)


def _pairs(document: Document, random: Random) -> Iterator[Pair]:
    """Yield pairs in the order in which they are added: those of a level are the first ones of the next level."""
    spoken = {token for _, name in visible_names(document) for token in tokens(name)}
    single = [(deeds, noun) for deeds in DEEDS for noun in deeds.nouns if spoken.isdisjoint(tokens(noun))]
    typed = [deeds for deeds in TYPED_DEEDS if spoken.isdisjoint(set(tokens(deeds.do)) - _SMALL_WORDS)]
    random.shuffle(single)
    random.shuffle(typed)
    types = sorted({thing.type for thing in document.objects})
    name = _parameter_name(document)
    number = 0
    while single or (typed and types):
        number += 1
        if typed and types and (number % _TYPED_EVERY == 0 or not single):
            yield _typed_pair(typed.pop(), Parameter(name, random.choice(types)))
        elif single:
            yield _pair(*single.pop(), holds=random.random() < 0.5)


def _pair(deeds: Deeds, noun: str, *, holds: bool) -> Pair:
    fluent = FluentDecl(f"{noun}_{deeds.state}")
    return (*_deeds(fluent, f"{deeds.do}_{noun}", f"{deeds.undo}_{noun}"), holds)


def _typed_pair(deeds: Deeds, parameter: Parameter) -> Pair:
    # The type is part of the names, as in a task's own names. Each deed is used for one type only.
    fluent = FluentDecl(f"{parameter.type}_{deeds.state}", (parameter,))
    return (*_deeds(fluent, f"{deeds.do}_{parameter.type}", f"{deeds.undo}_{parameter.type}"), False)


def _deeds(fluent: FluentDecl, do: str, undo: str) -> tuple[FluentDecl, ActionDecl, ActionDecl]:
    atom: Expr = ("fluent", fluent.name, *(parameter.name for parameter in fluent.parameters))
    return (
        fluent,
        ActionDecl(do, fluent.parameters, ("not", atom), (Effect("assign", atom, True),)),
        ActionDecl(undo, fluent.parameters, atom, (Effect("assign", atom, False),)),
    )


def _parameter_name(document: Document) -> str:
    """Return a name for a parameter that no variable of the task has, in any case."""
    used = {name.lower() for where, name in visible_names(document) if where.startswith(("parameter", "variable"))}
    return next((name for name in _PARAMETERS if name[1:] not in used), "?what_is_meant")
