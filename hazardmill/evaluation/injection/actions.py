"""Distractor actions: pairs that do and undo something nobody asked for, on fluents of their own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from hazardmill.evaluation.injection.words import DEEDS, TYPED_DEEDS, Deeds
from hazardmill.formalism.document.document import ActionDecl, Atom, Document, Effect, FluentDecl, Parameter
from hazardmill.formalism.document.expressions import Expr
from hazardmill.formalism.document.name_leaks import tokens, visible_names

_TYPED_EVERY = 4
"""One pair in so many is about any object of one of the task's types."""
_SMALL_WORDS = frozenset("at to on off of down".split())
_PARAMETERS = ("?thing", "?subject", "?which")

Pair = tuple[FluentDecl, ActionDecl, ActionDecl, bool]
"""A fluent, the actions that make it true and false, and what it is at the start."""


def with_actions(document: Document, level: int, random: Random) -> tuple[Document, tuple[str, ...]]:
    """The task with ``level`` more actions.

    Returns:
        The task, and the names of the actions in the order of their drawing; fewer than asked for where the words do
        not suffice.
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
    """Pairs in the order in which they are added: that of a level is the beginning of that of the next."""
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
    # The type is part of the names: the same deed may be there for one type only, and reads like a task's own.
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
    """A parameter's name that no variable of the task has, nor has in another case."""
    used = {name.lower() for where, name in visible_names(document) if where.startswith(("parameter", "variable"))}
    return next((name for name in _PARAMETERS if name[1:] not in used), "?what_is_meant")
