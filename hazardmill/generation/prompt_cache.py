"""Warms a provider's prompt cache: of all requests with the same beginning, one is answered before the others are sent.

A provider can reuse the computed beginning of a prompt only after the request that computed it is done. If the first
requests of a stage were sent together, all of them would pay the full price for the same thousands of tokens.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import NamedTuple

from hazardmill.llm.requests import Request, Stage


class Prefix(NamedTuple):
    """Identifies requests that begin with the same static text.

    Attributes:
        stage: The stage that asks.
        model: The model asked.
        prompt_hash: SHA-256 of the prompt template; null if unknown.
        source: Name of the record's source, whose guidance is part of the beginning; null without a record.
    """

    stage: Stage
    model: str
    prompt_hash: str | None
    source: str | None

    @classmethod
    def of(cls, request: Request) -> Prefix:
        """Return the prefix of a request."""
        return cls.of_call(request.stage, request.model, request.prompt_hash, request.record_id)

    @classmethod
    def of_call(cls, stage: Stage, model: str, prompt_hash: str | None, record_id: str | None) -> Prefix:
        """Return the prefix of a request from its columns in the ledger.

        The source is the first part of the record's id.
        """
        source = None if record_id is None else record_id.partition(":")[0]
        return cls(stage, model, prompt_hash, source)


@dataclass
class Turn:
    """Permission to send one request."""

    warms: bool = True
    """Whether the provider computed the prompt, and so remembers its beginning. Set by whoever sent the request."""


class Warmup:
    """One gate per prefix: one request passes alone, and once it is answered the gate stays open.

    If that request brings no answer (an error, a cancellation, a rejection), the next waiter goes alone. For the
    coroutines of one event loop, like the client.

    Args:
        enabled: If false, every request passes at once.
        warm: Prefixes of requests that were answered a moment ago by other runs.
    """

    def __init__(self, enabled: bool = True, warm: Iterable[Prefix] = ()) -> None:
        self._enabled = enabled
        self._warm = set(warm)
        self._gates: dict[Prefix, asyncio.Lock] = {}

    @asynccontextmanager
    async def turn(self, prefix: Prefix) -> AsyncIterator[Turn]:
        """Wait until requests of a prefix may be sent, and send one in the body.

        Yields:
            The turn; the body sets its ``warms`` to false if the request warmed nothing.
        """
        turn = Turn()
        if not self._enabled or prefix in self._warm:
            yield turn
            return
        # Waiters pass one by one: the first finds the cache cold, those after an answer find it warm.
        gate = self._gates.setdefault(prefix, asyncio.Lock())
        await gate.acquire()
        if prefix in self._warm:
            gate.release()
            yield turn
            return
        try:
            yield turn
            if turn.warms:
                self._warm.add(prefix)
        finally:
            gate.release()
