"""All actions of a scene in one layer."""

from __future__ import annotations

from typing import Final

from hazardmill.household.actions.changing import breaking, opening, pouring, slicing, turning
from hazardmill.household.actions.moving import going, letting_go, picking_up, putting_down
from hazardmill.household.actions.scene_parts import SceneParts
from hazardmill.household.actions.vocabulary import Hands, HouseholdAction, Observe
from hazardmill.household.scene import Scene

_WRITERS: Final = (going, picking_up, putting_down, opening, turning, slicing, letting_go, pouring, breaking)


def household_actions(scene: Scene, observe: Observe, hands: Hands) -> tuple[HouseholdAction, ...]:
    """Return the actions of a scene in one layer.

    Args:
        scene: The scene.
        observe: Whether the robot knows only what it has seen (``partial``), or everything (``full``).
        hands: Whether it has one hand for everything (``one``), or as many as it needs (``any``).

    Returns:
        The actions; those that no object of the scene allows are left out.
    """
    parts = SceneParts(scene, observe == "partial", hands == "one")
    return tuple(action for write in _WRITERS for action in write(parts))
