"""The ledger: every attempt at every request, on disk before its answer is used."""

from __future__ import annotations

import asyncio
import json
import math
import sys
import threading
import zlib
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final, Literal, NamedTuple, Protocol

from hazardmill import __version__
from hazardmill.errors import PromptRefused, SettingsError
from hazardmill.llm.call_tally import CallTally
from hazardmill.llm.redact import scrub
from hazardmill.llm.requests import Answer, Completion, Request, Usage

TABLE: Final = "llm_calls"

REFUSED_REQUEST: Final = "request_refused"
"""Finish reason of a request that the provider rejected for another reason than its content filter."""

Channel = Literal["single", "batch", "exchange"]
"""How a request travels: by itself, in a provider's batch, or as a line of a file in an exchange folder."""

IN_FLIGHT: Final = "in_flight"
"""Error of an attempt that was recorded before it was sent. If the process is gone and the row still says so, the
process was killed: the outcome is unknown, and the attempt counts as having cost its upper bound."""

_INDEXED: Final = (
    "run_id",
    "identity",
    "attempt",
    "answered",
    "answer",
    "model_answered",
    "backend",
    "finish_reason",
    "prompt_tokens",
    "cached_tokens",
    "completion_tokens",
    "usd",
    "usd_upper",
    "error",
    "at",
)

_TOKENS: Final = ("prompt_tokens", "cached_tokens", "completion_tokens", "written_tokens")
"""Token counts in an answer's usage."""


class LedgerStore(Protocol):
    """What the ledger needs from a store to read it."""

    def rows_since(
        self, table: str, since: int, columns: list[str] | None = None, /
    ) -> tuple[list[dict[str, Any]], int]:
        """Return rows of a table committed after commit ``since`` (0 for all), and the commit to continue from."""
        ...


class LedgerWriter(Protocol):
    """What the ledger needs from a store to write it."""

    def hand_over(self, rows: dict[str, list[dict[str, Any]]], /) -> Future[None]:
        """Put rows into the next write to disk; the future is done when they are there, or failed if they cannot be."""
        ...


@dataclass(frozen=True, slots=True)
class CallAttempt:
    """One attempt at a request: it ended in an answer or an error, or, with neither, is about to be sent.

    Attributes:
        identity: SHA-256 that identifies the request (``Request.identity``).
        host: Host of the endpoint; null for backends without one.
        completion: The answer; null if there is none.
        error: What ended the attempt; null for an answer.
        usd: Cost in US dollars; null if unknown.
        latency_s: Seconds from sending to the end; null if nothing was sent.
    """

    identity: str
    request: Request
    backend: str
    host: str | None
    model_sent: str
    """Model that received the request: the one asked for, or one of its fallbacks."""
    completion: Completion | None = None
    error: BaseException | None = None
    refusal: PromptRefused | None = None
    """Why nobody accepts the request; its completion is empty, so that it is not sent again."""
    usd: float | None = None
    usd_upper: float | None = None
    """The cost; if unknown, the maximum that the counted tokens can have cost, otherwise the reservation."""
    usd_overrun: float | None = None
    """By how much the cost exceeded the reservation; null if it did not."""
    latency_s: float | None = None
    channel: Channel = "single"
    """How the request travels."""
    batch: str | None = None
    """Name of its batch; null for single requests."""
    batch_line: int | None = None
    """Its line in that batch, from 1."""


@dataclass(frozen=True, slots=True)
class PendingAttempt:
    """An attempt that was handed to the writer and may not be on disk yet."""

    row: dict[str, Any]
    """The row as it is written."""
    written: Future[None]
    """Done when it is on disk."""


@dataclass(frozen=True, slots=True)
class LedgerAnswer:
    """The answer to one identity, as stored in the ledger.

    Attributes:
        identity: SHA-256 that identifies the request.
        run_id: The run that recorded the answer.
        model_answered: The model that answered, in its own words.
        finish_reason: Why the answer ended, as the provider says; null if it does not.
        usage: Token counts; null where unknown.
        usd: Cost in US dollars; null if unknown.
        model_sent: Model that received the request; null in rows without that column.
    """

    identity: str
    run_id: str
    """The run that recorded it."""
    text: str
    model_answered: str
    backend: str
    finish_reason: str | None
    usage: Usage
    usd: float | None
    model_sent: str | None = None

    def answer(self, *, paid: bool, repair: int = 0) -> Answer:
        """Return the answer in the form that stages use."""
        return Answer(
            text=self.text,
            identity=self.identity,
            model_answered=self.model_answered,
            backend=self.backend,
            finish_reason=self.finish_reason,
            usage=self.usage,
            usd=self.usd,
            paid=paid,
            repair=repair,
        )


class LedgerIndex:
    """An index of a ledger by identity: the answer, if there is one, and the number of attempts per run.

    Several runs may have paid for the same identity without knowing of each other. A run uses its own answer, so that
    it continues as it began; otherwise the earliest answer is the answer of the identity.

    All answers of a store are kept in memory: their texts are compressed, and repeated strings are stored once.

    Args:
        rows: Rows of the table ``llm_calls`` to begin with.
        run_id: The run that the index belongs to; null for none.
    """

    def __init__(self, rows: Iterable[dict[str, Any]] = (), *, run_id: str | None = None) -> None:
        self._run_id = run_id
        self._answers: dict[str, _Packed] = {}
        self._own_attempts: dict[str, int] = {}
        self._others_attempts: dict[str, dict[str, int]] = {}
        self._changing = threading.Lock()
        self.add(rows)

    @classmethod
    def read(cls, store: LedgerStore) -> LedgerIndex:
        """Index all rows of a store, without belonging to a run."""
        rows, _ = store.rows_since(TABLE, 0, _index_columns())
        return cls(rows)

    def add(self, rows: Iterable[dict[str, Any]]) -> None:
        """Add rows, new or known. A known answer stays, unless the run pays for one of its own after all."""
        for row in sorted(rows, key=lambda row: (row["run_id"] != self._run_id, row["at"], row["run_id"])):
            # Lock per row: other runs' rows are added while requests are under way.
            with self._changing:
                self._add(row)

    def _add(self, row: dict[str, Any]) -> None:
        identity, run_id = row["identity"], row["run_id"]
        if run_id == self._run_id:
            self._own_attempts[identity] = max(self._own_attempts.get(identity, 0), row["attempt"])
        else:
            attempts = self._others_attempts.setdefault(identity, {})
            attempts[sys.intern(run_id)] = max(attempts.get(run_id, 0), row["attempt"])
        known = self._answers.get(identity)
        if row["answered"] and (known is None or known.run_id != self._run_id == run_id):
            self._answers[identity] = _Packed.of(row)

    def answer(self, identity: str) -> LedgerAnswer | None:
        """Return the answer to an identity; null if no attempt brought one."""
        packed = self._answers.get(identity)
        return None if packed is None else packed.unpack(identity)

    def has_answer(self, identity: str) -> bool:
        """Whether any attempt at an identity brought an answer."""
        return identity in self._answers

    def attempts(self, identity: str) -> int:
        """Count the attempts at an identity over all runs, including those cut off by a kill."""
        return self._own_attempts.get(identity, 0) + sum(self._others_attempts.get(identity, {}).values())

    def next_attempt(self, identity: str) -> int:
        """Return a number for one more attempt of the index's own run; each number is given out once."""
        with self._changing:
            number = self._own_attempts[identity] = self._own_attempts.get(identity, 0) + 1
        return number


class _Packed(NamedTuple):
    """A ``LedgerAnswer`` in a third of the memory."""

    run_id: str
    text: bytes
    model_answered: str
    backend: str
    finish_reason: str | None
    tokens: tuple[int | None, ...]
    usd: float | None
    model_sent: str | None

    @classmethod
    def of(cls, row: dict[str, Any]) -> _Packed:
        return cls(
            sys.intern(row["run_id"]),
            zlib.compress(row["answer"].encode(), 1),
            sys.intern(row["model_answered"]),
            sys.intern(row["backend"]),
            _intern(row["finish_reason"]),
            tuple(row.get(name) for name in _TOKENS),
            row["usd"],
            _intern(row.get("model_sent")),
        )

    def unpack(self, identity: str) -> LedgerAnswer:
        return LedgerAnswer(
            identity=identity,
            run_id=self.run_id,
            text=zlib.decompress(self.text).decode(),
            model_answered=self.model_answered,
            backend=self.backend,
            finish_reason=self.finish_reason,
            usage=Usage(**dict(zip(_TOKENS, self.tokens, strict=True))),
            usd=self.usd,
            model_sent=self.model_sent,
        )


def _intern(text: str | None) -> str | None:
    return None if text is None else sys.intern(text)


class Ledger:
    """The ledger of one run, over a store that may also hold ledgers of other runs; any paid answer is reused.

    It reads the store once, when it is made. Afterwards it knows what it recorded itself, and with each ``refresh``
    what other runs have recorded meanwhile.

    Args:
        store: Where rows are read from.
        writer: Where rows are written to.
        run_id: The run that new attempts belong to.

    Attributes:
        tally: What the attempts of this run have cost so far, for display.

    Raises:
        CorruptStore: A file of the store cannot be read.
        SchemaMismatch: A newer version wrote a file of the store.
    """

    def __init__(self, store: LedgerStore, writer: LedgerWriter, run_id: str) -> None:
        self._store = store
        self._writer = writer
        self._run_id = run_id
        self._index = LedgerIndex(run_id=run_id)
        self._seen = 0
        self.tally = CallTally()
        earlier = {(row["identity"], row["attempt"]): row for row in self._take_in() if row["run_id"] == run_id}
        for row in earlier.values():
            self.tally.add(row)

    @property
    def run_id(self) -> str:
        """The run that new attempts belong to."""
        return self._run_id

    def refresh(self) -> None:
        """Take in what other runs have paid for since the last look. Reads only new rows.

        Blocks; may be called in a thread while requests are under way.

        Raises:
            CorruptStore: A file of the store cannot be read.
            SchemaMismatch: A newer version wrote a file of the store.
        """
        self._take_in()

    def _take_in(self) -> list[dict[str, Any]]:
        rows, self._seen = self._store.rows_since(TABLE, self._seen, _index_columns())
        self._index.add(rows)
        return rows

    def lookup(self, identity: str) -> LedgerAnswer | None:
        """Return the paid answer to an identity; null if there is none."""
        return self._index.answer(identity)

    def knows(self, identity: str) -> bool:
        """Whether there is a paid answer to an identity."""
        return self._index.has_answer(identity)

    def is_own(self, recorded: LedgerAnswer) -> bool:
        """Whether this run recorded the answer, in this process or in one that was killed."""
        return recorded.run_id == self._run_id

    def attempts(self, identity: str) -> int:
        """Count the attempts at an identity so far, including those of other runs."""
        return self._index.attempts(identity)

    def spent_usd(self) -> float:
        """Return what this run's attempts have cost so far in US dollars; unknown costs count at their upper bound.

        Reads the store, and is called when a run with a budget begins.

        Raises:
            SettingsError: The run holds attempts without an upper bound of their cost.
        """
        rows, _ = self._store.rows_since(TABLE, 0, ["run_id", "usd_upper", "model_asked"])
        own = [row for row in rows if row["run_id"] == self._run_id]
        unbounded = sorted({str(row["model_asked"]) for row in own if row["usd_upper"] is None})
        if unbounded:
            raise SettingsError(
                f"the budget cannot be enforced: the cost of attempts in run {self._run_id} is unknown "
                f"({', '.join(unbounded)})",
                remedy="continue without a budget, or start a new run: paid answers are reused",
            )
        # The bound equals the cost where that is known, and is zero for a replayed answer.
        return math.fsum(row["usd_upper"] for row in own)

    def number(self, identity: str) -> int:
        """Return a number for one more attempt of this run at an identity; each number is given out once."""
        return self._index.next_attempt(identity)

    def hand_over_all(
        self, attempts: Iterable[tuple[CallAttempt, int]], with_rows: Mapping[str, list[dict[str, Any]]]
    ) -> Future[None]:
        """Hand several attempts with their numbers to the writer, with rows of other tables: all of them or none.

        Returns:
            A future that is done when they are on disk.

        Raises:
            StoreError: A row cannot be written.
        """
        rows = [self._row(attempt, number) for attempt, number in attempts]
        written = self._writer.hand_over({**with_rows, TABLE: rows})
        self._count(rows)
        return written

    def hand_over(self, attempt: CallAttempt, number: int | None = None) -> PendingAttempt:
        """Hand one attempt to the writer; it is part of the next write to disk when this returns.

        Hand an answer over as soon as it is read, before any await. A kill can then lose no more than the write under
        way and the next one.

        Args:
            attempt: An attempt that is about to be sent or has ended.
            number: Its number; by default the next one. A row with the same number replaces the one that says the
                attempt is about to be sent.

        Returns:
            The row, and a future that is done when it is on disk.

        Raises:
            StoreError: The row cannot be written.
        """
        row = self._row(attempt, self.number(attempt.identity) if number is None else number)
        written = self._writer.hand_over({TABLE: [row]})
        self._count([row])
        return PendingAttempt(row, written)

    async def record(self, handed: PendingAttempt) -> LedgerAnswer | None:
        """Wait until an attempt is on disk.

        Returns:
            The answer; null if the attempt has none.

        Raises:
            StoreError: The row could not be written. The answer must not be used then.
        """
        await asyncio.wrap_future(handed.written)
        self._index.add([handed.row])
        return _Packed.of(handed.row).unpack(handed.row["identity"]) if handed.row["answered"] else None

    def _count(self, rows: Iterable[Mapping[str, Any]]) -> None:
        for row in rows:
            # What is about to be sent comes again when it has ended.
            if row["error"] != IN_FLIGHT:
                self.tally.add(row)
                self.tally.requests += 1
                self.tally.fallbacks += bool(row["answered"]) and row.get("model_sent") not in (
                    None,
                    row["model_asked"],
                )

    def _row(self, attempt: CallAttempt, number: int) -> dict[str, Any]:
        request, completion, error = attempt.request, attempt.completion, attempt.error
        usage = completion.usage if completion is not None else Usage()
        in_flight = completion is None and error is None
        said = attempt.refusal or error
        newer = {
            "model_sent": attempt.model_sent,
            "repair": request.repair,
            "written_tokens": usage.written_tokens,
            "usd_overrun": attempt.usd_overrun,
            "round": request.key.round if request.key is not None else None,
            "recording": None if completion is None else completion.recording,
            "recorded_for": None if completion is None else completion.recorded_for,
            "channel": attempt.channel,
            "batch": attempt.batch,
            "batch_line": attempt.batch_line,
        }
        return {name: value for name, value in newer.items() if name in _newer_columns()} | {
            "run_id": self._run_id,
            "identity": attempt.identity,
            "attempt": number,
            "record_id": request.record_id,
            "stage": request.stage,
            "draft": request.key.draft if request.key is not None else None,
            "sample": request.sample,
            "host": attempt.host,
            "request": _request_json(request),
            "answer": None if completion is None else completion.text,
            "answered": completion is not None,
            "finish_reason": None if completion is None else completion.finish_reason,
            "error": IN_FLIGHT if in_flight else None if error is None else type(error).__name__,
            "error_message": None if said is None else scrub(str(said)),
            "prompt_tokens": usage.prompt_tokens,
            "cached_tokens": usage.cached_tokens,
            "completion_tokens": usage.completion_tokens,
            "usd": attempt.usd,
            "usd_upper": attempt.usd_upper,
            "latency_s": attempt.latency_s,
            "at": datetime.now(UTC),
            "input_hash": request.input_hash,
            "prompt_version": request.prompt_version,
            "prompt_hash": request.prompt_hash,
            "model_asked": request.model,
            "model_answered": None if completion is None else completion.model_answered,
            "backend": attempt.backend,
            "jail_profile": None,
            "hazardmill_version": __version__,
        }


_NEWER: Final = (
    "model_sent",
    "repair",
    "written_tokens",
    "usd_overrun",
    "round",
    "recording",
    "recorded_for",
    "channel",
    "batch",
    "batch_line",
)


@cache
def _newer_columns() -> frozenset[str]:
    """The columns added after the first version of the table that the current schema has."""
    # Imported here because it loads pyarrow.
    from hazardmill.store.schemas import LLM_CALLS

    return frozenset(_NEWER) & {column.name for column in LLM_CALLS.columns}


def _index_columns() -> list[str]:
    return [*_INDEXED, *sorted(_newer_columns() & {"model_sent", "written_tokens"})]


def _request_json(request: Request) -> str:
    asked = request.model_dump(mode="json", include={"messages", "parameters"})
    return json.dumps(asked, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
