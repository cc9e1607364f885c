"""What a social norm says: the behaviour as a robot's act, and the constraints as circumstances."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from hazardmill.formalism.names import leaks
from hazardmill.llm.backends.offline.nouns import PEOPLE, name_of

_MOST_WORDS: Final = 5
_LONGEST: Final = 34
_LONGEST_DOING: Final = 46
_CONSTRAINT: Final = re.compile(
    r"(?:(?P<whose>the (?:other )?person)'s )?(?P<trait>[\w '-]+?) (?P<relation>is not|is less than|is greater than|is)"
    r" (?P<value>.+)"
)
_LOOSE_END: Final = re.compile(r"(?: (?:and|or|the|an?|of|with|without|to|for|from|in|at|on|by|who|that|is|are|not))+$")
_FILLERS: Final = frozenset("a an the your my his her their some one s".split())

# Nouns that also name a thing, and so would not say for sure that a person is meant.
_INSTEAD: Final = {"cleaner": "janitor", "server": "waiter"}

INBORN: Final = frozenset(
    "race ethnicity sexuality gender religion class nationality country disability sex orientation".split()
)
"""Words of traits on which no task of a robot should turn."""

_AGES: Final = (
    ("infant baby newborn", 0),
    ("toddler", 2),
    ("preschooler", 4),
    ("gradeschooler child kid", 8),
    ("teenager teen adolescent", 15),
    ("young", 25),
    ("middle adult", 45),
    ("older elderly senior old", 75),
)


@dataclass(frozen=True)
class Constraint:
    """One constraint of a norm."""

    about: Literal["person", "other", "place"]
    trait: str
    relation: str
    value: str

    @property
    def is_inborn(self) -> bool:
        """Whether it is about what somebody is by birth or belief."""
        return bool(INBORN & set(re.findall("[a-z]+", self.trait)))

    @property
    def noun(self) -> str:
        """The person it makes, such as a manager; empty if it makes none."""
        if self.about == "place" or self.relation != "is" or self.trait != "role":
            return ""
        name = name_of(_INSTEAD.get(self.value, self.value))
        return name if name.rpartition("_")[2] in PEOPLE else ""

    @property
    def age(self) -> int | None:
        """Years, roughly; null if it says none."""
        if self.about == "place" or self.relation != "is" or "age" not in self.trait:
            return None
        words = set(re.findall("[a-z]+", self.value.lower()))
        return next((years for names, years in _AGES if words & set(names.split())), None)

    def literal(self, who: str, *, acting: bool) -> str:
        """The circumstance, in the short notation; ``who`` is the noun for the person concerned.

        ``acting`` says that the norm tells of two people: then ``who`` is the other one, and the robot takes the part
        of the first.
        """
        value = snake(self.value)
        if self.about == "place":
            return self._stated(f"{snake(self.trait)}_is_{value}")
        makes_somebody = bool(self.noun) or self.age is not None
        if self.about == "person" and acting:
            part = self.noun or value if makes_somebody or self.trait == "role" else ""
            return f"robot_stands_in_for_{part}" if part else self._stated(f"{snake(self.trait)}_of_sender_is_{value}")
        if makes_somebody:
            return f"{who}_is_present"
        if self.value.startswith("has "):
            return self._stated(f"{who}_{value}")
        return self._stated(f"{snake(self.trait)}_of_{who}_is_{value}")

    def _stated(self, name: str) -> str:
        more = {"is less than": "_below", "is greater than": "_above"}.get(self.relation)
        if more:
            name = name.replace("_is_", f"_is{more}_")
        return f"!{name}" if self.relation == "is not" else name


def constraints_in(phrases: list[str]) -> tuple[Constraint, ...]:
    """The constraints among the phrases of a record; what reads otherwise is left out."""
    found = [_CONSTRAINT.fullmatch(phrase.strip()) for phrase in phrases]
    return tuple(_constraint(match) for match in found if match and _is_named(match))


def _is_named(match: re.Match[str]) -> bool:
    return snake(match["value"]) != "" and snake(match["trait"])[:1].isalpha()


def _constraint(match: re.Match[str]) -> Constraint:
    about: dict[str | None, Literal["person", "other", "place"]] = {"the person": "person", "the other person": "other"}
    return Constraint(about.get(match["whose"], "place"), match["trait"].strip(), match["relation"], match["value"])


def doing_of(behavior: str, who: str) -> str:
    """A behaviour in words for a sentence; ``who`` stands for whomever it is done to."""
    plain = re.sub(r"[^a-z' -]", "", re.sub(r"\(.*", "", behavior.lower())).strip(" '-")
    named = re.sub(r"\b(someone|somebody|another person)\b", f"the {who.replace('_', ' ')}", plain)
    named = re.sub(r"\byour\b", "the", named)
    if len(named) <= _LONGEST_DOING:
        return named
    return _LOOSE_END.sub("", named[:_LONGEST_DOING].rpartition(" ")[0])


def deed_of(behavior: str, who: str) -> str:
    """A behaviour as the name of an act; empty if nothing is left to name."""
    return snake(doing_of(behavior, who))


def snake(text: str) -> str:
    """A phrase as a part of a neutral name, of a few words; empty if nothing is left."""
    found = re.findall(r"[a-z0-9]+", re.sub(r"'s?\b", "", text.lower()))
    words = [word for word in found if word not in _FILLERS and not leaks(word)][:_MOST_WORDS]
    while len("_".join(words)) > _LONGEST:
        del words[-1]
    return "_".join(words)
