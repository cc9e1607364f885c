"""Extract: one record in, a danger formalization out, or the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import TypeAdapter

from hazardmill.errors import UnusableAnswer
from hazardmill.llm.requests import Answer
from hazardmill.llm.structured import ask_structured
from hazardmill.records import Danger, Frozen, NoDanger, Record
from hazardmill.stages.mill import Mill


class _Found(Frozen):
    danger: Danger


_ANSWER: TypeAdapter[_Found | NoDanger] = TypeAdapter(_Found | NoDanger)


@dataclass(frozen=True)
class Extraction:
    """Exactly one of ``danger``, ``no_danger`` and ``error`` is there."""

    answers: tuple[Answer, ...]
    danger: Danger | None = None
    no_danger: str | None = None
    error: str | None = None


async def extract(record: Record, mill: Mill) -> Extraction:
    """Ask for the danger in a record.

    Raises:
        ProviderError: The provider cannot be asked at all (an unusable answer is an ``error`` instead).
    """
    prompt = mill.prompts.extract
    request = mill.request("extract", prompt, record, guidance=prompt.guidance.get(record.source))
    answers: list[Answer] = []
    try:
        found, _ = await ask_structured(mill, request, _ANSWER, answers=answers)
    except UnusableAnswer as error:
        return Extraction(tuple(answers), error=error.message)
    if isinstance(found, NoDanger):
        return Extraction(tuple(answers), no_danger=found.no_danger)
    return Extraction(tuple(answers), danger=found.danger)
