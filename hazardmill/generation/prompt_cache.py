"""Warms a provider's prompt cache: of all requests that begin alike, the first is answered before the others are sent.

A provider can reuse what it computed of a prompt's beginning only once the request that it computed it for is done.
Sent together, the first requests of a stage would all pay the full price for the same thousands of tokens.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import NamedTuple

from hazardmill.llm.requests import Request, Stage


class Prefix(NamedTuple):
    """What requests share that begin with the same static text."""

    stage: Stage
    model: str
    prompt_hash: str | None
    source: str | None

    @classmethod
    def of(cls, request: Request) -> Prefix:
        """The prefix of a request."""
        return cls.of_call(request.stage, request.model, request.prompt_hash, request.record_id)

    @classmethod
    def of_call(cls, stage: Stage, model: str, prompt_hash: str | None, record_id: str | None) -> Prefix:
        """The prefix of what was asked so. The source is the first part of a record's id."""
        source = None if record_id is None else record_id.partition(":")[0]
        return cls(stage, model, prompt_hash, source)


@dataclass
class Turn:
    """One who may send a request."""

    warms: bool = True
    """Whether the provider computed the prompt, and so remembers how it begins."""


class Warmup:
    """A gate a prefix: one passes alone, and when it has its answer the gate stays open for all.

    Where the one comes to nothing (an error, a cancellation, a request turned away), the next that waits goes alone.
    For the coroutines of one event loop, like the client that it stands before.

    Args:
        enabled: Without it everybody passes at once.
        warm: Prefixes of requests that were answered a moment ago, by somebody else.
    """

    def __init__(self, enabled: bool = True, warm: Iterable[Prefix] = ()) -> None:
        self._enabled = enabled
        self._warm = set(warm)
        self._gates: dict[Prefix, asyncio.Lock] = {}

    @asynccontextmanager
    async def turn(self, prefix: Prefix) -> AsyncIterator[Turn]:
        """Wait until requests of this prefix may be sent; send yours inside, and say if that warmed nothing."""
        turn = Turn()
        if not self._enabled or prefix in self._warm:
            yield turn
            return
        # Waiters come through one by one: the first finds it cold, those behind an answer find it warm.
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
