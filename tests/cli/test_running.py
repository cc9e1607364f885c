from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hazardmill.cli.run.work import resumable, work_through
from hazardmill.errors import (
    BudgetReached,
    ConnectionFailed,
    CorruptStore,
    JailUnavailable,
    NotRecorded,
    RateLimited,
    RunStopped,
    SchemaMismatch,
    StoreError,
    StoreLocked,
)
from hazardmill.generation.watch import Watch
from hazardmill.llm.call_tally import CallTally
from hazardmill.llm.client import Retry
from hazardmill.llm.requests import Message, Request
from hazardmill.runs.config import RunConfig, RunInput
from hazardmill.runs.run import Run
from hazardmill.store.store import Store

RECORDS = {"x:1": None, "x:2": None, "x:3": None}


class Working(Run):
    """A run of two batches, of which the second ends in a given way; it notes what it is told."""

    def __init__(self, end: BaseException | None = None, *, signalled: int | None = None) -> None:
        config = RunConfig(inputs=(RunInput(source="x"),), wave_size=2)
        super().__init__(Store.open("a store", create=True), "r", config, RECORDS)
        self.end, self.signalled = end, signalled
        self.finished: list[str] = []
        self.worked: list[list[int]] = []
        self.closed = 0
        # What a session offers beside its work.
        self.ledger = SimpleNamespace(tally=CallTally())
        self.unrecorded: list[NotRecorded] = []

    def pending(self) -> list[int]:
        return [0, 1, 2][2 * len(self.worked) :]

    @asynccontextmanager
    async def session(
        self, on_retry: Callable[[Retry], None] | None = None, watch: Watch | None = None, *, wait: bool = False
    ) -> AsyncIterator[Any]:
        assert on_retry is not None
        request = Request(stage="extract", model="toy", messages=(Message(role="user", content="?"),))
        on_retry(Retry(request, ConnectionFailed("connection refused"), attempt=2, max_attempts=6, wait_s=1.2))
        try:
            yield self
        finally:
            self.closed += 1

    async def work_through(self, batches: list[list[int]], on_record: object) -> None:
        for batch in batches:
            if len(self.worked) == 1:
                if self.end is not None:
                    raise self.end
                if self.signalled is not None:
                    os.kill(os.getpid(), self.signalled)
                    await asyncio.Event().wait()
            self.worked.append(batch)

    def finish(self, state: str) -> dict[str, int]:
        self.finished.append(state)
        return {}


GO_ON = "hazardmill run resume r --store 'a store'"


def test_all_batches_are_worked_on_and_the_run_is_completed() -> None:
    run = Working()
    assert work_through(run, quiet=True) == run.counts()
    assert (run.worked, run.finished, run.closed) == ([[0, 1], [2]], ["completed"], 1)


def test_a_pause_before_another_attempt_is_said_unless_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    work_through(Working(), quiet=True)
    assert capsys.readouterr() == ("", "")
    work_through(Working(), quiet=False)
    assert "connection refused" in capsys.readouterr().err


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(("afterwards", "told"), [(None, GO_ON), ("do this", f"{GO_ON}; then: do this")])
def test_an_interrupted_run_is_stopped_and_says_how_to_go_on(how: int, afterwards: str | None, told: str) -> None:
    run = Working(signalled=how)
    with pytest.raises(RunStopped, match="run r was interrupted") as caught:
        work_through(run, quiet=True, afterwards=afterwards)
    assert caught.value.remedy == f"resume with: {told}"
    assert caught.value.exit_code == 4
    assert (run.finished, run.closed) == (["stopped"], 1)


@pytest.mark.parametrize(("remedy", "said"), [("wait", "wait; then: "), (None, "fix the problem; then: ")])
def test_a_provider_that_fails_stops_the_run_and_the_error_says_how_to_go_on(remedy: str | None, said: str) -> None:
    run = Working(RateLimited("too many", remedy=remedy))
    with pytest.raises(RateLimited, match="too many") as caught:
        work_through(run, quiet=True)
    assert caught.value.remedy == f"{said}{GO_ON}"
    assert run.finished == ["stopped"]


def test_a_run_stopped_on_purpose_says_how_to_go_on() -> None:
    run = Working(RunStopped("the money is spent", remedy="allow more"))
    with pytest.raises(RunStopped, match="the money is spent") as caught:
        work_through(run, quiet=True)
    assert caught.value.remedy == f"allow more; then: {GO_ON}"
    assert run.finished == ["stopped"]


def test_a_budget_that_is_reached_says_with_which_one_to_go_on() -> None:
    run = Working(BudgetReached("the budget of 2 USD is reached", remedy="allow more"))
    with pytest.raises(BudgetReached) as caught:
        work_through(run, quiet=True, afterwards="do this")
    assert str(caught.value.remedy).endswith(f"larger budget: {GO_ON}; then: do this")
    run = Working(BudgetReached("the budget of 2 USD is reached"))
    run.config = run.config.model_copy(update={"budget_usd": 2.0})
    with pytest.raises(BudgetReached) as caught:
        work_through(run, quiet=True)
    assert str(caught.value.remedy).endswith(f"larger budget: {GO_ON} --budget-usd 6")
    assert (caught.value.exit_code, run.finished) == (4, ["stopped"])


FULL = StoreError("cannot write: No space left on device", file="a store/journal/x.jsonl", remedy="free some space")


def test_a_disk_that_refuses_stops_the_run_and_the_error_names_file_and_remedy() -> None:
    with pytest.raises(RunStopped, match="run r was stopped: cannot write: No space left on device") as caught:
        work_through(Working(FULL), quiet=True)
    assert (caught.value.file, caught.value.remedy) == (FULL.file, f"free some space; then: {GO_ON}")
    assert caught.value.exit_code == 4


@pytest.mark.parametrize("error", [CorruptStore("damaged"), SchemaMismatch("too new"), StoreLocked("another one")])
def test_a_store_that_cannot_be_read_is_no_matter_of_going_on(error: StoreError) -> None:
    with pytest.raises(type(error)) as caught:
        work_through(Working(error), quiet=True)
    assert caught.value is error and error.remedy is None


@pytest.mark.parametrize("error", [FULL, KeyboardInterrupt()], ids=["full disk", "interrupted"])
def test_a_start_that_fails_can_be_gone_on_with_from_when_the_run_is_there(error: BaseException, neiss: Path) -> None:
    store = Store.open("a store", create=True)
    with pytest.raises(type(error)) as caught, resumable(store, "r", begun=False):
        raise error
    assert caught.value is error
    Run.start(store, RunConfig(inputs=(RunInput(source="neiss", path=neiss, limit=1),)), "r")
    with pytest.raises(RunStopped) as stopped, resumable(store, "r", begun=False):
        raise error
    assert str(stopped.value.remedy).endswith(GO_ON)


@pytest.mark.parametrize("error", [JailUnavailable("no walls"), ZeroDivisionError()], ids=["ours", "a bug"])
def test_any_other_error_fails_the_run(error: Exception) -> None:
    run = Working(error)
    with pytest.raises(type(error)):
        work_through(run, quiet=True)
    assert run.finished == ["failed"]


def test_a_run_of_another_process_is_left_as_it_is() -> None:
    run = Working(StoreLocked("another process is writing run r"))
    with pytest.raises(StoreLocked):
        work_through(run, quiet=True)
    assert run.finished == []
