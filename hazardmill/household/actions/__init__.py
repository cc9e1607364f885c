"""The actions of a household robot: what each demands, and what it does to a scene.

Each action of the table in ``docs/household.md`` becomes one action of the document, or several where it does
different things to different kinds of objects. Demands carry the reason for which the action is rejected where they do
not hold, so that documents and rejections have one source.

Besides what can be seen of an object (``held``, ``open``, ``dirty`` and so on) and its direct holder (``in``), a state
has two fluents that follow from the others: ``base`` (the fixed receptacle, the floor or the hand that carries an
object, however many vessels are between) and ``inside`` (in a vessel at any depth). Actions keep them up to date, so
that no condition has to follow a chain of vessels.

    vocabulary.py   verbs, reasons, demands, and what effects and conditions are made of
    scene_parts.py  the objects of a scene by what can be done to them; what is in sight
    moving.py       going, picking up, putting down, dropping and throwing
    changing.py     opening, turning on, slicing, pouring, breaking
    writing.py      all actions of a scene in one layer
"""

from hazardmill.household.actions.scene_parts import starting_place
from hazardmill.household.actions.vocabulary import (
    FLOOR,
    HAND,
    Demand,
    Hands,
    HouseholdAction,
    Observe,
    Reason,
    Verb,
    fact,
)
from hazardmill.household.actions.writing import household_actions

__all__ = [
    "FLOOR",
    "HAND",
    "Demand",
    "Hands",
    "HouseholdAction",
    "Observe",
    "Reason",
    "Verb",
    "fact",
    "household_actions",
    "starting_place",
]
