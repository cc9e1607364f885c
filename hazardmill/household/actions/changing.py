"""Changing what is in sight or in the hand: opening, turning on, slicing, pouring, breaking."""

from __future__ import annotations

from collections.abc import Iterator

from hazardmill.formalism.document.document import Effect, Parameter
from hazardmill.formalism.document.expressions import Expr
from hazardmill.household.actions.scene_parts import SceneParts
from hazardmill.household.actions.vocabulary import (
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
from hazardmill.household.object_kinds import LIQUIDS, STAINING, Property
from hazardmill.household.scene import SceneObject

_X = (Parameter("?x", "object"),)


def opening(parts: SceneParts) -> Iterator[HouseholdAction]:
    """Yield opening and closing."""
    openable = parts.having(Property.OPENABLE)
    kinds = {
        "site": [thing for thing in openable if thing.is_site],
        "vessel": [thing for thing in openable if thing.is_vessel],
        "thing": [thing for thing in openable if Property.RECEPTACLE not in thing.properties],
    }
    for kind, things in kinds.items():
        if not things:
            continue
        where = [Demand(fact("at", "?x"), Reason.NOT_HERE)] if kind == "site" else [*parts.in_sight("?x")]
        can = Demand(parts.is_one_of("?x", things), Reason.NOT_OPENABLE)
        is_open = fact("open", "?x")
        opens = [Demand(("not", is_open), Reason.OPEN_ALREADY), *parts.hand_empty()]
        closes = [Demand(is_open, Reason.CLOSED_ALREADY), *parts.hand_empty()]
        reveal: list[Effect] = []
        for thing, is_under in () if kind == "thing" else parts.under("?x", kind):
            boxes = parts.in_open_boxes(thing, "?x" if kind == "vessel" else None)
            reveal += parts.seen(all_of([is_under, *boxes]), thing)
        what = (Parameter("?x", kind),)
        yield HouseholdAction(
            f"open_{kind}", Verb.OPEN, what, (can, *where, *opens), (make(True, "open", "?x"), *reveal)
        )
        yield HouseholdAction(f"close_{kind}", Verb.CLOSE, what, (can, *where, *closes), (undo(True, "open", "?x"),))


def turning(parts: SceneParts) -> Iterator[HouseholdAction]:
    """Yield turning on and off."""
    switches = parts.having(Property.TOGGLEABLE)
    if not switches:
        return
    demands = (
        Demand(parts.is_one_of("?x", switches), Reason.NOT_TOGGLEABLE),
        *parts.in_sight("?x"),
        *parts.hand_empty(),
    )
    turn_on, turn_off = [make(True, "on", "?x")], [undo(True, "on", "?x")]
    for switch in switches:
        is_it: Expr = ("same", "?x", switch.symbol)
        target = parts.scene.by_name[switch.controls] if switch.controls else switch
        if target.has(Property.COOKER) and target is not switch:
            turn_on.append(make(is_it, "on", target.symbol))
            turn_off.append(undo(is_it, "on", target.symbol))
        # What is turned on already changes nothing.
        turn_on += _work(parts, all_of([is_it, ("not", fact("on", "?x"))]), target)
    yield HouseholdAction("turn_on", Verb.TURN_ON, _X, demands, tuple(turn_on))
    yield HouseholdAction("turn_off", Verb.TURN_OFF, _X, demands, tuple(turn_off))


def _work(parts: SceneParts, condition: Expr, target: SceneObject) -> Iterator[Effect]:
    """Yield what a basin or cooker does to the objects in it when it is turned on."""
    for thing in parts.scene.all_objects:
        if not thing.is_movable:
            continue
        name = thing.symbol
        reached = all_of([condition, fact("base", name, target.symbol), *parts.in_open_boxes(name)])
        if target.has(Property.COOKER) and thing.has(Property.COOKABLE):
            yield make(reached, "cooked", name)
        if target.has(Property.BASIN) and thing.has(Property.DIRTYABLE):
            yield undo(reached, "dirty", name)
        if target.has(Property.BASIN) and thing.has(Property.FILLABLE):
            yield make(reached, "filled", name, "water")
            yield from (undo(reached, "filled", name, liquid) for liquid in LIQUIDS if liquid != "water")


def slicing(parts: SceneParts) -> Iterator[HouseholdAction]:
    """Yield slicing; a scene without a blade has no such action."""
    wholes = parts.having(Property.SLICEABLE)
    blades = parts.having(Property.BLADE)
    if not wholes or not blades:
        return
    demands = (
        Demand(parts.is_one_of("?x", wholes), Reason.NOT_SLICEABLE),
        Demand(("not", fact("sliced", "?x")), Reason.CUT),
        *parts.in_sight("?x"),
        Demand(one_of(fact("held", blade.symbol) for blade in blades), Reason.NO_KNIFE),
    )
    places = [*parts.locations, HAND]
    effects = [make(True, "sliced", "?x"), *parts.leave_holders("?x"), undo(True, "held", "?x")]
    effects += [undo(True, "base", "?x", place) for place in places]
    for piece in parts.scene.all_objects:
        if piece.slice_of is None:
            continue
        whole, name = parts.scene.by_name[piece.slice_of], piece.symbol
        is_it: Expr = ("same", "?x", whole.symbol)
        effects += parts.seen(is_it, name)
        inherited: list[tuple[str, ...]] = [("held",)]
        if whole.has(Property.COOKABLE) and piece.has(Property.COOKABLE):
            inherited.append(("cooked",))
        inherited += [("base", place) for place in places]
        inherited += [("in", holder) for holder in parts.holders]
        inherited += [("inside", vessel) for vessel in parts.vessels]
        effects += [make(all_of([is_it, fact(of, "?x", *rest)]), of, name, *rest) for of, *rest in inherited]
    yield HouseholdAction("slice", Verb.SLICE, (Parameter("?x", "whole"),), demands, tuple(effects))


def pouring(parts: SceneParts) -> Iterator[HouseholdAction]:
    """Yield emptying, and pouring into another object."""
    fillable = [thing for thing in parts.having(Property.FILLABLE) if thing.is_movable]
    if not fillable:
        return
    movable = Parameter("?x", "movable")
    can = Demand(parts.is_one_of("?x", fillable), Reason.NOT_FILLABLE)
    is_filled = Demand(("or", *(fact("filled", "?x", liquid) for liquid in LIQUIDS)), Reason.NO_LIQUID)
    held = Demand(fact("held", "?x"), Reason.NOT_HELD)
    emptied = [undo(True, "filled", "?x", liquid) for liquid in LIQUIDS]
    stained = [thing for thing in fillable if thing.has(Property.DIRTYABLE)]
    if stained:
        stains = parts.is_one_of("?x", stained)
        emptied += [make(all_of([stains, fact("filled", "?x", liquid)]), "dirty", "?x") for liquid in STAINING]
    yield HouseholdAction("empty", Verb.EMPTY, (movable,), (can, held, is_filled), tuple(emptied))
    poured = [
        effect
        for liquid in LIQUIDS
        for effect in (
            undo(True, "filled", "?y", liquid),
            make(fact("filled", "?x", liquid), "filled", "?y", liquid),
        )
    ]
    demands = (
        Demand(parts.is_one_of("?y", fillable), Reason.NOT_FILLABLE),
        can,
        held,
        is_filled,
        Demand(("not", ("same", "?x", "?y")), Reason.SAME_OBJECT),
        *parts.in_sight("?y"),
    )
    both = (movable, Parameter("?y", "movable"))
    yield HouseholdAction("pour", Verb.POUR, both, demands, (*emptied, *poured))


def breaking(parts: SceneParts) -> Iterator[HouseholdAction]:
    """Yield breaking."""
    fragile = parts.having(Property.BREAKABLE)
    if fragile:
        demands = (Demand(parts.is_one_of("?x", fragile), Reason.NOT_BREAKABLE), *parts.in_sight("?x"))
        yield HouseholdAction("break", Verb.BREAK, _X, demands, (make(True, "broken", "?x"),))
