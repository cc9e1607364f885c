"""The offline author as a backend."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final

from hazardmill.errors import RequestRefused
from hazardmill.llm.requests import OFFLINE_MODEL, AnswerKey, Completion, Message, Request, Usage
from hazardmill.testing.offline_author.author import author
from hazardmill.testing.offline_author.extraction import extract
from hazardmill.testing.offline_author.judge import judge
from hazardmill.testing.offline_author.prompt import read_prompt

BYTES_A_TOKEN: Final = 4
"""The offline author counts tokens as the UTF-8 bytes of the text divided by four, rounded up."""


class OfflineBackend:
    """Answers extract, author and judge prompts deterministically, by rules, from the messages alone.

    It needs no key and no network, and costs nothing.
    """

    name = "offline"
    host: str | None = None

    async def complete(self, request: Request) -> Completion:
        """Answer one request.

        Returns:
            The answer as one that ended normally; its tokens are counted here, and whether any were cached is not
            known.

        Raises:
            RequestRefused: The offline author does not know the stage.
        """
        key = request.key or AnswerKey(
            record_hash=_hash_of(request.messages), stage=request.stage, sample=request.sample
        )
        text = answer(request.messages, key)
        asked = sum(tokens_in(message.content) for message in request.messages)
        return Completion(
            text=text,
            model_answered=OFFLINE_MODEL,
            finish_reason="stop",
            usage=Usage(prompt_tokens=asked, cached_tokens=None, completion_tokens=tokens_in(text)),
        )

    async def close(self) -> None:
        """Do nothing: there is nothing to release."""


def answer(messages: Sequence[Message], key: AnswerKey) -> str:
    """Return the offline author's answer: a function of the messages and the key.

    Args:
        messages: The conversation.
        key: Names stage, record, draft and sample.

    Raises:
        RequestRefused: The offline author does not know the stage.
    """
    prompt = read_prompt(messages)
    if key.stage == "extract":
        return extract(prompt, key.record_hash, key.sample)
    if key.stage == "author":
        return author(prompt, key.record_hash, key.sample, key.draft or 1)
    if key.stage == "judge":
        return judge(prompt)
    raise RequestRefused(
        f"the offline author does not answer {key.stage} prompts",
        remedy="choose a language model as backend for this stage",
    )


def tokens_in(text: str) -> int:
    """Count the tokens of a text by the offline author's rule."""
    return -(-len(text.encode()) // BYTES_A_TOKEN)


def _hash_of(messages: Sequence[Message]) -> str:
    record = read_prompt(messages).record
    return hashlib.sha256((record or messages[-1].content).encode()).hexdigest()
