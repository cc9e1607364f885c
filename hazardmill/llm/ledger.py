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
)


class LedgerStore(Protocol):
    """What the ledger reads from the store."""

    def rows(
        self, table: str, where: dict[str, Any] | None = None, columns: list[str] | None = None
    ) -> list[dict[str, Any]]:
        """Rows of a table, the latest of each key."""
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
    """What a ledger holds, by identity: the answer if there is one, and how many attempts were made."""

    def __init__(self, rows: Iterable[dict[str, Any]] = ()) -> None:
        self._answers: dict[str, Recorded] = {}
        self._attempts: dict[str, int] = {}
        for row in rows:
            self.add(row)

    @classmethod
    def read(cls, store: LedgerStore) -> LedgerIndex:
        """Index all rows of a store."""
        return cls(store.rows(TABLE, columns=list(_INDEXED)))

    def add(self, row: dict[str, Any]) -> None:
        """Take one row in. The first answer of an identity stays its answer: same identity, same answer."""
        identity = row["identity"]
        self._attempts[identity] = max(self._attempts.get(identity, 0), row["attempt"])
        if row["answered"] and identity not in self._answers:
            self._answers[identity] = _recorded(row)

    def answer(self, identity: str) -> Recorded | None:
        """The answer of an identity; null if no attempt brought one."""
        return self._answers.get(identity)

    def attempts(self, identity: str) -> int:
        """Number of the last attempt at an identity; 0 if none was made."""
        return self._attempts.get(identity, 0)

    def next_attempt(self, identity: str) -> int:
        """Number for one more attempt, given out once."""
        number = self._attempts[identity] = self.attempts(identity) + 1
        return number


class Ledger:
    """The ledger of one run, over a store that may hold those of others: what any run paid for is reused.

    Reads the store once, when it is made; from then on it knows what it recorded itself.
    """

    def __init__(self, store: LedgerStore, writer: LedgerWriter, run_id: str) -> None:
        self._writer = writer
        self._run_id = run_id
        self._index = LedgerIndex.read(store)

    def lookup(self, identity: str) -> Recorded | None:
        """The paid answer of an identity; null if there is none."""
        return self._index.answer(identity)

    def attempts(self, identity: str) -> int:
        """Attempts at an identity so far, those of earlier runs included."""
        return self._index.attempts(identity)

    async def record(self, attempt: Attempt) -> Recorded | None:
        """Write one attempt down; returns when it is on disk, with the answer if the attempt had one.

        Raises:
            StoreError: The row could not be written. The answer must not be used then.
        """
        row = self._row(attempt, self._index.next_attempt(attempt.identity))
        await self._writer.append({TABLE: [row]})
        self._index.add(row)
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
