"""What is asked of a model and what comes back, whatever the backend."""

from __future__ import annotations

from typing import Annotated, Literal, Protocol

from pydantic import Field, JsonValue

from hazardmill.records import Frozen, content_hash

Stage = Literal["extract", "author", "judge", "evaluate"]

OFFLINE_MODEL = "offline-author"
"""What the offline author calls itself, everywhere, also when served over HTTP."""


class Message(Frozen):
    """One message of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


class OfflineKey(Frozen):
    """What an offline answer is keyed on. Over HTTP it travels in a header; it is no part of the identity."""

    record_hash: str
    stage: Stage
    draft: int | None = None
    sample: int = 0


class Request(Frozen):
    """One request, complete: two requests of equal identity get the same answer and one payment.

    ``parameters`` are what the provider is sent beside the messages (temperature, max_tokens, response_format...).
    ``record_id``, ``key`` and the prompt's version and hash travel along for the ledger.
    """

    stage: Stage
    model: str
    messages: tuple[Message, ...]
    parameters: dict[str, JsonValue] = Field(default_factory=dict)
    sample: int = 0
    record_id: str | None = None
    input_hash: str | None = None
    key: OfflineKey | None = None
    prompt_version: str | None = None
    prompt_hash: str | None = None

    def identity(self, backend: str, host: str | None) -> str:
        """SHA-256 of backend, model asked, endpoint host without port, parameters, messages and sample."""
        return content_hash(
            [
                backend,
                self.model,
                host,
                self.parameters,
                [[m.role, m.content] for m in self.messages],
                self.sample,
            ]
        )


class Usage(Frozen):
    """Tokens as the provider counted them; null is unknown."""

    prompt_tokens: Annotated[int, Field(ge=0)] | None = None
    cached_tokens: Annotated[int, Field(ge=0)] | None = None
    completion_tokens: Annotated[int, Field(ge=0)] | None = None


class Completion(Frozen):
    """What a backend brings back from one attempt."""

    text: str
    model_answered: str
    finish_reason: str | None = None
    usage: Usage = Usage()


class Answer(Frozen):
    """What a stage gets: the text, the ledger identity, what it cost, and whether this run paid for it."""

    text: str
    identity: str
    model_answered: str
    backend: str
    finish_reason: str | None
    usage: Usage
    usd: float | None
    paid: bool


class Backend(Protocol):
    """Somebody who answers requests. Raises ``ProviderError``; retries nothing itself."""

    @property
    def name(self) -> str:
        """``litellm``, ``offline``; part of every identity."""
        ...

    @property
    def host(self) -> str | None:
        """Host of the endpoint without port; null where there is none."""
        ...

    async def complete(self, request: Request) -> Completion:
        """Answer one request, one attempt."""
        ...

    async def close(self) -> None:
        """Let go of connections; called once, in the event loop that asked."""
        ...
