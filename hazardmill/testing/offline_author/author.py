"""Answers an author prompt: a task's code or outline, with the faults planned for the record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hazardmill.records import MAX_DRAFTS
from hazardmill.testing.offline_author.choosing import PatternChoice, recover
from hazardmill.testing.offline_author.composing import TaskDraft, compose
from hazardmill.testing.offline_author.draws import Draws
from hazardmill.testing.offline_author.faults import AuthorFault, answer_of, fault_plan, named_checks
from hazardmill.testing.offline_author.prompt import PromptBlocks

NO_DANGER_GIVEN = "I was shown no danger formalization, so there is no task to write."


@dataclass(frozen=True)
class Version:
    """One version that the author may write for a record: a composition and the fault in it.

    Attributes:
        code: The task as composed.
        fault: The fault; null for a correct version.
    """

    code: TaskDraft
    fault: AuthorFault | None


def author(prompt: PromptBlocks, record_hash: str, sample: int, draft: int) -> str:
    """Return the answer to an author prompt.

    The drafts of a record follow one plan: first the faulty versions in order, then the task as intended. The author
    moves on from a version only if the feedback names its fault. If a version without a fault comes back, it composes
    the task anew.

    Args:
        prompt: The blocks of the conversation.
        record_hash: Content hash of the record; decides all choices.
        sample: Number of the sample.
        draft: Number of the draft, from 1.
    """
    danger = prompt.danger
    if danger is None:
        return NO_DANGER_GIVEN
    text = prompt.record if prompt.record is not None else _as_record(danger)
    fixed = Draws(record_hash, "plan")
    plan = recover(text, fixed, str(danger.get("danger_type")), str(danger.get("robot_task")))
    if plan is None:
        return f"There is no pattern for a danger of type {danger.get('danger_type')}."
    versions = versions_of(plan, record_hash, sample, alternatives=bool(prompt.feedback))
    version = versions[_place(versions, prompt, draft)]
    fault = version.fault
    if prompt.is_repair and fault and (fault.in_answer or fault.name == "syntax_error"):
        fault = None
    return answer_of(version.code, fault, outline=prompt.wants_outline)[1]


def versions_of(plan: PatternChoice, record_hash: str, sample: int = 0, *, alternatives: bool = False) -> list[Version]:
    """Return the versions that the author may write for a record, in order.

    Args:
        plan: The pattern and names for the record.
        record_hash: Content hash of the record.
        sample: Number of the sample.
        alternatives: Whether to append further compositions of the same plan.
    """

    def compose_variant(variant: int) -> TaskDraft:
        return compose(plan.pattern, plan.names, Draws(record_hash, "plan", sample, variant))

    meant = compose_variant(0)
    faults = fault_plan(Draws(record_hash, "plan", sample).under("faults"))
    others = [Version(compose_variant(variant), None) for variant in range(1, MAX_DRAFTS)] if alternatives else []
    return [*(Version(meant, fault) for fault in faults), Version(meant, None), *others]


def _place(versions: list[Version], prompt: PromptBlocks, draft: int) -> int:
    """Index of the version to write now."""
    if not prompt.feedback:
        return 0
    reasons = named_checks(prompt.feedback)
    place = _find_version(versions, prompt.previous_draft or "", prompt.wants_outline)
    if place is None:
        return _after_illegible(versions, reasons, draft)
    fault = versions[place].fault
    if fault and not fault.reasons & reasons:
        return place
    return min(place + 1, len(versions) - 1)


def _after_illegible(versions: list[Version], reasons: frozenset[str], draft: int) -> int:
    """Index to continue from if the earlier draft did not come back: after the fault that may have broken it."""
    named_faults = [
        i
        for i, version in enumerate(versions[: max(draft - 1, 1)])
        if version.fault and version.fault.in_answer and version.fault.reasons & reasons
    ]
    return named_faults[-1] + 1 if named_faults else 0


def _find_version(versions: list[Version], previous: str, outline: bool) -> int | None:
    wanted = previous.strip()
    if not wanted:
        return None
    for i, version in enumerate(versions):
        text, answer = answer_of(version.code, version.fault, outline=outline)
        if version.fault and version.fault.in_answer:
            if wanted == answer.strip() or (wanted in answer and wanted != text.strip()):
                return i
        elif wanted == text.strip():
            return i
    return None


def _as_record(danger: dict[str, Any]) -> str:
    return "\n".join(f"{key.replace('_', ' ')}: {value}" for key, value in danger.items())
