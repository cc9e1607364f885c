from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from hazardmill.commands.running import work_through
from hazardmill.errors import HazardmillError, JailUnavailable, RateLimited, RunStopped, StoreLocked


class Working:
    """A run whose second batch ends in a given way; it notes what it is told."""

    run_id = "r"

    def __init__(self, end: BaseException | None = None, *, signalled: int | None = None) -> None:
        self.end, self.signalled = end, signalled
        self.finished: list[str] = []
        self.worked: list[list[int]] = []
        self.closed = 0

    @property
    def store(self) -> Any:
        class Here:
            path = Path("s")

        return Here

    def batches(self) -> list[list[int]]:
        return [[0, 1], [2]]

    @asynccontextmanager
    async def session(self) -> AsyncIterator[Working]:
        try:
            yield self
        finally:
            self.closed += 1

    async def work(self, batch: list[int], on_record: object) -> None:
        self.worked.append(batch)
        if len(self.worked) == 2:
            if self.end is not None:
                raise self.end
            if self.signalled is not None:
                os.kill(os.getpid(), self.signalled)
                await asyncio.Event().wait()

    def finish(self, state: str) -> dict[str, int]:
        self.finished.append(state)
        return {"accepted": 3}


def test_all_batches_are_worked_on_and_the_run_is_completed() -> None:
    run = Working()
    assert work_through(run, quiet=True) == {"accepted": 3}
    assert (run.worked, run.finished, run.closed) == ([[0, 1], [2]], ["completed"], 1)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_is_stopped_and_says_how_to_go_on(how: int) -> None:
    run = Working(signalled=how)
    with pytest.raises(RunStopped, match="run r was interrupted") as caught:
        work_through(run, quiet=True)
    assert caught.value.remedy == "go on with: hazardmill run resume r --store s"
    assert caught.value.exit_code == 4
    assert (run.finished, run.closed) == (["stopped"], 1)


@pytest.mark.parametrize(("remedy", "said"), [("wait", "wait; then: "), (None, "mend that; then: ")])
def test_a_provider_that_fails_stops_the_run_and_the_error_says_how_to_go_on(remedy: str | None, said: str) -> None:
    run = Working(RateLimited("too many", remedy=remedy))
    with pytest.raises(RateLimited, match="too many") as caught:
        work_through(run, quiet=True)
    assert caught.value.remedy == f"{said}hazardmill run resume r --store s"
    assert run.finished == ["stopped"]


def test_any_other_error_of_ours_fails_the_run() -> None:
    run = Working(JailUnavailable("no walls"))
    with pytest.raises(JailUnavailable):
        work_through(run, quiet=True)
    assert run.finished == ["failed"]


def test_a_run_of_another_process_is_left_as_it_is() -> None:
    run = Working(StoreLocked("another process writes run r"))
    with pytest.raises(StoreLocked):
        work_through(run, quiet=True)
    assert run.finished == []


def test_a_bug_is_no_state_of_the_run() -> None:
    run = Working(ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        work_through(run, quiet=True)
    assert run.finished == [] and not issubclass(ZeroDivisionError, HazardmillError)
