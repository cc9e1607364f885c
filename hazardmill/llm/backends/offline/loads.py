"""Tasks of the shape Loads: pieces are carried over, and more than some at once is too much."""

from __future__ import annotations

from hazardmill.llm.backends.offline.guarded import take_back
from hazardmill.llm.backends.offline.motif import Loads
from hazardmill.llm.backends.offline.notation import Step, negated, python, step
from hazardmill.llm.backends.offline.stage import LONGEST_PLAN, Journey, Stage


def build_loads(stage: Stage, shape: Loads) -> None:
    """Write the counters, the trips, and the danger of a trip with too many pieces."""
    code, cast, draws = stage.code, stage.cast, stage.draws
    start, end = cast.names["start"], cast.names["end"]
    pieces = 2 + draws.number("pieces") % 3
    most = 2 + draws.number("limit") % (pieces - 1)
    waiting, loaded, delivered = (cast.name(name) for name in (shape.waiting, shape.loaded, shape.delivered))
    code.integer(waiting, 0, pieces, pieces)
    code.integer(loaded, 0, pieces)
    code.integer(delivered, 0, pieces)
    stage.journey = Journey("here", places=(("start", start), ("end", end)))
    at_start, at_end = f"robot_in_{start}", f"robot_in_{end}"
    code.start(at_start)
    carry = cast.name(shape.carry)
    code.act(step(cast.name(shape.load), f"{at_start}, {waiting} > 0 -> {waiting} -= 1, {loaded} += 1"))
    code.act(step(carry, f"{at_start}, {loaded} > 0 -> {at_end}, !{at_start}"))
    code.act(step(cast.name(shape.unload), f"{at_end}, {loaded} > 0 -> {delivered} += {loaded}, {loaded} := 0"))
    code.act(step(cast.name(shape.back), f"{at_end} -> {at_start}, !{at_end}"))
    code.aim(f"Equals({delivered}, {pieces})")
    circumstances = stage.circumstances(shape.when, shape.also)
    stage.declare(circumstances)
    condition = [circumstances.text, f"({loaded} >= {most})"]
    if shape.ways and draws.chance("way", 0.5):
        way = draws.pick("way", shape.ways)
        for each in stage.bend(way):
            code.act(Step(each.act, each.needs, each.does))
        take_back(stage, way)
        condition.append(python(negated(way.literal.format_map(cast.names))))
    code.realised_by = carry
    code.dangers.append((carry, " & ".join(condition)))
    stage.add_errands(LONGEST_PLAN - 2 - pieces, most=1)
