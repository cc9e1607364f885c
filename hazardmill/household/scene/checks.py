"""Turns the entries of a scene into objects, and refuses what does not fit together."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from hazardmill.household.object_kinds import KINDS, LIQUIDS, Property
from hazardmill.household.scene.entries import SceneEntries, SceneEntry
from hazardmill.household.scene.objects import SceneObject

_CLASS_NAME: Final = re.compile(r"[A-Z][A-Za-z0-9]{0,59}\Z")

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


def checked_objects(entries: SceneEntries) -> tuple[SceneObject, ...]:
    """Return the objects that entries describe.

    Args:
        entries: The entries of a scene.

    Returns:
        The objects, in the order of the entries.

    Raises:
        PlanningInputError: An entry is not valid, or does not fit the others; the message names its place.
    """
    return _Check(entries).objects()


@dataclass
class _Check:
    entries: SceneEntries
    named: dict[str, SceneObject] = field(default_factory=dict)

    def objects(self) -> tuple[SceneObject, ...]:
        numbers: Counter[str] = Counter()
        for index, entry in enumerate(self.entries.objects):
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
        return tuple(objects)

    def _properties(self, index: int, entry: SceneEntry) -> frozenset[Property]:
        if not _CLASS_NAME.match(entry.kind):
            raise self.entries.error(
                index,
                "class",
                f"{entry.kind!r} is not a valid name of a class",
                "use letters and digits, beginning with a capital letter",
            )
        if entry.kind == "Floor":
            wrong = "the floor is one place that every scene has, and no object of it"
            raise self.entries.error(index, "class", wrong, "remove it; what has no `in` is on the floor")
        if entry.properties is None:
            if entry.kind not in KINDS:
                raise self.entries.error(
                    index, "class", f"the class {entry.kind!r} is unknown", f"{_nearest(entry.kind, KINDS)}, or give"
                    " the object properties",
                )  # fmt: skip
            return KINDS[entry.kind].properties
        unknown = next((word for word in entry.properties if word not in {*Property}), None)
        if unknown is not None:
            raise self.entries.error(
                index, "properties", f"the property {unknown!r} is unknown", _nearest(unknown, [*Property])
            )
        found = frozenset(Property(word) for word in entry.properties)
        for each in sorted(found):
            if each in _DEMANDS and _DEMANDS[each] not in found:
                raise self.entries.error(
                    index, "properties", f"what is {each} must be {_DEMANDS[each]}", f"add {_DEMANDS[each]}"
                )
            if _EXCLUDES.get(each) in found:
                raise self.entries.error(
                    index, "properties", f"what is {each} cannot be {_EXCLUDES[each]}", "remove one of the two"
                )
        return found

    def _states(self, index: int, entry: SceneEntry, name: str, properties: frozenset[Property]) -> frozenset[str]:
        for state in entry.states:
            if state not in STATES:
                raise self.entries.error(index, "states", f"the state {state!r} is unknown", _nearest(state, STATES))
            if STATES[state] not in properties:
                raise self.entries.error(
                    index, "states", f"{name} is not {STATES[state]}, so it cannot be {state}", "remove the state"
                )
        if entry.filled is not None and entry.filled not in LIQUIDS:
            raise self.entries.error(
                index, "filled", f"the liquid {entry.filled!r} is unknown", f"use one of {', '.join(LIQUIDS)}"
            )
        if entry.filled is not None and Property.FILLABLE not in properties:
            raise self.entries.error(index, "filled", f"{name} is not fillable", "remove the liquid")
        return frozenset(entry.states)

    def _check_controls(self, index: int, thing: SceneObject, controlled: set[str]) -> None:
        if thing.controls is None:
            return
        target = self.named.get(thing.controls)
        if Property.TOGGLEABLE not in thing.properties:
            raise self.entries.error(index, "controls", f"{thing.name} is not toggleable", "remove what it controls")
        if target is None or not target.is_site or Property.TOGGLEABLE in target.properties:
            raise self.entries.error(
                index,
                "controls",
                f"{thing.controls!r} is not a fixed receptacle that needs a control",
                "name a burner or basin of the scene, such as StoveBurner (1)",
            )
        if thing.controls in controlled:
            raise self.entries.error(
                index, "controls", f"{thing.controls} has a control already", "remove one of the two"
            )
        controlled.add(thing.controls)

    def _check_place(self, index: int, thing: SceneObject) -> None:
        if thing.place is None:
            return
        if thing.is_site:
            raise self.entries.error(
                index, "in", f"{thing.name} is a fixed receptacle, so it cannot be in another", "remove the place"
            )
        holder = self.named.get(thing.place)
        if holder is None:
            raise self.entries.error(
                index, "in", f"there is no {thing.place!r} in the scene", _nearest(thing.place, self.named)
            )
        if Property.RECEPTACLE not in holder.properties:
            raise self.entries.error(index, "in", f"{thing.place} is no receptacle", "name a receptacle")
        if holder.is_vessel and not thing.is_movable:
            raise self.entries.error(
                index, "in", f"{thing.name} is fixed, and {thing.place} can move", "name a fixed receptacle"
            )
        seen = {thing.name}
        above: SceneObject | None = holder
        while above is not None:
            if above.name in seen:
                raise self.entries.error(index, "in", f"{thing.name} would be in itself", "name another place")
            seen.add(above.name)
            above = None if above.place is None else self.named.get(above.place)


def _nearest(word: str, known: Iterable[str]) -> str:
    names = sorted(known)
    near = difflib.get_close_matches(word, names, 3, 0.6) or names[:3]
    return f"did you mean {' or '.join(near)}?"
