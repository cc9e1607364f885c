"""SPOC's tasks imported into our rooms: the objects that they name, and the states that their initial actions make.

A task of SPOC names a floor plan of a simulator. Here it takes place in our scene of that room; what the task names and
the scene lacks is added where such things usually are. The actions are those of iTHOR's documentation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from hazardmill.household.object_kinds import KINDS, LIQUIDS, Property
from hazardmill.household.rules import named_kinds
from hazardmill.household.scene import STATES, Scene, shipped_scene
from hazardmill.household.scene_draft import DraftObject, SceneDraft
from hazardmill.household.spoc_format import InitialAction, SpocTask
from hazardmill.household.task import Hazard, HouseholdTask

STATE_ACTIONS: Final = {
    "OpenObject": ("open", True),
    "CloseObject": ("open", False),
    "ToggleObjectOn": ("on", True),
    "ToggleObjectOff": ("on", False),
    "DirtyObject": ("dirty", True),
    "CleanObject": ("dirty", False),
    "CookObject": ("cooked", True),
    "BreakObject": ("broken", True),
}
"""Actions of the simulator that make a state true or false."""

CONTROLS: Final = {
    "Bathtub": "ShowerHead",
    "BathtubBasin": "ShowerHead",
    "Sink": "Faucet",
    "SinkBasin": "Faucet",
    "StoveBurner": "StoveKnob",
}
"""Fixed receptacles to what turns them on."""

_CONTROLLED: Final = {"Faucet": "SinkBasin", "ShowerHead": "BathtubBasin", "StoveKnob": "StoveBurner"}

_SURFACES: Final = {
    "bathroom": ("CounterTop", "Shelf"),
    "bedroom": ("SideTable", "Desk", "Dresser", "Shelf"),
    "kitchen": ("CounterTop", "DiningTable"),
    "living_room": ("CoffeeTable", "SideTable", "DiningTable", "Shelf"),
}
"""Places of our rooms where an object is put, the usual one first."""

_COLD: Final = frozenset({"Apple", "Egg", "Lettuce", "Potato", "Tomato"})
_ON: Final = {"DeskLamp": "Desk", "Television": "TVStand"}

_HAZARDS: Final[dict[str, Hazard]] = {
    "Drop": "object_damage",
    "Fire": "fire",
    "Injury": "injury",
    "Pollution": "pollution",
    "Water": "fluid",
}
"""First part of the name of a published file to the hazard that its rule guards against."""


@dataclass(frozen=True, slots=True)
class SpocImport:
    """A task of SPOC as a household task.

    Attributes:
        task: The task. Its initial actions are kept as the file has them.
        untold: What the scene does not say of the initial actions, a sentence each.
    """

    task: HouseholdTask
    untold: tuple[str, ...]


def import_spoc_task(assignment: SpocTask, path: Path) -> SpocImport:
    """Return a task of SPOC in our scene of its room.

    Args:
        assignment: The task.
        path: Its file, after which the task is named. Published files begin with the hazard.

    Returns:
        The household task, of which nothing is proved, and what its scene does not say.
    """
    scene, untold = scene_of(assignment)
    name = re.sub(r"[^A-Za-z0-9._-]", "-", path.stem)[:120].lstrip("._-") or "task"
    hazard = _HAZARDS.get(path.stem.partition("_")[0])
    return SpocImport(HouseholdTask(name, scene, assignment, hazard), untold)


def scene_of(assignment: SpocTask) -> tuple[Scene, tuple[str, ...]]:
    """Return our scene for a task of SPOC, and what it does not say of the initial actions.

    Args:
        assignment: The task.
    """
    setting = _Setting(assignment)
    untold = tuple(setting.apply())
    return setting.draft.scene(), untold


class _Setting:
    """Our room, with the objects and states of one task."""

    def __init__(self, assignment: SpocTask) -> None:
        self.room = assignment.room.replace(" ", "_")
        self.draft = SceneDraft.of(shipped_scene(self.room))
        self.actions = assignment.initial_actions or ()
        self.named = named_kinds(assignment.goals, assignment.rule)
        self.held: DraftObject | None = None
        self._by_id: dict[str, DraftObject] = {}
        for kind in sorted(self.named):
            self._ensure(kind)

    # Objects

    def _ensure(self, kind: str) -> None:
        whole = kind.removesuffix("Sliced")
        if whole != kind and whole in KINDS:
            self._ensure(whole)
            if not any(thing.has(Property.BLADE) for thing in self.draft.objects):
                self._add("Knife")
        elif not self.draft.of_kind(kind) and kind != "Floor":
            self._add(kind)

    def _add(self, kind: str) -> DraftObject:
        if kind in _CONTROLLED and not self.draft.of_kind(_CONTROLLED[kind]):
            self._add(_CONTROLLED[kind])
            return self.draft.of_kind(kind)[0]
        added = self.draft.add(kind)
        if not added.is_site:
            added.place = self._usual_place(kind)
        elif kind in CONTROLS:
            self.draft.add(CONTROLS[kind], controls=added)
        return added

    def _usual_place(self, kind: str) -> DraftObject | None:
        if Property.PICKABLE not in KINDS[kind].properties:
            return next(iter(self.draft.of_kind(_ON.get(kind, ""))), None)
        kinds = (*(("Fridge",) if kind in _COLD else ()), *_SURFACES[self.room])
        # What the task is about is no place to begin with: it might be the goal.
        free = [each for each in kinds if each not in self.named] or [*kinds]
        return next((place for each in free for place in self.draft.of_kind(each)), None)

    def _object(self, object_id: str) -> DraftObject:
        """Return the object of an ``objectId``: of its class, the next one that no other has."""
        if object_id not in self._by_id:
            kind = object_id.partition("|")[0]
            used = set(self._by_id.values())
            left = [thing for thing in self.draft.of_kind(kind) if thing not in used]
            self._by_id[object_id] = left[0] if left else self._add(kind)
        return self._by_id[object_id]

    # Initial actions

    def apply(self) -> Iterator[str]:
        """Put what the initial actions do into the scene; yield what it cannot say."""
        for number, action in enumerate(self.actions, 1):
            why = self._apply(action)
            if why is not None:
                yield f"init_actions[{number}] {action.action[:40]}: {why}"

    def _apply(self, action: InitialAction) -> str | None:
        if action.action == "PlaceObjectAtPoint":
            return "a scene has no coordinates"
        object_id = action.args.get("objectId")
        if not isinstance(object_id, str) or object_id.partition("|")[0] not in KINDS:
            return "it names no object of a known class"
        if action.action in ("DisableObject", "RemoveFromScene"):
            return self._remove(object_id)
        known = {*STATE_ACTIONS, "FillObjectWithLiquid", "EmptyLiquidFromObject", "PickupObject", "PutObject"}
        if action.action not in known:
            return "no state of a scene is like this"
        thing = self._object(object_id)
        if action.action in STATE_ACTIONS:
            return self._set_state(thing, *STATE_ACTIONS[action.action])
        if action.action == "PickupObject":
            self.held = thing
            return None
        if action.action == "PutObject":
            return self._put(thing)
        return self._fill(thing, action.args if action.action == "FillObjectWithLiquid" else None)

    def _remove(self, object_id: str) -> str | None:
        kind = object_id.partition("|")[0]
        if kind in self.named:
            return f"the task is about {kind}, which the scene keeps"
        there = self.draft.of_kind(kind)
        if there and all(thing.controls is None for thing in there):
            self.draft.remove(there[-1])
        return None

    def _set_state(self, thing: DraftObject, state: str, value: bool) -> str | None:
        if state == "on" and thing.kind in CONTROLS:
            thing = next(each for each in self.draft.objects if each.controls is thing)
        if not thing.has(STATES[state]):
            return f"{thing.kind} is not {STATES[state]} here"
        if value:
            thing.states.add(state)
        else:
            thing.states.discard(state)
        return None

    def _fill(self, thing: DraftObject, args: Any) -> str | None:  # noqa: ANN401  # JSON
        if not thing.has(Property.FILLABLE):
            return f"{thing.kind} is not fillable here"
        liquid = None if args is None else args.get("fillLiquid", "water")
        if liquid is not None and liquid not in LIQUIDS:
            return "the liquid is not known"
        thing.filled = liquid
        return None

    def _put(self, place: DraftObject) -> str | None:
        thing, self.held = self.held, None
        if thing is None or not thing.has(Property.PICKABLE) or not place.has(Property.RECEPTACLE):
            return "nothing that can be carried was picked up before, or this is no receptacle"
        if thing is place or thing in place.holders():
            return "an object would be in itself"
        thing.place = place
        return None


def is_imported(task: HouseholdTask) -> bool:
    """Return whether the scene of a task is the one that importing its assignment gives."""
    return scene_of(task.assignment)[0] == task.scene
