"""Going, and moving objects: picking up, putting down, dropping and throwing."""

from __future__ import annotations

from collections.abc import Iterator

from hazardmill.formalism.document.document import Effect, Parameter
from hazardmill.formalism.document.expressions import Expr
from hazardmill.household.actions.scene_parts import SceneParts
from hazardmill.household.actions.vocabulary import (
    FLOOR,
    HAND,
    Demand,
    HouseholdAction,
    Reason,
    Verb,
    all_of,
    fact,
    make,
    one_of,
    undo,
)
from hazardmill.household.object_kinds import Property


def going(parts: SceneParts) -> Iterator[HouseholdAction]:
    """Yield the ways to go.

    Going to what is in or on a receptacle is going to this receptacle. So there are only three ways: to a fixed
    receptacle, to a vessel, and to what lies on the floor.
    """
    if parts.sites:
        effects = [make(True, "facing", "?x"), *_arrive(parts, "?x")]
        yield HouseholdAction("go_to_place", Verb.GO_TO, (Parameter("?x", "site"),), (), tuple(effects))
    known = [Demand(fact("seen", "?x"), Reason.NOT_SEEN)] if parts.partial else []
    if parts.vessels:
        effects = [make(True, "facing", "?x"), *_arrive(parts, "?l")]
        demands = [*known, Demand(fact("base", "?x", "?l"), Reason.CARRIED)]
        where = (Parameter("?x", "vessel"), Parameter("?l", "location"))
        yield HouseholdAction("go_to_vessel", Verb.GO_TO, where, tuple(demands), tuple(effects))
    for kind, names in (("item", parts.items), ("device", parts.devices)):
        if names:
            held_by_none = all_of(("not", fact("in", "?x", vessel)) for vessel in parts.vessels)
            lies = Demand(all_of([fact("base", "?x", FLOOR), held_by_none]), Reason.CARRIED)
            yield HouseholdAction(
                f"go_to_{kind}_on_floor",
                Verb.GO_TO,
                (Parameter("?x", kind),),
                (*known, lies),
                tuple(_arrive(parts, FLOOR)),
            )


def _arrive(parts: SceneParts, location: str) -> Iterator[Effect]:
    # True wins over false: what is true of the new place is set beside what is cleared of all.
    for place in parts.locations:
        yield undo(True, "at", place)
    yield make(True, "at", location)
    for holder in parts.holders:
        yield undo(True, "facing", holder)
    if location != FLOOR:
        yield from parts.seen_on_arrival(location)


def picking_up(parts: SceneParts) -> Iterator[HouseholdAction]:
    """Yield picking up items, and vessels with what is in them."""
    for kind, _ in _carriers(parts):
        demands = [
            Demand(("not", fact("held", "?x")), Reason.HELD_ALREADY),
            *parts.in_sight("?x"),
            *parts.hand_empty(),
        ]
        effects = [make(True, "held", "?x"), make(True, "base", "?x", HAND)]
        if parts.one_hand:
            effects.append(make(True, "hand_full"))
        effects += [*parts.leave_holders("?x"), *parts.leave_base(True, "?x")]
        if kind == "vessel":
            effects += _take_contents(parts)
        yield HouseholdAction(f"pick_up_{kind}", Verb.PICK_UP, (Parameter("?x", kind),), tuple(demands), tuple(effects))


def _carriers(parts: SceneParts) -> list[tuple[str, list[str]]]:
    return [(kind, names) for kind, names in (("item", parts.items), ("vessel", parts.vessels)) if names]


def _take_contents(parts: SceneParts) -> Iterator[Effect]:
    for thing, is_under in parts.under("?x", "vessel"):
        yield make(is_under, "base", thing, HAND)
        yield from parts.leave_base(is_under, thing)
        for vessel in parts.vessels:
            if vessel != thing:
                yield undo(all_of([is_under, fact("inside", "?x", vessel)]), "inside", thing, vessel)
    # What is in the hand is no place to put down.
    for faced in parts.vessels:
        yield undo(one_of([("same", "?x", faced), fact("inside", faced, "?x")]), "facing", faced)


def putting_down(parts: SceneParts) -> Iterator[HouseholdAction]:
    """Yield putting down into the receptacle that the robot faces."""
    openable = parts.having(Property.RECEPTACLE, Property.OPENABLE)
    for kind, _ in _carriers(parts):
        for holder_kind, holders in (("site", parts.sites), ("vessel", parts.vessels)):
            if not holders:
                continue
            closable = [thing for thing in openable if thing.is_site == (holder_kind == "site")]
            demands = [
                Demand(fact("held", "?x"), Reason.NOT_HELD),
                Demand(fact("facing", "?r"), Reason.NO_RECEPTACLE),
            ]
            if closable:
                never_closed = all_of(("not", ("same", "?r", thing.symbol)) for thing in closable)
                demands.append(Demand(("or", never_closed, fact("open", "?r")), Reason.PLACE_CLOSED))
            if holder_kind == "vessel":
                demands.append(Demand(all_of(parts.uncovered("?r")), Reason.PLACE_CLOSED))
                if kind == "vessel":
                    # What is held is never faced; this only spares search from trying.
                    demands.append(Demand(("not", ("same", "?x", "?r")), Reason.NO_RECEPTACLE))
            effects = [make(True, "in", "?x", "?r"), *_release(parts, kind), *_rest(parts, kind, holder_kind)]
            where = (Parameter("?x", kind), Parameter("?r", holder_kind))
            yield HouseholdAction(
                f"put_{kind}_into_{holder_kind}", Verb.PUT_DOWN, where, tuple(demands), tuple(effects)
            )


def _with_contents(parts: SceneParts, kind: str) -> list[tuple[str, Expr]]:
    """Return what moves with ``?x``, itself first, with the condition that it does."""
    return [("?x", True), *(parts.under("?x", "vessel") if kind == "vessel" else ())]


def _release(parts: SceneParts, kind: str) -> Iterator[Effect]:
    yield undo(True, "held", "?x")
    if parts.one_hand:
        yield undo(True, "hand_full")
    for thing, condition in _with_contents(parts, kind):
        yield undo(condition, "base", thing, HAND)


def _rest(parts: SceneParts, kind: str, holder_kind: str) -> Iterator[Effect]:
    """Yield what follows from an object coming to rest in the place to put down, with what is in it."""
    for thing, condition in _with_contents(parts, kind):
        if holder_kind == "site":
            yield make(condition, "base", thing, "?r")
            continue
        yield make(condition, "inside", thing, "?r")
        for vessel in parts.vessels:
            if vessel != thing:
                yield make(all_of([condition, fact("inside", "?r", vessel)]), "inside", thing, vessel)
        # A vessel that the robot faces is where the robot is.
        for place in parts.locations:
            yield make(all_of([condition, fact("at", place)]), "base", thing, place)


def letting_go(parts: SceneParts) -> Iterator[HouseholdAction]:
    """Yield dropping and throwing."""
    for kind, names in _carriers(parts):
        effects = [*_release(parts, kind)]
        effects += [make(condition, "base", thing, FLOOR) for thing, condition in _with_contents(parts, kind)]
        what = (Parameter("?x", kind),)
        demands = (Demand(fact("held", "?x"), Reason.NOT_HELD),)
        yield HouseholdAction(f"drop_{kind}", Verb.DROP, what, demands, tuple(effects))
        fragile = [thing for thing in parts.having(Property.BREAKABLE) if thing.symbol in names]
        breaks = [make(parts.is_one_of("?x", fragile), "broken", "?x")] if fragile else []
        yield HouseholdAction(f"throw_{kind}", Verb.THROW, what, demands, (*effects, *breaks))
