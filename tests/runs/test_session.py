from __future__ import annotations

import asyncio
import functools
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from factories.scripted import ScriptedBackend

from hazardmill.errors import ConnectionFailed, InputError
from hazardmill.generation.models import Models
from hazardmill.llm.client import Client
from hazardmill.llm.requests import Completion, Request
from hazardmill.records import Outcome
from hazardmill.runs.config import RunConfig, RunInput
from hazardmill.runs.resources import RunResources
from hazardmill.runs.run import Run
from hazardmill.store.store import Store
from tests.generation.support import APPROVED, FOUND, THINGS, fenced, soup


class Backend(ScriptedBackend):
    """Every record ends with a task of its own; says who was asked what."""

    def __init__(self, **script: Any) -> None:
        default: dict[str, Any] = {"extract": FOUND, "author": written, "judge": APPROVED}
        super().__init__(**(default | script))
        self.seen: Counter[tuple[str, int]] = Counter()

    async def complete(self, request: Request) -> Completion:
        self.seen[request.stage, number_of(request)] += 1
        return await super().complete(request)


def number_of(request: Request) -> int:
    return int(str(request.record_id).partition(":")[2])


def written(request: Request) -> str:
    return fenced(soup(THINGS[number_of(request) - 1]))


def started(store: Store, notes: Path, backend: Backend, **clients: Any) -> Run:
    resources = RunResources(backend=lambda config, store: backend, **clients)
    config = RunConfig(
        inputs=(RunInput(source="notes", path=notes),),
        models=Models(extract="toy", author="toy", judge="toy"),
        jail="minimal",
        wave_size=2,
        concurrency=2,
    )
    return Run.start(store, config, "run", resources=resources)[0]


def worked_through(run: Run, batches: list[list[int]] | None = None) -> list[tuple[str, Outcome, int]]:
    """Each committed record, and how many batches were parts by then."""
    seen: list[tuple[str, Outcome, int]] = []

    def on_record(record_id: str, outcome: Outcome) -> None:
        seen.append((record_id, outcome, len(run.store.snapshot().parts("outcomes"))))

    async def work() -> None:
        async with run.session() as session:
            counts = await session.work_through(run.waves() if batches is None else batches, on_record)
            assert counts == Counter(outcome.value for _, outcome, _ in seen)
            # The last batch is parts as well, before the session is closed.
            assert len(list(run.store.path.glob("journal/*.jsonl"))) == 0

    with run.under_way():
        asyncio.run(work())
    return seen


def test_a_batch_is_begun_while_the_tail_of_the_last_is_under_way_and_committed_after_it(
    store: Store, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = asyncio.Event()

    async def extract(request: Request) -> str:
        if number_of(request) == 4:
            later.set()
        return FOUND

    async def judge(request: Request) -> str:
        if number_of(request) == 2:
            # Of the next batch even the last is asked about before the last of this one is done.
            await later.wait()
        return APPROVED

    backend = Backend(extract=extract, judge=judge)
    run = started(store, notes, backend)
    seen = worked_through(run)
    assert seen == [(f"notes:{n}", Outcome.ACCEPTED, (n - 1) // 2) for n in range(1, 7)]
    assert set(backend.seen.values()) == {1}
    assert [row["record_id"] for row in store.rows("outcomes")] == [f"notes:{n}" for n in range(1, 7)]
    assert len(store.snapshot().parts("outcomes")) == 3


def test_where_the_provider_fails_in_a_later_batch_the_earlier_is_whole_and_nothing_is_asked_again(
    store: Store, notes: Path, tmp_path: Path
) -> None:
    broken = True

    def extract(request: Request) -> str | Exception:
        return ConnectionFailed("it is gone") if broken and number_of(request) == 4 else FOUND

    backend = Backend(extract=extract)
    run = started(store, notes, backend, client=functools.partial(Client, max_attempts=1))
    with pytest.raises(ConnectionFailed, match="4 of 6 records are left"):
        worked_through(run)
    assert run.pending() == [2, 3, 4, 5]
    assert len(store.snapshot().parts("outcomes")) == 1

    broken = False
    assert [record_id for record_id, *_ in worked_through(Run.load(store, "run", run.resources))] == [
        "notes:3",
        "notes:4",
        "notes:5",
        "notes:6",
    ]
    assert {who for who, times in backend.seen.items() if times > 1} == {("extract", 4)}

    whole = Store.open(tmp_path / "whole", create=True)
    worked_through(started(whole, notes, Backend()))
    assert store.digest() == whole.digest()


def test_a_batch_that_the_store_lost_is_named_when_those_before_it_are_committed(store: Store, notes: Path) -> None:
    run = started(store, notes, Backend())
    gone = Run(store, "run", run.config, {**run.content, "notes:404": None})
    with pytest.raises(InputError, match="no longer holds 1 record"):
        worked_through(gone, [[0, 1], [2, 6]])
    assert gone.pending() == [2, 3, 4, 5, 6]
