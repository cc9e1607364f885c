"""The ledger: every attempt at every request, on disk before anything uses its answer."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Protocol

from hazardmill import __version__
from hazardmill.llm.requests import Answer, Completion, Request, Usage
from hazardmill.llm.scrub import scrub

TABLE: Final = "llm_calls"

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


class LedgerStore(Protocol):
    """What the ledger reads from the store."""

    def rows_since(
        self, table: str, since: int, columns: list[str] | None = None, /
    ) -> tuple[list[dict[str, Any]], int]:
        """Rows of a table that came after commit ``since`` (0: all), and the commit to go on from."""
        ...


class LedgerWriter(Protocol):
    """What the ledger needs to write."""

    async def append(self, rows: dict[str, list[dict[str, Any]]], /) -> None:
        """Returns when the rows are on disk; raises if they are not."""
        ...


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt that has ended, in an answer or in an error (exactly one of the two)."""

    identity: str
    request: Request
    backend: str
    host: str | None
    completion: Completion | None
    error: BaseException | None
    usd: float | None
    usd_upper: float | None
    latency_s: float


@dataclass(frozen=True, slots=True)
class Recorded:
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

    def answer(self, *, paid: bool) -> Answer:
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
        )


class LedgerIndex:
    """What a ledger holds, by identity: the answer if there is one, and how many attempts each run made.

    Several runs can have paid for one identity, if none knew of the other. A run keeps to its own answer, so that it
    goes on as it began; else the answer that came first is the answer of the identity.
    """

    def __init__(self, rows: Iterable[dict[str, Any]] = (), *, run_id: str | None = None) -> None:
        self._run_id = run_id
        self._answers: dict[str, Recorded] = {}
        self._attempts: dict[str, dict[str, int]] = {}
        self.add(rows)

    @classmethod
    def read(cls, store: LedgerStore) -> LedgerIndex:
        """Index all rows of a store, as one who belongs to no run."""
        rows, _ = store.rows_since(TABLE, 0, list(_INDEXED))
        return cls(rows)

    def add(self, rows: Iterable[dict[str, Any]]) -> None:
        """Take rows in, new ones or known ones. An answer stays, unless the run pays for one of its own after all."""
        for row in sorted(rows, key=lambda row: (row["run_id"] != self._run_id, row["at"], row["run_id"])):
            identity, run_id = row["identity"], row["run_id"]
            attempts = self._attempts.setdefault(identity, {})
            attempts[run_id] = max(attempts.get(run_id, 0), row["attempt"])
            known = self._answers.get(identity)
            if row["answered"] and (known is None or known.run_id != self._run_id == run_id):
                self._answers[identity] = _recorded(row)

    def answer(self, identity: str) -> Recorded | None:
        """The answer of an identity; null if no attempt brought one."""
        return self._answers.get(identity)

    def attempts(self, identity: str) -> int:
        """Attempts at an identity, those of all runs together."""
        return sum(self._attempts.get(identity, {}).values())

    def next_attempt(self, identity: str, run_id: str) -> int:
        """Number for one more attempt of a run, given out once."""
        attempts = self._attempts.setdefault(identity, {})
        number = attempts[run_id] = attempts.get(run_id, 0) + 1
        return number


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
        rows, self._seen = self._store.rows_since(TABLE, self._seen, list(_INDEXED))
        self._index.add(rows)

    def lookup(self, identity: str) -> Recorded | None:
        """The paid answer of an identity; null if there is none."""
        return self._index.answer(identity)

    def is_own(self, recorded: Recorded) -> bool:
        """Whether this run recorded it, in this process or in one that was killed."""
        return recorded.run_id == self._run_id

    def attempts(self, identity: str) -> int:
        """Attempts at an identity so far, those of other runs included."""
        return self._index.attempts(identity)

    async def record(self, attempt: Attempt) -> Recorded | None:
        """Write one attempt down; returns when it is on disk, with the answer if the attempt had one.

        Raises:
            StoreError: The row could not be written. The answer must not be used then.
        """
        row = self._row(attempt, self._index.next_attempt(attempt.identity, self._run_id))
        await self._writer.append({TABLE: [row]})
        self._index.add([row])
        return _recorded(row) if attempt.completion is not None else None

    def _row(self, attempt: Attempt, number: int) -> dict[str, Any]:
        request, completion, error = attempt.request, attempt.completion, attempt.error
        usage = completion.usage if completion is not None else Usage()
        return {
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
            "error": None if error is None else type(error).__name__,
            "error_message": None if error is None else scrub(str(error)),
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


def _request_json(request: Request) -> str:
    asked = request.model_dump(mode="json", include={"messages", "parameters"})
    return json.dumps(asked, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _recorded(row: dict[str, Any]) -> Recorded:
    return Recorded(
        identity=row["identity"],
        run_id=row["run_id"],
        text=row["answer"],
        model_answered=row["model_answered"],
        backend=row["backend"],
        finish_reason=row["finish_reason"],
        usage=Usage(
            prompt_tokens=row["prompt_tokens"],
            cached_tokens=row["cached_tokens"],
            completion_tokens=row["completion_tokens"],
        ),
        usd=row["usd"],
    )
