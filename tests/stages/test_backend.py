from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from hazardmill.errors import ReplayMiss, StoreError
from hazardmill.llm.client import Client
from hazardmill.llm.ledger import Ledger
from hazardmill.llm.limiter import Limiter
from hazardmill.llm.requests import Answer, Backend, Completion, Message, Request
from hazardmill.stages.backend import open_backend
from hazardmill.stages.config import RunConfig, RunInput
from hazardmill.store.store import Store

from .support import PRICES


class Paid:
    """A backend that answers as the offline author does, under its name."""

    name = "offline"
    host = None

    async def complete(self, request: Request) -> Completion:
        return Completion(text="an answer", model_answered="toy")

    async def close(self) -> None:
        pass


def ask(store: Store, backend: Backend, run_id: str, text: str = "?") -> Answer:
    async def main() -> Answer:
        with store.writer(run_id) as writer:
            client = Client(backend, Ledger(store, writer, run_id), limiter=Limiter(), prices=PRICES)
            return await client.ask(
                Request(stage="extract", model="toy", messages=(Message(role="user", content=text),))
            )

    return asyncio.run(main())


def replaying(store: Store, replay_store: Path | None = None) -> Backend:
    config = RunConfig(inputs=(RunInput(source="notes"),), backend="replay", replay_store=replay_store)
    return open_backend(config, store)


def test_another_store_is_replayed_into_this_one(tmp_path: Path) -> None:
    theirs, ours = Store(tmp_path / "theirs"), Store(tmp_path / "ours")
    paid = ask(theirs, Paid(), "first")
    answer = ask(ours, replaying(ours, theirs.path), "again")
    assert answer == paid.model_copy(update={"paid": False})
    [row] = ours.rows("llm_calls")
    assert (row["run_id"], row["backend"], row["usd_upper"]) == ("again", "offline", 0.0)
    assert theirs.count("llm_calls") == 1


def test_replaying_its_own_store_a_run_misses_what_is_not_there(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    paid = ask(store, Paid(), "first")
    backend = replaying(store)
    assert ask(store, backend, "again") == paid.model_copy(update={"paid": False})
    with pytest.raises(ReplayMiss, match="no answer to this extract request to toy"):
        ask(store, backend, "again", "something else")


def test_a_store_to_replay_that_is_not_there_is_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="nowhere"):
        replaying(Store(tmp_path / "store"), tmp_path / "nowhere")
