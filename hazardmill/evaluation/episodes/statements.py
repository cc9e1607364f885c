"""What an agent expects to see, and what it states about itself, compared with the world."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hazardmill.formalism.semantics.transition_system import State
from hazardmill.household.actions import FLOOR
from hazardmill.household.phrases import squeeze
from hazardmill.household.scene import SceneObject
from hazardmill.household.states import StateReader


def expectations_met(expected: Iterable[str], seen: Sequence[SceneObject]) -> int:
    """Return how many expectations came true: the name of something in sight or in the hand, or the class of one.

    Args:
        expected: Names and classes.
        seen: What is in sight or held after the action.
    """
    known = {squeeze(word) for thing in seen for word in (thing.name, thing.kind)}
    return sum(squeeze(word) in known for word in expected)


def is_place(stated: str, reader: StateReader, state: State) -> bool:
    """Return whether the robot is where an agent says: at the receptacle of this name, or on the floor."""
    return squeeze(stated) == squeeze(reader.robot_place(state) or FLOOR)


def is_held(stated: Iterable[str], reader: StateReader, state: State) -> bool:
    """Return whether the robot holds exactly what an agent says, by names."""
    return {*map(squeeze, stated)} == {squeeze(thing.name) for thing in reader.held(state)}
