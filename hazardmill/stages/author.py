"""Author: a danger formalization in, the Python module of a task out."""

from __future__ import annotations

from dataclasses import dataclass

from hazardmill.errors import UnusableAnswer
from hazardmill.llm.requests import Answer
from hazardmill.llm.structured import python_module, usable_text
from hazardmill.records import Check, Danger, Draft, Record
from hazardmill.stages.mill import Mill


@dataclass(frozen=True)
class Authored:
    """The author's answer, the module found in it, and the check that says whether there was one."""

    answers: tuple[Answer, ...]
    """One; none where the provider's filter declined the request."""
    code: str | None
    check: Check


async def author(record: Record, danger: Danger, number: int, previous: Draft | None, mill: Mill) -> Authored:
    """Ask for draft ``number`` of a task, showing the previous draft with what was found in it.

    Raises:
        ProviderError: The provider cannot be asked at all (an unusable or declined answer fails the check instead).
    """
    request = mill.request(
        "author",
        mill.prompts.author,
        record,
        draft=number,
        danger=danger.model_dump(mode="json"),
        feedback=previous.feedback if previous else None,
        previous_code=(previous.code or previous.answer or "") if previous else None,
    )
    answers: tuple[Answer, ...] = ()
    try:
        answers = (await mill.client.ask(request),)
        code = python_module(usable_text(answers[0]))
    except UnusableAnswer as error:
        return Authored(
            answers,
            None,
            Check(
                name="answer",
                passed=False,
                reason="no_code",
                message=error.message,
                mend="answer with the whole module in one ```python block",
            ),
        )
    return Authored(answers, code, Check(name="answer", passed=True))
