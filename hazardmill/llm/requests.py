"""Requests to language models and their answers, whatever the backend."""

from __future__ import annotations

from typing import Annotated, Final, Literal, Protocol

from pydantic import Field, JsonValue

from hazardmill.records import FrozenModel, ProductKind, Round, content_hash

Stage = Literal["extract", "author", "judge", "classify", "evaluate"]

OFFLINE_MODEL = "offline-author"
"""Model name of the offline author, everywhere, including when it is served over HTTP."""

OFFLINE_LABEL: Final = (
    "Written by the offline author: rules and patterns, not a language model. It stands in for one where there is no"
    " key and no network, and its tasks say nothing about what models can do."
)
"""Notice attached to everything the offline author wrote, wherever it is shown."""

RECORDED_MODEL: Final = "recorded"
"""Model name that asks for recorded answers. The model that was recorded has a name of its own."""

MAX_REPAIRS: Final = 2
"""Maximum number of repair turns after an unusable answer."""


class Message(FrozenModel):
    """One message of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


class AnswerKey(FrozenModel):
    """Identifies a request within a run without its words, so that an edited prompt keeps the same key.

    Offline and recorded answers are looked up by this key. Over HTTP it travels in a header. It is not part of the
    request's identity.

    Attributes:
        record_hash: Content hash of the record.
        stage: The stage that asks.
        draft: Number of the draft; null where there is none.
        sample: Number of the sample, from 0.
    """

    record_hash: str
    stage: Stage
    round: Round = 1
    """Round of the formalization."""
    draft: int | None = None
    repair: int = 0
    """Number of the repair turn; 0 is the first request."""
    sample: int = 0
    kind: Annotated[ProductKind, Field(exclude_if=lambda kind: kind == "task")] = "task"
    """What is made of the record."""


class Request(FrozenModel):
    """One complete request. Two requests with the same identity get the same answer and are paid for once.

    ``record_id``, ``input_hash``, ``key``, ``repair`` and the prompt's version and hash are passed along for the
    ledger, and ``fallbacks`` name the other models that may answer. None of these is part of the identity.

    Attributes:
        stage: The stage that asks.
        model: The model asked, ``provider/model``.
        parameters: What the provider is sent besides the messages, such as temperature, max_tokens or response_format.
        sample: Distinguishes several answers to the same question, from 0.
        record_id: The record that the request is about; null if there is none.
        input_hash: Content hash of that record.
        prompt_version: Version in the front matter of the prompt template.
        prompt_hash: SHA-256 of the prompt template, including guidance.
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
    """Models to try, in order, if ``model`` cannot answer."""
    repair: Annotated[int, Field(ge=0, le=MAX_REPAIRS)] = 0
    """Number of the repair turn; 0 is the first request."""

    @property
    def models(self) -> tuple[str, ...]:
        """The models that the request may be sent to, in order, without duplicates."""
        return tuple(dict.fromkeys((self.model, *self.fallbacks)))

    def sent_to(self, model: str) -> Request:
        """Return the request addressed to one model. Its identity differs, so take the identity before."""
        return self if model == self.model else self.model_copy(update={"model": model})

    def identity(self, backend: str, host: str | None) -> str:
        """Return the SHA-256 of backend, model asked, endpoint host, parameters, messages and sample.

        Args:
            backend: Name of the backend.
            host: Host of the endpoint without port; null where there is none.
        """
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
    """Token counts as reported by the provider; null where unknown.

    Attributes:
        prompt_tokens: All tokens of the prompt, cached ones included.
        cached_tokens: Prompt tokens that were read from the provider's cache.
        completion_tokens: Tokens of the answer.
    """

    prompt_tokens: Annotated[int, Field(ge=0)] | None = None
    cached_tokens: Annotated[int, Field(ge=0)] | None = None
    completion_tokens: Annotated[int, Field(ge=0)] | None = None
    written_tokens: Annotated[int, Field(ge=0)] | None = None
    """Prompt tokens that were written to the provider's cache, if the provider reports and charges for them."""


class Completion(FrozenModel):
    """What a backend returns for one attempt.

    Attributes:
        text: The answer; may be empty.
        model_answered: Name of the model that answered, as the provider gives it.
        finish_reason: Why the answer ended, in the provider's words; null if unknown.
        usage: Token counts.
    """

    text: str
    model_answered: str
    finish_reason: str | None = None
    usage: Usage = Usage()
    model_sent: str | None = None
    """Model that was really asked, if the backend knows better than the caller, as a replay does."""
    recording: str | None = None
    """SHA-256 of the file that the answer was recorded in; null if it was not recorded."""
    recorded_for: str | None = None
    """Hash of the prompt template that the recorded answer was given to; null if it was not recorded."""


class Answer(FrozenModel):
    """What a stage receives: the text, its ledger identity, its cost, and whether this run paid for it.

    Attributes:
        text: The answer; may be empty.
        identity: SHA-256 that identifies the request in the ledger.
        usd: Cost in US dollars; null if unknown.
        paid: Whether this run paid for it; false if it was reused from another run or replayed.
    """

    text: str
    identity: str
    model_answered: str
    backend: str
    finish_reason: str | None
    usage: Usage
    usd: float | None
    paid: bool
    repair: int = 0
    """Number of the repair turn that it answers; 0 is the first request."""


class Backend(Protocol):
    """Answers requests. Raises ``ProviderError`` and does not retry by itself.

    Two class attributes are optional. ``charges = False`` says that answers were paid for before, as in a replay.
    ``metered = True`` says that a sent request may cost money even if no answer comes back, so each attempt is recorded
    before it is sent.
    """

    @property
    def name(self) -> str:
        """Name of the backend, such as ``litellm``, ``offline`` or ``recorded``; part of every identity."""
        ...

    @property
    def host(self) -> str | None:
        """Host of the endpoint without port; null where there is none."""
        ...

    async def complete(self, request: Request) -> Completion:
        """Answer one request in one attempt."""
        ...

    async def close(self) -> None:
        """Release connections. Called once, in the event loop that sent the requests."""
        ...
