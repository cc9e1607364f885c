"""The replay backend: answers from the ledger of earlier runs, and from nothing else."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

from hazardmill.errors import ReplayMiss
from hazardmill.llm.ledger import LedgerIndex, LedgerStore
from hazardmill.llm.requests import Completion, Request


class ReplayBackend:
    """Stands in for the backend of an earlier run, under its name and host, so that identities are the same.

    With the ledger of another store, it answers what that ledger holds. With the ledger of the run's own store, every
    request that reaches it is a miss, because the client looks there first: nothing new is paid for.

    Args:
        store: The store whose ledger answers; read at the first request.
        backend: Name of the backend of the run that is replayed.
        host: Its host; null if it had none.
    """

    charges: ClassVar[bool] = False
    """The answers were paid for by the run that is replayed."""

    def __init__(self, store: LedgerStore, backend: str, host: str | None) -> None:
        self.name = backend
        self.host = host
        self._store = store

    @cached_property
    def _index(self) -> LedgerIndex:
        return LedgerIndex.read(self._store)

    async def complete(self, request: Request) -> Completion:
        """Return the answer in the ledger.

        Raises:
            ReplayMiss: The ledger has no answer to this request.
        """
        identity = request.identity(self.name, self.host)
        recorded = self._index.answer(identity)
        if recorded is None:
            attempts = self._index.attempts(identity)
            held = f"only attempts without an answer ({attempts}) at" if attempts else "no answer to"
            raise ReplayMiss(
                f"the ledger holds {held} this {request.stage} request to {request.model} "
                f"(identity {identity[:12]}, backend {self.name}, host {self.host or 'none'})",
                record_id=request.record_id,
                remedy="run with a live backend to pay for it: a prompt, parameter, model or record has changed since",
            )
        return Completion(
            text=recorded.text,
            model_answered=recorded.model_answered,
            finish_reason=recorded.finish_reason,
            usage=recorded.usage,
            # The price is that of the model that answered then, possibly a fallback.
            model_sent=recorded.model_sent,
        )

    async def close(self) -> None:
        """Do nothing: there is nothing to release."""
