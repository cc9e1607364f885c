"""What a provider of batches does for us: it takes a list of requests, and has the answers some hours later."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from hazardmill.errors import ProviderError
from hazardmill.llm.requests import Completion, Request


class BatchState(StrEnum):
    """Where a batch stands at its provider."""

    RUNNING = "running"
    """Waiting, being checked, or being answered."""
    ENDED = "ended"
    """Every line has an answer or an error."""
    EXPIRED = "expired"
    """The provider's time is up; some lines may have an answer."""
    CANCELLED = "cancelled"
    """Somebody stopped it; some lines may have an answer."""
    FAILED = "failed"
    """Refused as a whole, usually by the check of its file; no line was answered, and nothing is charged."""

    @property
    def is_final(self) -> bool:
        """Whether the state cannot change any more."""
        return self is not BatchState.RUNNING


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """The largest batch that a provider takes.

    Attributes:
        requests: Number of lines.
        bytes: Size of the file of requests, in bytes.
    """

    requests: int
    bytes: int


@dataclass(frozen=True, slots=True)
class BatchStatus:
    """What a provider says of a batch.

    Attributes:
        state: Where it stands.
        answered: Lines that have an answer or an error so far; null if the provider does not say.
        message: Why it failed, in the provider's words, with secrets removed; null if there is nothing to say.
    """

    state: BatchState
    answered: int | None = None
    message: str | None = None
    answered_early: bool = False
    """Whether ``results`` has lines already, although the state is not final."""


@dataclass(frozen=True, slots=True)
class BatchLine:
    """One request of a batch.

    Attributes:
        custom_id: The identity of the request in the ledger, 64 hex digits; answers carry it.
        request: The request; its model is the one of the whole batch.
    """

    custom_id: str
    request: Request


@dataclass(frozen=True, slots=True)
class LineResult:
    """What became of one line. Exactly one of ``completion`` and ``error`` is set.

    Attributes:
        custom_id: As in the line's request; anything that the provider says, so it may belong to no line.
        completion: The answer, as ``LitellmBackend.complete`` returns the answer to the same request.
        error: Why there is no answer, as ``LitellmBackend.complete`` raises it; retryable if a later batch may help.
        charged: Whether the line may have cost something although it has no answer that can be used.
        place: Where it was read, for messages, such as ``line 3``; null if nobody can look there.
    """

    custom_id: str
    completion: Completion | None = None
    error: ProviderError | None = None
    charged: bool = False
    place: str | None = None


class BatchProvider(Protocol):
    """A provider of batches. Each method makes one attempt and retries nothing.

    All of them raise ``ProviderError``, with secrets removed; it is retryable if another attempt may help.

    Attributes:
        limits: The largest batch.
        can_find: Whether ``find`` works. Where it does not, an id that was lost cannot be found again.
    """

    @property
    def limits(self) -> BatchLimits:
        """The largest batch."""
        ...

    @property
    def can_find(self) -> bool:
        """Whether the provider lists its batches, so that ``find`` works."""
        ...

    def size(self, line: BatchLine) -> int:
        """Return the size of a line in the file of requests, in bytes."""
        ...

    async def create(self, name: str, lines: Sequence[BatchLine]) -> str:
        """Upload the requests and create a batch of them.

        If this raises, the batch may exist all the same: look with ``find`` before creating it again.

        Args:
            name: Our name of the batch, which ``find`` looks for; at most 64 characters.
            lines: The requests, all to one model, with different ids.

        Returns:
            The provider's id of the batch.
        """
        ...

    async def find(self, name: str) -> str | None:
        """Return the provider's id of the batch of that name; null if the provider has none."""
        ...

    async def status(self, batch_id: str) -> BatchStatus:
        """Ask how a batch is doing."""
        ...

    def results(self, batch_id: str, lines: Sequence[BatchLine], total: int | None = None) -> AsyncIterator[LineResult]:
        """Yield what became of the lines of a batch in a final state, in any order, as the provider reports it.

        Lines may be missing, or be there twice, or be nobody's. What cannot be read is left out, and the rest goes on.

        Args:
            batch_id: The provider's id.
            lines: The lines whose results are wanted, as they were sent.
            total: Number of all lines of the batch, which bounds the size of what is read; null for that of ``lines``.
        """
        ...

    async def cancel(self, batch_id: str) -> None:
        """Ask the provider to stop a batch; it may take minutes."""
        ...

    async def close(self) -> None:
        """Release connections. Called once, in the event loop that sent the requests."""
        ...
