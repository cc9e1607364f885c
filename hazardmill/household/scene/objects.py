"""The objects of a scene as they are at the start, and their names."""

from __future__ import annotations

from dataclasses import dataclass

from hazardmill.household.object_kinds import Property


@dataclass(frozen=True, slots=True)
class SceneObject:
    """An object of a scene, as it is at the start.

    Attributes:
        name: Its name, such as ``Mug (2)``; objects of a class are numbered in the order of the file.
        kind: Its class.
        properties: What can be done with it.
        place: Name of the receptacle that it is in or on; None for the floor, and for fixed receptacles.
        controls: Name of the fixed receptacle that it turns on and off, such as the burner of a knob; None without one.
        states: Those of ``STATES`` that hold at the start.
        filled: The liquid that it holds at the start; None if it holds none.
        slice_of: Name of the object that is cut to get this slice; None for objects of the start.
    """

    name: str
    kind: str
    properties: frozenset[Property]
    place: str | None = None
    controls: str | None = None
    states: frozenset[str] = frozenset()
    filled: str | None = None
    slice_of: str | None = None

    def has(self, *properties: Property) -> bool:
        """Return whether it has all of these properties."""
        return self.properties.issuperset(properties)

    @property
    def is_movable(self) -> bool:
        """Whether it can be picked up."""
        return Property.PICKABLE in self.properties

    @property
    def is_site(self) -> bool:
        """Whether it is a fixed receptacle, which is a place of its own where the robot can be."""
        return Property.RECEPTACLE in self.properties and not self.is_movable

    @property
    def is_vessel(self) -> bool:
        """Whether it is a movable receptacle."""
        return self.has(Property.RECEPTACLE, Property.PICKABLE)

    @property
    def symbol(self) -> str:
        """Its name in documents: ``Mug_2`` for ``Mug (2)``."""
        return symbol_of(self.name)


def symbol_of(name: str) -> str:
    """Return the name that an object has in documents: ``Mug_2`` for ``Mug (2)``."""
    return name.replace(" (", "_").removesuffix(")")
