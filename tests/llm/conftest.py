"""Stand-ins for everything around the client: store, backend, clock."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

import pytest

from hazardmill.errors import StoreError
from hazardmill.llm.client import Client
from hazardmill.llm.ledger import Ledger
from hazardmill.llm.limits.limiter import Limiter
from hazardmill.llm.prices import Price, Prices
from hazardmill.llm.requests import AnswerKey, Completion, Message, Request, Usage

from .wire import Server


class MemoryStore:
    """Store and writer in one, in memory; ``full`` makes it refuse rows."""

    def __init__(self) -> None:
        self.log: list[dict[str, Any]] = []
        """Every row in the order of writing, superseded ones too."""
        self.full = False
        self.release: asyncio.Event | None = None

    @property
    def calls(self) -> list[dict[str, Any]]:
        """The latest row of each key."""
        return latest(self.log)

    def rows_since(self, table: str, since: int, columns: list[str] | None = None) -> tuple[list[dict[str, Any]], int]:
        assert table == "llm_calls"
        return [{name: row[name] for name in columns or row} for row in latest(self.log[since:])], len(self.log)

    def hand_over(self, rows: dict[str, list[dict[str, Any]]], /) -> Future[None]:
        written: Future[None] = Future()

        def write(_: object = None) -> None:
            if self.full:
                written.set_exception(StoreError("no space left", file="journal", remedy="make room"))
                return
            self.log += rows["llm_calls"]
            written.set_result(None)

        if self.release is None:
            write()
        else:
            asyncio.ensure_future(self.release.wait()).add_done_callback(write)
        return written


def latest(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return list({(row["run_id"], row["identity"], row["attempt"]): row for row in rows}.values())


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
    metered: bool = False
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
        "key": AnswerKey(record_hash="in", stage="extract", draft=2),
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
    made_up = {"checked": "2026-11-01", "origin": "made up"}
    toy = Price(model="toy/toy", input=2.0, cached_input=0.5, output=8.0, **made_up)
    dear = Price(model="toy/dear", input=20.0, cached_input=5.0, output=80.0, **made_up)
    return Prices({toy.model: toy, dear.model: dear})


@pytest.fixture
def make_backend() -> Callable[..., ScriptedBackend]:
    return lambda *script, **fields: ScriptedBackend(script, **fields)


@pytest.fixture
def make_client(store: MemoryStore, clock: FakeClock, prices: Prices) -> Callable[..., Client]:
    def make(backend: Any, *, run_id: str = "run-1", **settings: Any) -> Client:
        around = {"clock": clock, "sleep": clock.sleep}
        chosen = {"limiter": Limiter(**around), "prices": prices, **around} | settings
        return Client(backend, Ledger(store, store, run_id), **chosen)

    return make


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()
