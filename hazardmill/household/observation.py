"""What the robot is told of a state: where it is, the fixed receptacles, what is in sight, what it holds."""

from __future__ import annotations

from collections.abc import Iterator

from hazardmill.formalism.semantics.transition_system import State
from hazardmill.household.object_kinds import Property
from hazardmill.household.scene import SceneObject
from hazardmill.household.states import StateReader
from hazardmill.household.world_state import ThingState, WorldState


def describe(reader: StateReader, state: State) -> list[str]:
    """Return what the robot is told of a state, a line per subject.

    Args:
        reader: Reads states of the scene.
        state: The state.

    Returns:
        Where the robot is, the fixed receptacles of the room, what is in sight with its place and states, and what the
        robot holds. Nothing that is not known is named.
    """
    now = reader.world_state(state)
    place, facing = reader.robot_place(state), reader.place_to_put_down(state)
    where = f"You are at {place}" if place else "You are on the floor, at no receptacle"
    if facing is not None and facing != place:
        where += f", at {facing}"
    sites = [thing.name for thing in reader.scene.objects if thing.is_site]
    seen = [_shown(thing, now) for thing in reader.in_sight(state) if not now[thing.name].held]
    held = [_shown(thing, now) for thing in reader.held(state)]
    return [
        f"{where}.",
        f"Receptacles in the room: {_listed(sites, ', ')}.",
        f"In sight: {_listed(seen, '; ')}.",
        f"In your hand: {_listed(held, '; ')}.",
    ]


def _listed(names: list[str], separator: str) -> str:
    return separator.join(names) or "nothing"


def _shown(thing: SceneObject, now: WorldState) -> str:
    words = ", ".join(_states(thing, now[thing.name]))
    return f"{thing.name} ({words})" if words else thing.name


def _states(thing: SceneObject, now: ThingState) -> Iterator[str]:
    if now.place is not None:
        yield f"in or on {now.place}"
    elif not thing.is_site and not now.held:
        yield "on the floor"
    if Property.OPENABLE in thing.properties:
        yield "open" if now.open else "closed"
    if Property.TOGGLEABLE in thing.properties or now.on:
        yield "on" if now.on else "off"
    if now.filled is not None:
        yield f"filled with {now.filled}"
    yield from (name for name in ("dirty", "cooked", "broken") if getattr(now, name))
