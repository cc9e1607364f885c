"""What is true of the objects of a household scene at one time, whoever says so: an episode or a recorded trace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class ThingState:
    """What is true of one object in one state.

    Attributes:
        name: Its name, such as ``Mug (2)``.
        kind: Its class, such as ``Mug``.
        place: The name of what holds it; ``None`` for the floor, for fixed things and for what is gone.
        held: Whether the robot holds it.
        open: Whether it is open.
        on: Whether it is switched on.
        filled: What it is filled with: ``water``, ``coffee`` or ``wine``; ``None`` if nothing.
        dirty: Whether it is dirty.
        sliced: Whether it was sliced.
        cooked: Whether it is cooked.
        broken: Whether it is broken.
    """

    name: str
    kind: str
    place: str | None
    held: bool = False
    open: bool = False
    on: bool = False
    filled: str | None = None
    dirty: bool = False
    sliced: bool = False
    cooked: bool = False
    broken: bool = False


WorldState: TypeAlias = Mapping[str, ThingState]
"""Objects by their names."""
