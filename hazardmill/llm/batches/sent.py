"""Batches that a run has sent, as its store keeps them: a row per batch, and its lines in the ledger."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Literal

from hazardmill import __version__
from hazardmill.errors import ConnectionFailed, ProviderError
from hazardmill.llm.batches.provider import BatchLine, BatchState
from hazardmill.llm.ledger import IN_FLIGHT, CallAttempt, Channel, Ledger
from hazardmill.llm.requests import AnswerKey, Message, Request

if TYPE_CHECKING:
    from hazardmill.store.store import Store

TABLE: Final = "batches"

SentState = Literal["intended", "sent", "collected", "never_sent"]

_OPEN: Final = ("intended", "sent")

_LINE: Final = (
    "identity",
    "attempt",
    "batch_line",
    "error",
    "answered",
    "usd_upper",
    "stage",
    "model_asked",
    "request",
    "sample",
    "record_id",
    "input_hash",
    "draft",
    "round",
    "repair",
    "prompt_version",
    "prompt_hash",
    "backend",
    "host",
)


@dataclass(frozen=True, slots=True)
class SentLine:
    """A line of a batch that has no answer in the ledger yet.

    Attributes:
        identity: Identity of the request in the ledger.
        request: The request, with its fallbacks.
        attempt: Number of the run's attempt at this identity, from 1.
        number: Line in the batch's file, from 1.
        usd_upper: Maximum cost in US dollars; null if nothing bounds it.
    """

    identity: str
    request: Request
    attempt: int
    number: int
    usd_upper: float | None

    @property
    def line(self) -> BatchLine:
        """The line as a provider takes it."""
        return BatchLine(self.identity, self.request)


@dataclass
class SentBatch:
    """A batch of a run.

    Attributes:
        name: Our name, which the provider was told.
        number: Number of the batch in its run, from 1.
        model: Model that all of its requests ask.
        backend: Name of the backend, which is part of every line's identity.
        host: Host of the endpoint, likewise.
        place: Address of the provider, or the exchange folder; null is the provider's own address.
        created_at: When it was written down.
        requests: Number of its lines when it was sent.
        lines: The lines without an answer, by identity.
        ids: The identities of all of its lines.
        batch_id: The provider's id; null until it is known.
        answered: Lines with an answer in the ledger.
        seen: Lines that its provider said are done when it was last looked at; null if it did not say.
        may_exist: Whether its provider may have it although its id is not known: somebody tried to create it.
    """

    name: str
    number: int
    channel: Channel
    model: str
    backend: str
    host: str | None
    place: str | None
    created_at: datetime
    requests: int
    lines: dict[str, SentLine]
    ids: frozenset[str]
    batch_id: str | None = None
    state: SentState = "intended"
    end: BatchState | None = None
    answered: int = 0
    message: str | None = None
    seen: int | None = None
    may_exist: bool = False

    def row(self, run_id: str) -> dict[str, Any]:
        """Return the row of the table ``batches`` for the batch as it is now."""
        return {
            "run_id": run_id,
            "batch": self.name,
            "number": self.number,
            "channel": self.channel,
            "model": self.model,
            "place": self.place,
            "batch_id": self.batch_id,
            "state": self.state,
            "end": None if self.end is None else self.end.value,
            "requests": self.requests,
            "answered": self.answered,
            "message": self.message,
            "created_at": self.created_at,
            "at": datetime.now(UTC),
            "hazardmill_version": __version__,
        }

    def age_s(self, now: datetime) -> float:
        """Return how long ago the batch was written down, in seconds."""
        return (now - self.created_at).total_seconds()


def open_batches_of(store: Store, run_id: str, fallbacks: Iterable[str] = ()) -> list[SentBatch]:
    """Return the batches of a run whose answers are not all in the ledger, the earliest first.

    Args:
        store: The store of the run.
        run_id: The run.
        fallbacks: Models that may answer instead of the one asked.

    Raises:
        StoreError: The store cannot be read.
    """
    rows = store.rows(TABLE, {"run_id": run_id})
    found = [row for row in rows if row["state"] in _OPEN]
    return [_read(store, row, tuple(fallbacks)) for row in sorted(found, key=lambda row: row["number"])]


def attempt_at(batch: SentBatch, line: SentLine) -> CallAttempt:
    """Return the attempt at a line of a batch, as it is written down before the batch is sent.

    Args:
        batch: The batch.
        line: The line.
    """
    return CallAttempt(
        line.identity,
        line.request,
        batch.backend,
        batch.host,
        line.request.model,
        usd_upper=line.usd_upper,
        channel=batch.channel,
        batch=batch.name,
        batch_line=line.number,
    )


def forget(batch: SentBatch, ledger: Ledger, error: ProviderError | None = None) -> Future[None]:
    """Write down that a batch does not exist, so that its open lines are asked again.

    If it was never sent, they cost nothing; otherwise they may have cost as much as was reserved for them.

    Args:
        batch: The batch.
        ledger: The ledger of its run.
        error: Why it does not exist; by default that somebody said so.

    Returns:
        A future that is done when this is on disk.

    Raises:
        StoreError: It cannot be written.
    """  # the ledger raises it
    error = error or ConnectionFailed(f"the batch {batch.name} does not exist")
    was_sent = batch.state == "sent"
    ended = [
        (
            replace(
                attempt_at(batch, line),
                error=error,
                usd=None if was_sent else 0.0,
                usd_upper=line.usd_upper if was_sent else 0.0,
            ),
            line.attempt,
        )
        for line in batch.lines.values()
    ]
    batch.state, batch.message = "collected" if was_sent else "never_sent", error.message
    return ledger.hand_over_all(ended, {TABLE: [batch.row(ledger.run_id)]})


def has_open_batches(store: Store, run_id: str) -> bool:
    """Return whether a run has batches whose answers are not all in its ledger."""
    return any(row["state"] in _OPEN for row in store.rows(TABLE, {"run_id": run_id}, ["state"]))


def last_number(store: Store, run_id: str) -> int:
    """Return the number of the last batch of a run; 0 if it has none."""
    return max((row["number"] for row in store.rows(TABLE, {"run_id": run_id}, ["number"])), default=0)


def new_batch_name(run_id: str, number: int) -> str:
    """Return a name that no other batch has: eight random digits, the run's id and the number; 64 characters at most.

    Runs of different stores may have the same id, and batches are found by their name.
    """
    return f"{secrets.token_hex(4)}-{run_id[-49:]}-{number:04d}"


def _read(store: Store, row: dict[str, Any], fallbacks: tuple[str, ...]) -> SentBatch:
    calls = store.rows("llm_calls", {"run_id": row["run_id"], "batch": row["batch"]}, list(_LINE))
    # The others are answered, or have failed: they are asked again in another batch.
    lines = [_line(call, fallbacks) for call in calls if call["error"] == IN_FLIGHT]
    return SentBatch(
        name=row["batch"],
        number=row["number"],
        channel=row["channel"],
        model=row["model"],
        backend=calls[0]["backend"],
        host=calls[0]["host"],
        place=row["place"],
        created_at=row["created_at"],
        requests=row["requests"],
        lines={line.identity: line for line in sorted(lines, key=lambda line: line.number)},
        ids=frozenset(call["identity"] for call in calls),
        batch_id=row["batch_id"],
        state=row["state"],
        # A session that was killed has not counted what it booked.
        answered=sum(call["answered"] for call in calls),
        # Whoever wrote it down was about to create it.
        may_exist=row["state"] == "intended",
    )


def _line(call: dict[str, Any], fallbacks: tuple[str, ...]) -> SentLine:
    asked = json.loads(call["request"])
    key = None
    if call["input_hash"] is not None and call["round"] is not None:
        key = AnswerKey(
            record_hash=call["input_hash"],
            stage=call["stage"],
            round=call["round"],
            draft=call["draft"],
            repair=call["repair"],
            sample=call["sample"],
        )
    request = Request(
        stage=call["stage"],
        model=call["model_asked"],
        messages=tuple(Message(**message) for message in asked["messages"]),
        parameters=asked["parameters"],
        sample=call["sample"],
        record_id=call["record_id"],
        input_hash=call["input_hash"],
        key=key,
        prompt_version=call["prompt_version"],
        prompt_hash=call["prompt_hash"],
        fallbacks=fallbacks,
        repair=call["repair"],
    )
    return SentLine(call["identity"], request, call["attempt"], call["batch_line"], call["usd_upper"])
