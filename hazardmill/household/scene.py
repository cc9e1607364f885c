"""Scenes: the objects of a room with their classes, properties and places, read from JSON or YAML.

A scene says how a room is at the start. The format is described in ``docs/household.md``.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hazardmill.errors import PlanningInputError
from hazardmill.files import read_regular
from hazardmill.household.object_kinds import KINDS, LIQUIDS, SLICES, Property, properties_of_slices, slice_class

FORMAT: Final = "hazardmill-scene/1"
ROOMS: Final = ("bathroom", "bedroom", "kitchen", "living_room")
"""Names of the rooms that hazardmill ships."""

_ROOM_FOLDER: Final = Path(__file__).with_name("rooms")
_MOST_BYTES: Final = 1_000_000
_CLASS_NAME: Final = re.compile(r"[A-Z][A-Za-z0-9]{0,59}\Z")
_SHAPE: Final = "a scene is format, room and objects; an object is class, and optionally in, controls, states, filled"

STATES: Final = {
    "open": Property.OPENABLE,
    "on": Property.TOGGLEABLE,
    "dirty": Property.DIRTYABLE,
    "cooked": Property.COOKABLE,
    "broken": Property.BREAKABLE,
}
"""States that an object can have at the start, with the property that each demands."""

_DEMANDS: Final = {
    Property.SLICEABLE: Property.PICKABLE,
    Property.COOKABLE: Property.PICKABLE,
    Property.BLADE: Property.PICKABLE,
    Property.BASIN: Property.RECEPTACLE,
    Property.COOKER: Property.RECEPTACLE,
}
_EXCLUDES: Final = {
    Property.SLICEABLE: Property.RECEPTACLE,
    Property.BASIN: Property.PICKABLE,
    Property.COOKER: Property.PICKABLE,
}


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
        slice_of: Name of the object of which it is a slice that does not exist yet; None for objects of the start.
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
        return _check({"format": FORMAT, "room": room, "objects": [dict(entry) for entry in objects]}, None)

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


def symbol_of(name: str) -> str:
    """Return the name that an object has in documents: ``Mug_2`` for ``Mug (2)``."""
    return name.replace(" (", "_").removesuffix(")")


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
    import yaml

    try:
        text = read_regular(path, _MOST_BYTES).decode("utf-8-sig")
        # Every scalar stays text: to the usual loader, the state `on` is the Boolean true.
        node = yaml.compose(text, Loader=yaml.BaseLoader)
    except OSError as error:
        raise PlanningInputError(
            f"the scene cannot be read: {error.strerror or error}", file=str(path), remedy="name a file of JSON or YAML"
        ) from error
    except (UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        raise PlanningInputError(
            f"the scene is neither JSON nor YAML: {getattr(error, 'problem', None) or error}",
            file=str(path),
            line=None if mark is None else mark.line + 1,
            remedy=_SHAPE,
        ) from error
    if node is None:
        raise PlanningInputError("the scene is empty", file=str(path), remedy=_SHAPE)
    place = _FilePlace(str(path), node)
    return _check(place.plain(node), place)


@dataclass(frozen=True, slots=True)
class _FilePlace:
    """A file with the nodes of its YAML, to say on which line a mistake is."""

    file: str
    root: Any

    def plain(self, node: Any) -> Any:  # noqa: ANN401  # yaml is not typed
        import yaml

        if isinstance(node, yaml.SequenceNode):
            return [self.plain(item) for item in node.value]
        if not isinstance(node, yaml.MappingNode):
            return node.value
        found: dict[Any, Any] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.value in found:
                raise PlanningInputError(
                    f"the key {key.value!r} is used twice, or is no text",
                    file=self.file,
                    line=key.start_mark.line + 1,
                    remedy="use each key once",
                )
            found[key.value] = self.plain(value)
        return found

    def line(self, path: tuple[int | str, ...]) -> int:
        import yaml

        node = self.root
        for part in path:
            if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
                node = node.value[part]
            elif isinstance(node, yaml.MappingNode):
                node = next((value for key, value in node.value if key.value == part), node)
        return int(node.start_mark.line) + 1


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    kind: str = Field(alias="class")
    place: str | None = Field(default=None, alias="in")
    controls: str | None = None
    properties: list[str] | None = None
    states: list[str] = Field(default_factory=list)
    filled: str | None = None


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    format: str
    room: str = Field(min_length=1, max_length=80)
    objects: list[_Entry] = Field(min_length=1)


def _check(value: object, place: _FilePlace | None) -> Scene:
    try:
        file = _File.model_validate(value)
    except ValidationError as error:
        found = error.errors(include_url=False)[0]
        raise _error(place, found["loc"], found["msg"], _SHAPE) from error
    if file.format != FORMAT:
        raise _error(place, ("format",), f"this version reads {FORMAT!r}, not {file.format!r}", "change the format")
    return _SceneCheck(file, place).scene()


def _error(place: _FilePlace | None, path: tuple[int | str, ...], wrong: str, remedy: str) -> PlanningInputError:
    shown = "".join(f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")
    return PlanningInputError(
        f"{shown}: {wrong}" if shown else wrong,
        file=None if place is None else place.file,
        line=None if place is None else place.line(path),
        remedy=remedy,
    )


@dataclass
class _SceneCheck:
    """Turns entries into objects, and refuses what does not fit together."""

    file: _File
    place: _FilePlace | None
    named: dict[str, SceneObject] = field(default_factory=dict)

    def scene(self) -> Scene:
        entries = self.file.objects
        numbers: Counter[str] = Counter()
        for index, entry in enumerate(entries):
            properties = self._properties(index, entry)
            numbers[entry.kind] += 1
            name = f"{entry.kind} ({numbers[entry.kind]})"
            states = self._states(index, entry, name, properties)
            self.named[name] = SceneObject(
                name, entry.kind, properties, entry.place, entry.controls, states, entry.filled
            )
        controlled: set[str] = set()
        for index, thing in enumerate(self.named.values()):
            self._check_controls(index, thing, controlled)
            self._check_place(index, thing)
        objects = []
        for thing in self.named.values():
            # A knob without a place of its own is at what it controls.
            place = thing.place or (None if thing.is_movable or thing.is_site else thing.controls)
            objects.append(
                SceneObject(thing.name, thing.kind, thing.properties, place, thing.controls, thing.states, thing.filled)
            )
        return Scene(self.file.room, tuple(objects))

    def _error(self, index: int, key: str, wrong: str, remedy: str) -> PlanningInputError:
        return _error(self.place, ("objects", index, key), wrong, remedy)

    def _properties(self, index: int, entry: _Entry) -> frozenset[Property]:
        if not _CLASS_NAME.match(entry.kind):
            raise self._error(
                index, "class", f"{entry.kind!r} is no name of a class", "use letters and digits, a capital first"
            )
        if entry.properties is None:
            if entry.kind not in KINDS:
                raise self._error(
                    index, "class", f"the class {entry.kind!r} is unknown", f"{_nearest(entry.kind, KINDS)}, or give"
                    " the object properties",
                )  # fmt: skip
            return KINDS[entry.kind].properties
        unknown = next((word for word in entry.properties if word not in {*Property}), None)
        if unknown is not None:
            raise self._error(
                index, "properties", f"the property {unknown!r} is unknown", _nearest(unknown, [*Property])
            )
        found = frozenset(Property(word) for word in entry.properties)
        for each in sorted(found):
            if each in _DEMANDS and _DEMANDS[each] not in found:
                raise self._error(
                    index, "properties", f"what is {each} must be {_DEMANDS[each]}", f"add {_DEMANDS[each]}"
                )
            if _EXCLUDES.get(each) in found:
                raise self._error(
                    index, "properties", f"what is {each} cannot be {_EXCLUDES[each]}", "remove one of the two"
                )
        return found

    def _states(self, index: int, entry: _Entry, name: str, properties: frozenset[Property]) -> frozenset[str]:
        for state in entry.states:
            if state not in STATES:
                raise self._error(index, "states", f"the state {state!r} is unknown", _nearest(state, STATES))
            if STATES[state] not in properties:
                raise self._error(
                    index, "states", f"{name} is not {STATES[state]}, so it cannot be {state}", "remove the state"
                )
        if entry.filled is not None and entry.filled not in LIQUIDS:
            raise self._error(
                index, "filled", f"the liquid {entry.filled!r} is unknown", f"use one of {', '.join(LIQUIDS)}"
            )
        if entry.filled is not None and Property.FILLABLE not in properties:
            raise self._error(index, "filled", f"{name} is not fillable", "remove the liquid")
        return frozenset(entry.states)

    def _check_controls(self, index: int, thing: SceneObject, controlled: set[str]) -> None:
        if thing.controls is None:
            return
        target = self.named.get(thing.controls)
        if Property.TOGGLEABLE not in thing.properties:
            raise self._error(index, "controls", f"{thing.name} is not toggleable", "remove what it controls")
        if target is None or not target.is_site or Property.TOGGLEABLE in target.properties:
            raise self._error(
                index,
                "controls",
                f"{thing.controls!r} is no fixed receptacle that needs a control",
                "name a burner or basin of the scene, such as StoveBurner (1)",
            )
        if thing.controls in controlled:
            raise self._error(index, "controls", f"{thing.controls} has a control already", "remove one of the two")
        controlled.add(thing.controls)

    def _check_place(self, index: int, thing: SceneObject) -> None:
        if thing.place is None:
            return
        if thing.is_site:
            raise self._error(
                index, "in", f"{thing.name} is a fixed receptacle, which is in no other", "remove the place"
            )
        holder = self.named.get(thing.place)
        if holder is None:
            raise self._error(
                index, "in", f"there is no {thing.place!r} in the scene", _nearest(thing.place, self.named)
            )
        if Property.RECEPTACLE not in holder.properties:
            raise self._error(index, "in", f"{thing.place} is no receptacle", "name a receptacle")
        if holder.is_vessel and not thing.is_movable:
            raise self._error(
                index, "in", f"{thing.name} is fixed, and {thing.place} can move", "name a fixed receptacle"
            )
        seen = {thing.name}
        above: SceneObject | None = holder
        while above is not None:
            if above.name in seen:
                raise self._error(index, "in", f"{thing.name} would be in itself", "name another place")
            seen.add(above.name)
            above = None if above.place is None else self.named.get(above.place)


def _nearest(word: str, known: Iterable[str]) -> str:
    names = sorted(known)
    near = difflib.get_close_matches(word, names, 3, 0.6) or names[:3]
    return f"did you mean {' or '.join(near)}?"
