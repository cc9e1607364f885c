"""Every attempt, in memory and, line by line, on disk."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hazardmill.testing.requests_log import LoggedRequest, RequestsLog, read_log

__all__ = ["ServedAttempt", "ServerJournal", "Totals", "read_journal"]


@dataclass(frozen=True, slots=True)
class ServedAttempt(LoggedRequest):
    """One request for a completion: what it was, what it met, and what became of it. No text and no key."""

    identity: str | None
    """SHA-256 of what was asked; null where it was turned away at the door."""
    attempt: int | None
    """How many times the identity has come, from 1; null with it."""
    model: str | None = None
    stage: str | None = None
    """Stage of the offline key, if one came along."""
    fault: str | None = None
    status: int | None = None
    """HTTP status of the answer; null where there is none yet, or never will be."""
    prompt_tokens: int | None = None
    """Null where the model was never reached; so are the others."""
    cached_tokens: int | None = None
    completion_tokens: int | None = None
    has_usage: bool = False
    """Whether the answer, as far as it was to be sent, tells the tokens."""
    written: bool | None = None
    """Whether a whole answer went into the socket; null while it is under way, and for good where the server died."""
    reason: str | None = None
    """Why it was turned away, or the class of what the answering function raised."""
    asked_at: float = 0.0
    """Seconds since 1970, when the request had arrived."""
    ended_at: float | None = None
    """When nothing more was to be sent."""

    @property
    def usage_went_out(self) -> bool:
        """Whether the client was told the tokens, as far as the server can know."""
        return self.has_usage and self.written is True

    @property
    def in_flight(self) -> bool:
        """Whether it has not ended; of a server that died, whether it had not."""
        return self.ended_at is None


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over the attempts whose usage went out."""

    attempts: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int

    @classmethod
    def of(cls, attempts: Iterable[ServedAttempt]) -> Totals:
        """Add up those of ``attempts`` whose usage went out."""
        told = [attempt for attempt in attempts if attempt.usage_went_out]
        return cls(
            attempts=len(told),
            prompt_tokens=sum(attempt.prompt_tokens or 0 for attempt in told),
            cached_tokens=sum(attempt.cached_tokens or 0 for attempt in told),
            completion_tokens=sum(attempt.completion_tokens or 0 for attempt in told),
        )


class ServerJournal(RequestsLog[ServedAttempt]):
    """The attempts of one server. With a file, each change of an attempt is a line handed to the system at once.

    A file that holds attempts already is gone on with: numbers and attempts count on.

    Args:
        path: The file; null for memory only.
        on_change: Told of each attempt as it begins, is about to be answered, and ends; must not raise.

    Raises:
        InputError: The file holds something else.
        StoreLocked: Another server writes it.
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
        """Write down that a request has arrived."""
        return self.add(ServedAttempt(self.next_number, identity, attempt, asked_at=time.time(), **what))


def read_journal(path: Path) -> tuple[ServedAttempt, ...]:
    """The attempts in a log file, each as its last line has it.

    Raises:
        InputError: A line is none of a journal's.
    """
    return read_log(path, ServedAttempt, "an llm_server")
