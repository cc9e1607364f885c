"""Extract: one record in, a danger formalization out, or the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from pydantic import TypeAdapter

from hazardmill.errors import UnusableAnswer
from hazardmill.generation.context import StageContext
from hazardmill.llm.requests import Answer
from hazardmill.llm.structured import ask_structured
from hazardmill.records import Danger, DeclineReason, FrozenModel, NoDanger, Record, Round


class _Found(FrozenModel):
    danger: Danger


_ANSWER: TypeAdapter[_Found | NoDanger] = TypeAdapter(_Found | NoDanger)


@dataclass(frozen=True)
class RejectedDanger:
    """A danger that a judge found fault with."""

    danger: Danger
    draft: int
    """The draft that was judged."""
    issues: tuple[dict[str, Any], ...]
    """Reason, message and mend of each."""

    def to_json(self) -> dict[str, Any]:
        """The same as a JSON object."""
        danger = self.danger.model_dump(mode="json")
        return {"danger": danger, "draft": self.draft, "issues": list(self.issues)}


@dataclass(frozen=True)
class ExtractResult:
    """Exactly one of ``danger``, ``no_danger`` and ``error`` is there."""

    answers: tuple[Answer, ...]
    danger: Danger | None = None
    no_danger: str | None = None
    decline_reason: DeclineReason | None = None
    error: str | None = None
    round: Round = 1
    sent_back: RejectedDanger | None = None
    """What extraction was asked once more for. It had no other answer to that where the round is still the first."""


async def extract(record: Record, mill: StageContext, sent_back: RejectedDanger | None = None) -> ExtractResult:
    """Ask for the danger in a record, or for another one in the place of one that was sent back.

    Raises:
        ProviderError: The provider cannot be asked at all (an unusable answer is an ``error`` instead).
    """
    prompt = mill.prompts.extract
    shown: dict[str, Any] = {"guidance": prompt.guidance.get(record.source)}
    if sent_back is not None:
        reasons = [f"{issue['message']} (mend: {issue['mend']})" for issue in sent_back.issues]
        shown["sent_back"] = {"danger": sent_back.danger.told(), "reasons": reasons}
    number: Round = 1 if sent_back is None else 2
    request = mill.request("extract", prompt, record, round_=number, **shown)
    answers: list[Answer] = []
    try:
        found, _ = await ask_structured(mill, request, _ANSWER, answers=answers)
    except UnusableAnswer as error:
        return ExtractResult(tuple(answers), error=error.message)
    made = ExtractResult(tuple(answers), round=number, sent_back=sent_back)
    if isinstance(found, NoDanger):
        return replace(made, no_danger=found.no_danger, decline_reason=found.decline_reason)
    return replace(made, danger=found.danger)
