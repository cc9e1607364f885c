"""Extracts structured output from a model's text, and asks again if it is unusable.

``docs/answers.md`` says how each kind of answer is treated.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from typing import Any, Final, Protocol, TypeVar

from pydantic import TypeAdapter, ValidationError

from hazardmill.errors import UnusableAnswer
from hazardmill.llm.requests import MAX_REPAIRS, Answer, Message, Request
from hazardmill.text.parse import parse

T = TypeVar("T")

REFUSED: Final = frozenset({"refusal", "content_filter", "request_refused"})
"""Finish reasons of an answer that declines: by the model itself, by the provider's filter, or (a word of the ledger)
because the provider rejected the request."""

_REPAIR: Final = (
    "Your last answer could not be used: {problem}\n"
    "Answer the same question again. Send one complete JSON object and nothing else."
)

_CUT_OFF: Final = "it was cut off at the token limit. Be much shorter this time, and finish"
"""Shown to the model. The message for people says to raise the limit."""

_FOREIGN_LETTERS: Final = 4
"""This many letters of another script are words; fewer are symbols, as in units and formulas."""

_MOST_PROBLEMS: Final = 8
_OBJECT_BEGINS: Final = re.compile(r'\{\s*["}]')
# Possessive quantifiers, so that a line of blanks that is not a fence is not tried at every length.
_FENCE: Final = re.compile(
    r"^[ \t]*+(?P<fence>`{3,}|~{3,})[ \t]*+(?P<language>[\w+.-]*+)[^\n`]*+\n"
    r"(?P<body>.*?)(?:^[ \t]*(?P=fence)[`~]*[ \t]*$|\Z)",
    re.MULTILINE | re.DOTALL,
)
_PYTHON: Final = frozenset({"", "python", "python3", "py"})
_CLASS: Final = re.compile(r"^class\s+\w", re.MULTILINE)
_BLANK_LINE: Final = re.compile(r"\n[ \t]*\n")
_CODE_BEGINS: Final = re.compile(
    r'^(?:(?:from\s+[\w.]+\s+)?import\s|class\s+\w|@\w|def\s+\w|#|"""|\'\'\')', re.MULTILINE
)


class Asker(Protocol):
    """Answers requests, as the client does."""

    async def ask(self, request: Request) -> Answer:
        """Return the answer to one request."""
        ...


def usable_text(answer: Answer) -> str:
    """Return the text of an answer if it is complete.

    Args:
        answer: An answer of any kind.

    Raises:
        UnusableAnswer: The model or provider declined, or the answer is empty or cut off.
    """
    if answer.finish_reason == "request_refused":
        raise UnusableAnswer(
            f"{answer.model_answered} declined the request: too long for it, or not valid ({answer.finish_reason})",
            remedy="the ledger holds the provider's message; try another model",
        )
    if answer.finish_reason in REFUSED:
        raise UnusableAnswer(
            f"{answer.model_answered} declined to answer ({answer.finish_reason})",
            remedy="the record's text may trip the provider's filter; try another model",
        )
    if answer.finish_reason == "length":
        raise UnusableAnswer(
            "the answer was cut off at the token limit", remedy="raise max_tokens in the prompt's front matter"
        )
    if not answer.text.strip():
        raise UnusableAnswer("the answer is empty")
    return answer.text


def parse_json(text: str, model: type[T] | TypeAdapter[T], *, english: bool = True) -> T:
    """Find the single JSON object in a text and validate it. Code fences and prose around it are ignored.

    With ``english``, its text must be English as far as the script shows: a string value is rejected if it has at least
    four letters of scripts other than Latin, and more of them than Latin letters. Other languages in Latin script are
    not noticed.

    Args:
        text: The text of an answer.
        model: The type that the object must have.
        english: Whether its text must be English.

    Returns:
        The validated object.

    Raises:
        UnusableAnswer: There is no object, more than one, a broken one, one in another script, or one of the wrong
            shape. The message is written to be shown to a model.
    """
    found = _objects(text)
    if not found:
        raise UnusableAnswer("there is no JSON object in the answer")
    if len(found) > 1:
        raise UnusableAnswer(f"there are {len(found)} JSON objects in the answer; exactly one is expected")
    foreign = next((text for text in _strings(found[0]) if english and _is_foreign(text)), None)
    if foreign is not None:
        raise UnusableAnswer(f"answer in English: {foreign[:40]!r} is not")
    adapter = model if isinstance(model, TypeAdapter) else TypeAdapter(model)
    try:
        return adapter.validate_python(found[0])
    except ValidationError as error:
        raise UnusableAnswer(_problems(error)) from error


def python_module(text: str) -> str:
    """Find the Python module in a text: the fenced block, the one of several that defines a class, or else bare code.

    Args:
        text: The text of an answer.

    Returns:
        The code as it stands, even if it is not valid Python: whoever runs it reports what is wrong, and where.

    Raises:
        UnusableAnswer: There is no code, or it is not clear which block is meant.
    """
    blocks = [m["body"] for m in _FENCE.finditer(text) if m["language"].lower() in _PYTHON and m["body"].strip()]
    if len(blocks) > 1:
        with_class = [block for block in blocks if _CLASS.search(block)]
        if len(with_class) != 1:
            raise UnusableAnswer(
                f"there are {len(blocks)} code blocks in the answer and {len(with_class) or 'none'} of them defines "
                "a class; send one module in one block"
            )
        blocks = with_class
    code = blocks[0] if blocks else _bare_code(text)
    return code.strip("\n").rstrip() + "\n"


async def ask_structured(
    client: Asker,
    request: Request,
    model: type[T] | TypeAdapter[T],
    repair_turns: int = MAX_REPAIRS,
    *,
    answers: list[Answer] | None = None,
) -> tuple[T, list[Answer]]:
    """Ask until the answer has the shape of ``model``.

    After an unusable answer, the request is repeated with that answer and its problem appended. This is a separate
    request, with its own identity and price. A refusal is final.

    Args:
        client: Who is asked.
        request: The first request.
        model: The type of the JSON object in the answer.
        repair_turns: Maximum number of further requests, from 0 to ``MAX_REPAIRS``.
        answers: List that is filled with the answers as they arrive, so that the caller has them when this raises.

    Returns:
        The value, and all answers; the last one holds the value, and its ``repair`` is the number of repair turns.

    Raises:
        ValueError: ``repair_turns`` is out of bounds.
        UnusableAnswer: No answer could be used; the message describes the last one.
        ProviderError: A request failed.
    """  # noqa: DOC501  # the assertion cannot fail
    if not 0 <= repair_turns <= MAX_REPAIRS:
        raise ValueError(f"repair_turns must be from 0 to {MAX_REPAIRS}, got {repair_turns}")
    answers = [] if answers is None else answers
    for turn in range(repair_turns + 1):
        answer = await client.ask(request)
        answers.append(answer)
        try:
            return parse_json(usable_text(answer), model), answers
        except UnusableAnswer as error:
            if turn == repair_turns or answer.finish_reason in REFUSED:
                error.record_id = request.record_id
                raise
            problem = _CUT_OFF if answer.finish_reason == "length" else error.message
            request = _repair(request, answer, problem)
    raise AssertionError("the last turn returns or raises")


def _repair(request: Request, answer: Answer, problem: str) -> Request:
    # Providers reject an empty message, so an empty answer is left out and only described.
    said = (Message(role="assistant", content=answer.text),) if answer.text.strip() else ()
    asked = Message(role="user", content=_REPAIR.format(problem=problem))
    turn = request.repair + 1
    key = request.key and request.key.model_copy(update={"repair": turn})
    update = {"messages": (*request.messages, *said, asked), "repair": turn, "key": key}
    return request.model_copy(update=update)


def _strings(value: Any) -> Iterator[str]:  # noqa: ANN401  # any JSON
    """Yield all string values, without keys."""
    left = [value]
    while left:
        value = left.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict | list):
            left += reversed([*(value.values() if isinstance(value, dict) else value)])


def _is_foreign(text: str) -> bool:
    if text.isascii():
        return False
    letters = [char for char in text if char.isalpha()]
    foreign = sum(not unicodedata.name(char, "").startswith("LATIN ") for char in letters)
    return foreign >= _FOREIGN_LETTERS and foreign > len(letters) - foreign


def _objects(text: str) -> list[Any]:
    """Return all JSON objects in ``text`` that are not part of another one."""
    # Models write line ends inside strings: harmless, but forbidden by strict JSON.
    decoder = json.JSONDecoder(strict=False)
    found: list[Any] = []
    position = 0
    while begins := _OBJECT_BEGINS.search(text, position):
        try:
            value, position = decoder.raw_decode(text, begins.start())
            # JSON can spell a lone surrogate, which no file can hold: raise the ValueError here, not in the store.
            json.dumps(value, ensure_ascii=False).encode()
        except json.JSONDecodeError as error:
            # Searching on inside a broken object would mistake one of its parts for the whole.
            if _is_cut_off(text[begins.start() :]):
                raise UnusableAnswer("the JSON object is cut off: it is never closed") from error
            raise UnusableAnswer(
                f"the JSON is not valid: {error.msg} at line {error.lineno}, column {error.colno} of the answer"
            ) from error
        except (ValueError, RecursionError) as error:
            raise UnusableAnswer(f"the JSON cannot be read: {error}") from error
        found.append(value)
    return found


def _is_cut_off(text: str) -> bool:
    depth, in_string, escaped = 0, False, False
    for char in text:
        if in_string:
            in_string = escaped or char != '"'
            escaped = char == "\\" and not escaped
        elif char == '"':
            in_string = True
        elif char in "{[":
            depth += 1
        elif char in "}]":
            depth -= 1
            if depth == 0:
                return False
    return True


def _problems(error: ValidationError) -> str:
    problems = []
    for found in error.errors(include_url=False)[:_MOST_PROBLEMS]:
        place = ".".join(str(part) for part in found["loc"]) or "the object"
        given = found["input"]
        shown = f" (got {given!r:.60})" if isinstance(given, str | int | float | bool | None) else ""
        problems.append(f"{place}: {found['msg']}{shown}")
    more = error.error_count() - len(problems)
    return "the JSON object has the wrong shape: " + "; ".join(problems) + (f"; and {more} more" if more else "")


def _bare_code(text: str) -> str:
    begins = _CODE_BEGINS.search(text)
    if begins is None or not _CLASS.search(text):
        raise UnusableAnswer("there is no Python module in the answer: a module that defines one class is expected")
    code = text[begins.start() :].rstrip()
    while (gaps := [*_BLANK_LINE.finditer(code)]) and _is_prose(code[gaps[-1].end() :]):
        code = code[: gaps[-1].start()].rstrip()
    return code


def _is_prose(paragraph: str) -> bool:
    """Whether a paragraph after the code cannot belong to it: it is neither part of a body nor a statement."""
    in_a_body = any(line[:1] in tuple(" \t)]}") for line in paragraph.splitlines())
    return not (in_a_body or _CODE_BEGINS.search(paragraph) or _parses(paragraph))


def _parses(code: str) -> bool:
    try:
        parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
