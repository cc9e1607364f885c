"""Limits that several workers keep together: here in one process, as in several; one test kills a process."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from patience import PATIENCE_S

from hazardmill.errors import StoreError, StoreLocked, UsageError
from hazardmill.llm.limits.shared_limits import SharedLimits

HOLDER = """
import asyncio, sys, time
from pathlib import Path
from hazardmill.llm.limits.shared_limits import SharedLimits

async def hold():
    limits = SharedLimits(Path(sys.argv[1]), "shared", "holder", 2)
    async with limits.place(), limits.place():
        print("held", flush=True)
        time.sleep(600)

asyncio.run(hold())
"""


class Time:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


async def admitted(limits: SharedLimits, tokens: int = 0) -> bool:
    """Whether a request gets a place at once; it ends at once as well."""
    try:
        async with asyncio.timeout(0.1), limits.place(tokens):
            return True
    except TimeoutError:
        return False


def test_workers_are_never_above_the_limit_together_and_each_gets_its_share(tmp_path: Path) -> None:
    under_way, most, done = Counter[str](), Counter[str](), list[str]()

    async def ask(limits: SharedLimits, worker: str) -> None:
        async with limits.place():
            under_way[worker] += 1
            most["all"] = max(most["all"], under_way.total())
            await asyncio.sleep(0.02)
            under_way[worker] -= 1
            done.append(worker)

    async def work() -> None:
        with SharedLimits(tmp_path, "shared", "a", 4) as a, SharedLimits(tmp_path, "shared", "b", 4) as b:
            await asyncio.gather(*(ask(each, worker) for each, worker in ((a, "a"), (b, "b")) for _ in range(24)))

    asyncio.run(work())
    assert most["all"] == 4 and len(done) == 48
    # Neither waits for the other one's end.
    assert all(done[:24].count(worker) >= 6 for worker in "ab")


def test_a_worker_alone_has_all_places(tmp_path: Path) -> None:
    async def work() -> None:
        with SharedLimits(tmp_path, "shared", "a", 2) as a, SharedLimits(tmp_path, "shared", "b", 2) as b:
            async with a.place(), a.place():
                assert not await admitted(a) and not await admitted(b)
            assert await admitted(b)

    asyncio.run(work())


def test_requests_per_minute_count_for_all(tmp_path: Path) -> None:
    clock = Time()

    async def work() -> None:
        limits = (None, 3, None)
        with (
            SharedLimits(tmp_path, "shared", "a", *limits, clock=clock) as a,
            SharedLimits(tmp_path, "shared", "b", *limits, clock=clock) as b,
        ):
            assert [await admitted(each) for each in (a, b, a, b, a)] == [True, True, True, False, False]
            clock.now += 59.9
            assert not await admitted(b)
            clock.now += 0.1
            assert [await admitted(each) for each in (b, a, b, a)] == [True, True, True, False]

    asyncio.run(work())


def test_tokens_per_minute_count_for_all_as_settled(tmp_path: Path) -> None:
    clock = Time()

    async def work() -> None:
        limits = (None, None, 100)
        with (
            SharedLimits(tmp_path, "shared", "a", *limits, clock=clock) as a,
            SharedLimits(tmp_path, "shared", "b", *limits, clock=clock) as b,
        ):
            async with a.place(80) as place:
                assert not await admitted(b, 30)
                place.settle(70)
                assert await admitted(b, 30)
            clock.now += 60
            # One that is too large for any minute goes alone.
            assert await admitted(a, 1000)
            assert not await admitted(b, 1)

    asyncio.run(work())


def test_a_clock_that_began_anew_keeps_nobody_waiting(tmp_path: Path) -> None:
    clock = Time()

    async def work() -> None:
        with SharedLimits(tmp_path, "shared", "a", None, 1, clock=clock) as a:
            assert await admitted(a)
            clock.now = 5.0
            assert await admitted(a)

    asyncio.run(work())


def test_the_places_of_a_process_that_was_killed_are_free(tmp_path: Path) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None and holder.stdout.readline() == "held\n"

    async def work() -> None:
        with SharedLimits(tmp_path, "shared", "a", 2) as limits:
            assert not await admitted(limits)
            holder.kill()
            holder.wait()
            async with asyncio.timeout(PATIENCE_S), limits.place(), limits.place():
                assert not await admitted(limits)

    with holder:
        asyncio.run(work())
    # One who comes back under that name begins with none.
    with SharedLimits(tmp_path, "shared", "holder", 2) as limits:
        assert asyncio.run(admitted(limits))


def test_what_is_refused(tmp_path: Path) -> None:
    with SharedLimits(tmp_path, "shared", "a", 1), pytest.raises(StoreLocked, match="shared as worker a"):
        SharedLimits(tmp_path, "shared", "a", 1)
    with pytest.raises(UsageError, match="cannot name limits"):
        SharedLimits(tmp_path, "../shared", "a", 1)
    (tmp_path / "broken.limits").write_text("no database, and longer than the header of one" * 100)
    with pytest.raises(StoreError, match="cannot be kept: file is not a database") as refused:
        SharedLimits(tmp_path, "broken", "a", 1)
    assert "remove the file" in str(refused.value)
    # The name is free again.
    (tmp_path / "broken.limits").unlink()
    SharedLimits(tmp_path, "broken", "a", 1).close()
