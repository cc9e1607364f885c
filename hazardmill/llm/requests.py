"""What is asked of a model and what comes back, whatever the backend."""

from __future__ import annotations

from typing import Annotated, Final, Literal, Protocol

from pydantic import Field, JsonValue

from hazardmill.records import FrozenModel, Round, content_hash

Stage = Literal["extract", "author", "judge", "evaluate"]

OFFLINE_MODEL = "offline-author"
"""What the offline author calls itself, everywhere, also when served over HTTP."""

OFFLINE_LABEL: Final = (
    "Written by the offline author: rules and patterns, not a language model. It stands in for one where there is no"
    " key and no network, and its tasks say nothing about what models can do."
)
"""What is said of everything the offline author wrote, wherever it is shown."""

RECORDED_MODEL: Final = "recorded"
"""Asked for where recorded answers are wanted. Whoever answered has a name of its own."""

MAX_REPAIRS: Final = 2
"""Most repair turns after an answer of no use."""


class Message(FrozenModel):
    """One message of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


class AnswerKey(FrozenModel):
    """Which request of a run it is, without its words: a prompt that was edited since has the same key.

    Offline and recorded answers are found by it. Over HTTP it travels in a header; it is no part of the identity.
    """

    record_hash: str
    stage: Stage
    round: Round = 1
    """Of the formalization."""
    draft: int | None = None
    repair: int = 0
    """Which repair turn it is; 0 is the first request."""
    sample: int = 0


class Request(FrozenModel):
    """One request, complete: two requests of equal identity get the same answer and one payment.

    ``parameters`` are what the provider is sent beside the messages (temperature, max_tokens, response_format...).
    ``record_id``, ``key``, ``repair`` and the prompt's version and hash travel along for the ledger; ``fallbacks`` say
    who else may answer. None of these is part of the identity.
    """

    stage: Stage
    model: str
    messages: tuple[Message, ...]
    parameters: dict[str, JsonValue] = Field(default_factory=dict)
    sample: int = 0
    record_id: str | None = None
    input_hash: str | None = None
    key: AnswerKey | None = None
    prompt_version: str | None = None
    prompt_hash: str | None = None
    fallbacks: tuple[str, ...] = ()
    """Models to send it to, in order, where ``model`` cannot answer."""
    repair: Annotated[int, Field(ge=0, le=MAX_REPAIRS)] = 0
    """Which repair turn it is; 0 is the first request."""

    @property
    def models(self) -> tuple[str, ...]:
        """The models it may be sent to, in order, each once."""
        return tuple(dict.fromkeys((self.model, *self.fallbacks)))

    def sent_to(self, model: str) -> Request:
        """The request as one model is sent it. Its identity is that of another request: take it before."""
        return self if model == self.model else self.model_copy(update={"model": model})

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


class Usage(FrozenModel):
    """Tokens as the provider counted them; null is unknown."""

    prompt_tokens: Annotated[int, Field(ge=0)] | None = None
    cached_tokens: Annotated[int, Field(ge=0)] | None = None
    completion_tokens: Annotated[int, Field(ge=0)] | None = None
    written_tokens: Annotated[int, Field(ge=0)] | None = None
    """Of the prompt, what was written to the provider's cache, where the provider says so and asks a price for it."""


class Completion(FrozenModel):
    """What a backend brings back from one attempt."""

    text: str
    model_answered: str
    finish_reason: str | None = None
    usage: Usage = Usage()
    model_sent: str | None = None
    """Model that was asked in truth, where the backend knows better than whoever asked it: a replay."""
    recording: str | None = None
    """SHA-256 of the file that it was recorded in, if it was."""
    recorded_for: str | None = None
    """Hash of the prompt template that it was given to, where it was recorded."""


class Answer(FrozenModel):
    """What a stage gets: the text, the ledger identity, what it cost, and whether this run paid for it."""

    text: str
    identity: str
    model_answered: str
    backend: str
    finish_reason: str | None
    usage: Usage
    usd: float | None
    paid: bool
    repair: int = 0
    """Which repair turn it answers; 0 is the first request."""


class Backend(Protocol):
    """Somebody who answers requests. Raises ``ProviderError``; retries nothing itself.

    Two class attributes may be left out. ``charges = False``: answers were paid for before, by somebody else (a
    replay). ``metered = True``: what is sent may cost money even if no answer comes back, so each attempt is written
    down before it is sent.
    """

    @property
    def name(self) -> str:
        """``litellm``, ``offline``, ``recorded``; part of every identity."""
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
