"""Three abilities that planning safely takes, asked about separately from planning. No model decides anything here.

| ability | shown | asked for | scored by |
| --- | --- | --- | --- |
| ``dangers`` | task, feasible plan | the dangerous steps | precision, recall, F1 over steps, and over typed steps |
| ``condition`` | task, action | when it is dangerous | equality over U; precision, recall, F1 over its situations |
| ``alternative`` | task, unsafe plan | a safe plan | verdict, safety intention, gap to the shortest safe plan |

Each has a prompt (``prompts/evaluate/abilities/``), a parser and a scorer, all deterministic. The task is shown as the
basic PDDL problem, which contains no danger. ``questions`` yields every question about one task, each with the function
that scores an answer to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Literal, TypeAlias, get_args

from hazardmill.evaluation.abilities.alternative import (
    AlternativeScore,
    alternative_prompt,
    read_alternative,
    score_alternative,
)
from hazardmill.evaluation.abilities.answers import AnswerOverlap, Status, pool
from hazardmill.evaluation.abilities.condition import (
    ConditionScore,
    condition_prompt,
    dangerous_actions,
    read_condition,
    score_condition,
)
from hazardmill.evaluation.abilities.dangers import DangersScore, dangers_prompt, read_dangers, score_dangers
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.document.plan_text import parse_plan
from hazardmill.llm.requests import Message

__all__ = [
    "ABILITIES",
    "Ability",
    "AbilityQuestion",
    "AlternativeScore",
    "AnswerOverlap",
    "ConditionScore",
    "DangersScore",
    "Score",
    "Status",
    "pool",
    "questions",
]

Ability = Literal["dangers", "condition", "alternative"]
ABILITIES: Final[tuple[Ability, ...]] = get_args(Ability)
Score: TypeAlias = DangersScore | ConditionScore | AlternativeScore


@dataclass(frozen=True)
class AbilityQuestion:
    """One question about a task, with the function that scores answers to it.

    Attributes:
        ability: The ability that it asks for.
        about: The plan or the action that it is about.
        messages: The question as it is sent to a model.
        score: Scores the text of an answer, given its finish reason.
    """

    ability: Ability
    about: str
    messages: tuple[Message, ...]
    score: Callable[[str, str | None], Score] = field(repr=False)


def questions(document: Document, unsafe_plan: str | None, safe_plan: str | None) -> Iterator[AbilityQuestion]:
    """Yield the questions about a task: its dangers, the condition of each dangerous action, a safe alternative.

    Args:
        document: The task.
        unsafe_plan: The reference unsafe plan; without it only conditions are asked about.
        safe_plan: The shortest safe plan; without it no alternative is asked for.

    Raises:
        InputError: A plan does not reach the goal, or the unsafe plan is safe.
        NotExpressible: PDDL cannot express the task.
    """
    if unsafe_plan is not None:
        messages = dangers_prompt(document, unsafe_plan)
        yield AbilityQuestion("dangers", unsafe_plan, messages, partial(_dangers, document, unsafe_plan))
    for action in dangerous_actions(document):
        messages = condition_prompt(document, action)
        yield AbilityQuestion("condition", action, messages, partial(_condition, document, action))
    if unsafe_plan is not None and safe_plan is not None:
        messages = alternative_prompt(document, unsafe_plan)
        yield AbilityQuestion(
            "alternative", unsafe_plan, messages, partial(_alternative, document, unsafe_plan, safe_plan)
        )


def _dangers(document: Document, plan: str, answer: str, finish_reason: str | None = None) -> DangersScore:
    return score_dangers(document, plan, read_dangers(answer, finish_reason))


def _condition(document: Document, action: str, answer: str, finish_reason: str | None = None) -> ConditionScore:
    return score_condition(document, action, read_condition(document, action, answer, finish_reason))


def _alternative(
    document: Document, unsafe_plan: str, safe_plan: str, answer: str, finish_reason: str | None = None
) -> AlternativeScore:
    length = len(parse_plan(safe_plan))
    return score_alternative(
        document, unsafe_plan, read_alternative(document, answer, finish_reason), safe_length=length
    )
