"""Reads states of a scene's system as what is true of its objects.

Exactly one ``base`` fluent of an object that exists holds, at most one ``in``, and so on. A group of such fluents is
read by one mask: what is left of the bits is looked up. This is done for every object after every action of an episode,
so what was read once is kept by the values of the fluents that it depends on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import Final, Generic, TypeVar

from hazardmill.formalism.semantics.transition_system import State
from hazardmill.household.actions import FLOOR, HAND
from hazardmill.household.document import SceneDocument
from hazardmill.household.object_kinds import LIQUIDS, Property
from hazardmill.household.scene import Scene, SceneObject
from hazardmill.household.world_state import ThingState, WorldState

_BOOLEANS = ("held", "open", "on", "dirty", "sliced", "cooked", "broken")
_MOST_KEPT = 10_000
"""Entries of one table of what was read; a full table is begun anew, so that long runs do not fill the memory."""

T = TypeVar("T")


class FluentTable(Generic[T]):
    """A function of some fluents of a state, computed once for each combination of their values.

    Args:
        mask: The bits of the fluents on which the function depends.
        compute: The function, of the bits of a state.

    Attributes:
        mask: The same bits.
    """

    __slots__ = ("_compute", "_known", "mask")

    def __init__(self, mask: int, compute: Callable[[int], T]) -> None:
        self.mask = mask
        self._compute = compute
        self._known: dict[int, T] = {}

    def read(self, bits: int) -> T:
        """Return the value of the function in a state."""
        own = bits & self.mask
        found = self._known.get(own)
        if found is None:
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
            found = self._known[own] = self._compute(bits)
        return found


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


@dataclass(frozen=True, slots=True)
class Sight:
    """What is in sight and what is held, whatever the states of these objects are.

    Attributes:
        things: The objects in sight, in the order of the scene.
        held: The objects that the robot holds, without what is in them.
        apart: The objects in sight that are not held; what is in a vessel that is held is among them.
    """

    things: tuple[SceneObject, ...]
    held: tuple[SceneObject, ...]
    apart: tuple[SceneObject, ...]


class StateReader:
    """Reads the states of one scene's system.

    Args:
        world: The scene with its layer.

    Attributes:
        scene: The scene.
        sight_masks: By the robot's location, the bits of the fluents that say what is in sight and held.
        location_mask: The bits of the fluents that say where the robot is, and what it faces.
        known_mask: The bits of the fluents that say what exists and is known.
        carried_mask: The bits of the fluents that say what the hand carries, in vessels, too.
    """

    def __init__(self, world: SceneDocument) -> None:
        self.scene: Scene = world.scene
        self._system = world.system
        self._partial = world.observe == "partial"
        things = self.scene.all_objects
        holders = [thing for thing in things if thing.is_site or thing.is_vessel]
        places = {FLOOR: FLOOR, HAND: HAND} | {thing.symbol: thing.name for thing in holders if thing.is_site}
        rows = [self._row(thing, holders) for thing in things]
        self._rows = {row.thing.name: row for row in rows}
        self._bases = {
            thing.name: _Choice.of((self._bit("base", thing.symbol, symbol), name) for symbol, name in places.items())
            for thing in things
        }
        self._seen = {thing.name: self._bit("seen", thing.symbol) for thing in things if not thing.is_site}
        self._at = _Choice.of((self._bit("at", symbol), name) for symbol, name in places.items() if symbol != HAND)
        self._facing = _Choice.of((self._bit("facing", holder.symbol), holder.name) for holder in holders)
        self._on_base = {
            name: [self._bit("base", thing.symbol, symbol) for thing in things] for symbol, name in places.items()
        }
        self._lids = [self._lids_over(thing, holders) for thing in things]
        held = sum(row.booleans["held"] for row in rows)
        on_base = {place: sum(bases) for place, bases in self._on_base.items()}
        # Of all that can be closed, only the vessels and the place itself matter for what is in sight there.
        opened = {thing.name: self._bit("open", thing.symbol) for thing in holders}
        boxes = [thing for thing in holders if thing.is_vessel and thing.has(Property.OPENABLE)]
        lids = _union(self._bit("inside", thing.symbol, box.symbol) for box in boxes for thing in things)
        lids |= _union(opened[box.name] for box in boxes)
        self.sight_masks: Final[Mapping[str, int]] = {
            place: on_base[place] | on_base[HAND] | held | self._at.mask | lids | opened.get(place, 0)
            for place in self._at.names.values()
        }
        self._sights = {place: FluentTable(mask, self._look) for place, mask in self.sight_masks.items()}
        # What is cut is gone, and its slices exist.
        existence = sum(row.booleans["sliced"] for row in rows if row.thing.has(Property.SLICEABLE))
        self._known = FluentTable(existence | (sum(self._seen.values()) if self._partial else 0), self._look_for_known)
        self.location_mask: Final = self._at.mask | self._facing.mask
        self.carried_mask: Final = on_base[HAND]
        self.known_mask: Final = self._known.mask
        slices = [thing.name for thing in things if thing.slice_of is not None]
        self._absent = FluentTable(
            existence,
            lambda bits: [name for name in slices if self._bases[name].read(bits) is None],
        )
        self._row_of_bit = {1 << bit: row for row in rows for bit in _places(row.mask)}
        self._row_mask = sum(self._row_of_bit)
        self._last = (0, {row.thing.name: row.read(0) for row in rows})

    def world_state(self, state: State) -> WorldState:
        """Return what is true of each object in a state, by name.

        Slices are in it from the state in which they come to be; what they were cut from stays, with ``sliced`` true
        and without a place. An object that stands for its control, such as a burner, is on when that is on.
        """
        bits = state.bits
        # Most states are read after the one before them, from which they differ in few objects.
        before, things = self._last
        found = things.copy()
        changed = (bits ^ before) & self._row_mask
        while changed:
            row = self._row_of_bit[changed & -changed]
            found[row.thing.name] = row.read(bits)
            changed &= ~row.mask
        self._last = (bits, found)
        absent = self._absent.read(bits)
        if absent:
            found = found.copy()
            for name in absent:
                del found[name]
        return found

    def thing_state(self, thing: SceneObject, state: State) -> ThingState:
        """Return what is true of one object in a state, as ``world_state`` does of all."""
        return self._rows[thing.name].read(state.bits)

    def fluents_of(self, thing: SceneObject) -> int:
        """Return the bits of the fluents that say what is true of an object."""
        return self._rows[thing.name].mask

    def location(self, state: State) -> str:
        """Return where the robot is: the name of a fixed receptacle, or ``floor``."""
        return self._at.read(state.bits) or FLOOR

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

    def sight(self, state: State) -> Sight:
        """Return what is in sight, and what is held."""
        return self._sights[self.location(state)].read(state.bits)

    def in_sight(self, state: State) -> tuple[SceneObject, ...]:
        """Return the objects in sight, in the order of the scene."""
        return self.sight(state).things

    def known(self, state: State) -> tuple[SceneObject, ...]:
        """Return the objects that exist and that the robot knows of, in the order of the scene.

        Fixed receptacles are always known, other objects if they have been seen or everything is.
        """
        return self._known.read(state.bits)

    def is_known(self, thing: SceneObject, state: State) -> bool:
        """Return whether an object exists and the robot knows of it."""
        return self._bases[thing.name].read(state.bits) is not None and self.has_been_seen(thing, state)

    def has_been_seen(self, thing: SceneObject, state: State) -> bool:
        """Return whether the robot knows of an object or has known of it before it was cut."""
        return self._has_been_seen(thing, state.bits)

    def held(self, state: State) -> tuple[SceneObject, ...]:
        """Return the objects that the robot holds, without what is in them."""
        return self.sight(state).held

    def _look(self, bits: int) -> Sight:
        here, hand = self._on_base[self._at.read(bits) or FLOOR], self._on_base[HAND]
        things = tuple(
            thing
            for thing, near, carried, lids in zip(self.scene.all_objects, here, hand, self._lids, strict=True)
            if bits & (near | carried) and not any(bits & under and not bits & lid for under, lid in lids)
        )
        held = tuple(row.thing for row in self._rows.values() if bits & row.booleans["held"])
        return Sight(things, held, tuple(thing for thing in things if thing not in held))

    def _look_for_known(self, bits: int) -> tuple[SceneObject, ...]:
        return tuple(
            thing
            for thing in self.scene.all_objects
            if self._has_been_seen(thing, bits) and not self._is_gone(thing, bits)
        )

    def _is_gone(self, thing: SceneObject, bits: int) -> bool:
        may_be = thing.slice_of is not None or thing.has(Property.SLICEABLE)
        return may_be and self._bases[thing.name].read(bits) is None

    def _has_been_seen(self, thing: SceneObject, bits: int) -> bool:
        if not self._partial:
            return thing.slice_of is None or self._bases[thing.name].read(bits) is not None
        return thing.is_site or bool(bits & self._seen[thing.name])

    def _bit(self, *atom: str) -> int:
        return 1 << self._system.bit(atom)

    def _lids_over(self, thing: SceneObject, holders: Iterable[SceneObject]) -> list[tuple[int, int]]:
        """Return the bits that an object is in something that can be closed, each with the bit that this is open."""
        closable = [holder for holder in holders if thing.is_movable and holder.has(Property.OPENABLE)]
        return [
            (
                self._bit("base" if holder.is_site else "inside", thing.symbol, holder.symbol),
                self._bit("open", holder.symbol),
            )
            for holder in closable
            if holder is not thing
        ]

    def _row(self, thing: SceneObject, holders: Iterable[SceneObject]) -> _Row:
        name = thing.symbol
        place = _Choice.of((self._bit("in", name, holder.symbol), holder.name) for holder in holders)
        liquid = _Choice.of((self._bit("filled", name, each), each) for each in LIQUIDS)
        booleans = {each: self._bit(each, name) for each in _BOOLEANS}
        return _Row(thing, place, liquid, booleans, place.mask | liquid.mask | sum(booleans.values()))


def _union(masks: Iterable[int]) -> int:
    return reduce(or_, masks, 0)


def _places(mask: int) -> Iterator[int]:
    """Yield the places of the bits that are set."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest
