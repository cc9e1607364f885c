"""The objects of a scene by what can be done to them, and the demands and effects that several actions share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hazardmill.formalism.document.document import Effect
from hazardmill.formalism.document.expressions import Expr
from hazardmill.household.actions.vocabulary import FLOOR, HAND, Demand, Reason, all_of, fact, make, one_of, undo
from hazardmill.household.object_kinds import Property
from hazardmill.household.scene import Scene, SceneObject


@dataclass(frozen=True, slots=True)
class StartingPlace:
    """Where an object is at the start.

    Attributes:
        base: The fixed receptacle or the floor that carries it, as a symbol of the document.
        vessels: Symbols of the vessels that it is in, the innermost first.
        covered: Whether something over it is closed. A fixed object is never covered by the receptacle that it is at.
    """

    base: str
    vessels: tuple[str, ...]
    covered: bool


def starting_place(scene: Scene, thing: SceneObject) -> StartingPlace:
    """Return where an object of the start is then."""
    if thing.is_site:
        return StartingPlace(thing.symbol, (), False)
    base, vessels, covered, place = FLOOR, [], False, thing.place
    while place is not None:
        holder = scene.by_name[place]
        covered |= thing.is_movable and holder.has(Property.OPENABLE) and "open" not in holder.states
        if holder.is_site:
            base = holder.symbol
        else:
            vessels.append(holder.symbol)
        place = holder.place
    return StartingPlace(base, tuple(vessels), covered)


class SceneParts:
    """The symbols of a scene's objects by kind, and what actions on them have in common.

    Args:
        scene: The scene.
        partial: Whether the robot knows only what it has seen.
        one_hand: Whether it has one hand for everything.

    Attributes:
        scene: The scene.
        partial: Whether the robot knows only what it has seen.
        one_hand: Whether it has one hand for everything.
        sites: Fixed receptacles.
        vessels: Movable receptacles.
        items: Other movable objects.
        devices: Other fixed objects.
        movables: Items and vessels, in the order of the scene.
        holders: All receptacles.
        locations: Where the robot can be: the floor and the fixed receptacles.
    """

    def __init__(self, scene: Scene, partial: bool, one_hand: bool) -> None:
        self.scene = scene
        self.partial = partial
        self.one_hand = one_hand
        things = scene.all_objects
        self.sites = [thing.symbol for thing in things if thing.is_site]
        self.vessels = [thing.symbol for thing in things if thing.is_vessel]
        self.movables = [thing.symbol for thing in things if thing.is_movable]
        self.items = [symbol for symbol in self.movables if symbol not in set(self.vessels)]
        self.devices = [thing.symbol for thing in things if not thing.is_movable and not thing.is_site]
        self.holders = [*self.sites, *self.vessels]
        self.locations = [FLOOR, *self.sites]
        closable = self.having(Property.RECEPTACLE, Property.OPENABLE)
        self._boxes = [thing.symbol for thing in closable if thing.is_vessel]
        self._closable_sites = [thing.symbol for thing in closable if thing.is_site]
        self._starts = {thing.symbol: starting_place(scene, thing) for thing in scene.objects}

    def having(self, *properties: Property) -> list[SceneObject]:
        """Return the objects that have all of these properties."""
        return [thing for thing in self.scene.all_objects if thing.has(*properties)]

    def is_one_of(self, variable: str, things: Iterable[SceneObject]) -> Expr:
        """Return the condition that a parameter is one of certain objects."""
        return one_of(("same", variable, thing.symbol) for thing in things)

    def hand_empty(self) -> Iterator[Demand]:
        """Yield the demand that only a robot with one hand has to meet."""
        if self.one_hand:
            yield Demand(("not", fact("hand_full")), Reason.HAND_FULL)

    # Sight

    def in_sight(self, variable: str) -> Iterator[Demand]:
        """Yield the demands that an object is in sight: in the hand or here, and under nothing that is closed."""
        near = (("and", fact("at", place), fact("base", variable, place)) for place in self.locations)
        yield Demand(("or", fact("base", variable, HAND), *near), Reason.NOT_HERE)
        yield Demand(all_of([*self._in_open_site(variable), *self.in_open_boxes(variable)]), Reason.COVERED)

    def uncovered(self, thing: str) -> Iterator[Expr]:
        """Yield the conditions that nothing over a movable object is closed."""
        yield from self._in_open_site(thing)
        yield from self.in_open_boxes(thing)

    def in_open_boxes(self, thing: str, opened: str | None = None) -> Iterator[Expr]:
        """Yield the conditions that no closed vessel is over an object, but for one that is being opened."""
        for box in self._boxes:
            if box != thing:
                allowed: list[Expr] = [("not", fact("inside", thing, box)), fact("open", box)]
                if opened is not None:
                    allowed.append(("same", opened, box))
                yield ("or", *allowed)

    def _in_open_site(self, thing: str) -> Iterator[Expr]:
        for site in self._closable_sites:
            # Fixed objects, the receptacle itself among them, are in sight where it is closed.
            fixed = [site, *(device for device in self.devices if self._starts[device].base == site)]
            yield (
                "or",
                ("not", fact("base", thing, site)),
                fact("open", site),
                *(("same", thing, symbol) for symbol in fixed if thing.startswith("?")),
            )

    def seen(self, condition: Expr, thing: str) -> Iterator[Effect]:
        """Yield the effect that an object is known from now on, where that is a fluent."""
        if self.partial:
            yield make(condition, "seen", thing)

    def seen_on_arrival(self, location: str) -> Iterator[Effect]:
        """Yield what is seen when the robot comes to a location.

        An object that is in sight there, and was not seen before, has been there since the start: it could be moved or
        uncovered only before the robot's eyes. So which objects these are does not depend on the state.
        """
        for thing, start in self._starts.items():
            if start.base != FLOOR and start.base != thing and not start.covered:
                yield from self.seen(("same", location, start.base), thing)

    # Places

    def under(self, holder: str, kind: str) -> Iterator[tuple[str, Expr]]:
        """Yield what can be in a receptacle at any depth, with the condition that it is."""
        relation = "base" if kind == "site" else "inside"
        return ((thing, fact(relation, thing, holder)) for thing in self.movables)

    def leave_holders(self, thing: str) -> Iterator[Effect]:
        """Yield what becomes of an object's holders when it leaves them."""
        for holder in self.holders:
            yield undo(True, "in", thing, holder)
        for vessel in self.vessels:
            yield undo(True, "inside", thing, vessel)

    def leave_base(self, condition: Expr, thing: str) -> Iterator[Effect]:
        """Yield what becomes of the place of an object when it leaves it."""
        for place in self.locations:
            yield undo(condition, "base", thing, place)
