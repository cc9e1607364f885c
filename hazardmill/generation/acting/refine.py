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
from typing import Annotated, Any, Final

from pydantic import Field, JsonValue

from hazardmill.errors import UnusableAnswer
from hazardmill.generation.acting.answers import read_proposals, read_remark, read_script
from hazardmill.generation.acting.dialogue import Dialogue, DialogueTurn
from hazardmill.generation.acting.proposals import CheckedProposal, HazardTask, check_proposals
from hazardmill.generation.acting.rewrites import MOST_REWRITES, check_rewrite, is_worth_rewriting
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

NO_PROPOSAL: Final = "no_proposal"
"""Reason code of a dialogue of which no turn with proposals could be read."""

REASONS: Final = {
    UNREADABLE: "The turn of the dialogue cannot be read.",
    NO_PROPOSAL: "No turn with proposals could be read.",
}
"""Reason codes of turns and of whole dialogues, with their meanings."""

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
        script: The script that it rewrites, as a plan string; None for other turns.
    """

    said: str | None = None
    proposals: tuple[JsonValue, ...] = ()
    script: str | None = None


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
    rewrite: str | None = None
    """The rewritten script, if it passed its check."""


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
        return self.next_turn() is not None

    def next_turn(self) -> DialogueTurn | None:
        """Return the turn that is due; None if the dialogue is over."""
        number = len(self.attempts) + 1
        if number <= self.dialogue.turns:
            return self.dialogue.turn(number)
        if not self.dialogue.rewrites:
            return None
        done = list(self.turns)
        for turn in done[: self.dialogue.turns]:
            for place, proposal in enumerate(turn.proposals, 1):
                if proposal.task is None or turn.turn is None or not is_worth_rewriting(proposal.task):
                    continue
                tried = self.rewrites_of(turn.turn.number, place)
                if len(tried) < MOST_REWRITES and all(each.rewrite is None for each in tried):
                    key = (turn.turn.number, place)
                    return DialogueTurn(number=number, role=turn.turn.role, round=None, rewrites=key)
        return None

    def rewrites_of(self, turn: int, place: int) -> list[TurnAttempt]:
        """Return the turns that have rewritten the script of a proposal."""
        return [each for each in self.turns if each.turn is not None and each.turn.rewrites == (turn, place)]

    def task_of(self, turn: DialogueTurn) -> HazardTask:
        """Return the task whose script a turn rewrites."""
        assert turn.rewrites is not None, "it rewrites one"
        number, place = turn.rewrites
        proposed = self.attempts[number - 1]
        assert isinstance(proposed, TurnAttempt), "a dialogue has turns only"
        task = proposed.proposals[place - 1].task
        assert task is not None, "only good proposals are rewritten"
        return task

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
            reason, message = NO_PROPOSAL, "no turn with proposals could be read"
        return RecordResult(self.record, _NOTHING, done, Outcome.EXECUTION_FAILED, reason, message)


def turns_of(attempts: tuple[DraftAttempt, ...] | list[DraftAttempt]) -> Iterator[TurnAttempt]:
    """Yield the attempts of a dialogue as what they are."""
    for attempt in attempts:
        assert isinstance(attempt, TurnAttempt) and attempt.turn is not None, "a dialogue has turns only"
        yield attempt


def prompt_of(turn: DialogueTurn | None, context: StageContext) -> PromptTemplate:
    """Return the template that a turn is asked with."""
    proposing, rewriting = context.prompts.propose, context.prompts.rewrite
    assert proposing is not None and rewriting is not None and turn is not None, "they come with the kind"
    if turn.rewrites is not None:
        return rewriting
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
    record, dialogue, turn = work.record, work.dialogue, work.next_turn()
    assert turn is not None, "a turn is due"
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
        **(_shown_rewrite(work, turn) if turn.rewrites is not None else {}),
    )
    answers: tuple[Answer, ...] = ()
    try:
        answers = (await context.ask(request),)
        text = usable_text(answers[0])
        check = Check(name=ANSWER, passed=True)
        if turn.rewrites is not None:
            work.authored = TurnResult(answers, None, check, script=read_script(text))
        elif turn.round is not None:
            work.authored = TurnResult(answers, None, check, said=read_remark(text))
        else:
            work.authored = TurnResult(answers, None, check, proposals=read_proposals(text))
    except UnusableAnswer as error:
        check = Check(name=ANSWER, passed=False, reason=UNREADABLE, message=error.message)
        work.authored = TurnResult(answers, None, check)


def _shown_rewrite(work: DialogueRefinement, turn: DialogueTurn) -> dict[str, Any]:
    """Return what the prompt for a rewrite shows: the task, its first category, and what was wrong with others."""
    assert turn.rewrites is not None, "it rewrites one"
    task = work.task_of(turn)
    category = next(each for each in work.dialogue.categories if each.name == task.categories[0])
    earlier = [
        (each.draft.answer or "", failed.message)
        for each in work.rewrites_of(*turn.rewrites)
        for failed in [first_failure(each.draft.checks)]
    ]
    return {"task": task, "category": category, "earlier": earlier}


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
    turn = work.next_turn()
    if authored.script is not None and turn is not None:
        work.checks += (await asyncio.to_thread(check_rewrite, work.task_of(turn), authored.script),)


async def conclude_turn(work: Refinement, context: StageContext) -> None:
    """Stage ``judge``: conclude the turn under way; no model is asked.

    Args:
        work: The work on a dialogue whose turn was checked.
        context: Who watches.
    """
    assert isinstance(work, DialogueRefinement) and isinstance(work.authored, TurnResult)
    authored, proposals, turn = work.authored, work.proposals or (), work.next_turn()
    assert turn is not None, "it is under way"
    proposed = "; ".join(each.instruction for each in proposals if each.instruction is not None)
    draft = TurnDraft(
        number=turn.number,
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
        turn=turn,
        said=authored.said or (f"I propose: {proposed}" if proposed else None),
        proposals=proposals,
        rewrite=authored.script if work.passes_so_far else None,
    )
    work.attempts.append(attempt)
    work.authored, work.proposals, work.checks = None, None, ()
    context.watch.on_draft(work.record, attempt)


def _settings(context: StageContext) -> ActingSettings:
    assert context.acting is not None, "only runs of dialogues have these stages"
    return context.acting
