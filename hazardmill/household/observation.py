"""What the robot is told of a state: where it is, the fixed receptacles, what is in sight, what it holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from hazardmill.formalism.semantics.transition_system import State
from hazardmill.household.object_kinds import Property
from hazardmill.household.scene import SceneObject
from hazardmill.household.states import FluentTable, StateReader
from hazardmill.household.world_state import ThingState


class Observer:
    """Says what the robot is told of the states of one scene.

    What is told of an object is put in words once for each combination of its fluents.

    Args:
        reader: Reads states of the scene.
    """

    def __init__(self, reader: StateReader) -> None:
        self._reader = reader
        objects = reader.scene.objects
        self._receptacles = f"Receptacles in the room: {_listed(thing.name for thing in objects if thing.is_site)}."
        self._where = FluentTable(reader.location_mask, self._locate)
        self._texts = {
            thing.name: FluentTable(reader.fluents_of(thing), partial(self._show, thing))
            for thing in reader.scene.all_objects
        }

    def describe(self, state: State) -> tuple[str, ...]:
        """Return what the robot is told of a state, a line per subject.

        Args:
            state: The state.

        Returns:
            Where the robot is, the fixed receptacles of the room, what is in sight with its place and states, and what
            the robot holds. Nothing that is not known is named.
        """
        bits, texts = state.bits, self._texts
        sight = self._reader.sight(state)
        seen = [texts[thing.name].read(bits) for thing in sight.apart]
        held = [texts[thing.name].read(bits) for thing in sight.held]
        return (
            self._where.read(bits),
            self._receptacles,
            f"In sight: {_listed(seen, '; ')}.",
            f"In your hand: {_listed(held, '; ')}.",
        )

    def _locate(self, bits: int) -> str:
        place, facing = self._reader.robot_place(State(bits)), self._reader.place_to_put_down(State(bits))
        where = f"You are at {place}" if place else "You are on the floor, at no receptacle"
        return f"{where}, at {facing}." if facing is not None and facing != place else f"{where}."

    def _show(self, thing: SceneObject, bits: int) -> str:
        words = ", ".join(_states(thing, self._reader.thing_state(thing, State(bits))))
        return f"{thing.name} ({words})" if words else thing.name


def _listed(names: Iterable[str], separator: str = ", ") -> str:
    return separator.join(names) or "nothing"


def _states(thing: SceneObject, now: ThingState) -> Iterator[str]:
    if now.place is not None:
        yield f"in or on {now.place}"
    elif thing.is_movable and not now.held:
        yield "on the floor"
    if Property.OPENABLE in thing.properties:
        yield "open" if now.open else "closed"
    if Property.TOGGLEABLE in thing.properties or now.on:
        yield "on" if now.on else "off"
    if now.filled is not None:
        yield f"filled with {now.filled}"
    yield from (name for name in ("dirty", "cooked", "broken") if getattr(now, name))
