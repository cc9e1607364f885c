"""Every attempt, in memory and, line by line, on disk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hazardmill.testing.requests_log import LoggedRequest, RequestsLog, log_time, read_log

__all__ = ["ServedAttempt", "ServerJournal", "Totals", "read_journal"]


@dataclass(frozen=True, slots=True)
class ServedAttempt(LoggedRequest):
    """One request for a completion: what it was, its fault, and how it ended. It holds no text and no key.

    Attributes:
        model: The model asked for.
        fault: The fault, as in a script; null for none.
        cached_tokens: Prompt tokens found in the cache.
        completion_tokens: Tokens of the answer.
    """

    identity: str | None
    """SHA-256 of the request; null if it was rejected on arrival."""
    attempt: int | None
    """How many times the identity has arrived, from 1; null together with it."""
    model: str | None = None
    stage: str | None = None
    """Stage of the answer key, if the request had one."""
    fault: str | None = None
    status: int | None = None
    """HTTP status of the answer; null if there is none yet, or never will be."""
    prompt_tokens: int | None = None
    """Null if the model was never reached, as are the other counts."""
    cached_tokens: int | None = None
    completion_tokens: int | None = None
    has_usage: bool = False
    """Whether the part of the answer that was to be sent contains the token counts."""
    written: bool | None = None
    """Whether a whole answer was written to the socket; null while it is under way, and for good if the server died."""
    reason: str | None = None
    """Why it was rejected, or the class of the exception that the answering function raised."""
    asked_at: float = 0.0
    """When the request had arrived, in seconds since 1970."""
    ended_at: float | None = None
    """When nothing more was to be sent, in seconds since 1970."""
    batch: str | None = None
    """Id of the batch with this request as a line; null for a request of its own. The answer to a line counts as
    written when it goes into a file that the client may read."""

    @property
    def usage_went_out(self) -> bool:
        """Whether the client received the token counts, as far as the server can know."""
        return self.has_usage and self.written is True

    @property
    def in_flight(self) -> bool:
        """Whether it has not ended; for a server that died, whether it had not."""
        return self.ended_at is None


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over the attempts whose token counts were sent."""

    attempts: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int

    @classmethod
    def of(cls, attempts: Iterable[ServedAttempt]) -> Totals:
        """Add up the attempts whose token counts were sent."""
        told = [attempt for attempt in attempts if attempt.usage_went_out]
        return cls(
            attempts=len(told),
            prompt_tokens=sum(attempt.prompt_tokens or 0 for attempt in told),
            cached_tokens=sum(attempt.cached_tokens or 0 for attempt in told),
            completion_tokens=sum(attempt.completion_tokens or 0 for attempt in told),
        )


class ServerJournal(RequestsLog[ServedAttempt]):
    """The attempts of one server. With a file, each change of an attempt is written as a line at once.

    An existing file is continued: numbers and attempts count on.

    Args:
        path: The file; null for memory only.
        on_change: Called with each attempt when it begins, before it is answered, and when it ends; must not raise.

    Raises:
        InputError: The file holds something else.
        StoreLocked: Another server writes the file.
    """

    def __init__(self, path: Path | None = None, on_change: Callable[[ServedAttempt], None] | None = None) -> None:
        super().__init__(read_journal, path, on_change)
        self._counts = Counter(attempt.identity for attempt in self._rows)

    @property
    def attempts(self) -> tuple[ServedAttempt, ...]:
        """All attempts so far, in the order of arrival."""
        return tuple(self._rows)

    def next_attempt(self, identity: str) -> int:
        """Count one more attempt at an identity."""
        self._counts[identity] += 1
        return self._counts[identity]

    def begin(self, identity: str | None, attempt: int | None, **what: Any) -> ServedAttempt:  # noqa: ANN401  # fields
        """Log that a request has arrived: now, if ``asked_at`` is not among the fields."""
        return self.add(ServedAttempt(self.next_number, identity, attempt, **{"asked_at": log_time(), **what}))


def read_journal(path: Path) -> tuple[ServedAttempt, ...]:
    """Return the attempts of a log file; the last line of each attempt counts.

    Raises:
        InputError: A line does not belong to such a journal.
    """
    return read_log(path, ServedAttempt, "an llm_server")
