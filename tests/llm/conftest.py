"""Stand-ins for everything around the client: store, backend, clock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from hazardmill.errors import StoreError
from hazardmill.llm.client import Client
from hazardmill.llm.ledger import Ledger
from hazardmill.llm.limiter import Limiter
from hazardmill.llm.prices import Price, Prices
from hazardmill.llm.requests import Completion, Message, OfflineKey, Request, Usage


class MemoryStore:
    """Store and writer in one, in memory; ``full`` makes it refuse rows."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []
        self.full = False
        self.release: asyncio.Event | None = None

    def rows_since(self, table: str, since: int, columns: list[str] | None = None) -> tuple[list[dict[str, Any]], int]:
        assert table == "llm_calls"
        return [{name: row[name] for name in columns or row} for row in self.calls[since:]], len(self.calls)

    async def append(self, rows: dict[str, list[dict[str, Any]]], /) -> None:
        if self.release is not None:
            await self.release.wait()
        if self.full:
            raise StoreError("no space left", file="journal", remedy="make room")
        self.calls += rows["llm_calls"]


class FakeClock:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)


@dataclass
class ScriptedBackend:
    """Answers by a script: a completion is returned, an error raised, a function awaited. The last step repeats."""

    script: Sequence[Any] = ()
    name: str = "litellm"
    host: str | None = "api.example"
    asked: list[Request] = field(default_factory=list)

    async def complete(self, request: Request) -> Completion:
        step = self.script[min(len(self.asked), len(self.script) - 1)]
        self.asked.append(request)
        if isinstance(step, Exception):
            raise step
        if isinstance(step, Completion):
            return step
        return await step(request)


def completion(text: str = "hello", finish_reason: str | None = "stop", **usage: int | None) -> Completion:
    counted = {"prompt_tokens": 1000, "cached_tokens": 400, "completion_tokens": 100} | usage
    return Completion(text=text, model_answered="toy-1", finish_reason=finish_reason, usage=Usage(**counted))


def request(text: str = "What is dangerous here?", **changes: Any) -> Request:
    fields: dict[str, Any] = {
        "stage": "extract",
        "model": "toy/toy",
        "messages": (Message(role="system", content="Be careful."), Message(role="user", content=text)),
        "parameters": {"temperature": 0.5, "max_tokens": 200},
        "record_id": "neiss:1",
        "input_hash": "in",
        "prompt_version": "3",
        "prompt_hash": "ph",
        "key": OfflineKey(record_hash="in", stage="extract", draft=2),
    }
    return Request(**(fields | changes))


@pytest.fixture
def make_completion() -> Callable[..., Completion]:
    return completion


@pytest.fixture
def make_request() -> Callable[..., Request]:
    return request


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def prices() -> Prices:
    toy = Price(model="toy/toy", input=2.0, cached_input=0.5, output=8.0, checked="2026-11-01", origin="made up")
    return Prices({toy.model: toy})


@pytest.fixture
def make_backend() -> Callable[..., ScriptedBackend]:
    return lambda *script, **fields: ScriptedBackend(script, **fields)


@pytest.fixture
def make_client(store: MemoryStore, clock: FakeClock, prices: Prices) -> Callable[..., Client]:
    def make(backend: Any, *, run_id: str = "run-1", **settings: Any) -> Client:
        chosen = {"limiter": Limiter(), "prices": prices, "clock": clock, "sleep": clock.sleep} | settings
        return Client(backend, Ledger(store, store, run_id), **chosen)

    return make
