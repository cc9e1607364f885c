"""The loop that ties the stages together: from a record to its one outcome, with every draft on the way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hazardmill.formalism.document.document import Document
from hazardmill.generation.author import author
from hazardmill.generation.context import StageContext, add_costs, total_usd
from hazardmill.generation.execute import CHECKS, Execution, execute
from hazardmill.generation.extract import ExtractResult, RejectedDanger, extract
from hazardmill.generation.formalization import NAME as FORMALIZATION
from hazardmill.generation.formalization import formalization_check
from hazardmill.generation.judge import formalization_faults, judge
from hazardmill.llm.prompts import PromptTemplate
from hazardmill.llm.requests import Answer
from hazardmill.records import MAX_DRAFTS, Check, Danger, Draft, Outcome, Record, Round


@dataclass(frozen=True)
class DraftAttempt:
    """One draft, with the answers it used and the result of executing it.

    Attributes:
        execution: The result; null if the answer contained no code.
        judge_answers: The judge's answers; empty if the judge was not asked.
    """

    draft: Draft
    execution: Execution | None
    author_answers: tuple[Answer, ...]
    """The author's one answer; empty if the request was declined."""
    judge_answers: tuple[Answer, ...]

    @property
    def answers(self) -> tuple[Answer, ...]:
        """All answers that the draft used."""
        return (*self.author_answers, *self.judge_answers)

    @property
    def usd(self) -> float | None:
        """Cost of the draft's requests in US dollars; null if one is unknown."""
        judged = any(check.name == "judge" and check.passed is not None for check in self.draft.checks)
        return add_costs(total_usd(self.author_answers), total_usd(self.judge_answers) if judged else 0.0)


@dataclass(frozen=True)
class RecordResult:
    """What became of one record, before comparison with the tasks of other records.

    Attributes:
        attempts: The drafts, in order.
        outcome: Never ``duplicate``: that is decided later.
        reason: Reason code of the outcome; null for an accepted record.
        message: What happened; null for an accepted record.
    """

    record: Record
    extraction: ExtractResult
    attempts: tuple[DraftAttempt, ...]
    outcome: Outcome
    reason: str | None
    message: str | None

    @property
    def accepted(self) -> DraftAttempt | None:
        """The draft that passed every check; null if none did."""
        return self.attempts[-1] if self.outcome is Outcome.ACCEPTED else None

    @property
    def usd(self) -> float | None:
        """Cost of all requests for the record in US dollars, each counted once; null if one is unknown."""
        parts = [total_usd(self.extraction.answers), *(attempt.usd for attempt in self.attempts)]
        if None in parts:
            return None
        # A draft that came back unchanged shares the judge's earlier answers: count each answer once.
        drafted = (answer for attempt in self.attempts for answer in attempt.answers)
        return total_usd(tuple({answer.identity: answer for answer in (*self.extraction.answers, *drafted)}.values()))


async def refine(record: Record, context: StageContext) -> RecordResult:
    """Take one record through extraction and up to ``MAX_DRAFTS`` drafts.

    If a judge rejects the danger itself, extraction is asked once for another one, and the remaining drafts are about
    that.

    Args:
        record: The record.
        context: Client, prompts, models, jail and limits.

    Returns:
        The record's outcome with all drafts; whether its task is a duplicate is decided later.

    Raises:
        ProviderError: The provider cannot be asked at all; the record stays pending.
    """
    context.watch.on_record(record)
    extraction = await extract(record, context)
    context.watch.on_extraction(record, extraction)
    attempts: list[DraftAttempt] = []
    while extraction.danger is not None and len(attempts) < MAX_DRAFTS:
        of_round = [attempt.draft for attempt in attempts if attempt.draft.round == extraction.round]
        attempt = await _attempt(record, extraction.danger, len(attempts) + 1, extraction.round, of_round, context)
        context.watch.on_draft(record, attempt)
        if attempt.draft.accepted:
            return RecordResult(record, extraction, (*attempts, attempt), Outcome.ACCEPTED, None, None)
        following = await _following(record, extraction, attempt.draft, context)
        if following.round != extraction.round:
            attempt = replace(attempt, draft=attempt.draft.model_copy(update={"feedback": None}))  # nobody will read it
            context.watch.on_extraction(record, following)
        attempts.append(attempt)
        extraction = following
    done = tuple(attempts)
    if extraction.error is not None:
        return RecordResult(record, extraction, done, Outcome.EXTRACTION_FAILED, "unusable_answer", extraction.error)
    if extraction.danger is None:
        return RecordResult(
            record, extraction, done, Outcome.NO_DANGER, extraction.decline_reason, extraction.no_danger
        )
    failed = first_failure(done[-1].draft.checks)
    outcome = Outcome.QUALITY_FAILED if failed.name == "judge" else Outcome.EXECUTION_FAILED
    return RecordResult(record, extraction, done, outcome, failed.reason, failed.message)


async def _following(record: Record, extraction: ExtractResult, draft: Draft, context: StageContext) -> ExtractResult:
    """Return the extraction to continue with: a new danger, asked for once per record, if a judge rejected this one."""
    faults = [fault for check in draft.checks for fault in formalization_faults(check)]
    if not faults or extraction.danger is None or extraction.sent_back is not None or draft.number == MAX_DRAFTS:
        return extraction
    sent_back = RejectedDanger(extraction.danger, draft.number, tuple(faults))
    again = await extract(record, context, sent_back)
    answers = (*extraction.answers, *again.answers)
    if again.error is not None or again.danger == extraction.danger:
        # Keep the first danger; the author gets the usual feedback.
        return replace(extraction, answers=answers, sent_back=sent_back)
    return replace(again, answers=answers)


async def _attempt(
    record: Record, danger: Danger, number: int, round_: Round, earlier: Sequence[Draft], context: StageContext
) -> DraftAttempt:
    authored = await author(record, danger, number, earlier, context, round_)
    checks = [authored.check]
    execution: Execution | None = None
    judge_answers: tuple[Answer, ...] = ()
    if authored.code is None:
        checks += [Check(name=check.name, passed=None) for check in CHECKS]
    else:
        unavoidable = danger.instantaneous_avoidability == "unavoidable"
        execution = await execute(authored.code, context.jail, context.options.search_limit, unavoidable=unavoidable)
        checks += execution.checks
    formalized = Check(name=FORMALIZATION, passed=None)
    if execution is not None and execution.document is not None:
        # Checked even if the proofs failed, so that the author gets both findings at once.
        formalized = formalization_check(danger.changing_cause, danger.fixed_circumstances, execution.document)
    checks.append(formalized)
    judged = Check(name="judge", passed=None)
    if authored.code is not None and execution is not None and execution.passed and formalized.passed:
        assert execution.document is not None and execution.certificate is not None  # what passed has both
        said = _earlier_judgements(earlier, execution.document)
        result = await judge(record, danger, number, execution.document, execution.certificate, context, said, round_)
        judged, judge_answers = result.check, result.answers
    checks.append(judged)
    accepted = all(check.passed for check in checks)
    feedback = None if accepted or number == MAX_DRAFTS else render_feedback(number, checks, context.prompts.feedback)
    document = execution.document if execution else None
    draft = Draft(
        number=number,
        round=round_,
        answer=authored.answers[0].text if authored.answers else None,
        code=authored.code,
        checks=tuple(checks),
        feedback=feedback,
        document=document.to_json() if document else None,
        identities=tuple(answer.identity for answer in (*authored.answers, *judge_answers)),
    )
    return DraftAttempt(draft, execution, authored.answers, judge_answers)


def _earlier_judgements(earlier: Iterable[Draft], document: Document) -> list[str]:
    """Return what judges said about earlier drafts.

    Unchanged drafts are skipped, so that their earlier judgement is reused.
    """
    unchanged = document.to_json()
    said = (draft.judged_feedback for draft in earlier if draft.document != unchanged)
    return [text for text in said if text]


def first_failure(checks: tuple[Check, ...]) -> Check:
    """Return the first check that failed.

    Args:
        checks: The checks of a draft that was not accepted.

    Raises:
        StopIteration: No check failed.
    """
    return next(check for check in checks if check.passed is False)


def render_feedback(number: int, checks: Iterable[Check], template: PromptTemplate) -> str:
    """Return the feedback on a draft for the next one: check, reason, evidence and suggested fix of each finding.

    Args:
        number: Number of the draft.
        checks: All of its checks; only the failed ones are shown.
        template: The template ``feedback``.
    """
    messages = template.render(number=number, findings=list(_findings(checks)))
    return "\n".join(message.content for message in messages).strip()


def _findings(checks: Iterable[Check]) -> Iterator[dict[str, Any]]:
    for check in checks:
        if check.passed is not False:
            continue
        several = check.details.get("failed")
        for failure in several or [{"reason": check.reason, "message": check.message, "mend": check.mend}]:
            yield {
                "check": check.name,
                "reason": failure["reason"],
                "message": failure["message"],
                "mend": failure["mend"],
                "trace": _trace(failure.get("witness") or {}),
            }


def _trace(witness: dict[str, Any]) -> list[str]:
    return [f"{name}: {value}" for name, value in witness.items() if value not in (None, [], "")]
