"""Scenes that are put together object by object: for generated tasks, and for tasks of another format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from hazardmill.household.object_kinds import KINDS, Property
from hazardmill.household.scene import Scene
from hazardmill.household.scene.entries import write_entry


@dataclass(eq=False)
class DraftObject:
    """An object of a scene that is being put together; its name is known when the scene is.

    Attributes:
        kind: Its class, one of ``KINDS``.
        place: What it is in or on; None for the floor, and for fixed receptacles.
        controls: The fixed receptacle that it turns on and off; None without one.
        states: Its states at the start.
        filled: The liquid that it holds; None if it holds none.
        properties: What replaces the properties of its class; None for those of the class.
    """

    kind: str
    place: DraftObject | None = None
    controls: DraftObject | None = None
    states: set[str] = field(default_factory=set)
    filled: str | None = None
    properties: frozenset[Property] | None = None

    @property
    def own_properties(self) -> frozenset[Property]:
        """What can be done with it: its own properties, or those of its class."""
        return KINDS[self.kind].properties if self.properties is None else self.properties

    def has(self, *properties: Property) -> bool:
        """Return whether it has all of these properties."""
        return self.own_properties.issuperset(properties)

    @property
    def is_site(self) -> bool:
        """Whether it is a fixed receptacle."""
        return self.has(Property.RECEPTACLE) and not self.has(Property.PICKABLE)

    def holders(self) -> Iterator[DraftObject]:
        """Yield what it is in or on, from the inside to the outside."""
        place = self.place
        while place is not None:
            yield place
            place = place.place

    def entry(self, names: Mapping[DraftObject, str]) -> dict[str, Any]:
        """Return its entry in the file of a scene.

        Args:
            names: The name of each object of the scene.
        """
        return write_entry(
            self.kind,
            properties=self.properties,
            place=None if self.place is None else names[self.place],
            controls=None if self.controls is None else names[self.controls],
            states=self.states,
            filled=self.filled,
        )


class SceneDraft:
    """A scene that is being put together.

    Args:
        room: Name of the room, such as ``kitchen``.

    Attributes:
        room: The same.
        objects: The objects so far, in the order in which they came.
    """

    def __init__(self, room: str) -> None:
        self.room = room
        self.objects: list[DraftObject] = []

    @classmethod
    def of(cls, scene: Scene) -> SceneDraft:
        """Return a draft of a finished scene, to be changed."""
        draft = cls(scene.room)
        named = {thing.name: DraftObject(thing.kind) for thing in scene.objects}
        for thing in scene.objects:
            own = named[thing.name]
            known = KINDS.get(thing.kind)
            own.properties = None if known and known.properties == thing.properties else thing.properties
            own.place = None if thing.place is None else named[thing.place]
            own.controls = None if thing.controls is None else named[thing.controls]
            own.states = {*thing.states}
            own.filled = thing.filled
        draft.objects = [*named.values()]
        return draft

    def add(
        self,
        kind: str,
        place: DraftObject | None = None,
        *states: str,
        controls: DraftObject | None = None,
        filled: str | None = None,
    ) -> DraftObject:
        """Add an object.

        Args:
            kind: Its class, one of ``KINDS``.
            place: What it is in or on; None for the floor, and for fixed receptacles.
            states: Its states at the start.
            controls: The fixed receptacle that it turns on and off.
            filled: The liquid that it holds.

        Returns:
            The object.
        """
        added = DraftObject(kind, place, controls, {*states}, filled)
        self.objects.append(added)
        return added

    def remove(self, thing: DraftObject) -> None:
        """Remove an object; what was in it is then in what held it, and nothing controls or is controlled by it."""
        self.objects.remove(thing)
        for other in self.objects:
            if other.place is thing:
                other.place = thing.place
            if other.controls is thing:
                other.controls = None

    def of_kind(self, *kinds: str) -> list[DraftObject]:
        """Return the objects of any of the classes, in the order in which they came."""
        return [thing for thing in self.objects if thing.kind in kinds]

    @property
    def kinds(self) -> frozenset[str]:
        """All classes of the objects."""
        return frozenset(thing.kind for thing in self.objects)

    def names(self) -> dict[DraftObject, str]:
        """Return the name that each object has in the finished scene."""
        numbers: Counter[str] = Counter()
        found = {}
        for thing in self._ordered():
            numbers[thing.kind] += 1
            found[thing] = f"{thing.kind} ({numbers[thing.kind]})"
        return found

    def scene(self) -> Scene:
        """Return the finished scene.

        Raises:
            PlanningInputError: The objects do not fit together.
        """
        names = self.names()
        return Scene.of(self.room, [thing.entry(names) for thing in self._ordered()])

    def _ordered(self) -> list[DraftObject]:
        """Return the objects as a file has them: fixed receptacles, other fixed objects, what can be picked up."""
        return sorted(self.objects, key=lambda thing: (not thing.is_site, thing.has(Property.PICKABLE)))
