"""The answer to an extract prompt: a danger formalization, or why there is none."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final

from hazardmill.llm.backends.offline.draws import Draws
from hazardmill.llm.backends.offline.motif import Batch, Guarded, Loads, Motif, Route
from hazardmill.llm.backends.offline.prompt import Prompt
from hazardmill.llm.backends.offline.reading import Reading
from hazardmill.llm.backends.offline.selection import Declined, Plan, select, task_of

_PLACES: Final = {"home": "a private home", "care": "a care home", "school": "a school", "public": "a public building"}

TRUNCATED_SHARE: Final = 0.07
"""Share of records whose first extraction stops in the middle of the JSON; the repair turn mends it."""
PROSE_SHARE: Final = 0.1
"""Share of records whose extraction has a sentence before and after the JSON."""


def extract(prompt: Prompt, record_hash: str, sample: int) -> str:
    """Answer an extract prompt."""
    reading = Reading(prompt.source, prompt.record_id, prompt.record or "\n".join(prompt.texts))
    chosen = select(reading, Draws(record_hash, "plan"))
    if isinstance(chosen, Declined):
        text = json.dumps({"no_danger": _sentence(chosen.reason), "decline_reason": chosen.code})
    else:
        text = json.dumps({"danger": formalization(chosen, reading)})
    draws = Draws(record_hash, "extract", sample)
    if prompt.is_repair:
        return text
    if draws.chance("truncated", TRUNCATED_SHARE):
        return text[: len(text) * 2 // 3]
    if draws.chance("prose", PROSE_SHARE):
        return f"Here is what I make of the record:\n\n```json\n{text}\n```\n\nI can say more about it if you wish."
    return text


def formalization(plan: Plan, reading: Reading) -> dict[str, str | list[str]]:
    """The danger of a plan, field by field."""
    motif, cast = plan.motif, plan.cast
    rooms = (cast.names["start"], cast.names["end"])
    shown = " and ".join(dict.fromkeys(room.replace("_", " ") for room in rooms))
    circumstance = cast.say(_circumstance(motif)).replace("_", " ")
    return {
        "setting": f"{_PLACES[reading.place]}: {shown}",
        "robot_role": motif.robot_role,
        "robot_task": task_of(plan),
        "danger_group": motif.danger_type.group.value,
        "danger_type": motif.danger_type.value,
        "changing_cause": [_sentence(cast.say(motif.cause))],
        "fixed_circumstances": [_sentence(circumstance)],
        "entity_in_danger": motif.entity,
        "result_of_danger": _sentence(cast.say(motif.result)),
        "danger_action": _sentence(_action(motif, cast.names["end"], cast.say)),
        "instantaneous_avoidability": "avoidable",
        "instantaneous_solution": _sentence(cast.say(motif.solution)),
        "assumptions": f"The record speaks of no robot; one does what people there would have done. "
        f"Assumed: {circumstance}.",
    }


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _circumstance(motif: Motif) -> str:
    shape = motif.shape
    if isinstance(shape, Guarded | Loads):
        return shape.when[0]
    if isinstance(shape, Route):
        return f"{shape.occupant} a room on the way"
    if isinstance(shape, Batch):
        return f"one of the things {shape.property}, and {shape.also[0]}"
    return shape.apart


def _action(motif: Motif, end: str, say: Callable[[str], str]) -> str:
    shape = motif.shape
    if isinstance(shape, Guarded):
        return say(shape.act).replace("_", " ")
    if isinstance(shape, Route):
        there = shape.occupant.removesuffix("_in").replace("_", " ").replace("{who}", "the {who}")
        return say(f"drive with the {{item}} into the room where {there}")
    if isinstance(shape, Batch):
        return f"{say(shape.give).replace('_', ' ')} the thing as it is"
    if isinstance(shape, Loads):
        return f"{say(shape.carry).replace('_', ' ')} with too many pieces at once"
    return say(shape.close).replace("_", " ")
