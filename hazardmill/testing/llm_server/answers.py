"""Bodies of answers: correct ones, faulty ones, and errors."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

from hazardmill.llm.requests import OFFLINE_MODEL
from hazardmill.testing.echoes import echoes
from hazardmill.testing.llm_server.faults import HOSTILE, ServerFaultKind

_PROSE: Final = "I have read it with interest. There is much to be said on both sides, and I would not rush the matter."
_REFUSAL: Final = "I am sorry, but I cannot help with this request."
_CHINESE: Final = "机器人在房间里完成这项工作"
"""The robot does this work in the room."""

_STRING: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"(?P<key>\s*:)?')
"""A quoted text, and whether it is a key."""
_PAGE: Final = b"<!doctype html><html><head><title>Log in</title></head><body><p>Log in to go on.</p></body></html>\n"

ERRORS: Final = {
    ServerFaultKind.RATE_LIMITED: (429, "rate_limit_exceeded", "too many requests at this moment"),
    ServerFaultKind.RATE_LIMITED_RETRY_AFTER: (429, "rate_limit_exceeded", "too many requests, come back later"),
    ServerFaultKind.SERVER_ERROR: (500, "server_error", "something broke on our side"),
    ServerFaultKind.OVERLOADED: (529, "overloaded_error", "overloaded"),
}
"""Status, code and message of the faults that are server errors."""

GENERATES_NOTHING: Final = frozenset(
    {*ERRORS, *HOSTILE, ServerFaultKind.HTML, ServerFaultKind.STALLED} - {ServerFaultKind.ECHO}
)
"""Faults for which the model is never reached: no tokens are counted, and nothing is cached."""


def apply_fault(text: str, kind: ServerFaultKind | None) -> tuple[str | None, str, str | None]:
    """Return content, finish reason and refusal of an answer after a fault; without one, of the correct answer.

    Args:
        text: The correct answer.
        kind: The fault; kinds that do not change the text have no effect here.
    """
    if kind is ServerFaultKind.LENGTH:
        return text[: len(text) // 2], "length", None
    if kind is ServerFaultKind.REFUSAL:
        return None, "stop", _REFUSAL
    if kind is ServerFaultKind.CONTENT_FILTER:
        return "", "content_filter", None
    if kind is ServerFaultKind.NOT_JSON:
        return _PROSE, "stop", None
    if kind is ServerFaultKind.WRONG_LANGUAGE:
        return translate_to_chinese(text), "stop", None
    return text, "stop", None


def translate_to_chinese(text: str) -> str:
    """Return an answer with its prose in Chinese: quoted texts of several words, or the whole answer if it has none.

    Names and keys stay, so that JSON keeps its shape and code runs.
    """
    replaced = _STRING.sub(lambda found: found[0] if found["key"] or " " not in found[0] else f'"{_CHINESE}"', text)
    return replaced if replaced != text else f"{_CHINESE}。"


def completion_body(
    content: str | None,
    finish: str,
    refusal: str | None,
    usage: dict[str, Any] | None,
    *,
    id_: str,
    choices: bool,
    model: str = OFFLINE_MODEL,
) -> bytes:
    """Return a chat completion as JSON. ``usage`` comes last, so that half of the body does not contain it.

    Args:
        content: The text; null for a refusal.
        finish: Finish reason.
        refusal: The model's refusal; null if it answers.
        usage: Token counts; null to leave them out.
        id_: Id of the completion.
        choices: Whether there is a choice at all.
        model: Name of the model that answers.
    """
    message = {"role": "assistant", "content": content, "refusal": refusal}
    body: dict[str, Any] = {
        "id": id_,
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}] if choices else [],
    }
    if usage is not None:
        body["usage"] = usage
    return json.dumps(body, ensure_ascii=False).encode()


def error_body(message: str, code: str) -> bytes:
    """Return an error in the form of OpenAI's API."""
    return json.dumps({"error": {"message": message, "type": code, "param": None, "code": code}}).encode()


def models_body(names: Sequence[str] = (OFFLINE_MODEL,)) -> bytes:
    """Return the list of models as JSON."""
    models = [{"id": name, "object": "model", "created": 0, "owned_by": "hazardmill"} for name in names]
    return json.dumps({"object": "list", "data": models}).encode()


def echo_key(key: str) -> str:
    """Return a key in every form of ``echoes``, one per line."""
    return "\n".join(f"{name}: {form}" for name, form in echoes(key).items())


@cache
def bomb() -> bytes:
    """Return a gzip body of some kilobytes that unpacks to half a gigabyte of blanks and never ends."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    begin = packer.compress(b"") + packer.flush(zlib.Z_FULL_FLUSH)
    # After a full flush the packer has no memory, so the same bytes can be repeated.
    megabyte = packer.compress(b" " * 2**20) + packer.flush(zlib.Z_FULL_FLUSH)
    return begin + megabyte * 512


def page() -> bytes:
    """Return a web page, to be sent instead of an answer."""
    return _PAGE
