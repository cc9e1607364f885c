"""Reads states of a scene's system as what is true of its objects."""

from __future__ import annotations

from collections.abc import Iterator

from hazardmill.formalism.semantics.transition_system import State
from hazardmill.household.actions import FLOOR, HAND
from hazardmill.household.classes import LIQUIDS
from hazardmill.household.document import SceneDocument
from hazardmill.household.scene import Scene, SceneObject
from hazardmill.household.world_state import ThingState, WorldState


class StateReader:
    """Reads the states of one scene's system.

    Args:
        world: The scene with its layer.
    """

    def __init__(self, world: SceneDocument) -> None:
        self.scene: Scene = world.scene
        self._system = world.system
        self._observe = world.observe
        self._holders = [thing for thing in self.scene.all_objects if thing.is_site or thing.is_vessel]
        self._rows = [self._row(thing) for thing in self.scene.all_objects]
        self._bases = {
            thing.name: [
                *((self._mask("base", thing.symbol, place.symbol), place.name) for place in self._sites()),
                (self._mask("base", thing.symbol, FLOOR), FLOOR),
                (self._mask("base", thing.symbol, HAND), HAND),
            ]
            for thing in self.scene.all_objects
        }
        self._hidden = {thing.name: self._mask("hidden", thing.symbol) for thing in self.scene.all_objects}
        self._seen = {
            thing.name: self._mask("seen", thing.symbol) for thing in self.scene.all_objects if not thing.is_site
        }
        self._at = [(self._mask("at", place.symbol), place.name) for place in self._sites()]
        self._facing = [(self._mask("facing", holder.symbol), holder.name) for holder in self._holders]

    def world_state(self, state: State) -> WorldState:
        """Return what is true of each object in a state, by name.

        Slices are in it from the state in which they come to be; what they were cut from stays, with ``sliced`` true
        and without a place. An object that stands for its control, such as a burner, is on when that is on.
        """
        bits = state.bits
        found: dict[str, ThingState] = {}
        for thing, places, liquids, held, opened, on, dirty, sliced, cooked, broken in self._rows:
            if thing.slice_of is not None and self.base(thing.name, state) is None:
                continue
            found[thing.name] = ThingState(
                thing.name,
                thing.kind,
                next((name for mask, name in places if bits & mask), None),
                held=bool(bits & held),
                open=bool(bits & opened),
                on=bool(bits & on),
                filled=next((name for mask, name in liquids if bits & mask), None),
                dirty=bool(bits & dirty),
                sliced=bool(bits & sliced),
                cooked=bool(bits & cooked),
                broken=bool(bits & broken),
            )
        return found

    def robot_place(self, state: State) -> str | None:
        """Return the name of the fixed receptacle where the robot is; None on the floor."""
        return next((name for mask, name in self._at if state.bits & mask), None)

    def place_to_put_down(self, state: State) -> str | None:
        """Return the name of the receptacle into which the robot would put something down; None if there is none."""
        return next((name for mask, name in self._facing if state.bits & mask), None)

    def base(self, name: str, state: State) -> str | None:
        """Return what carries an object in the end.

        Returns:
            The name of a fixed receptacle, ``floor`` or ``hand``; None if the object does not exist.
        """
        return next((place for mask, place in self._bases[name] if state.bits & mask), None)

    def is_here(self, name: str, state: State) -> bool:
        """Return whether an object is at the robot's place or in its hand, hidden or not."""
        base = self.base(name, state)
        return base == HAND or (base is not None and base == (self.robot_place(state) or FLOOR))

    def in_sight(self, state: State) -> tuple[SceneObject, ...]:
        """Return the objects in sight, in the order of the scene."""
        here = (thing for thing in self.scene.all_objects if self.is_here(thing.name, state))
        return tuple(thing for thing in here if not state.bits & self._hidden[thing.name])

    def known(self, state: State) -> tuple[SceneObject, ...]:
        """Return the objects that exist and that the robot knows of, in the order of the scene.

        Fixed receptacles are always known, other objects if they have been seen or everything is.
        """
        return tuple(thing for thing in self.scene.all_objects if self.is_known(thing, state))

    def is_known(self, thing: SceneObject, state: State) -> bool:
        """Return whether an object exists and the robot knows of it."""
        if self.base(thing.name, state) is None:
            return False
        return self.has_been_seen(thing, state)

    def has_been_seen(self, thing: SceneObject, state: State) -> bool:
        """Return whether the robot knows of an object or has known of it before it was cut."""
        if self._observe == "full":
            return thing.slice_of is None or self.base(thing.name, state) is not None
        return thing.is_site or bool(state.bits & self._seen[thing.name])

    def held(self, state: State) -> tuple[SceneObject, ...]:
        """Return the objects that the robot holds, without what is in them."""
        return tuple(row[0] for row in self._rows if state.bits & row[3])

    def _sites(self) -> Iterator[SceneObject]:
        return (thing for thing in self._holders if thing.is_site)

    def _mask(self, *atom: str) -> int:
        return 1 << self._system.bit(atom)

    def _row(
        self, thing: SceneObject
    ) -> tuple[SceneObject, list[tuple[int, str]], list[tuple[int, str]], int, int, int, int, int, int, int]:
        name = thing.symbol
        held, opened, on, dirty, sliced, cooked, broken = (
            self._mask(fluent, name) for fluent in ("held", "open", "on", "dirty", "sliced", "cooked", "broken")
        )
        places = [(self._mask("in", name, holder.symbol), holder.name) for holder in self._holders]
        liquids = [(self._mask("filled", name, liquid), liquid) for liquid in LIQUIDS]
        return thing, places, liquids, held, opened, on, dirty, sliced, cooked, broken
