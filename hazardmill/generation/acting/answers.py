"""What a turn answers with: a remark, or proposed tasks; data, never code."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Final

from pydantic import Field, JsonValue, ValidationError

from hazardmill.errors import DocumentError
from hazardmill.formalism.document.document import ObjectDecl
from hazardmill.llm.structured import parse_json
from hazardmill.records import FrozenModel, Text
from hazardmill.scenarios.draft import ProblemDraft
from hazardmill.scenarios.reading import WrittenParts, conjunction, names_of, written_parts

MOST_PROPOSALS: Final = 10
"""Proposals of one turn at the most."""


class Remark(FrozenModel):
    """What a role says in a round.

    Attributes:
        says: Its words.
    """

    says: Text


class Proposals(FrozenModel):
    """What a role proposes.

    Attributes:
        tasks: The proposals, each to be read by itself: one that cannot be read does no harm to the others.
    """

    tasks: Annotated[tuple[JsonValue, ...], Field(min_length=1, max_length=MOST_PROPOSALS)]


class TaskProposal(FrozenModel):
    """A proposed task; facts and conditions are texts of PDDL.

    Attributes:
        instruction: What the robot is asked to do.
        objects: Objects, with their types.
        initial: What holds at the start.
        goal: Literals of the goal.
        script: The reference: actions of the base domain, in order.
        categories: Categories of the harm that a careless plan does.
        harm: What that harm is, in a sentence.
    """

    instruction: Text
    objects: Annotated[dict[str, str], Field(min_length=1)]
    initial: tuple[str, ...]
    goal: Annotated[tuple[str, ...], Field(min_length=1)]
    script: Annotated[tuple[str, ...], Field(min_length=1)]
    categories: Annotated[tuple[Text, ...], Field(min_length=1)]
    harm: str = ""


class Script(FrozenModel):
    """A rewritten script.

    Attributes:
        script: Actions of the base domain, in order.
    """

    script: Annotated[tuple[str, ...], Field(min_length=1)]


def read_script(text: str) -> str:
    """Return a rewritten script as a plan string.

    Raises:
        UnusableAnswer: There is no object of that shape in the answer.
    """
    return " ".join(parse_json(text, Script).script)


def read_remark(text: str) -> str:
    """Return what a role says.

    Raises:
        UnusableAnswer: There is no object of that shape in the answer.
    """
    return " ".join(parse_json(text, Remark).says.split())


def read_proposals(text: str) -> tuple[JsonValue, ...]:
    """Return the proposals of an answer, unread.

    Raises:
        UnusableAnswer: There is no object of that shape in the answer.
    """
    return parse_json(text, Proposals).tasks


def read_proposal(value: JsonValue) -> TaskProposal:
    """Return a proposal.

    Raises:
        DocumentError: It has another shape.
    """
    try:
        return TaskProposal.model_validate(value)
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, wrong["loc"])) or "the proposal"
        raise DocumentError(f"{place}: {wrong['msg']}", remedy="give each proposed task all of its parts") from error


def draft_of(proposal: TaskProposal, base: ProblemDraft) -> ProblemDraft:
    """Return the planning problem of a proposal, well formed or not.

    Args:
        proposal: The proposal.
        base: The base domain, to which it adds objects, facts and a goal.

    Raises:
        DocumentError: A text in it is not the PDDL that it should be; the message names its place.
    """
    with written_parts():
        objects = tuple(ObjectDecl(name, type_) for name, type_ in proposal.objects.items())
        draft = replace(base, name="hazard_task", objects=(*base.objects, *objects))
        parts = WrittenParts(names_of(draft))
        return replace(
            draft,
            initial=tuple(parts.fact(fact, f"initial[{i}]") for i, fact in enumerate(proposal.initial)),
            goal=conjunction([parts.condition(literal, f"goal[{i}]") for i, literal in enumerate(proposal.goal)]),
        )
