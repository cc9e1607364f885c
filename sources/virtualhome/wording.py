"""Actions and conditions in words."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from .grammar import CHARACTER, Action, Thing
from .initstate import Literal

NOT_FOR_ROBOTS: Final = frozenset({"Sleep", "Eat", "Drink", "Dance", "Sing", "Laugh", "WakeUp"})
"""Actions that only people do. Programs are about people; a robot's task has to be found around such steps."""

# What is said before the one thing, where it is not just the verb.
_OF_ONE: Final = {
    "Climb": "climb onto",
    "Crawl": "crawl to",
    "Lie": "lie on",
    "PlugOut": "unplug",
    "PutBack": "put back",
    "PutIn": "put in",
    "PutObjBack": "put back",
    "PutOff": "take off",
    "Run": "run to",
    "Sit": "sit on",
    "Speak": "speak to",
    "Spit": "spit into",
    "Talk": "talk to",
    "Text": "text on",
    "Type": "type on",
    "Walk": "walk to",
    "Write": "write on",
}
# What is said before the first of two things, and between them; else the verb, and "with".
_OF_TWO: Final = {
    "Drop": ("drop", "into"),
    "PointAt": ("point", "at"),
    "Pour": ("pour", "into"),
    "Push": ("push", "into"),
    "PutBack": ("put back", "on"),
    "PutIn": ("put", "in"),
    "Sew": ("sew", "onto"),
    "Sit": ("sit", "on"),
    "Soak": ("soak", "in"),
    "Spread": ("spread", "on"),
    "Squeeze": ("squeeze", "onto"),
    "Throw": ("throw", "at"),
    "Wrap": ("wrap", "in"),
}
# What follows "is", before the second thing where there is one.
_STATES: Final = {
    "is_off": "off",
    "is_on": "on",
    "plugged": "plugged in",
    "location": "in",
    "atreach": "within reach of",
    # The programs do not tell in from on: faucets are in sinks, and plates in tables.
    "in": "in or on",
}
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
# Shoes and keys, but not a glass, nor a basket for clothes.
_MANY = re.compile(r"(?!.* (?:for|of) ).*[^sui]s")


def verb_words(verb: str) -> str:
    """Return a CamelCase verb in words: ``SwitchOn`` is "switch on"."""
    return " ".join(_WORDS.findall(verb)).lower()


class Wording:
    """Names the things of one pair, with a number only if several share a name."""

    def __init__(self, actions: Iterable[Action], literals: Iterable[Literal]) -> None:
        self._actions = tuple(actions)
        self._literals = tuple(literals)
        groups = (*(action.things for action in self._actions), *(literal.things for literal in self._literals))
        self._met = dict.fromkeys(one for things in groups for one in things if one.name != CHARACTER)
        numbers: defaultdict[str, set[int]] = defaultdict(set)
        for one in self._met:
            numbers[one.name].add(one.instance)
        self._several = {name for name, known in numbers.items() if len(known) > 1}

    def objects(self) -> list[str]:
        """Yield every thing except the person, first from the program, then from the state."""
        return [self._name(one) for one in self._met]

    def steps(self) -> list[str]:
        """Return one imperative per action."""
        steps = []
        opened: set[Thing] = set()
        for action in self._actions:
            if action.verb == "Open":
                opened.update(action.things)
            elif action.verb == "Close":
                opened.difference_update(action.things)
            steps.append(self._step(action, opened))
        return steps

    def init(self) -> list[str]:
        """Return one sentence per condition. Relations of a thing to itself, frequent in the files, are left out."""
        telling = (literal for literal in self._literals if len(set(literal.things)) == len(literal.things))
        return list(dict.fromkeys(self._sentence(literal) for literal in telling))

    def _name(self, one: Thing) -> str:
        if one.name == CHARACTER:
            return "person"
        return f"{one.name} {one.instance}" if one.name in self._several else one.name

    def _step(self, action: Action, opened: set[Thing]) -> str:
        words = verb_words(action.verb)
        names = [self._name(one) for one in action.things]
        if not names:
            return words
        if len(names) == 1:
            return f"{_OF_ONE.get(action.verb, words)} {names[0]}"
        lead, between = _OF_TWO.get(action.verb, (words, "with"))
        if action.verb == "PutBack" and action.things[1] in opened:
            # The later release writes PutIn in such places: one puts milk into an open fridge, not onto it.
            between = "in"
        return f"{lead} {names[0]} {between} {names[1]}"

    def _sentence(self, literal: Literal) -> str:
        first, *rest = (self._name(one) for one in literal.things)
        state = _STATES.get(literal.predicate) or literal.predicate.removeprefix("is_").replace("_", " ")
        if literal.predicate == "in" and literal.things[1].name == CHARACTER:
            state = "on"
        verb = "are" if _MANY.fullmatch(first) else "is"
        return " ".join((f"the {first} {verb} {state}", *(f"the {name}" for name in rest)))
