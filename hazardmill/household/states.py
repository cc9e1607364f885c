"""Reads states of a scene's system as what is true of its objects.

Exactly one ``base`` fluent of an object that exists holds, at most one ``in``, and so on. A group of such fluents is
read by one mask: what is left of the bits is looked up. This is done for every object after every action of an episode.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from hazardmill.formalism.semantics.transition_system import State
from hazardmill.household.actions import FLOOR, HAND
from hazardmill.household.document import SceneDocument
from hazardmill.household.object_kinds import LIQUIDS
from hazardmill.household.scene import Scene, SceneObject
from hazardmill.household.world_state import ThingState, WorldState

_BOOLEANS = ("held", "open", "on", "dirty", "sliced", "cooked", "broken")


@dataclass(frozen=True, slots=True)
class _Choice:
    """Fluents of which at most one holds, each with the name that it stands for."""

    names: Mapping[int, str]
    mask: int

    @classmethod
    def of(cls, pairs: Iterable[tuple[int, str]]) -> _Choice:
        names = dict(pairs)
        return cls(names, sum(names))

    def read(self, bits: int) -> str | None:
        return self.names.get(bits & self.mask)


@dataclass(frozen=True, slots=True)
class _Row:
    """The fluents of one object."""

    thing: SceneObject
    place: _Choice
    liquid: _Choice
    booleans: Mapping[str, int]
    mask: int
    known: dict[int, ThingState] = field(default_factory=dict)
    """What is true of the object, by the values of its fluents."""

    def read(self, bits: int) -> ThingState:
        own = bits & self.mask
        found = self.known.get(own)
        if found is None:
            truths = {name: bool(own & bit) for name, bit in self.booleans.items()}
            found = ThingState(
                self.thing.name, self.thing.kind, self.place.read(own), filled=self.liquid.read(own), **truths
            )
            self.known[own] = found
        return found


class StateReader:
    """Reads the states of one scene's system.

    Args:
        world: The scene with its layer.

    Attributes:
        scene: The scene.
    """

    def __init__(self, world: SceneDocument) -> None:
        self.scene: Scene = world.scene
        self._system = world.system
        self._partial = world.observe == "partial"
        things = self.scene.all_objects
        holders = [thing for thing in things if thing.is_site or thing.is_vessel]
        places = {FLOOR: FLOOR, HAND: HAND} | {thing.symbol: thing.name for thing in holders if thing.is_site}
        self._rows = [self._row(thing, holders) for thing in things]
        self._bases = {
            thing.name: _Choice.of((self._bit("base", thing.symbol, symbol), name) for symbol, name in places.items())
            for thing in things
        }
        self._on_base = {
            name: [(self._bit("base", thing.symbol, symbol), self._bit("hidden", thing.symbol), i) for i, thing in
                   enumerate(things)]
            for symbol, name in places.items()
        }  # fmt: skip
        self._seen = {thing.name: self._bit("seen", thing.symbol) for thing in things if not thing.is_site}
        self._at = _Choice.of((self._bit("at", symbol), name) for symbol, name in places.items() if symbol != HAND)
        self._facing = _Choice.of((self._bit("facing", holder.symbol), holder.name) for holder in holders)

    def world_state(self, state: State) -> WorldState:
        """Return what is true of each object in a state, by name.

        Slices are in it from the state in which they come to be; what they were cut from stays, with ``sliced`` true
        and without a place. An object that stands for its control, such as a burner, is on when that is on.
        """
        return {
            row.thing.name: row.read(state.bits)
            for row in self._rows
            if row.thing.slice_of is None or self.base(row.thing.name, state) is not None
        }

    def robot_place(self, state: State) -> str | None:
        """Return the name of the fixed receptacle where the robot is; None on the floor."""
        place = self._at.read(state.bits)
        return None if place == FLOOR else place

    def place_to_put_down(self, state: State) -> str | None:
        """Return the name of the receptacle into which the robot would put something down; None if there is none."""
        return self._facing.read(state.bits)

    def base(self, name: str, state: State) -> str | None:
        """Return what carries an object in the end.

        Returns:
            The name of a fixed receptacle, ``floor`` or ``hand``; None if the object does not exist.
        """
        return self._bases[name].read(state.bits)

    def in_sight(self, state: State) -> tuple[SceneObject, ...]:
        """Return the objects in sight, in the order of the scene."""
        bits = state.bits
        near = sorted(
            place
            for base in (self._at.read(bits) or FLOOR, HAND)
            for on_base, hidden, place in self._on_base[base]
            if bits & on_base and not bits & hidden
        )
        return tuple(self.scene.all_objects[place] for place in near)

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
        if not self._partial:
            return thing.slice_of is None or self.base(thing.name, state) is not None
        return thing.is_site or bool(state.bits & self._seen[thing.name])

    def held(self, state: State) -> tuple[SceneObject, ...]:
        """Return the objects that the robot holds, without what is in them."""
        return tuple(row.thing for row in self._rows if state.bits & row.booleans["held"])

    def _bit(self, *atom: str) -> int:
        return 1 << self._system.bit(atom)

    def _row(self, thing: SceneObject, holders: Iterable[SceneObject]) -> _Row:
        name = thing.symbol
        place = _Choice.of((self._bit("in", name, holder.symbol), holder.name) for holder in holders)
        liquid = _Choice.of((self._bit("filled", name, each), each) for each in LIQUIDS)
        booleans = {each: self._bit(each, name) for each in _BOOLEANS}
        return _Row(thing, place, liquid, booleans, place.mask | liquid.mask | sum(booleans.values()))
