"""Reads the messages of a request, which are all that the offline author knows."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from hazardmill.llm.requests import Message

_BLOCK: Final = r"<{0}(?P<attributes>\s[^>]*)?>\n?(?P<body>.*?)\n?\s*</{0}>"
_ATTRIBUTE: Final = re.compile(r"(\w+)\s*=\s*[\"']([^\"']*)[\"']")


@dataclass(frozen=True)
class PromptBlocks:
    """The blocks of a conversation; missing ones are null.

    Attributes:
        record: Text of the record.
        danger: The danger formalization.
        previous_draft: The draft to improve.
        feedback: What was wrong with it.
        task: The description that a judge reads.
        texts: All messages of the user.
    """

    record: str | None
    source: str
    record_id: str
    danger: dict[str, Any] | None
    previous_draft: str | None
    feedback: str | None
    task: str | None
    wants_outline: bool
    """Whether the author is asked for an outline instead of a module."""
    is_repair: bool
    """Whether an earlier answer was unreadable."""
    texts: tuple[str, ...] = field(default=(), repr=False)


def read_prompt(messages: Sequence[Message]) -> PromptBlocks:
    """Find the blocks in the user's messages; the last block of a kind counts."""
    texts = tuple(message.content for message in messages if message.role == "user")
    record, attributes = _block(texts, "record")
    danger, _ = _block(texts, "danger")
    return PromptBlocks(
        record=record,
        source=attributes.get("source", ""),
        record_id=attributes.get("id", ""),
        danger=_object(danger),
        previous_draft=_block(texts, "previous_draft")[0],
        feedback=_block(texts, "feedback")[0],
        task=_block(texts, "task")[0],
        wants_outline=_block(texts, "answer_format")[0] == "json outline",
        is_repair=any(message.role == "assistant" for message in messages),
        texts=texts,
    )


def _block(texts: tuple[str, ...], tag: str) -> tuple[str | None, dict[str, str]]:
    for text in reversed(texts):
        if found := list(re.finditer(_BLOCK.format(tag), text, re.DOTALL)):
            return found[-1]["body"], dict(_ATTRIBUTE.findall(found[-1]["attributes"] or ""))
    return None, {}


def _object(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        value = json.loads(text)
    except ValueError:
        return None
    if not isinstance(value, dict):
        return None
    inner = value.get("danger")
    return inner if isinstance(inner, dict) else value
