"""Limits that several workers keep together: here in one process, as in several; one test kills a process."""

from __future__ import annotations

import asyncio
import itertools
import logging
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path

import pytest
from patience import PATIENCE_S

from hazardmill.errors import StoreError, StoreLocked, UsageError
from hazardmill.llm.limits import shared_limits
from hazardmill.llm.limits.limiter import Limiter
from hazardmill.llm.limits.shared_limits import SharedLimits

HOLDER = """
import asyncio, sys, time
from pathlib import Path
from hazardmill.llm.limits.shared_limits import SharedLimits

async def hold():
    limits = SharedLimits(Path(sys.argv[1]), "shared", "holder", 2)
    await limits.take(0), await limits.take(0)
    print("held", flush=True)
    time.sleep(600)

asyncio.run(hold())
"""


class Time:
    """A clock that stands still until it is moved."""

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


@asynccontextmanager
async def held(limits: SharedLimits, tokens: int = 0) -> AsyncIterator[int]:
    place = await limits.take(tokens)
    assert place is not None
    try:
        yield place
    finally:
        limits.leave(place)


async def admitted(limits: SharedLimits, tokens: int = 0) -> bool:
    """Whether a request gets a place at once; it ends at once as well."""
    looks = itertools.count()
    place = await limits.take(tokens, lambda: next(looks) > 0)
    if place is not None:
        limits.leave(place)
    return place is not None


@contextmanager
def workers(folder: Path, count: int, *limits: int | None, clock: Time | None = None) -> Iterator[list[SharedLimits]]:
    more = {} if clock is None else {"clock": clock}
    with ExitStack() as stack:
        made = (SharedLimits(folder, "shared", f"w{n}", *limits, **more) for n in range(count))
        yield [stack.enter_context(each) for each in made]


@pytest.mark.parametrize(("limit", "count"), [(4, 2), (1, 2), (2, 6), (5, 3)])
def test_workers_are_never_above_the_limit_and_go_forward_together(limit: int, count: int, tmp_path: Path) -> None:
    under_way, done, most = 0, Counter[str](), 0

    async def ask(limits: SharedLimits, worker: str) -> None:
        nonlocal under_way, most
        while done.total() < 12 * count:
            async with held(limits):
                under_way += 1
                most = max(most, under_way)
                await asyncio.sleep(0.03)
                under_way -= 1
                done[worker] += 1

    async def work() -> None:
        with workers(tmp_path, count, limit) as all_limits:
            await asyncio.gather(*(ask(each, f"w{n}") for n, each in enumerate(all_limits) for _ in range(limit)))

    asyncio.run(work())
    assert most == limit
    assert len(done) == count and min(done.values()) >= 0.5 * max(done.values()), done


def test_a_worker_alone_has_all_places(tmp_path: Path) -> None:
    async def work() -> None:
        with workers(tmp_path, 2, 2) as (a, b):
            async with held(a), held(a):
                assert not await admitted(a) and not await admitted(b)
            assert await admitted(b)

    asyncio.run(work())


def test_the_lowest_limits_hold_for_all_who_are_there(tmp_path: Path) -> None:
    async def work() -> None:
        with SharedLimits(tmp_path, "shared", "many", 16) as many:
            with SharedLimits(tmp_path, "shared", "few", 1):
                async with held(many):
                    assert not await admitted(many)
            async with held(many):
                assert await admitted(many)

    asyncio.run(work())


def test_requests_per_minute_count_for_all(tmp_path: Path) -> None:
    clock = Time()

    async def work() -> None:
        with workers(tmp_path, 2, None, 3, clock=clock) as (a, b):
            assert [await admitted(each) for each in (a, b, a, b, a)] == [True, True, True, False, False]
            clock.now += 59.9
            assert not await admitted(b)
            clock.now += 0.1
            assert [await admitted(each) for each in (b, a, b, a)] == [True, True, True, False]

    asyncio.run(work())


def test_a_request_counts_though_the_clock_was_read_before_it(tmp_path: Path) -> None:
    async def work() -> None:
        with (
            SharedLimits(tmp_path, "shared", "a", None, 1, clock=Time(100.0)) as a,
            SharedLimits(tmp_path, "shared", "b", None, 1, clock=Time(100.02)) as b,
        ):
            assert await admitted(b)
            assert not await admitted(a) and not await admitted(b)

    asyncio.run(work())


def test_tokens_per_minute_count_for_all_as_settled(tmp_path: Path) -> None:
    clock = Time()

    async def work() -> None:
        with workers(tmp_path, 2, None, None, 100, clock=clock) as (a, b):
            async with held(a, 80) as place:
                assert not await admitted(b, 30)
                a.settle(place, 70)
                assert await admitted(b, 30)
            clock.now += 60
            # One that is too large for any minute goes alone.
            assert await admitted(a, 1000)
            assert not await admitted(b, 1)

    asyncio.run(work())


def test_nobody_passes_a_large_request_that_waits(tmp_path: Path) -> None:
    clock = Time()

    async def work() -> None:
        with workers(tmp_path, 2, None, None, 100, clock=clock) as (a, b):
            assert await admitted(a, 50)
            large = asyncio.create_task(b.take(90))
            await asyncio.sleep(0.05)
            assert not await admitted(a, 50)
            clock.now += 60
            async with asyncio.timeout(PATIENCE_S):
                assert await large is not None

    asyncio.run(work())


def test_the_places_of_a_process_that_was_killed_are_free(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, text=True) as holder:
        try:
            assert holder.stdout is not None and holder.stdout.readline() == "held\n"

            async def work() -> None:
                with SharedLimits(tmp_path, "shared", "a", 2) as limits:
                    assert not await admitted(limits)
                    holder.kill()
                    holder.wait()
                    async with asyncio.timeout(PATIENCE_S), held(limits), held(limits):
                        assert not await admitted(limits)

            asyncio.run(work())
        finally:
            holder.kill()
    # One who comes back under that name begins with none.
    with SharedLimits(tmp_path, "shared", "holder", 2) as limits:
        assert asyncio.run(admitted(limits))


def test_one_who_is_cancelled_leaves_the_line(tmp_path: Path) -> None:
    async def work() -> None:
        with workers(tmp_path, 2, 1) as (a, b):
            async with held(a):
                waiting = asyncio.create_task(b.take(0))
                await asyncio.sleep(0.03)
                waiting.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await waiting
            assert await admitted(a) and await admitted(b)

    asyncio.run(work())


def test_a_provider_that_asks_to_wait_holds_all_workers(tmp_path: Path) -> None:
    clock = Time()

    async def work() -> None:
        with workers(tmp_path, 2, 4, clock=clock) as (a, b):
            async with Limiter(clock=clock).slot(0, a) as slot:
                slot.note_refusal(retry_after=2.0)
            assert not await admitted(a) and not await admitted(b)
            clock.now += 2
            assert await admitted(a) and await admitted(b)

    asyncio.run(work())


def test_a_refusal_while_a_request_waits_for_a_place_holds_it_too(tmp_path: Path) -> None:
    clock, sent = Time(), []

    async def sleep(seconds: float) -> None:
        clock.now += seconds
        await asyncio.sleep(0)

    async def ask(limiter: Limiter, shared: SharedLimits, retry_after: float | None) -> None:
        async with limiter.slot(0, shared) as slot:
            sent.append(clock.now)
            await asyncio.sleep(0.02)
            if retry_after is not None:
                slot.note_refusal(retry_after)

    async def work() -> None:
        limiter = Limiter(8, clock=clock, sleep=sleep)
        with workers(tmp_path, 1, 1, clock=clock) as (shared,):
            first = asyncio.create_task(ask(limiter, shared, 30.0))
            await asyncio.sleep(0)
            clock_moves = asyncio.create_task(moves())
            await asyncio.gather(first, ask(limiter, shared, None))
            clock_moves.cancel()

    async def moves() -> None:
        while True:
            await asyncio.sleep(0.01)
            clock.now += 1

    asyncio.run(work())
    assert sent[1] - sent[0] >= 30


def test_who_will_send_nothing_is_let_through(tmp_path: Path) -> None:
    async def work() -> None:
        closing = asyncio.Event()
        with workers(tmp_path, 2, 1) as (a, b):
            async with held(a), asyncio.TaskGroup() as group:
                group.create_task(passes(b, closing))
                await asyncio.sleep(0.03)
                closing.set()

    async def passes(limits: SharedLimits, closing: asyncio.Event) -> None:
        async with asyncio.timeout(PATIENCE_S), Limiter().slot(0, limits, closing.is_set):
            assert closing.is_set()

    asyncio.run(work())


def test_a_file_that_cannot_be_written_hides_no_error_and_keeps_no_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken:
        def execute(self, *_: object) -> None:
            raise sqlite3.OperationalError("disk I/O error")

    async def work() -> None:
        with workers(tmp_path, 1, 1) as (limits,):
            with monkeypatch.context() as patch, pytest.raises(ZeroDivisionError):
                async with held(limits) as place:
                    patch.setattr(limits, "_file", Broken())
                    limits.settle(place, 5)
                    raise ZeroDivisionError
            assert await admitted(limits)

    asyncio.run(work())


def test_what_could_not_be_written_follows_though_its_worker_asks_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A place that was left, and a row in the line: while another process writes, neither can be deleted."""

    async def work() -> None:
        with workers(tmp_path, 2, 1) as (a, b):
            place = await a.take(0)
            assert place is not None
            waiting = asyncio.create_task(b.take(0))
            await asyncio.sleep(0.03)
            writer = sqlite3.connect(a._path, isolation_level=None)
            writer.execute("BEGIN IMMEDIATE")
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            a.leave(place)
            writer.execute("ROLLBACK")
            writer.close()
            async with asyncio.timeout(PATIENCE_S):
                async with held(b):
                    pass
                async with held(a):
                    pass

    asyncio.run(work())


def test_the_longest_hold_counts(tmp_path: Path) -> None:
    clock = Time()

    async def work() -> None:
        with workers(tmp_path, 2, 4, clock=clock) as (a, b):
            a.hold(60)
            a.hold(1)
            clock.now += 30
            assert not await admitted(b)
            clock.now += 30
            assert await admitted(b)

    asyncio.run(work())


def test_what_is_not_sent_counts_for_no_minute(tmp_path: Path) -> None:
    async def work() -> None:
        limiter = Limiter(requests_per_minute=1)
        for _ in range(3):
            async with limiter.slot(0, None, lambda: True):
                pass
        async with asyncio.timeout(PATIENCE_S / 10), limiter.slot():
            pass

    asyncio.run(work())


def test_a_long_wait_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(shared_limits, "_TELL_AFTER_S", 0.0)

    async def work() -> None:
        with workers(tmp_path, 2, 1) as (a, b):
            async with held(a):
                await admitted(b)

    with caplog.at_level(logging.WARNING):
        asyncio.run(work())
    assert "requests wait for the limits that the runs of shared keep together" in caplog.text


def test_what_is_refused(tmp_path: Path) -> None:
    with SharedLimits(tmp_path, "shared", "a", 1), pytest.raises(StoreLocked, match="shared as worker a"):
        SharedLimits(tmp_path, "shared", "a", 1)
    with pytest.raises(UsageError, match="cannot name a budget"):
        SharedLimits(tmp_path, "../shared", "a", 1)
    SharedLimits(tmp_path, "broken", "a", 1).close()
    (file,) = tmp_path.glob("broken.*.limits")
    file.write_text("no database, and longer than the header of one" * 100)
    with pytest.raises(StoreError, match="cannot be kept: file is not a database") as refused:
        SharedLimits(tmp_path, "broken", "a", 1)
    assert "remove the file" in str(refused.value)
    # The name is free again.
    file.unlink()
    SharedLimits(tmp_path, "broken", "a", 1).close()
