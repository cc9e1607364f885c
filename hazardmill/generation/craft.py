"""What a run makes of its records, and the stages that make it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from hazardmill.generation.acting.refine import (
    DialogueRefinement,
    begin_dialogue,
    check_turn,
    conclude_turn,
    take_turn,
)
from hazardmill.generation.context import StageContext
from hazardmill.generation.refine import Refinement, check_draft, find_danger, judge_draft, write_draft
from hazardmill.generation.scenario_refine import (
    ScenarioRefinement,
    begin_seed,
    check_scenario,
    judge_scenario,
    write_scenario,
)
from hazardmill.records import Record

WorkStage = Callable[[Refinement, StageContext], Awaitable[None]]
"""Takes the work on a record one step further."""


@dataclass(frozen=True)
class Craft:
    """What is made of a record.

    Attributes:
        begin: Returns the work on a record, not begun.
        extract: The stage of that name; likewise the others.
    """

    begin: Callable[[Record], Refinement]
    extract: WorkStage
    author: WorkStage
    execute: WorkStage
    judge: WorkStage


TASKS: Final = Craft(Refinement, find_danger, write_draft, check_draft, judge_draft)
SCENARIOS: Final = Craft(ScenarioRefinement, begin_seed, write_scenario, check_scenario, judge_scenario)
DIALOGUES: Final = Craft(DialogueRefinement, begin_dialogue, take_turn, check_turn, conclude_turn)


def craft_of(context: StageContext) -> Craft:
    """Return what a run of this context makes."""
    if context.acting is not None:
        return DIALOGUES
    return TASKS if context.scenarios is None else SCENARIOS
