"""Answers an extract prompt: a danger formalization, or why there is none."""

from __future__ import annotations

import json
from typing import Final

from hazardmill.testing.offline_author.choosing import DeclinedRecord, PatternChoice, choose
from hazardmill.testing.offline_author.composing import compose
from hazardmill.testing.offline_author.draws import Draws
from hazardmill.testing.offline_author.prompt import PromptBlocks

TRUNCATED_SHARE: Final = 0.07
"""Share of records whose first extraction ends in the middle of the JSON; the repair turn fixes it."""
PROSE_SHARE: Final = 0.1
"""Share of records whose extraction has a sentence before and after the JSON."""


def extract(prompt: PromptBlocks, record_hash: str, sample: int) -> str:
    """Return the answer to an extract prompt; some first answers are cut off or wrapped in prose.

    Args:
        prompt: The blocks of the conversation.
        record_hash: Content hash of the record; decides all choices.
        sample: Number of the sample.
    """
    chosen = choose(prompt.record or "\n".join(prompt.texts), Draws(record_hash, "plan"))
    if isinstance(chosen, DeclinedRecord):
        text = json.dumps({"no_danger": _sentence(chosen.reason), "decline_reason": chosen.code})
    else:
        text = json.dumps({"danger": formalization(chosen, Draws(record_hash, "plan", sample, 0))})
    draws = Draws(record_hash, "extract", sample)
    if prompt.is_repair:
        return text
    if draws.chance("truncated", TRUNCATED_SHARE):
        return text[: len(text) * 2 // 3]
    if draws.chance("prose", PROSE_SHARE):
        return f"Here is what I make of the record:\n\n```json\n{text}\n```\n\nI can say more about it if you wish."
    return text


def formalization(plan: PatternChoice, draws: Draws) -> dict[str, str | list[str]]:
    """Return the danger formalization of a plan, field by field.

    Args:
        plan: The pattern and names for the record.
        draws: Those of the task as intended.
    """
    pattern, say = plan.pattern, plan.say
    fixed = [name.replace("_", " ") for name in compose(pattern, plan.names, draws).fixed]
    return {
        "setting": say("a house: {here} and {there}"),
        "robot_role": "household robot",
        "robot_task": _sentence(say(pattern.task)),
        "danger_group": pattern.type.group.value,
        "danger_type": pattern.type.value,
        "changing_cause": [_sentence(say(pattern.cause))],
        "fixed_circumstances": [_sentence(text) for text in fixed],
        "entity_in_danger": pattern.entity,
        "result_of_danger": _sentence(say(pattern.result)),
        "danger_action": _sentence(say(pattern.act).replace("_", " ")),
        "instantaneous_avoidability": "avoidable",
        "instantaneous_solution": _sentence(say(pattern.solution)),
        "assumptions": f"The record speaks of no robot; one does what people there would. Assumed: {fixed[0]}.",
    }


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
