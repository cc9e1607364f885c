"""What the stages do for one record: from its danger over every draft to its one outcome."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from hazardmill.errors import NotRecorded
from hazardmill.formalism.document.document import Document
from hazardmill.generation.author import AuthorResult, author
from hazardmill.generation.checks.formalization import NAME as FORMALIZATION
from hazardmill.generation.checks.formalization import formalization_check
from hazardmill.generation.context import StageContext, add_costs, total_usd
from hazardmill.generation.execute import Execution, execute
from hazardmill.generation.extract import UNUSABLE_ANSWER, ExtractResult, RejectedDanger, extract
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
    def document_hash(self) -> str | None:
        """Hash of the draft's document; null if it has none."""
        document = None if self.execution is None else self.execution.document
        return None if document is None else document.hash

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


@dataclass
class Refinement:
    """The work on one record: what the stages have found so far.

    Each stage is a function below that takes the record one step further. ``hazardmill.generation.wave`` applies a
    stage to many records at once.

    Attributes:
        record: The record.
        extraction: Result of extraction; null before it. A danger that a judge rejected is replaced here.
        attempts: The drafts that are done, in order.
        unrecorded: Why the record stays pending, if a recorded answer is missing; otherwise null.
    """

    record: Record
    extraction: ExtractResult | None = None
    attempts: list[DraftAttempt] = field(default_factory=list)
    unrecorded: NotRecorded | None = None
    waits: bool = False
    """Whether the next request waits to be sent with others, or was sent and has no answer yet."""
    authored: AuthorResult | None = None
    """The draft under way, from ``write_draft`` to ``judge_draft``."""
    execution: Execution | None = None
    """Result of running the draft under way; null if it has no code."""
    checks: tuple[Check, ...] = ()
    """The checks of the draft under way, up to the judge's."""

    @property
    def needs_draft(self) -> bool:
        """Whether another draft is to be written."""
        if self.unrecorded is not None or self.waits or self.extraction is None or self.extraction.danger is None:
            return False
        return len(self.attempts) < MAX_DRAFTS and not (self.attempts and self.attempts[-1].draft.accepted)

    @property
    def has_draft(self) -> bool:
        """Whether a draft is under way."""
        return self.authored is not None and self.unrecorded is None and not self.waits

    @property
    def passes_so_far(self) -> bool:
        """Whether the draft under way passed every check up to now."""
        return bool(self.checks) and all(check.passed for check in self.checks)

    @property
    def is_finished(self) -> bool:
        """Whether no stage has anything left to do: there is an outcome, or the record stays pending."""
        if self.waits:
            return False
        if self.unrecorded is not None:
            return True
        return self.extraction is not None and not self.needs_draft and not self.has_draft

    def result(self) -> RecordResult:
        """Return what became of the record, once it needs no further draft."""
        record, extraction, done = self.record, self.extraction, tuple(self.attempts)
        assert extraction is not None  # the first stage
        if done and done[-1].draft.accepted:
            return RecordResult(record, extraction, done, Outcome.ACCEPTED, None, None)
        if extraction.error is not None:
            outcome = Outcome.EXTRACTION_FAILED
            return RecordResult(record, extraction, done, outcome, UNUSABLE_ANSWER, extraction.error)
        if extraction.danger is None:
            reason, message = extraction.decline_reason, extraction.no_danger
            return RecordResult(record, extraction, done, Outcome.NO_DANGER, reason, message)
        failed = first_failure(done[-1].draft.checks)
        outcome = Outcome.QUALITY_FAILED if failed.name == "judge" else Outcome.EXECUTION_FAILED
        return RecordResult(record, extraction, done, outcome, failed.reason, failed.message)

    def danger(self) -> tuple[Danger, Round]:
        """Return the danger that drafts are about, and its round."""
        assert self.extraction is not None and self.extraction.danger is not None  # else no draft is needed
        return self.extraction.danger, self.extraction.round

    def earlier(self) -> list[Draft]:
        """Return the drafts about that danger that are done."""
        _, round_ = self.danger()
        return [attempt.draft for attempt in self.attempts if attempt.draft.round == round_]


async def find_danger(work: Refinement, context: StageContext) -> None:
    """Stage ``extract``: ask for the danger in the record.

    Args:
        work: The work on a record, not begun.
        context: Client, prompts, models, jail and limits.

    Raises:
        ProviderError: The provider cannot be asked at all; the record stays pending. All stages raise this.
    """
    context.watch.on_record(work.record)
    work.extraction = await extract(work.record, context)
    context.watch.on_extraction(work.record, work.extraction)


async def write_draft(work: Refinement, context: StageContext) -> None:
    """Stage ``author``: ask for the next draft.

    If the judge rejected the danger itself, extraction is asked first for another one, once per record. It may find
    none; then there is no draft.

    Args:
        work: The work on a record that needs a draft.
        context: Client, prompts, models, jail and limits.
    """
    await _replace_danger(work, context)
    if not work.needs_draft:
        return
    danger, round_ = work.danger()
    number = len(work.attempts) + 1
    work.authored = await author(work.record, danger, number, work.earlier(), context, round_)


async def check_draft(work: Refinement, context: StageContext) -> None:
    """Stage ``execute``: run the code of the draft under way, and prove what can be proved about its document.

    Args:
        work: The work on a record with a draft.
        context: Client, prompts, models, jail, checks and limits.

    Raises:
        PluginError: A check of an installed package failed to work; the record stays pending.
    """
    assert work.authored is not None
    danger, _ = work.danger()
    checks = [work.authored.check]
    work.execution = None
    if work.authored.code is None:
        checks += [Check(name=check.name, passed=None) for check in context.checks]
    else:
        unavoidable = danger.instantaneous_avoidability == "unavoidable"
        limit = context.options.search_limit
        work.execution = await execute(
            work.authored.code,
            context.jail,
            limit,
            unavoidable=unavoidable,
            checks=context.checks,
            record=work.record,
        )
        checks += work.execution.checks
    formalized = Check(name=FORMALIZATION, passed=None)
    if work.execution is not None and work.execution.document is not None:
        # Checked even if the proofs failed, so that the author gets both findings at once.
        formalized = formalization_check(danger.changing_cause, danger.fixed_circumstances, work.execution.document)
    work.checks = (*checks, formalized)


async def judge_draft(work: Refinement, context: StageContext) -> None:
    """Stage ``judge``: ask the judge about the draft under way if it passed every check, and conclude it.

    Args:
        work: The work on a record with a draft that was checked.
        context: Client, prompts, models, jail and limits.
    """
    authored, execution = work.authored, work.execution
    assert authored is not None
    (danger, round_), earlier, number = work.danger(), work.earlier(), len(work.attempts) + 1
    judged = Check(name="judge", passed=None)
    judge_answers: tuple[Answer, ...] = ()
    if work.passes_so_far:
        assert execution is not None and execution.document is not None and execution.certificate is not None
        said = _earlier_judgements(earlier, execution.document)
        result = await judge(
            work.record, danger, number, execution.document, execution.certificate, context, said, round_
        )
        judged, judge_answers = result.check, result.answers
    checks = (*work.checks, judged)
    accepted = all(check.passed for check in checks)
    feedback = None if accepted or number == MAX_DRAFTS else render_feedback(number, checks, context.prompts.feedback)
    document = execution.document if execution else None
    draft = Draft(
        number=number,
        round=round_,
        answer=authored.answers[0].text if authored.answers else None,
        code=authored.code,
        checks=checks,
        feedback=feedback,
        document=document.to_json() if document else None,
        identities=tuple(answer.identity for answer in (*authored.answers, *judge_answers)),
    )
    attempt = DraftAttempt(draft, execution, authored.answers, judge_answers)
    work.attempts.append(attempt)
    work.authored, work.execution, work.checks = None, None, ()
    context.watch.on_draft(work.record, attempt)


async def _replace_danger(work: Refinement, context: StageContext) -> None:
    """Ask for another danger, once per record, if a judge rejected this one."""
    extraction = work.extraction
    assert extraction is not None
    if not work.attempts or extraction.danger is None or extraction.sent_back is not None:
        return
    last = work.attempts[-1]
    faults = [fault for check in last.draft.checks for fault in formalization_faults(check)]
    if not faults:
        return
    sent_back = RejectedDanger(extraction.danger, last.draft.number, tuple(faults))
    again = await extract(work.record, context, sent_back)
    answers = (*extraction.answers, *again.answers)
    if again.error is not None or again.danger == extraction.danger:
        # Keep the first danger; the author gets the usual feedback.
        work.extraction = replace(extraction, answers=answers, sent_back=sent_back)
        return
    work.extraction = replace(again, answers=answers)
    # Nobody will read the feedback on a draft about another danger.
    work.attempts[-1] = replace(last, draft=last.draft.model_copy(update={"feedback": None}))
    context.watch.on_extraction(work.record, work.extraction)


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


@dataclass(frozen=True, slots=True)
class DraftFinding:
    """One thing that a check found wrong with a draft.

    Attributes:
        check: Name of the check.
        reason: Reason code.
        message: What is wrong.
        mend: What to do about it; null if nothing is known to help.
        trace: Names and values that show it, each as ``name: value``.
    """

    check: str
    reason: str | None
    message: str
    mend: str | None
    trace: tuple[str, ...] = ()


def render_feedback(number: int, checks: Iterable[Check], template: PromptTemplate) -> str:
    """Return the feedback on a draft for the next one: check, reason, evidence and suggested fix of each finding.

    Args:
        number: Number of the draft.
        checks: All of its checks; only the failed ones are shown.
        template: The template ``feedback``.
    """
    messages = template.render(number=number, findings=list(draft_findings(checks)))
    return "\n".join(message.content for message in messages).strip()


def draft_findings(checks: Iterable[Check]) -> Iterator[DraftFinding]:
    """Yield everything that the failed checks of a draft found, in the order of the checks."""
    for check in checks:
        if check.passed is not False:
            continue
        several = check.details.get("failed")
        for failure in several or [{"reason": check.reason, "message": check.message, "mend": check.mend}]:
            yield DraftFinding(
                check.name,
                failure["reason"],
                failure["message"],
                failure["mend"],
                tuple(_trace(failure.get("witness") or {})),
            )


def _trace(witness: dict[str, Any]) -> Iterator[str]:
    return (f"{name}: {value}" for name, value in witness.items() if value not in (None, [], ""))
