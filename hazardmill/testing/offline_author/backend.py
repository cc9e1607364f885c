"""The offline author as a backend."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from hazardmill.errors import RequestRefused
from hazardmill.llm.requests import OFFLINE_MODEL, AnswerKey, Completion, Message, Request
from hazardmill.testing.offline_author.author import author
from hazardmill.testing.offline_author.extraction import extract
from hazardmill.testing.offline_author.judge import judge
from hazardmill.testing.offline_author.prompt import read_prompt


class OfflineBackend:
    """Answers extract, author and judge prompts deterministically, by rules, from the messages alone.

    It needs no key and no network, and costs nothing.
    """

    name = "offline"
    host: str | None = None

    async def complete(self, request: Request) -> Completion:
        """Answer one request.

        Returns:
            The answer as one that ended normally. Its tokens are unknown: rules have no tokenizer, and a count made up
            here would be added to those of models.

        Raises:
            RequestRefused: The offline author does not know the stage.
        """
        key = request.key or AnswerKey(
            record_hash=_hash_of(request.messages), stage=request.stage, sample=request.sample
        )
        text = answer(request.messages, key)
        return Completion(text=text, model_answered=OFFLINE_MODEL, finish_reason="stop")

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


def _hash_of(messages: Sequence[Message]) -> str:
    record = read_prompt(messages).record
    return hashlib.sha256((record or messages[-1].content).encode()).hexdigest()
