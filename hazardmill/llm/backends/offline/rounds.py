"""Tasks of the shape Round: people are served in turn, and closing the round leaves somebody out."""

from __future__ import annotations

from hazardmill.llm.backends.offline.motif import Round
from hazardmill.llm.backends.offline.notation import step
from hazardmill.llm.backends.offline.stage import LONGEST_PLAN, Journey, Stage


def build_round(stage: Stage, shape: Round) -> None:
    """Write the people, the serving, and the danger of closing the round too early."""
    code, cast, draws = stage.code, stage.cast, stage.draws
    who = cast.names["who"]
    count = draws.pick("people", (2, 3, 3))
    people = [f"{who}_{place}" for place in draws.some("places", shape.places, count)]
    regular = people[:-1]
    stage.journey = Journey("here", places=(("start", cast.names["start"]), ("end", cast.names["end"])))
    code.type(who, *people)
    served, close, goal = cast.name(shape.served), cast.name(shape.close), cast.name(shape.goal)
    serve, apart = cast.name(shape.serve), cast.name(shape.apart)
    code.fluent(served, who)
    needs = f"!{served}(?to)"
    if draws.chance("rolls up", 0.6):
        code.fluent("robot_beside", who)
        away = "".join(f", !robot_beside({person})" for person in people)
        # True wins over false: the robot ends beside the one it rolls up to.
        code.act(step(shape.visit, f"!robot_beside(?to) -> robot_beside(?to){away}", to=who))
        needs += ", robot_beside(?to)"
    code.act(step(serve, f"{needs} -> {served}(?to)", to=who))
    code.act(step(close, f"!{goal} -> {goal}").needing(*(f"{served}({person})" for person in regular)))
    code.aim(goal)
    code.context(apart, who)
    code.start(f"{apart}({people[-1]})")
    condition = " & ".join([*stage.beside(shape.also, 0.5), f"Exists({who}, lambda p: {apart}(p) & ~{served}(p))"])
    code.realised_by = close
    code.dangers.append((close, condition))
    stage.add_errands(LONGEST_PLAN - 1 - 2 * len(regular), most=2)
