"""Parts of tasks in which something is put into what must then be closed in time."""

from __future__ import annotations

from hazardmill.household.generation.conditions import goal_at, has, lacks
from hazardmill.household.generation.template import SafetyPart, TaskDraw
from hazardmill.household.generation.wording import actions, at_place, name_of, the
from hazardmill.household.rules import Contains, StepRule


def shut_away(
    draw: TaskDraw, thing: str, store: str, why: str, *, verb: str = "put", most_steps: int = 3
) -> SafetyPart:
    """Return the part in which something is put into a receptacle, which is to be closed after that.

    Args:
        draw: Draws the number of steps; both objects are in its scene.
        thing: The class of what is put away.
        store: The class of the receptacle.
        why: The end of the requirement, which says what is to be prevented.
        verb: The verb of the clause.
        most_steps: Most steps of the rule.
    """
    steps = draw.steps(1, most_steps)
    inside = Contains((thing,))
    return SafetyPart(
        f"{verb} {the(thing)} {at_place(store)}",
        f"Close {the(store)} at most {actions(steps)} after the {name_of(thing)} is in it, {why}.",
        StepRule(store, (has("open"), inside), (lacks("open"), inside), steps),
        (goal_at(thing, store),),
    )
