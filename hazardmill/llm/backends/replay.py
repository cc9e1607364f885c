"""Answers from the ledger of an earlier run, and from nothing else."""

from __future__ import annotations

from typing import ClassVar

from hazardmill.errors import ReplayMiss
from hazardmill.llm.ledger import LedgerIndex, LedgerStore
from hazardmill.llm.requests import Completion, Request


class ReplayBackend:
    """Plays the part of the backend that was asked then, under its name and host, so that identities are the same.

    Args:
        store: The store whose ledger answers.
        backend: Name of the backend of the run that is replayed.
        host: Its host; null where it had none.
    """

    charges: ClassVar[bool] = False
    """The run that is replayed has paid."""

    def __init__(self, store: LedgerStore, backend: str, host: str | None) -> None:
        self.name = backend
        self.host = host
        self._index = LedgerIndex.read(store)

    async def complete(self, request: Request) -> Completion:
        """The recorded answer.

        Raises:
            ReplayMiss: The ledger has no answer to this request.
        """
        identity = request.identity(self.name, self.host)
        recorded = self._index.answer(identity)
        if recorded is None:
            attempts = self._index.attempts(identity)
            held = f"only {attempts} failed attempts at" if attempts else "no"
            raise ReplayMiss(
                f"the ledger holds {held} this {request.stage} request to {request.model} "
                f"(identity {identity[:12]}, backend {self.name}, host {self.host or 'none'})",
                record_id=request.record_id,
                remedy="a prompt, parameter, model or record has changed since; run with a live backend to pay for it",
            )
        return Completion(
            text=recorded.text,
            model_answered=recorded.model_answered,
            finish_reason=recorded.finish_reason,
            usage=recorded.usage,
        )

    async def close(self) -> None:
        """Nothing to let go of."""
