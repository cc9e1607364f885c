"""What the stages do for one dialogue: a turn is asked for, its proposals are checked, and the next turn is due.

It is the work of ``refine`` on another thing. Nothing is extracted, and nobody judges: ``author`` asks for a turn,
``execute`` checks the tasks that it proposes, and ``judge`` only concludes it. Whether a task is new is decided when
the dialogue is committed, because that depends on all dialogues before it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Final

from pydantic import Field, JsonValue

from hazardmill.errors import UnusableAnswer
from hazardmill.generation.acting.answers import read_proposals, read_remark
from hazardmill.generation.acting.dialogue import Dialogue, DialogueTurn
from hazardmill.generation.acting.proposals import CheckedProposal, check_proposals
from hazardmill.generation.author import AuthorResult
from hazardmill.generation.context import ActingSettings, StageContext
from hazardmill.generation.extract import ExtractResult
from hazardmill.generation.refine import DraftAttempt, RecordResult, Refinement, first_failure
from hazardmill.llm.prompts import PromptTemplate
from hazardmill.llm.requests import Answer
from hazardmill.llm.structured import usable_text
from hazardmill.records import Check, Draft, Outcome

ANSWER: Final = "answer"
"""Name of the check whether a turn can be read."""

UNREADABLE: Final = "unreadable"
"""Reason code of a turn that cannot be read: the next one does not see it."""

_NOTHING: Final = ExtractResult(())


class TurnDraft(Draft):
    """A turn in the form of a draft; its number has no limit of drafts."""

    number: Annotated[int, Field(ge=1)]


@dataclass(frozen=True)
class TurnResult(AuthorResult):
    """The answer of a turn.

    Attributes:
        said: What the next turns are shown; None if it cannot be read, or proposes tasks that are not checked yet.
        proposals: The tasks that it proposes, unread.
    """

    said: str | None = None
    proposals: tuple[JsonValue, ...] = ()


@dataclass(frozen=True)
class TurnAttempt(DraftAttempt):
    """A turn that is done.

    Attributes:
        turn: Who spoke, and when.
        said: What the next turns are shown of it; None if it cannot be read.
        proposals: The tasks that it proposes, checked.
    """

    turn: DialogueTurn | None = None
    said: str | None = None
    proposals: tuple[CheckedProposal, ...] = ()


@dataclass
class DialogueRefinement(Refinement):
    """The work on one dialogue.

    Attributes:
        proposals: The proposals of the turn under way; None before they are checked.
    """

    proposals: tuple[CheckedProposal, ...] | None = field(default=None)

    @cached_property
    def dialogue(self) -> Dialogue:
        """What the dialogue is about."""
        return Dialogue.of(self.record)

    @property
    def turns(self) -> Iterator[TurnAttempt]:
        """The turns that are done."""
        return turns_of(self.attempts)

    @property
    def needs_draft(self) -> bool:
        """Whether another turn is due."""
        if self.unrecorded is not None or self.waits or self.extraction is None:
            return False
        return len(self.attempts) < self.dialogue.turns

    def result(self) -> RecordResult:
        """Return what became of the dialogue, once all turns are done; which tasks are new is decided later."""
        done = tuple(self.attempts)
        checked = [proposal.check for turn in self.turns for proposal in turn.proposals]
        if any(check.passed for check in checked):
            return RecordResult(self.record, _NOTHING, done, Outcome.ACCEPTED, None, None)
        if checked:
            failed = first_failure(tuple(checked))
            reason, message = failed.reason, failed.message
        else:
            reason, message = "no_proposal", "no turn with proposals could be read"
        return RecordResult(self.record, _NOTHING, done, Outcome.EXECUTION_FAILED, reason, message)


def turns_of(attempts: tuple[DraftAttempt, ...] | list[DraftAttempt]) -> Iterator[TurnAttempt]:
    """Yield the attempts of a dialogue as what they are."""
    for attempt in attempts:
        assert isinstance(attempt, TurnAttempt) and attempt.turn is not None, "a dialogue has turns only"
        yield attempt


def prompt_of(turn: DialogueTurn | None, context: StageContext) -> PromptTemplate:
    """Return the template that a turn is asked with."""
    proposing = context.prompts.propose
    assert proposing is not None and turn is not None, "it comes with the kind"
    return context.prompts.author if turn.round is not None else proposing


async def begin_dialogue(work: Refinement, context: StageContext) -> None:
    """Stage ``extract``: nothing is extracted from seeds, because the roles read them."""
    context.watch.on_record(work.record)
    work.extraction = _NOTHING


async def take_turn(work: Refinement, context: StageContext) -> None:
    """Stage ``author``: ask for the next turn of the dialogue.

    Args:
        work: The work on a dialogue whose next turn is due.
        context: Client, prompts and models.

    Raises:
        ProviderError: The provider cannot be asked at all. An answer that cannot be read fails the check instead.
    """
    assert isinstance(work, DialogueRefinement)
    record, dialogue = work.record, work.dialogue
    turn = dialogue.turn(len(work.attempts) + 1)
    request = context.request(
        "author",
        prompt_of(turn, context),
        record,
        draft=turn.number,
        product="hazard_task",
        base=_settings(context).text,
        dialogue=dialogue,
        turn=turn,
        said=[(each.turn.role.name, each.said) for each in work.turns if each.turn is not None and each.said],
    )
    answers: tuple[Answer, ...] = ()
    try:
        answers = (await context.ask(request),)
        text = usable_text(answers[0])
        if turn.round is not None:
            work.authored = TurnResult(answers, None, Check(name=ANSWER, passed=True), said=read_remark(text))
        else:
            proposals = read_proposals(text)
            work.authored = TurnResult(answers, None, Check(name=ANSWER, passed=True), proposals=proposals)
    except UnusableAnswer as error:
        check = Check(name=ANSWER, passed=False, reason=UNREADABLE, message=error.message)
        work.authored = TurnResult(answers, None, check)


async def check_turn(work: Refinement, context: StageContext) -> None:
    """Stage ``execute``: check the tasks that the turn under way proposes.

    Args:
        work: The work on a dialogue with a turn under way.
        context: The base domain, the map and the limits of the search.
    """
    assert isinstance(work, DialogueRefinement) and isinstance(work.authored, TurnResult)
    settings, authored = _settings(context), work.authored
    work.proposals = ()
    if authored.proposals:
        work.proposals = await asyncio.to_thread(
            check_proposals, authored.proposals, settings.base, settings.hazards, context.options.search_limit
        )
    work.checks = (authored.check, *(each.check for each in work.proposals))


async def conclude_turn(work: Refinement, context: StageContext) -> None:
    """Stage ``judge``: conclude the turn under way; no model is asked.

    Args:
        work: The work on a dialogue whose turn was checked.
        context: Who watches.
    """
    assert isinstance(work, DialogueRefinement) and isinstance(work.authored, TurnResult)
    authored, proposals = work.authored, work.proposals or ()
    number = len(work.attempts) + 1
    proposed = "; ".join(each.instruction for each in proposals if each.instruction is not None)
    draft = TurnDraft(
        number=number,
        answer=authored.answers[0].text if authored.answers else None,
        code=None,
        checks=work.checks,
        feedback=None,
        identities=tuple(answer.identity for answer in authored.answers),
    )
    attempt = TurnAttempt(
        draft,
        None,
        authored.answers,
        (),
        turn=work.dialogue.turn(number),
        said=authored.said or (f"I propose: {proposed}" if proposed else None),
        proposals=proposals,
    )
    work.attempts.append(attempt)
    work.authored, work.proposals, work.checks = None, None, ()
    context.watch.on_draft(work.record, attempt)


def _settings(context: StageContext) -> ActingSettings:
    assert context.acting is not None, "only runs of dialogues have these stages"
    return context.acting
