"""English for generated tasks: what objects are called, and which words an instruction gives away."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from hazardmill.household.object_kinds import KINDS

_CALLED: Final = {
    "ArmChair": "armchair",
    "BathtubBasin": "bathtub",
    "BreadSliced": "slice of bread",
    "CD": "CD",
    "CellPhone": "phone",
    "CounterTop": "counter",
    "DishSponge": "sponge",
    "Faucet": "tap",
    "GarbageCan": "bin",
    "HousePlant": "plant",
    "KeyChain": "keys",
    "LightSwitch": "light",
    "PotatoSliced": "slice of potato",
    "ShowerHead": "shower",
    "SinkBasin": "sink",
    "StoveBurner": "stove",
    "TVStand": "TV stand",
}
"""What objects are called whose class has no name that people would use first."""

_SURFACES: Final = frozenset(
    {
        "ArmChair",
        "Bed",
        "Chair",
        "CoffeeTable",
        "CounterTop",
        "Desk",
        "DiningTable",
        "Dresser",
        "Plate",
        "Shelf",
        "SideTable",
        "Sofa",
        "StoveBurner",
        "TVStand",
    }
)
"""Receptacles that things are on; they are in the others."""

_FUNCTION_WORDS: Final = frozenset(
    "a also an and are as at be been before by for from has have in inside into is it its must no not of off on one "
    "onto or out please so that the them then there they to under when where while with within".split()
)
"""Words that say nothing of a rule."""


def name_of(kind: str) -> str:
    """Return what people call an object of a class, such as ``counter`` for ``CounterTop``."""
    return _CALLED.get(kind, KINDS[kind].words[0])


def the(kind: str) -> str:
    """Return the name of a class with its article, such as ``the counter``."""
    return f"the {name_of(kind)}"


def at_place(kind: str) -> str:
    """Return where something in or on a receptacle is, such as ``on the counter``."""
    return f"{'on' if kind in _SURFACES else 'in'} {the(kind)}"


def actions(count: int) -> str:
    """Return a number of actions in words."""
    return "one action" if count == 1 else f"{('two', 'three', 'four')[count - 2]} actions"


def sentence(text: str) -> str:
    """Return a clause with a capital first and a full stop."""
    return f"{text[:1].upper()}{text[1:]}."


def words_of_rule(instruction: str, requirements: str, kinds: Iterable[str]) -> list[str]:
    """Return the words of a rule that an instruction gives away.

    Args:
        instruction: The instruction.
        requirements: The rule in words.
        kinds: The classes of goals and rule; their names are no words of the rule, because the instruction has to say
            them.

    Returns:
        The words, sorted; function words such as ``the`` are left out.
    """
    named = {word for kind in kinds for text in (*KINDS[kind].words, name_of(kind)) for word in _words(text)}
    return sorted((_words(instruction) & _words(requirements)) - named - _FUNCTION_WORDS)


def _words(text: str) -> set[str]:
    return {*re.findall(r"[a-z]+", text.lower())}
