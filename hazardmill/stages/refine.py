"""Refine: the loop that ties the stages. A record goes in; its one outcome comes out, with every draft on the way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from hazardmill.llm.prompts import Prompt
from hazardmill.llm.requests import Answer
from hazardmill.records import MAX_DRAFTS, Check, Danger, Draft, Outcome, Record
from hazardmill.stages.author import author
from hazardmill.stages.execute import CHECKS, Execution, execute
from hazardmill.stages.extract import Extraction, extract
from hazardmill.stages.judge import judge
from hazardmill.stages.mill import Mill, added, total_usd


@dataclass(frozen=True)
class Attempt:
    """One draft with the answers it used and what execution made of it."""

    draft: Draft
    execution: Execution | None
    author_answers: tuple[Answer, ...]
    """The author's one answer; none where the request was declined."""
    judge_answers: tuple[Answer, ...]

    @property
    def answers(self) -> tuple[Answer, ...]:
        """All answers the draft used."""
        return (*self.author_answers, *self.judge_answers)

    @property
    def usd(self) -> float | None:
        """Cost of the draft's requests; null if that of one is unknown."""
        judged = any(check.name == "judge" and check.passed is not None for check in self.draft.checks)
        return added(total_usd(self.author_answers), total_usd(self.judge_answers) if judged else 0.0)


@dataclass(frozen=True)
class Milled:
    """What became of one record. ``outcome`` is not yet compared with other records' tasks."""

    record: Record
    extraction: Extraction
    attempts: tuple[Attempt, ...]
    outcome: Outcome
    reason: str | None
    message: str | None

    @property
    def accepted(self) -> Attempt | None:
        """The draft that passed every check."""
        return self.attempts[-1] if self.outcome is Outcome.ACCEPTED else None

    @property
    def usd(self) -> float | None:
        """Cost of all requests for the record, each once; null if that of one is unknown."""
        parts = [total_usd(self.extraction.answers), *(attempt.usd for attempt in self.attempts)]
        if None in parts:
            return None
        # The judge is not asked again about a draft that came back unchanged.
        drafted = (answer for attempt in self.attempts for answer in attempt.answers)
        return total_usd(tuple({answer.identity: answer for answer in (*self.extraction.answers, *drafted)}.values()))


async def refine(record: Record, mill: Mill) -> Milled:
    """Bring one record through extraction and at most five drafts.

    Raises:
        ProviderError: The provider cannot be asked at all; the record stays pending.
    """
    extraction = await extract(record, mill)
    if extraction.error is not None:
        return Milled(record, extraction, (), Outcome.EXTRACTION_FAILED, "unusable_answer", extraction.error)
    if extraction.danger is None:
        return Milled(record, extraction, (), Outcome.NO_DANGER, "no_danger", extraction.no_danger)
    attempts: list[Attempt] = []
    for number in range(1, MAX_DRAFTS + 1):
        previous = attempts[-1].draft if attempts else None
        attempts.append(await _attempt(record, extraction.danger, number, previous, mill))
        if attempts[-1].draft.accepted:
            return Milled(record, extraction, tuple(attempts), Outcome.ACCEPTED, None, None)
    failed = first_failure(attempts[-1].draft.checks)
    outcome = Outcome.QUALITY_FAILED if failed.name == "judge" else Outcome.EXECUTION_FAILED
    return Milled(record, extraction, tuple(attempts), outcome, failed.reason, failed.message)


async def _attempt(record: Record, danger: Danger, number: int, previous: Draft | None, mill: Mill) -> Attempt:
    authored = await author(record, danger, number, previous, mill)
    checks = [authored.check]
    execution: Execution | None = None
    judge_answers: tuple[Answer, ...] = ()
    if authored.code is None:
        checks += [Check(name=name, passed=None) for name in CHECKS]
    else:
        execution = await execute(
            authored.code, mill.jail, mill.search_limit, unavoidable=danger.instantaneous_avoidability == "unavoidable"
        )
        checks += execution.checks
    judged = Check(name="judge", passed=None)
    if authored.code is not None and execution is not None and execution.passed:
        assert execution.document is not None and execution.certificate is not None  # what passed has both
        result = await judge(record, danger, number, execution.document, execution.certificate, mill)
        judged, judge_answers = result.check, result.answers
    checks.append(judged)
    accepted = all(check.passed for check in checks)
    feedback = None if accepted or number == MAX_DRAFTS else render_feedback(number, checks, mill.prompts.feedback)
    document = execution.document if execution else None
    draft = Draft(
        number=number,
        answer=authored.answers[0].text if authored.answers else None,
        code=authored.code,
        checks=tuple(checks),
        feedback=feedback,
        document=document.to_json() if document else None,
        identities=tuple(answer.identity for answer in (*authored.answers, *judge_answers)),
    )
    return Attempt(draft, execution, authored.answers, judge_answers)


def first_failure(checks: tuple[Check, ...]) -> Check:
    """The first check that failed."""
    return next(check for check in checks if check.passed is False)


def render_feedback(number: int, checks: Iterable[Check], template: Prompt) -> str:
    """What the next draft is told: check, reason, evidence and mend of everything found wrong."""
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
