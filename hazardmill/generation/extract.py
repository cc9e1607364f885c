"""The extract stage: finds the danger formalization in a record, or the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from pydantic import TypeAdapter

from hazardmill.errors import UnusableAnswer
from hazardmill.generation.context import StageContext
from hazardmill.llm.requests import Answer
from hazardmill.llm.structured import ask_structured
from hazardmill.records import Danger, DeclineReason, FrozenModel, NoDanger, Record, Round


class _Found(FrozenModel):
    danger: Danger


_ANSWER: TypeAdapter[_Found | NoDanger] = TypeAdapter(_Found | NoDanger)

UNUSABLE_ANSWER: Final = "unusable_answer"
"""Reason code of a record whose danger could not be read."""

REASONS: Final = {UNUSABLE_ANSWER: "The model gave no answer that can be read, also when asked again."}
"""Reason codes of ``extraction_failed``, with their meanings."""


@dataclass(frozen=True)
class RejectedDanger:
    """A danger that a judge found fault with, and that extraction should replace.

    Attributes:
        danger: The danger.
    """

    danger: Danger
    draft: int
    """Number of the draft that was judged."""
    issues: tuple[dict[str, Any], ...]
    """Reason, message and suggested fix of each issue."""

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object with the same content."""
        danger = self.danger.model_dump(mode="json")
        return {"danger": danger, "draft": self.draft, "issues": list(self.issues)}


@dataclass(frozen=True)
class ExtractResult:
    """The result of extraction. Exactly one of ``danger``, ``no_danger`` and ``error`` is set.

    Attributes:
        answers: All answers, repair turns included.
        no_danger: Why the record holds no danger, in the model's words.
        decline_reason: The code for that reason.
        error: What was wrong with the last answer, if none was usable.
        round: 1 for the first danger, 2 for the one that replaces a rejected danger.
    """

    answers: tuple[Answer, ...]
    danger: Danger | None = None
    no_danger: str | None = None
    decline_reason: DeclineReason | None = None
    error: str | None = None
    round: Round = 1
    sent_back: RejectedDanger | None = None
    """The danger that extraction was asked to replace. If ``round`` is still 1, it offered no other one."""


async def extract(record: Record, context: StageContext, sent_back: RejectedDanger | None = None) -> ExtractResult:
    """Ask for the danger in a record, or for a replacement of a danger that a judge rejected.

    Args:
        record: The record.
        context: Client, prompts and models.
        sent_back: The rejected danger; null for the first extraction.

    Returns:
        The danger; without one, the model's reason for finding none, or what was wrong with its last answer.

    Raises:
        ProviderError: The provider cannot be asked at all. An unusable answer becomes an ``error`` instead.
    """
    prompt = context.prompts.extract
    shown: dict[str, Any] = {"guidance": prompt.guidance.get(record.source)}
    if sent_back is not None:
        reasons = [f"{issue['message']} (mend: {issue['mend']})" for issue in sent_back.issues]
        shown["sent_back"] = {"danger": sent_back.danger.prompt_values(), "reasons": reasons}
    number: Round = 1 if sent_back is None else 2
    request = context.request("extract", prompt, record, round_=number, **shown)
    answers: list[Answer] = []
    try:
        found, _ = await ask_structured(context, request, _ANSWER, answers=answers)
    except UnusableAnswer as error:
        return ExtractResult(tuple(answers), error=error.message)
    made = ExtractResult(tuple(answers), round=number, sent_back=sent_back)
    if isinstance(found, NoDanger):
        return replace(made, no_danger=found.no_danger, decline_reason=found.decline_reason)
    return replace(made, danger=found.danger)
