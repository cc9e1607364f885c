"""Every attempt, in memory and, line by line, on disk."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from hazardmill.errors import InputError, StoreLocked

__all__ = ["Attempt", "Journal", "Totals", "read_journal"]


@dataclass(frozen=True, slots=True)
class Attempt:
    """One request for a completion: what it was, what it met, and what became of it. No text and no key."""

    number: int
    """Of the attempt among all, from 1, in the order of arrival."""
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
    def of(cls, attempts: Iterable[Attempt]) -> Totals:
        """Add up those of ``attempts`` whose usage went out."""
        told = [attempt for attempt in attempts if attempt.usage_went_out]
        return cls(
            attempts=len(told),
            prompt_tokens=sum(attempt.prompt_tokens or 0 for attempt in told),
            cached_tokens=sum(attempt.cached_tokens or 0 for attempt in told),
            completion_tokens=sum(attempt.completion_tokens or 0 for attempt in told),
        )


class Journal:
    """The attempts of one server. With a file, each change of an attempt is a line handed to the system at once.

    A file that holds attempts already is gone on with: numbers and attempts count on.

    Args:
        path: The file; null for memory only.
        on_change: Told of each attempt as it begins, is about to be answered, and ends; must not raise.

    Raises:
        InputError: The file holds something else.
        StoreLocked: Another server writes it.
    """

    def __init__(self, path: Path | None = None, on_change: Callable[[Attempt], None] | None = None) -> None:
        self._on_change = on_change
        self._descriptor: int | None = None
        self._attempts: list[Attempt] = []
        if path is not None:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._attempts = list(read_journal(path))
            except BlockingIOError as error:
                self.close()
                raise StoreLocked(
                    "another server writes this log", file=str(path), remedy="end it, or choose another file"
                ) from error
            except InputError:
                self.close()
                raise
        self._counts = Counter(attempt.identity for attempt in self._attempts)

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """All attempts so far, in the order of arrival."""
        return tuple(self._attempts)

    def next_attempt(self, identity: str) -> int:
        """Count one more attempt at an identity."""
        self._counts[identity] += 1
        return self._counts[identity]

    def begin(self, identity: str | None, attempt: int | None, **what: Any) -> Attempt:  # noqa: ANN401  # fields
        """Write down that a request has arrived."""
        begun = Attempt(len(self._attempts) + 1, identity, attempt, asked_at=time.time(), **what)
        self._attempts.append(begun)
        self._tell(begun)
        return begun

    def change(self, attempt: Attempt, **what: Any) -> Attempt:  # noqa: ANN401  # fields
        """Write down what has become known of an attempt."""
        changed = replace(attempt, **what)
        self._attempts[attempt.number - 1] = changed
        self._tell(changed)
        return changed

    def end(self, attempt: Attempt, *, written: bool) -> Attempt:
        """Write down that nothing more will be sent."""
        return self.change(attempt, written=written, ended_at=time.time())

    def close(self) -> None:
        """Let go of the file."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _tell(self, attempt: Attempt) -> None:
        if self._descriptor is not None:
            # One write a line, with no buffer of ours: what is killed afterwards cannot take it back.
            line = json.dumps(asdict(attempt), separators=(",", ":"))
            os.write(self._descriptor, line.encode() + b"\n")
        if self._on_change is not None:
            self._on_change(attempt)


def read_journal(path: Path) -> tuple[Attempt, ...]:
    """The attempts in a log file, each as its last line has it.

    Raises:
        InputError: A line is none of a journal's.
    """
    attempts: dict[int, Attempt] = {}
    with path.open(encoding="utf-8", newline="\n") as lines:
        for place, line in enumerate(lines, start=1):
            try:
                attempt = Attempt(**json.loads(line))
                in_order = attempt.number in attempts or attempt.number == len(attempts) + 1
            except (ValueError, TypeError) as error:
                raise _foreign(path, place) from error
            if not in_order:
                raise _foreign(path, place)
            attempts[attempt.number] = attempt
    return tuple(attempts.values())


def _foreign(path: Path, line: int) -> InputError:
    return InputError(
        "this line is none of an llm_server log", file=str(path), line=line, remedy="choose another file for the log"
    )
