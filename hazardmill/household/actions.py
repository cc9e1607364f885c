"""The actions of a household robot: what each demands, and what it does to a scene.

Each action of the table in ``docs/household.md`` becomes one action of the document, or several where it does
different things to different kinds of objects. Demands carry the reason for which the action is rejected where they do
not hold, so that documents and rejections have one source.

Besides what can be seen of an object (``held``, ``open``, ``dirty`` and so on) and its direct holder (``in``), a state
has three fluents that follow from the others: ``base`` (the fixed receptacle, the floor or the hand that carries an
object, however many vessels are between), ``inside`` (in a vessel at any depth) and ``hidden`` (in a closed
receptacle). Actions keep them up to date, so that no condition has to follow a chain of vessels.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal

from hazardmill.formalism.document.document import ActionDecl, Effect, Parameter
from hazardmill.formalism.document.expressions import Expr
from hazardmill.household.object_kinds import LIQUIDS, STAINING, Property
from hazardmill.household.scene import Scene, SceneObject

Observe = Literal["partial", "full"]
Hands = Literal["one", "any"]

FLOOR: Final = "floor"
HAND: Final = "hand"
"""Places in documents that are no objects of a scene; those have a number in their names."""


class Verb(StrEnum):
    """An action in words, without its objects."""

    GO_TO = "go to"
    PICK_UP = "pick up"
    PUT_DOWN = "put down"
    OPEN = "open"
    CLOSE = "close"
    TURN_ON = "turn on"
    TURN_OFF = "turn off"
    SLICE = "slice"
    DROP = "drop"
    THROW = "throw"
    POUR = "pour into"
    EMPTY = "empty"
    BREAK = "break"


class Reason(StrEnum):
    """Why an action is rejected: a code for figures. ``interpreter`` puts it in words."""

    UNKNOWN_ACTION = "unknown_action"
    UNKNOWN_OBJECT = "unknown_object"
    NOT_SEEN = "not_seen"
    CUT = "cut"
    NOT_PICKABLE = "not_pickable"
    NOT_OPENABLE = "not_openable"
    NOT_TOGGLEABLE = "not_toggleable"
    NOT_SLICEABLE = "not_sliceable"
    NOT_FILLABLE = "not_fillable"
    NOT_BREAKABLE = "not_breakable"
    NOT_HERE = "not_here"
    COVERED = "covered"
    CARRIED = "carried"
    HAND_FULL = "hand_full"
    HELD_ALREADY = "held_already"
    NOT_HELD = "not_held"
    NO_RECEPTACLE = "no_receptacle"
    PLACE_CLOSED = "place_closed"
    OPEN_ALREADY = "open_already"
    CLOSED_ALREADY = "closed_already"
    NO_KNIFE = "no_knife"
    NO_LIQUID = "no_liquid"
    SAME_OBJECT = "same_object"


@dataclass(frozen=True, slots=True)
class Demand:
    """A condition that an action demands.

    Attributes:
        condition: Over the parameters of the action.
        reason: Why the action is rejected where the condition does not hold.
    """

    condition: Expr
    reason: Reason


@dataclass(frozen=True, slots=True)
class HouseholdAction:
    """An action of the document, with the reason of each of its demands.

    Attributes:
        name: Its name in the document.
        verb: The action in words.
        parameters: Its parameters.
        demands: In the order in which they are checked.
        effects: What it does.
    """

    name: str
    verb: Verb
    parameters: tuple[Parameter, ...]
    demands: tuple[Demand, ...]
    effects: tuple[Effect, ...]

    @property
    def declaration(self) -> ActionDecl:
        """The action as a document declares it."""
        return ActionDecl(
            self.name, self.parameters, _all_of(demand.condition for demand in self.demands), self.effects
        )


def fact(name: str, *args: str) -> Expr:
    """Return a fluent with its arguments as a condition."""
    return ("fluent", name, *args)


def household_actions(scene: Scene, observe: Observe, hands: Hands) -> tuple[HouseholdAction, ...]:
    """Return the actions of a scene in one layer.

    Args:
        scene: The scene.
        observe: Whether the robot knows only what it has seen (``partial``), or everything (``full``).
        hands: Whether it has one hand for everything (``one``), or as many as it needs (``any``).

    Returns:
        The actions; those that no object of the scene allows are left out.
    """
    return tuple(_ActionWriter(scene, observe == "partial", hands == "one").write())


_X: Final = Parameter("?x", "object")
_BASE: Final = Parameter("?l", "place")
"""The base of an object in sight: effects that change the base of others with it name this one, not every place."""
_CARRIERS: Final = ("item", "vessel")


def _all_of(parts: Iterable[Expr]) -> Expr:
    kept = tuple(part for part in parts if part is not True)
    return kept[0] if len(kept) == 1 else ("and", *kept) if kept else True


def _one_of(parts: Iterable[Expr]) -> Expr:
    kept = tuple(parts)
    return kept[0] if len(kept) == 1 else ("or", *kept)


def _none_of(parts: Iterable[Expr]) -> Iterator[Expr]:
    return (("not", part) for part in parts)


def _make(condition: Expr, *atom: str) -> Effect:
    return Effect("assign", fact(*atom), True, condition)


def _undo(condition: Expr, *atom: str) -> Effect:
    return Effect("assign", fact(*atom), False, condition)


class _ActionWriter:
    def __init__(self, scene: Scene, partial: bool, one_hand: bool) -> None:
        self.scene = scene
        self.partial = partial
        self.one_hand = one_hand
        things = scene.all_objects
        self.sites = [thing.symbol for thing in things if thing.is_site]
        self.vessels = [thing.symbol for thing in things if thing.is_vessel]
        self.movables = [thing.symbol for thing in things if thing.is_movable]
        self.unfixed = [thing.symbol for thing in things if not thing.is_site]
        self.locations = [FLOOR, *self.sites]
        self.boxes = [thing.symbol for thing in things if thing.is_vessel and thing.has(Property.OPENABLE)]
        self.devices = [symbol for symbol in self.unfixed if symbol not in set(self.movables)]
        self.items = [symbol for symbol in self.movables if symbol not in set(self.vessels)]

    def write(self) -> Iterator[HouseholdAction]:
        yield from self._go()
        yield from self._pick_up()
        yield from self._put_down()
        yield from self._open_and_close()
        yield from self._turn()
        yield from self._slice()
        yield from self._let_go()
        yield from self._pour()
        yield from self._break()

    # What demands and effects are made of

    def _with(self, *properties: Property) -> list[SceneObject]:
        return [thing for thing in self.scene.all_objects if thing.has(*properties)]

    def _is_one_of(self, variable: str, things: Iterable[SceneObject]) -> Expr:
        return _one_of(("same", variable, thing.symbol) for thing in things)

    def _hand_empty(self) -> Iterator[Demand]:
        """Yield the demand that only a robot with one hand has to meet."""
        if self.one_hand:
            yield Demand(("not", fact("hand_full")), Reason.HAND_FULL)

    def _in_sight(self, variable: str) -> Iterator[Demand]:
        near = (("and", fact("at", place), fact("base", variable, place)) for place in self.locations)
        yield Demand(("or", fact("base", variable, HAND), *near), Reason.NOT_HERE)
        yield Demand(("not", fact("hidden", variable)), Reason.COVERED)

    def _in_sight_with_base(self) -> Iterator[Demand]:
        """Yield the demands that ``?x`` is in sight and its base is ``?l``."""
        near = ("or", ("same", "?l", HAND), fact("at", "?l"))
        yield Demand(_all_of([fact("base", "?x", "?l"), near]), Reason.NOT_HERE)
        yield Demand(("not", fact("hidden", "?x")), Reason.COVERED)

    def _under(self, holder: str, kind: str) -> Iterator[tuple[str, Expr]]:
        """Yield what can be in a receptacle at any depth, with the condition that it is."""
        relation = "base" if kind == "site" else "inside"
        return ((thing, fact(relation, thing, holder)) for thing in self.movables)

    def _uncovered_by(self, thing: str, opened: str | None = None) -> Iterator[Expr]:
        """Yield the conditions that no closed box is over a thing, but for one that is being opened."""
        for box in self.boxes:
            if box != thing:
                allowed: list[Expr] = [("not", fact("inside", thing, box)), fact("open", box)]
                if opened is not None:
                    allowed.append(("same", opened, box))
                yield ("or", *allowed)

    def _seen(self, condition: Expr, thing: str) -> Iterator[Effect]:
        if self.partial:
            yield _make(condition, "seen", thing)

    def _action(
        self,
        name: str,
        verb: Verb,
        parameters: Iterable[Parameter],
        demands: Iterable[Demand],
        effects: Iterable[Effect],
    ) -> HouseholdAction:
        return HouseholdAction(name, verb, tuple(parameters), tuple(demands), tuple(effects))

    # Going

    def _go(self) -> Iterator[HouseholdAction]:
        if self.sites:
            site = Parameter("?x", "site")
            effects = [_make(True, "facing", "?x"), *self._arrive("?x")]
            yield self._action("go_to_place", Verb.GO_TO, [site], [], effects)
        for kind, names in (("item", self.items), ("vessel", self.vessels), ("device", self.devices)):
            if not names:
                continue
            parameters = (Parameter("?x", kind), Parameter("?l", "location"))
            demands = [Demand(fact("base", "?x", "?l"), Reason.CARRIED)]
            if self.partial:
                demands.insert(0, Demand(fact("seen", "?x"), Reason.NOT_SEEN))
            if kind == "vessel":
                faced = [_make(True, "facing", "?x")]
            else:
                holders = self._holders() if kind == "item" else self.sites
                faced = [_make(fact("in", "?x", holder), "facing", holder) for holder in holders]
            yield self._action(f"go_to_{kind}", Verb.GO_TO, parameters, demands, [*faced, *self._arrive("?l")])

    def _holders(self) -> list[str]:
        return [*self.sites, *self.vessels]

    def _arrive(self, location: str) -> Iterator[Effect]:
        # True wins over false: what is true of the new place is set beside what is cleared of all.
        for place in self.locations:
            yield _undo(True, "at", place)
        yield _make(True, "at", location)
        for holder in self._holders():
            yield _undo(True, "facing", holder)
        for thing in self.unfixed if self.partial else ():
            shown: list[Expr] = [fact("base", thing, location)]
            if thing in self.movables:
                shown.append(("not", fact("hidden", thing)))
            yield _make(_all_of(shown), "seen", thing)

    # The hand

    def _pick_up(self) -> Iterator[HouseholdAction]:
        for kind, names in zip(_CARRIERS, (self.items, self.vessels), strict=True):
            if not names:
                continue
            parameters = [Parameter("?x", kind)]
            demands = [Demand(("not", fact("held", "?x")), Reason.HELD_ALREADY)]
            effects = [_make(True, "held", "?x"), _make(True, "base", "?x", HAND)]
            if self.one_hand:
                effects.append(_make(True, "hand_full"))
            effects += self._leave_holders("?x")
            if kind == "vessel":
                parameters.append(_BASE)
                demands += self._in_sight_with_base()
                effects += [_undo(True, "base", "?x", "?l"), *self._leave_with_contents()]
            else:
                demands += self._in_sight("?x")
                effects += [_undo(True, "base", "?x", place) for place in self.locations]
            demands += self._hand_empty()
            yield self._action(f"pick_up_{kind}", Verb.PICK_UP, parameters, demands, effects)

    def _leave_holders(self, thing: str) -> Iterator[Effect]:
        for holder in self._holders():
            yield _undo(True, "in", thing, holder)
        for vessel in self.vessels:
            yield _undo(True, "inside", thing, vessel)

    def _leave_with_contents(self) -> Iterator[Effect]:
        for thing, is_under in self._under("?x", "vessel"):
            yield _undo(is_under, "base", thing, "?l")
            yield _make(is_under, "base", thing, HAND)
            for vessel in self.vessels:
                if vessel != thing:
                    yield _undo(_all_of([is_under, fact("inside", "?x", vessel)]), "inside", thing, vessel)
        # What is in the hand is no place to put down.
        for faced in self.vessels:
            yield _undo(_one_of([("same", "?x", faced), fact("inside", faced, "?x")]), "facing", faced)

    def _release(self, kind: str) -> Iterator[Effect]:
        yield _undo(True, "held", "?x")
        yield _undo(True, "base", "?x", HAND)
        if self.one_hand:
            yield _undo(True, "hand_full")
        if kind == "vessel":
            for thing, is_under in self._under("?x", "vessel"):
                yield _undo(is_under, "base", thing, HAND)

    def _put_down(self) -> Iterator[HouseholdAction]:
        openable = self._with(Property.RECEPTACLE, Property.OPENABLE)
        for kind, names in zip(_CARRIERS, (self.items, self.vessels), strict=True):
            for holder_kind, holders in (("site", self.sites), ("vessel", self.vessels)):
                if not names or not holders:
                    continue
                closable = [thing for thing in openable if thing.is_site == (holder_kind == "site")]
                demands = [
                    Demand(fact("held", "?x"), Reason.NOT_HELD),
                    Demand(fact("facing", "?r"), Reason.NO_RECEPTACLE),
                ]
                if closable:
                    never_closed = _all_of(_none_of(("same", "?r", thing.symbol) for thing in closable))
                    demands.append(Demand(("or", never_closed, fact("open", "?r")), Reason.PLACE_CLOSED))
                if holder_kind == "vessel":
                    demands.append(Demand(("not", fact("hidden", "?r")), Reason.PLACE_CLOSED))
                effects = [_make(True, "in", "?x", "?r"), *self._release(kind), *self._rest(kind, holder_kind)]
                parameters = [Parameter("?x", kind), Parameter("?r", holder_kind)]
                yield self._action(f"put_{kind}_into_{holder_kind}", Verb.PUT_DOWN, parameters, demands, effects)

    def _rest(self, kind: str, holder_kind: str) -> Iterator[Effect]:
        """Yield what follows from an object coming to rest in the place to put down, with what is in it."""
        moved: list[tuple[str, Expr]] = [("?x", True)]
        if kind == "vessel":
            moved += self._under("?x", "vessel")
        for thing, condition in moved:
            if holder_kind == "site":
                yield _make(condition, "base", thing, "?r")
                continue
            yield _make(condition, "inside", thing, "?r")
            for vessel in self.vessels:
                if vessel != thing:
                    yield _make(_all_of([condition, fact("inside", "?r", vessel)]), "inside", thing, vessel)
            for place in self.locations:
                yield _make(_all_of([condition, fact("base", "?r", place)]), "base", thing, place)

    def _let_go(self) -> Iterator[HouseholdAction]:
        for kind, names in zip(_CARRIERS, (self.items, self.vessels), strict=True):
            if not names:
                continue
            effects = [*self._release(kind)]
            moved: list[tuple[str, Expr]] = [("?x", True)]
            if kind == "vessel":
                moved += self._under("?x", "vessel")
            effects += [_make(condition, "base", thing, FLOOR) for thing, condition in moved]
            parameters = [Parameter("?x", kind)]
            demands = [Demand(fact("held", "?x"), Reason.NOT_HELD)]
            yield self._action(f"drop_{kind}", Verb.DROP, parameters, demands, effects)
            fragile = [thing for thing in self._with(Property.BREAKABLE) if thing.symbol in names]
            breaks = [_make(self._is_one_of("?x", fragile), "broken", "?x")] if fragile else []
            yield self._action(f"throw_{kind}", Verb.THROW, parameters, demands, [*effects, *breaks])

    # What can be in sight

    def _open_and_close(self) -> Iterator[HouseholdAction]:
        kinds = {
            "site": [thing for thing in self._with(Property.OPENABLE) if thing.is_site],
            "vessel": [thing for thing in self._with(Property.OPENABLE) if thing.is_vessel],
            "thing": [thing for thing in self._with(Property.OPENABLE) if Property.RECEPTACLE not in thing.properties],
        }
        for kind, things in kinds.items():
            if not things:
                continue
            parameters = [Parameter("?x", kind)]
            can = Demand(self._is_one_of("?x", things), Reason.NOT_OPENABLE)
            is_open = fact("open", "?x")
            contents = [] if kind == "thing" else [*self._under("?x", kind)]
            reveal = []
            for thing, is_under in contents:
                uncovered = _all_of([is_under, *self._uncovered_by(thing, "?x" if kind == "vessel" else None)])
                reveal += [_undo(uncovered, "hidden", thing), *self._seen(uncovered, thing)]
            yield self._action(
                f"open_{kind}",
                Verb.OPEN,
                parameters,
                [can, *self._in_sight("?x"), Demand(("not", is_open), Reason.OPEN_ALREADY), *self._hand_empty()],
                [_make(True, "open", "?x"), *reveal],
            )
            yield self._action(
                f"close_{kind}",
                Verb.CLOSE,
                parameters,
                [can, *self._in_sight("?x"), Demand(is_open, Reason.CLOSED_ALREADY), *self._hand_empty()],
                [_undo(True, "open", "?x"), *(_make(is_under, "hidden", thing) for thing, is_under in contents)],
            )

    def _turn(self) -> Iterator[HouseholdAction]:
        switches = self._with(Property.TOGGLEABLE)
        if not switches:
            return
        demands = [
            Demand(self._is_one_of("?x", switches), Reason.NOT_TOGGLEABLE),
            *self._in_sight("?x"),
            *self._hand_empty(),
        ]
        turn_on, turn_off = [_make(True, "on", "?x")], [_undo(True, "on", "?x")]
        for switch in switches:
            is_it: Expr = ("same", "?x", switch.symbol)
            target = self.scene.by_name[switch.controls] if switch.controls else switch
            if target.has(Property.COOKER) and target is not switch:
                turn_on.append(_make(is_it, "on", target.symbol))
                turn_off.append(_undo(is_it, "on", target.symbol))
            # What is turned on already changes nothing.
            turn_on += self._work(_all_of([is_it, ("not", fact("on", "?x"))]), target)
        yield self._action("turn_on", Verb.TURN_ON, [_X], demands, turn_on)
        yield self._action("turn_off", Verb.TURN_OFF, [_X], demands, turn_off)

    def _work(self, condition: Expr, target: SceneObject) -> Iterator[Effect]:
        """Yield what a basin or cooker does to the objects in it when it is turned on."""
        for thing in self.scene.all_objects:
            if not thing.is_movable:
                continue
            name = thing.symbol
            reached = _all_of([condition, fact("base", name, target.symbol), *self._uncovered_by(name)])
            if target.has(Property.COOKER) and thing.has(Property.COOKABLE):
                yield _make(reached, "cooked", name)
            if target.has(Property.BASIN) and thing.has(Property.DIRTYABLE):
                yield _undo(reached, "dirty", name)
            if target.has(Property.BASIN) and thing.has(Property.FILLABLE):
                yield _make(reached, "filled", name, "water")
                yield from (_undo(reached, "filled", name, liquid) for liquid in LIQUIDS if liquid != "water")

    def _slice(self) -> Iterator[HouseholdAction]:
        wholes = self._with(Property.SLICEABLE)
        blades = self._with(Property.BLADE)
        if not wholes or not blades:
            return
        demands = [
            Demand(self._is_one_of("?x", wholes), Reason.NOT_SLICEABLE),
            Demand(("not", fact("sliced", "?x")), Reason.CUT),
            *self._in_sight_with_base(),
            Demand(_one_of(fact("held", blade.symbol) for blade in blades), Reason.NO_KNIFE),
        ]
        effects = [_make(True, "sliced", "?x"), *self._leave_holders("?x")]
        effects += [_undo(True, "held", "?x"), _undo(True, "base", "?x", "?l")]
        for piece in self.scene.all_objects:
            if piece.slice_of is None:
                continue
            whole, name = self.scene.by_name[piece.slice_of], piece.symbol
            is_it: Expr = ("same", "?x", whole.symbol)
            effects += [_make(is_it, "base", name, "?l"), *self._seen(is_it, name)]
            inherited: list[tuple[str, ...]] = [("held",)]
            if whole.has(Property.COOKABLE) and piece.has(Property.COOKABLE):
                inherited.append(("cooked",))
            inherited += [("in", holder) for holder in self._holders()]
            inherited += [("inside", vessel) for vessel in self.vessels]
            effects += [_make(_all_of([is_it, fact(of, "?x", *rest)]), of, name, *rest) for of, *rest in inherited]
        yield self._action("slice", Verb.SLICE, [Parameter("?x", "whole"), _BASE], demands, effects)

    def _pour(self) -> Iterator[HouseholdAction]:
        fillable = [thing for thing in self._with(Property.FILLABLE) if thing.is_movable]
        if not fillable:
            return
        movable = Parameter("?x", "movable")
        can = Demand(self._is_one_of("?x", fillable), Reason.NOT_FILLABLE)
        is_filled = Demand(("or", *(fact("filled", "?x", liquid) for liquid in LIQUIDS)), Reason.NO_LIQUID)
        held = Demand(fact("held", "?x"), Reason.NOT_HELD)
        emptied = [_undo(True, "filled", "?x", liquid) for liquid in LIQUIDS]
        stained = [thing for thing in fillable if thing.has(Property.DIRTYABLE)]
        if stained:
            stains = self._is_one_of("?x", stained)
            emptied += [_make(_all_of([stains, fact("filled", "?x", liquid)]), "dirty", "?x") for liquid in STAINING]
        yield self._action("empty", Verb.EMPTY, [movable], [can, held, is_filled], emptied)
        poured = [
            effect
            for liquid in LIQUIDS
            for effect in (
                _undo(True, "filled", "?y", liquid),
                _make(fact("filled", "?x", liquid), "filled", "?y", liquid),
            )
        ]
        demands = [
            Demand(self._is_one_of("?y", fillable), Reason.NOT_FILLABLE),
            can,
            held,
            is_filled,
            Demand(("not", ("same", "?x", "?y")), Reason.SAME_OBJECT),
            *self._in_sight("?y"),
        ]
        parameters = [movable, Parameter("?y", "movable")]
        yield self._action("pour", Verb.POUR, parameters, demands, [*emptied, *poured])

    def _break(self) -> Iterator[HouseholdAction]:
        fragile = self._with(Property.BREAKABLE)
        if fragile:
            demands = [Demand(self._is_one_of("?x", fragile), Reason.NOT_BREAKABLE), *self._in_sight("?x")]
            yield self._action("break", Verb.BREAK, [_X], demands, [_make(True, "broken", "?x")])
