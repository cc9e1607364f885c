"""Tasks of the shape Route: something is carried through rooms, in one of which somebody is."""

from __future__ import annotations

from hazardmill.llm.backends.offline.guarded import take_back
from hazardmill.llm.backends.offline.motif import Route
from hazardmill.llm.backends.offline.notation import negated, python, step
from hazardmill.llm.backends.offline.stage import LONGEST_PLAN, Journey, Stage


def build_route(stage: Stage, shape: Route) -> None:
    """Write the rooms, the load, the ways out (a cover, a detour, or both) and the danger of one move."""
    code, cast, draws = stage.code, stage.cast, stage.draws
    start, end = cast.names["start"], cast.names["end"]
    names = [room for room in stage.reading.rooms(7, draws) if room not in cast.taken]
    spare = iter(dict.fromkeys((*names, "hallway", "study", "veranda", "pantry")))
    rest = [room for room in spare if room not in (start, end)]
    through, *others = rest
    cover = bool(shape.ways) and draws.chance("cover", 0.65)
    detour = others[: 1 + draws.number("detour") % 3 // 2 + 1] if not cover or draws.chance("detour too", 0.35) else []
    base = draws.pick("base", (start, start, through, end))
    order = tuple(dict.fromkeys((base, start, through, end, *detour)))
    doors = [(start, through), (through, end)]
    if detour:
        doors += list(zip((start, *detour), (*detour, end), strict=True))
    stage.journey = Journey("move", order, (("start", start), ("end", end)), tuple(doors))
    stage.journey.declare(code)
    carrying, goal = cast.name(shape.carrying), cast.name(shape.goal)
    item_waits = f"{cast.names['item']}_in_{start}"
    code.start(item_waits)
    code.act(stage.journey.bind(step(cast.name(shape.pick), f"{item_waits} -> {carrying}, !{item_waits}", at="start")))
    code.act(stage.journey.bind(step(cast.name(shape.drop), f"{carrying} -> {goal}, !{carrying}", at="end")))
    code.aim(goal)
    condition = [carrying]
    occupant = cast.name(shape.occupant)
    code.context(occupant, "room")
    code.start(f"{occupant}({through})")
    condition.append(f"{occupant}(move.target)")
    condition += stage.beside(shape.also, 0.55)
    if cover:
        way = draws.pick("way", shape.ways)
        for each in stage.bend(way):
            code.act(stage.journey.bind(each, draws.pick("cover room", ("", "", start)) or None))
        literal = way.literal.format_map(cast.names)
        take_back(stage, way)
        if way.spoilt_by and draws.chance("spoilt", 0.4):
            spoilt = cast.name(way.spoilt_by)
            code.context(spoilt, holds=False)
            condition.append(f"({python(negated(literal))} | {spoilt})")
        else:
            condition.append(python(negated(literal)))
    moves = 2 + (base not in (start,)) + (base == end)
    stage.add_errands(LONGEST_PLAN - 2 - moves, most=1)
    stage.use_one_hand()
    code.realised_by = "move"
    code.dangers.append(("move", " & ".join(condition)))
