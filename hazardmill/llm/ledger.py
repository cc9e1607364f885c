"""The ledger: every attempt at every request, on disk before anything uses its answer."""

from __future__ import annotations

import asyncio
import json
import math
import sys
import threading
import zlib
from collections.abc import Iterable
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final, NamedTuple, Protocol

from hazardmill import __version__
from hazardmill.errors import PromptRefused, SettingsError
from hazardmill.llm.redact import scrub
from hazardmill.llm.requests import Answer, Completion, Request, Usage

TABLE: Final = "llm_calls"

REFUSED_REQUEST: Final = "request_refused"
"""Finish reason of what the provider turned away, its filter aside: the answer is that there is none."""

IN_FLIGHT: Final = "in_flight"
"""Error of an attempt that was written down before it was sent. A row that still says so when its process is gone is
what a kill left: nobody knows what came of it, and it counts as spent what it may have cost."""

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
    "at",
)

_TOKENS: Final = ("prompt_tokens", "cached_tokens", "completion_tokens", "written_tokens")
"""Of an answer's usage."""


class LedgerStore(Protocol):
    """What the ledger reads from the store."""

    def rows_since(
        self, table: str, since: int, columns: list[str] | None = None, /
    ) -> tuple[list[dict[str, Any]], int]:
        """Rows of a table that came after commit ``since`` (0: all), and the commit to go on from."""
        ...


class LedgerWriter(Protocol):
    """What the ledger needs to write."""

    def hand_over(self, rows: dict[str, list[dict[str, Any]]], /) -> Future[None]:
        """Put rows into the next write to the disk; done when they are there, with an error if they cannot be."""
        ...


@dataclass(frozen=True, slots=True)
class CallAttempt:
    """One attempt: ended in an answer, ended in an error, or, with neither, about to be sent."""

    identity: str
    request: Request
    backend: str
    host: str | None
    model_sent: str
    """Model that it was sent to: the one asked for, or one of its fallbacks."""
    completion: Completion | None = None
    error: BaseException | None = None
    refusal: PromptRefused | None = None
    """Of a request that nobody takes: why. Its completion is that there is no answer, so that it is not asked again."""
    usd: float | None = None
    usd_upper: float | None = None
    """The cost; where that is unknown what the counted tokens can have cost at most, else what was reserved."""
    usd_overrun: float | None = None
    """By how much it cost more than was reserved for it; null if it did not."""
    latency_s: float | None = None


@dataclass(frozen=True, slots=True)
class PendingAttempt:
    """An attempt on its way to the disk."""

    row: dict[str, Any]
    """As it is written."""
    written: Future[None]
    """Done when it is on disk."""


@dataclass(frozen=True, slots=True)
class LedgerAnswer:
    """The answer of an identity, as the ledger has it."""

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
        """What a stage is given."""
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
    """What a ledger holds, by identity: the answer if there is one, and how many attempts each run made.

    Several runs can have paid for one identity, if none knew of the other. A run keeps to its own answer, so that it
    goes on as it began; else the answer that came first is the answer of the identity.

    All answers of a store are in memory: their texts are packed, and what many have in common is there once.
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
        """Index all rows of a store, as one who belongs to no run."""
        rows, _ = store.rows_since(TABLE, 0, _index_columns())
        return cls(rows)

    def add(self, rows: Iterable[dict[str, Any]]) -> None:
        """Take rows in, new ones or known ones. An answer stays, unless the run pays for one of its own after all."""
        for row in sorted(rows, key=lambda row: (row["run_id"] != self._run_id, row["at"], row["run_id"])):
            # Of each row anew: what others recorded is taken in while requests are under way.
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
        """The answer of an identity; null if no attempt brought one."""
        packed = self._answers.get(identity)
        return None if packed is None else packed.unpack(identity)

    def has_answer(self, identity: str) -> bool:
        """Whether some attempt at an identity brought an answer."""
        return identity in self._answers

    def attempts(self, identity: str) -> int:
        """Attempts at an identity, those of all runs together, with any that a kill cut off."""
        return self._own_attempts.get(identity, 0) + sum(self._others_attempts.get(identity, {}).values())

    def next_attempt(self, identity: str) -> int:
        """Number for one more attempt of the index's own run, given out once."""
        with self._changing:
            number = self._own_attempts[identity] = self._own_attempts.get(identity, 0) + 1
        return number


class _Packed(NamedTuple):
    """``LedgerAnswer`` in a third of the room."""

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
    """The ledger of one run, over a store that may hold those of others: what any run paid for is reused.

    Reads the store once, when it is made; from then on it knows what it recorded itself, and with each ``refresh``
    what others recorded meanwhile.
    """

    def __init__(self, store: LedgerStore, writer: LedgerWriter, run_id: str) -> None:
        self._store = store
        self._writer = writer
        self._run_id = run_id
        self._index = LedgerIndex(run_id=run_id)
        self._seen = 0
        self.refresh()

    def refresh(self) -> None:
        """Take in what other runs have paid for since; reads what is new only, so once a batch costs next to nothing.

        Blocks; may be called in a thread while requests are under way.

        Raises:
            CorruptStore, SchemaMismatch: A file of the store cannot be read.
        """
        rows, self._seen = self._store.rows_since(TABLE, self._seen, _index_columns())
        self._index.add(rows)

    def lookup(self, identity: str) -> LedgerAnswer | None:
        """The paid answer of an identity; null if there is none."""
        return self._index.answer(identity)

    def knows(self, identity: str) -> bool:
        """Whether there is a paid answer of an identity."""
        return self._index.has_answer(identity)

    def is_own(self, recorded: LedgerAnswer) -> bool:
        """Whether this run recorded it, in this process or in one that was killed."""
        return recorded.run_id == self._run_id

    def attempts(self, identity: str) -> int:
        """Attempts at an identity so far, those of other runs included."""
        return self._index.attempts(identity)

    def spent_usd(self) -> float:
        """What the attempts of this run cost so far, and where that is unknown the most that they can have cost.

        Reads the store: for the beginning of a run that has a budget.

        Raises:
            SettingsError: The run holds attempts that have no upper bound of their cost.
        """
        rows, _ = self._store.rows_since(TABLE, 0, ["run_id", "usd_upper", "model_asked"])
        own = [row for row in rows if row["run_id"] == self._run_id]
        unbounded = sorted({str(row["model_asked"]) for row in own if row["usd_upper"] is None})
        if unbounded:
            raise SettingsError(
                f"no budget can be kept: run {self._run_id} holds attempts of unknown cost ({', '.join(unbounded)})",
                remedy="go on without a budget, or start a new run: what was paid for is reused",
            )
        # The bound is the cost where that is known, and zero where an answer was replayed.
        return math.fsum(row["usd_upper"] for row in own)

    def number(self, identity: str) -> int:
        """Number of one more attempt of this run at an identity, given out once."""
        return self._index.next_attempt(identity)

    def hand_over(self, attempt: CallAttempt, number: int | None = None) -> PendingAttempt:
        """Have one attempt written down; it is in the next write to the disk when this returns.

        An answer is to be handed over as soon as it was read, before anything is awaited: what a kill can take then is
        no more than what the write under way and the next one hold.

        Args:
            attempt: About to be sent, or ended.
            number: Its number; with the same number the row that says how it ended replaces the one that says that it
                is about to be sent. By default the next one.

        Raises:
            StoreError: The row cannot be written.
        """
        row = self._row(attempt, self.number(attempt.identity) if number is None else number)
        return PendingAttempt(row, self._writer.hand_over({TABLE: [row]}))

    async def record(self, handed: PendingAttempt) -> LedgerAnswer | None:
        """Wait until what was handed over is on disk; gives the answer if the attempt had one.

        Raises:
            StoreError: The row could not be written. The answer must not be used then.
        """
        await asyncio.wrap_future(handed.written)
        self._index.add([handed.row])
        return _Packed.of(handed.row).unpack(handed.row["identity"]) if handed.row["answered"] else None

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


_NEWER: Final = ("model_sent", "repair", "written_tokens", "usd_overrun", "round", "recording", "recorded_for")


@cache
def _newer_columns() -> frozenset[str]:
    """Those of the columns added since the table was first written that its schema has."""
    # Here, for it brings pyarrow along.
    from hazardmill.store.schemas import LLM_CALLS

    return frozenset(_NEWER) & {column.name for column in LLM_CALLS.columns}


def _index_columns() -> list[str]:
    return [*_INDEXED, *sorted(_newer_columns() & {"model_sent", "written_tokens"})]


def _request_json(request: Request) -> str:
    asked = request.model_dump(mode="json", include={"messages", "parameters"})
    return json.dumps(asked, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
