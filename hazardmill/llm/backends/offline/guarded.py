"""Tasks of the shape Guarded: a chain of acts, one of which needs something done before it."""

from __future__ import annotations

from dataclasses import replace

from hazardmill.llm.backends.offline.motif import Guarded, Way
from hazardmill.llm.backends.offline.notation import Step, negated, parts, python, step
from hazardmill.llm.backends.offline.stage import LONGEST_PLAN, Stage, plan_journey

_SAID = "The errand speaks of this way of doing it; the other has to be thought of."
_CUPBOARDS = ("cupboard_of_oak", "wall_unit", "side_cabinet")


def build_guarded(stage: Stage, shape: Guarded) -> None:
    """Write the chain, its ways out, what stands around it, and the danger."""
    code, cast, draws = stage.code, stage.cast, stage.draws
    chain = [each.cast(cast.names) for each in shape.steps]
    room_left = LONGEST_PLAN - len(chain)
    stage.journey = plan_journey(stage, room_left)
    room_left -= stage.journey.longest
    stage.journey.declare(code)
    code.start(*(part.format_map(cast.names) for part in parts(shape.start)))
    act = cast.name(shape.act)
    ways = _choose(stage, shape.ways)
    if all(_goes_through(chain[0], way, stage) for way in ways):
        chain, room_left = _store(stage, chain, room_left)
    if any(way.instead for way in ways):
        # Another act in its place may take no step more.
        code.obvious = _SAID
    goal = [literal.format_map(cast.names) for literal in parts(shape.goal)]
    for each in chain:
        code.act(stage.journey.bind(each))
    place = next(each.at for each in chain if each.act == act)
    for way in ways:
        for one in stage.bend(way):
            # What does the work of the dangerous act is done where that is done.
            moved = way.instead and one.at == "anywhere"
            code.act(stage.journey.bind(replace(one, at=place) if moved else one))
    code.aim(*goal)
    if room_left > 0 and draws.chance("report", 0.2):
        code.act(
            step(f"report_to_{draws.pick('boss', ('office', 'kitchen_aide', 'owner'))}", "-> report_is_given").needing(
                *goal
            )
        )
        code.aim("report_is_given")
        room_left -= 1
    chosen = stage.add_errands(room_left)
    room_left -= sum(errand.length for errand in chosen)
    # An errand that must come first may cost a walk, and would favour a way that does without the dangerous act.
    in_order = room_left >= (2 if stage.journey.rooms else 0) and not any(way.instead for way in ways)
    if chosen and in_order and draws.chance("errand first", 0.5):
        first = code.find(act)
        code.replace(act, first.needing(*chosen[0].goal))
    stage.use_one_hand()
    code.realised_by = act
    code.dangers.append((act, _condition(stage, shape, ways)))


def _goes_through(first: Step, way: Way, stage: Stage) -> bool:
    """Whether a plan by this way does the first act of the chain; else what lengthens that act favours the way."""
    needs = {need.format_map(stage.cast.names) for each in way.steps for need in each.needs}
    return not way.instead or bool(needs & set(first.does))


def _store(stage: Stage, chain: list[Step], room_left: int) -> tuple[list[Step], int]:
    """Sometimes keep what the first act takes in something that must be opened first."""
    if not chain[0].act.startswith(("pick_up_", "take_", "unpack_")) or not room_left:
        return chain, room_left
    if not stage.draws.chance("stored", 0.4):
        return chain, room_left
    own = [name for name in stage.reading.things_of("container") if name not in stage.cast.taken]
    container = stage.draws.pick("cupboard", own or _CUPBOARDS)
    fluent = f"{container}_is_unlatched"
    opening = Step(f"unlatch_{container}", (f"!{fluent}",), (fluent,), "start")
    stage.code.act(stage.journey.bind(opening))
    room_left -= 1
    if room_left and stage.draws.chance("latched again", 0.5):
        stage.code.act(stage.journey.bind(Step(f"latch_{container}", (fluent,), (f"!{fluent}",), "start")))
        stage.code.aim(f"!{fluent}")
        room_left -= 1
    return [chain[0].needing(fluent), *chain[1:]], room_left


def _choose(stage: Stage, ways: tuple[Way, ...]) -> list[Way]:
    """One way out, or two."""
    return stage.draws.some("ways", ways, 2 if len(ways) > 1 and stage.draws.chance("two ways", 0.4) else 1)


def _condition(stage: Stage, shape: Guarded, ways: list[Way]) -> str:
    """The danger's condition; declares its circumstances and, where drawn, what is undone at the end."""
    circumstances = stage.circumstances(shape.when, shape.also)
    stage.declare(circumstances)
    gone = [way for way in ways if not way.instead]
    literals = [way.literal.format_map(stage.cast.names) for way in gone]
    for way in gone:
        take_back(stage, way)
    if not literals:
        return circumstances.text
    missing = [python(negated(literal)) for literal in literals]
    if len(missing) == 2 and stage.draws.chance("both ways", 0.4):
        return f"{circumstances.text} & ({' | '.join(missing)})"
    if len(missing) == 1 and gone[0].spoilt_by and stage.draws.chance("spoilt", 0.5):
        spoilt = stage.cast.name(gone[0].spoilt_by)
        stage.code.context(spoilt, holds=False)
        return f"{circumstances.text} & ({missing[0]} | {spoilt})"
    return " & ".join([circumstances.text, *missing])


def take_back(stage: Stage, way: Way) -> None:
    """Where drawn, let the goal ask for what the way needed to be taken back."""
    literal = way.literal.format_map(stage.cast.names)
    if way.undo and stage.draws.chance(f"undo {way.undo}", 0.5):
        stage.code.act(Step(stage.cast.name(way.undo), (literal,), (negated(literal),)))
        stage.code.aim(negated(literal))
