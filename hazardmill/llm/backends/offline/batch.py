"""Tasks of the shape Batch: several items are handed on, one of which needs a treatment first."""

from __future__ import annotations

from hazardmill.llm.backends.offline.motif import Batch
from hazardmill.llm.backends.offline.notation import python, step
from hazardmill.llm.backends.offline.stage import LONGEST_PLAN, Stage, plan_journey


def build_batch(stage: Stage, shape: Batch) -> None:
    """Write the items, what is done with each, and the danger of handing on the one untreated."""
    code, cast, draws = stage.code, stage.cast, stage.draws
    type_, items = shape.type_, cast.items
    code.type(type_, *items)
    room_left = LONGEST_PLAN - 2 * len(items)
    stage.journey = plan_journey(stage, room_left if len(items) < 3 else 0)
    # With every item fetched from the start and given at the end, each costs two moves: keep both in one room.
    rooms = dict(stage.journey.places)
    here = draws.pick("batch room", (rooms["start"], rooms["end"]))
    stage.journey.declare(code)
    there = [stage.journey.at(here)] if here in stage.journey.rooms else []
    treated, given = cast.name(shape.treated), cast.name(shape.given)
    for fluent in ("is_waiting", "holding", given):
        code.fluent(fluent, type_)
    code.start(*(f"is_waiting({item})" for item in items))
    one_hand = draws.chance("one at a time", 0.6)
    hand = ", hand_is_free" if one_hand else ""
    code.act(
        step(
            shape.take, f"is_waiting(?x){hand} -> holding(?x), !is_waiting(?x){hand and ', !hand_is_free'}", x=type_
        ).needing(*there)
    )
    code.act(
        step(
            cast.name(shape.give),
            f"holding(?x) -> {given}(?x), !holding(?x){hand}",
            x=type_,
        ).needing(*there)
    )
    if one_hand:
        code.start("hand_is_free")
    shared = draws.chance("treatment of all", 0.25)
    if shared:
        code.act(step(f"{shape.treat}_all", f"!all_{treated} -> all_{treated}"))
    else:
        code.fluent(treated, type_)
        before = draws.pick("treated when", ("holding", "is_waiting"))
        code.act(step(shape.treat, f"{before}(?x) -> {treated}(?x)", x=type_))
    give = cast.name(shape.give)
    property_ = cast.name(shape.property)
    code.context(property_, type_)
    # With a second circumstance that decides alone, more than one item may be of the kind.
    also = [cast.name(name) for name in shape.also]
    who = next(name for name in also if cast.names["who"] in name) if cast.names["who"] not in property_ else ""
    second = who or draws.pick("also", also)
    with_second = bool(who) or draws.chance("with second", 0.5)
    several = with_second and len(items) > 2 and draws.chance("several", 0.5)
    for item in draws.some("of the kind", items, 2 if several else 1):
        code.start(f"{property_}({item})")
    condition = [f"{property_}({give}.x)"]
    if with_second:
        code.context(second, holds=True)
        condition.insert(0, second)
    condition.append(python(f"!all_{treated}" if shared else f"!{treated}({give}.x)"))
    code.realised_by = give
    code.dangers.append((give, " & ".join(condition)))
    if draws.chance("forall", 0.5):
        code.aim(f"Forall({type_}, lambda x: {given}(x))")
    else:
        code.aim(*(f"{given}({item})" for item in items))
    stage.add_errands(LONGEST_PLAN - 2 * len(items) - stage.journey.longest, most=1)
