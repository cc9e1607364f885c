"""Scenes: the objects of a room with their classes, properties and places."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from hazardmill.errors import PlanningInputError
from hazardmill.household.object_kinds import KINDS, SLICES, Property, properties_of_slices, slice_class
from hazardmill.household.scene.checks import checked_objects
from hazardmill.household.scene.entries import FORMAT, SceneEntries, parse_entries, read_entries, write_entry
from hazardmill.household.scene.objects import SceneObject

ROOMS: Final = ("bathroom", "bedroom", "kitchen", "living_room")
"""Names of the rooms that hazardmill ships."""

_ROOM_FOLDER: Final = Path(__file__).parents[1] / "rooms"


@dataclass(frozen=True)
class Scene:
    """A room at the start of an episode.

    Make one with ``Scene.of``, which checks it, or ``read_scene``.

    Attributes:
        room: Name of the room, such as ``kitchen``.
        objects: The objects of the start, in the order of the file.
    """

    room: str
    objects: tuple[SceneObject, ...]

    @classmethod
    def of(cls, room: str, objects: Iterable[Mapping[str, Any]]) -> Scene:
        """Return the scene that entries describe.

        Args:
            room: Name of the room.
            objects: An entry per object, with the keys of the file format.

        Returns:
            The scene, checked.

        Raises:
            PlanningInputError: An entry is not valid, or does not fit the others; the message names its place.
        """
        return cls.parse({"format": FORMAT, "room": room, "objects": [dict(entry) for entry in objects]})

    @classmethod
    def parse(cls, value: object) -> Scene:
        """Return the scene that the JSON values of a file say.

        Args:
            value: The values.

        Returns:
            The scene, checked.

        Raises:
            PlanningInputError: A value has another form, or an entry does not fit the others; the message names its
                place.
        """
        return _scene(parse_entries(value))

    def to_json(self) -> dict[str, Any]:
        """Return the scene as the JSON values of its file."""
        return {"format": FORMAT, "room": self.room, "objects": [_entry(thing) for thing in self.objects]}

    @cached_property
    def all_objects(self) -> tuple[SceneObject, ...]:
        """The objects of the start, then the slices that may come to be."""
        numbers = Counter(thing.kind for thing in self.objects)
        slices = []
        for thing in self.objects:
            if Property.SLICEABLE not in thing.properties:
                continue
            kind = slice_class(thing.kind)
            for _ in range(SLICES):
                numbers[kind] += 1
                properties = properties_of_slices(thing.kind, thing.properties)
                slices.append(SceneObject(f"{kind} ({numbers[kind]})", kind, properties, slice_of=thing.name))
        return (*self.objects, *slices)

    @cached_property
    def by_name(self) -> Mapping[str, SceneObject]:
        """All objects by name, slices that may come to be among them."""
        return {thing.name: thing for thing in self.all_objects}


def shipped_scene(room: str) -> Scene:
    """Return one of the rooms that hazardmill ships.

    Args:
        room: One of ``ROOMS``.

    Returns:
        The scene.

    Raises:
        PlanningInputError: There is no such room.
    """
    if room not in ROOMS:
        raise PlanningInputError(f"there is no room {room!r}", remedy=f"name one of {', '.join(ROOMS)}")
    return read_scene(_ROOM_FOLDER / f"{room}.yaml")


def read_scene(path: Path) -> Scene:
    """Read a scene from a file of JSON or YAML.

    Args:
        path: The file.

    Returns:
        The scene.

    Raises:
        PlanningInputError: The file cannot be read, is no scene, or its objects do not fit together; the message says
            where.
    """
    return _scene(read_entries(path))


def _scene(entries: SceneEntries) -> Scene:
    return Scene(entries.room, checked_objects(entries))


def _entry(thing: SceneObject) -> dict[str, Any]:
    known = KINDS.get(thing.kind)
    return write_entry(
        thing.kind,
        properties=None if known is not None and known.properties == thing.properties else thing.properties,
        place=thing.place,
        controls=thing.controls,
        states=thing.states,
        filled=thing.filled,
    )
