"""The author stage: turns a danger formalization into the Python module of a task.

In the format ``python`` the model writes the module itself. In the format ``document`` it writes an outline of the
document, from which the module is rendered. Either way, policy and jail see code, and a task always has some.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from hazardmill.errors import DocumentError, UnusableAnswer
from hazardmill.formalism.formats.python_writer import task_code
from hazardmill.generation.context import StageContext
from hazardmill.generation.task_outline import OUTLINE_FORMAT, Outline, document_of
from hazardmill.llm.requests import Answer
from hazardmill.llm.structured import parse_json, python_module, usable_text
from hazardmill.records import Check, Danger, Draft, Record, Round
from hazardmill.run_options import AuthorFormat


@dataclass(frozen=True)
class AuthorResult:
    """The author's answer, the module read from it, and the check that says whether there is one.

    Attributes:
        code: The module; null if the answer contains none.
        check: The check ``answer``.
    """

    answers: tuple[Answer, ...]
    """One answer; empty if the provider's filter declined the request."""
    code: str | None
    check: Check


async def author(
    record: Record, danger: Danger, number: int, earlier: Sequence[Draft], context: StageContext, round_: Round = 1
) -> AuthorResult:
    """Ask for one draft of a task, showing the previous draft and what was found wrong with it.

    What judges said about earlier drafts is shown too: an author who only reads about the last draft undoes earlier
    fixes.

    Args:
        record: The record that the task is made from.
        danger: Its danger formalization.
        number: Number of the draft, from 1.
        earlier: The earlier drafts of the same danger, in order.
        context: Client, prompts and models.
        round_: Round of the formalization.

    Returns:
        The answer, the module in it, and the check ``answer``, which fails if there is no module.

    Raises:
        ProviderError: The provider cannot be asked at all. An unusable or declined answer fails the check instead.
    """
    form = context.author_format
    request = context.request(
        "author",
        context.prompts.author,
        record,
        round_=round_,
        draft=number,
        response_format=author_schema(form, structured=context.options.structured),
        danger=danger.prompt_values(),
        feedback=show_feedback(earlier),
        previous_draft=_show_draft(earlier[-1], form) if earlier else None,
    )
    answers: tuple[Answer, ...] = ()
    try:
        answers = (await context.ask(request),)
        code = _READERS[form](usable_text(answers[0]))
    except UnusableAnswer as error:
        cut_off = bool(answers) and answers[0].finish_reason == "length"
        mend = f"be much shorter this time, and finish: {_MENDS[form]}" if cut_off else _MENDS[form]
        return AuthorResult(answers, None, _fail(_NOTHING[form], error.message, mend))
    except DocumentError as error:
        return AuthorResult(answers, None, _fail("not_a_document", error.message, error.remedy))
    return AuthorResult(answers, code, Check(name="answer", passed=True))


def show_feedback(earlier: Sequence[Draft]) -> str | None:
    """Return what the author of the next draft is told: what judges said before, then the feedback on the last draft.

    Args:
        earlier: The earlier drafts, in order; without any there is none.
    """
    if not earlier:
        return None
    *before, last = earlier
    said = [*(draft.judged_feedback for draft in before), last.feedback]
    return "\n\n".join(text for text in said if text)


def author_schema(form: AuthorFormat, *, structured: bool) -> JsonValue:
    """Return the JSON schema that the author's request carries, or null if it carries none.

    Args:
        form: What the author answers with.
        structured: Whether the model can be held to a schema.
    """
    return OUTLINE_FORMAT if form == "document" and structured else None


def _render_outline(text: str) -> str:
    return task_code(document_of(parse_json(text, Outline)))


REASONS: Final = {
    "no_code": "The answer has no whole Python module.",
    "no_document": "The answer is not exactly one JSON object.",
    "not_a_document": "The JSON object describes no well-formed task.",
}
"""Reason codes of the check ``answer`` of a task, with their meanings."""

_READERS: dict[AuthorFormat, Callable[[str], str]] = {"python": python_module, "document": _render_outline}
_NOTHING: dict[AuthorFormat, str] = {"python": "no_code", "document": "no_document"}
_MENDS: dict[AuthorFormat, str] = {
    "python": "answer with the whole module in one ```python block",
    "document": "answer with the whole task as one JSON object and nothing else",
}


def _fail(reason: str, message: str, mend: str | None) -> Check:
    return Check(name="answer", passed=False, reason=reason, message=message, mend=mend)


def _show_draft(previous: Draft, form: AuthorFormat) -> str:
    """Return an earlier draft as the author is shown it: in the format in which it was written."""
    answer = previous.answer or ""
    if previous.code is None:
        return answer
    # The answer holds exactly one object, which is what was read.
    return previous.code if form == "python" else answer[answer.index("{") : answer.rindex("}") + 1]
