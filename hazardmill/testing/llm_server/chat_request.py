"""A request as the server sees it: its content, and the identity that faults depend on."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

from hazardmill.llm.requests import AnswerKey, Message
from hazardmill.records import content_hash

_ROLES: Final = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
_LIMITS: Final = ("max_completion_tokens", "max_tokens")


class ChatRefusal(Exception):
    """A request that is rejected on arrival. The message goes to the client, so it must not repeat a secret.

    Args:
        status: HTTP status.
        message: What is wrong, in one sentence.
        code: Code of the error in the body.
    """

    def __init__(self, status: int, message: str, code: str = "invalid_request") -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One request for a chat completion, as it arrived.

    Attributes:
        model: The model asked for.
        messages: The conversation.
    """

    model: str
    messages: tuple[Message, ...]
    parameters: dict[str, Any]
    """Everything else in the body."""
    key: AnswerKey | None
    """The answer key that hazardmill's client sends for the offline author; null if there is none."""
    identity: str
    """SHA-256 of model, parameters, messages and key: the server treats requests with the same identity as
    repetitions."""
    attempt: int = 0
    """How many times this identity has arrived, from 1; 0 while the request may still be rejected."""

    @property
    def max_tokens(self) -> int | None:
        """Maximum number of tokens of the answer; null if the request sets no limit."""
        for name in _LIMITS:
            if (limit := self.parameters.get(name)) is not None:
                return int(limit)
        return None


def read_chat_request(body: bytes, key: str | None) -> ChatRequest:
    """Return a request, parsed and checked.

    Args:
        body: The body.
        key: The header with the answer key; null if there is none.

    Raises:
        ChatRefusal: The request is not one that this server answers.
    """
    try:
        sent = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ChatRefusal(400, "the body is not JSON") from error
    if not isinstance(sent, dict):
        raise ChatRefusal(400, "the body is not a JSON object")
    model, messages = sent.pop("model", None), sent.pop("messages", None)
    if not isinstance(model, str) or not model:
        raise ChatRefusal(400, "model must be a name")
    if not isinstance(messages, list) or not messages:
        raise ChatRefusal(400, "messages must be a list of at least one message")
    if sent.get("stream"):
        raise ChatRefusal(400, "this server does not stream: leave stream out, or set it to false", "unsupported_value")
    if sent.get("n") not in (None, 1):
        raise ChatRefusal(400, "this server gives one choice: leave n out, or set it to 1", "unsupported_value")
    for name in _LIMITS:
        limit = sent.get(name)
        if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 1):
            raise ChatRefusal(400, f"{name} must be a whole number above 0")
    read = tuple(_message(number, message) for number, message in enumerate(messages))
    offline_key = _key(key)
    conversation = [[message.role, message.content] for message in read]
    key_sent = None if offline_key is None else offline_key.model_dump(mode="json")
    try:
        identity = content_hash([model, sent, conversation, key_sent])
    except (UnicodeEncodeError, RecursionError) as error:
        raise ChatRefusal(
            400, "the body contains half a character (a lone surrogate), or is nested too deeply"
        ) from error
    return ChatRequest(model, read, sent, offline_key, identity)


def _message(number: int, sent: object) -> Message:
    if not isinstance(sent, dict) or sent.get("role") not in _ROLES:
        raise ChatRefusal(400, f"messages[{number}] must have a role: {', '.join(_ROLES)}")
    content = sent.get("content")
    if isinstance(content, list) and all(_is_text(part) for part in content):
        content = "".join(part["text"] for part in content)
    if not isinstance(content, str):
        raise ChatRefusal(400, f"messages[{number}].content must be text")
    return Message.model_validate({"role": _ROLES[sent["role"]], "content": content})


def _is_text(part: object) -> bool:
    return isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str)


def _key(header: str | None) -> AnswerKey | None:
    if header is None:
        return None
    try:
        return AnswerKey.model_validate_json(header)
    except ValidationError as error:
        raise ChatRefusal(400, "the header with the offline key does not hold one") from error
