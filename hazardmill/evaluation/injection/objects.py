"""Distractor objects: things that lie about, of types and in places where no action of the task can use them.

An added object may have one of the task's types, with facts that read like the task's own (a room with doors that lead
out of it but not into it), or a new type. The proof is consulted about possible facts before any is drawn, so that the
final proof never fails because of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from random import Random
from typing import Final

from hazardmill.evaluation.injection.proof import (
    Fact,
    InjectionRefused,
    conditions_of,
    find_use,
    is_subtype,
    names_of,
    parents_of,
)
from hazardmill.evaluation.injection.words import NEW_TYPES, NewType, kind_of, noun_spellings
from hazardmill.formalism.document.document import Atom, Document, FluentDecl, ObjectDecl, Parameter, TypeDecl
from hazardmill.formalism.document.expressions import QUANTIFIERS, walk
from hazardmill.formalism.document.name_leaks import tokens, visible_names

MOST_FACTS: Final = 2
"""Maximum number of facts stated about one object."""


def with_objects(document: Document, level: int, random: Random) -> tuple[Document, tuple[str, ...]]:
    """Return the task with ``level`` more objects.

    Args:
        document: The task.
        level: Number of objects to add.
        random: Source of the draws.

    Returns:
        The task, and the names of the added objects in the order in which they were drawn; fewer than ``level`` where
        there are not enough words.

    Raises:
        InjectionRefused: Actions or quantifiers of the task would take objects of every kind that could be added.
    """
    spoken = {token for _, name in visible_names(document) for token in tokens(name)}
    new = _new_type(document, spoken, random)
    extended = _with_type(document, new)
    makers = _kinds(document, extended, new, spoken, random)
    if not makers:
        raise InjectionRefused(
            "every kind of object that could be added can be used by an action or a quantifier of the task",
            remedy="inject actions instead, or leave the task out",
        )
    drawn = _Drawn(extended)
    random.shuffle(makers)
    while len(drawn.added) < level and makers:
        # Kinds take turns, so that early objects already have others to be related to.
        kind = makers[0]
        makers = [*makers[1:], kind]
        name = next((name for name in kind.names if name not in drawn.added), None)
        if name is None:
            makers.pop()
        else:
            drawn.add(name, kind, random)
    return drawn.document(), tuple(drawn.added)


@dataclass
class _Kind:
    """Objects of one type that can be added.

    Attributes:
        type: Name of the type.
        names: Names for the objects, in the order in which they are used.
        facts: Facts that may be stated about them, in the terms of the proof.
    """

    type: str
    names: Iterator[str]
    facts: tuple[Fact, ...]


@dataclass
class _Drawn:
    """A task that grows by one object at a time; an earlier object never depends on a later one."""

    base: Document
    added: dict[str, str] = field(default_factory=dict)
    """Added objects and their types."""
    objects: list[ObjectDecl] = field(init=False)
    initial: dict[Atom, bool | int] = field(init=False)
    parents: dict[str, str] = field(init=False)
    mirrored: frozenset[str] = field(init=False)
    about_one: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self.parents = parents_of(self.base)
        self.mirrored = _mirrored_fluents(self.base)
        self.about_one = _about_one(self.base)
        self.objects = list(self.base.objects)
        self.initial = dict(self.base.initial)

    def add(self, name: str, kind: _Kind, random: Random) -> None:
        """Add an object next to one of its type, and state facts about it."""
        places = [place for place, thing in enumerate(self.objects, 1) if thing.type == kind.type]
        self.objects.insert(random.choice(places) if places else len(self.objects), ObjectDecl(name, kind.type))
        self.added[name] = kind.type
        told: set[str] = set()
        for fluent, classes in random.sample(kind.facts, len(kind.facts)):
            # One fact per fluent: a thing that is stated to be in two places would read as a mistake.
            if fluent in told or len(told) == MOST_FACTS:
                continue
            atom = self._atom(name, kind.type, fluent, classes, random)
            if atom is not None:
                told.add(fluent)
                self.initial[atom] = True
                if fluent in self.mirrored:
                    self.initial[(fluent, *reversed(atom[1:]))] = True
        self.initial.update(self._integers(name, kind.type))

    def document(self) -> Document:
        """Return the task as it is now."""
        return replace(self.base, objects=tuple(self.objects), initial=tuple(sorted(self.initial.items())))

    def _atom(self, name: str, type_: str, fluent: str, classes: tuple[str, ...], random: Random) -> Atom | None:
        """Return a fact that involves the object, with other objects where it needs them; None if there are none."""
        declared = next(each for each in self.base.fluents if each.name == fluent)
        mine = random.choice([place for place, each in enumerate(classes) if each == type_])
        if fluent in self.about_one:
            mine = 0
        args: list[str] = []
        for place, (each, parameter) in enumerate(zip(classes, declared.parameters, strict=True)):
            if place == mine:
                args.append(name)
                continue
            if each:
                fitting = [other for other, own in self.added.items() if own == each and other != name]
            else:
                fitting = [
                    thing.name
                    for thing in self.base.objects
                    if is_subtype(thing.type, parameter.type, self.parents) and thing.name not in args
                ]
            if not fitting:
                return None
            args.append(random.choice(fitting))
        return (fluent, *args)

    def _integers(self, name: str, type_: str) -> Iterator[tuple[Atom, int]]:
        """Yield values for integer fluents of the object whose bounds exclude 0."""
        names = [thing.name for thing in self.objects]
        of_type = {thing.name: thing.type for thing in self.objects}
        for fluent in self.base.fluents:
            nearest = max(0, fluent.lower or 0) if fluent.upper is None or fluent.upper >= 0 else fluent.upper
            if not fluent.integer or nearest == 0:
                continue
            fitting = [
                [each for each in names if is_subtype(of_type[each], parameter.type, self.parents)]
                for parameter in fluent.parameters
            ]
            for args in itertools.product(*fitting):
                if name in args:
                    yield (fluent.name, *args), nearest


def _kinds(document: Document, extended: Document, new: NewType, spoken: set[str], random: Random) -> list[_Kind]:
    """Return the kinds of objects that no action can use, with the facts that keep it so."""
    parents = parents_of(extended)
    quantified = {
        type_
        for condition in conditions_of(document)
        for node in walk(condition)
        if isinstance(node, tuple) and node[0] in QUANTIFIERS
        for _, type_ in node[1]
    }
    types = [*sorted({thing.type for thing in document.objects}), new.name]
    types = [
        type_
        for type_ in types
        if (type_ == new.name or kind_of(type_) is not None)
        and not any(is_subtype(type_, each, parents) for each in quantified)
    ]
    kept: list[str] = []
    for type_ in types:
        # One by one: two types that no action can use alone might be usable together.
        if not find_use(document, [*kept, type_], (), parents):
            kept.append(type_)
    facts: set[Fact] = set()
    for fact in _facts_worth_telling(extended, new, kept):
        if not find_use(document, kept, facts | {fact}, parents):
            facts.add(fact)
    return [
        _Kind(type_, iter(_names(type_, new, spoken, random)), tuple(_facts_of(type_, facts, extended)))
        for type_ in kept
    ]


def _facts_worth_telling(document: Document, new: NewType, types: list[str]) -> Iterator[Fact]:
    """Yield kinds of facts that read like the task's own, starting with those that relate several things.

    A fluent of one argument that an action writes and that holds for one thing only at the start, such as where the
    robot is, is skipped: stated about a second thing, it would read as a mistake.
    """
    parents, written = parents_of(document), _fluents_written(document)
    told = [atom[0] for atom, value in document.initial if value]
    for fluent in sorted(document.fluents, key=lambda each: (-len(each.parameters), each.name)):
        common = told.count(fluent.name) > (1 if fluent.name in written and len(fluent.parameters) == 1 else 0)
        if fluent.integer or fluent.kind == "context" or not (common or fluent.name == new.relation):
            continue
        options = [
            ("", *(type_ for type_ in types if is_subtype(type_, parameter.type, parents)))
            for parameter in fluent.parameters
        ]
        for classes in sorted(itertools.product(*options), key=lambda each: (each.count(""), each)):
            if any(classes):
                yield fluent.name, classes


def _facts_of(type_: str, facts: set[Fact], document: Document) -> Iterator[Fact]:
    """Yield the facts that may be stated about an object of a type when it is added.

    A fluent that says one thing about its first argument is stated about the new object only, so that the places and
    contents of the task's own objects stay as they were.
    """
    mirrored, about_one = _mirrored_fluents(document), _about_one(document)
    for fluent, classes in sorted(facts):
        mirror = (fluent, classes[::-1])
        about = classes[0] == type_ if fluent in about_one else type_ in classes
        if about and (fluent not in mirrored or mirror in facts):
            yield fluent, classes


def _fluents_written(document: Document) -> set[str]:
    """Return the fluents that an action writes."""
    return {effect.target[1] for action in document.actions for effect in action.effects}


def _about_one(document: Document) -> frozenset[str]:
    """Return the fluents that say one thing about their first argument, such as where it is.

    These are the written fluents, and those that hold at most once per first argument at the start.
    """
    firsts = [atom[:2] for atom, value in document.initial if value]
    several = {fluent for fluent, *_ in (first for first in firsts if firsts.count(first) > 1)}
    return frozenset(_fluents_written(document) | {each.name for each in document.fluents} - several)


def _mirrored_fluents(document: Document) -> frozenset[str]:
    """Return the fluents of two arguments that hold in both directions at the start, as doors do."""
    pairs: dict[str, set[tuple[str, ...]]] = {}
    for atom, value in document.initial:
        if value and len(atom) == 3:
            pairs.setdefault(atom[0], set()).add(atom[1:])
    kinds = {each.name: [parameter.type for parameter in each.parameters] for each in document.fluents}
    return frozenset(
        name
        for name, found in pairs.items()
        if kinds[name][0] == kinds[name][1] and all(pair[::-1] in found for pair in found)
    )


def _names(type_: str, new: NewType, spoken: set[str], random: Random) -> list[str]:
    """Return names for objects of a type, plain ones first, without any word that the task has."""
    kind = kind_of(type_)
    nouns = new.nouns if type_ == new.name or kind is None else kind.nouns
    free = tuple(noun for noun in nouns if spoken.isdisjoint(tokens(noun)))
    names = [name for name in noun_spellings(free) if spoken.isdisjoint(tokens(name))]
    plain, qualified = names[: len(free)], names[len(free) :]
    return random.sample(plain, len(plain)) + random.sample(qualified, len(qualified))


def _new_type(document: Document, spoken: set[str], random: Random) -> NewType:
    """Return a type whose words the task does not have."""
    taken = {name.lower() for name in names_of(document)}
    free = [
        new
        for new in NEW_TYPES
        if spoken.isdisjoint(tokens(new.name))
        and new.relation not in taken
        # More than half of its nouns must be free, which suffices for every level.
        and sum(spoken.isdisjoint(tokens(noun)) for noun in new.nouns) * 2 > len(new.nouns)
    ]
    if not free:
        raise InjectionRefused(
            "no distractor object can be added: the task already uses words from the word list of every type that "
            "could be added",
            remedy="inject actions instead, or leave the task out",
        )
    return random.choice(free)


def _with_type(document: Document, new: NewType) -> Document:
    relation = FluentDecl(new.relation, (Parameter("?one", new.name), Parameter("?other", new.name)))
    return replace(
        document,
        types=tuple(sorted((*document.types, TypeDecl(new.name)), key=lambda each: each.name)),
        fluents=tuple(sorted((*document.fluents, relation), key=lambda each: each.name)),
    )
