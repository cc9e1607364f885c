"""Requests of a run that wait to be sent together."""

from __future__ import annotations

from hazardmill.llm.requests import Request


class Outbox:
    """Requests that the ledger does not answer, each once, in the order in which they were first asked."""

    def __init__(self) -> None:
        self._waiting: dict[str, Request] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, identity: str, request: Request) -> None:
        """Add a request; one that waits already stays where it is.

        Args:
            identity: Its identity in the ledger.
            request: The request.
        """
        self._waiting.setdefault(identity, request)

    def take(self) -> dict[str, Request]:
        """Return the requests by identity, and empty the outbox."""
        waiting, self._waiting = self._waiting, {}
        return waiting
