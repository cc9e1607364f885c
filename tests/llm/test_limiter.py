from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hazardmill.llm.limiter import WINDOW_S, Limiter

from .conftest import FakeClock


@given(
    requests=st.integers(1, 5) | st.none(),
    tokens=st.integers(50, 300) | st.none(),
    asked=st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50), st.floats(0, 40)), max_size=40),
)
def test_no_minute_holds_more_than_the_limits(requests, tokens, asked):
    clock = FakeClock()
    limiter = Limiter(4, requests, tokens, clock=clock, sleep=clock.sleep)
    admitted: list[tuple[float, int]] = []

    async def one(estimate, used, lasts):
        async with limiter.slot(estimate) as slot:
            admitted.append((clock.now, max(estimate, used)))
            clock.now += lasts
            slot.settle(used)

    async def main():
        for estimate, used, lasts in asked:
            # No more is used than was estimated: only then can anybody keep a limit.
            await one(estimate, min(used, estimate), lasts)

    asyncio.run(main())
    assert len(admitted) == len(asked)
    used_by = [(at, min(used, estimate)) for (at, _), (estimate, used, _) in zip(admitted, asked, strict=True)]
    for start, _ in admitted:
        window = [used for at, used in used_by if start <= at < start + WINDOW_S]
        assert requests is None or len(window) <= requests
        assert tokens is None or sum(window) <= tokens


def admissions(limiter, clock, *estimates):
    times = []

    async def main():
        for estimate in estimates:
            async with limiter.slot(estimate):
                times.append(clock.now - 1000)

    asyncio.run(main())
    return times


def test_a_request_waits_no_longer_than_it_must():
    clock = FakeClock()
    limiter = Limiter(requests_per_minute=2, clock=clock, sleep=clock.sleep)
    assert admissions(limiter, clock, 0, 0, 0, 0, 0) == pytest.approx([0, 0, 60, 60, 120])


def test_tokens_wait_until_enough_have_left_the_window():
    clock = FakeClock()
    limiter = Limiter(tokens_per_minute=100, clock=clock, sleep=clock.sleep)
    assert admissions(limiter, clock, 60, 40, 1, 60, 39) == pytest.approx([0, 0, 60, 60, 60])


def test_a_request_above_the_limit_goes_alone():
    clock = FakeClock()
    limiter = Limiter(tokens_per_minute=100, clock=clock, sleep=clock.sleep)
    assert admissions(limiter, clock, 10, 5000, 10) == pytest.approx([0, 60, 120])


def test_settling_frees_what_was_not_used():
    clock = FakeClock()
    limiter = Limiter(tokens_per_minute=100, clock=clock, sleep=clock.sleep)

    async def main():
        async with limiter.slot(100) as slot:
            slot.settle(20)
        async with limiter.slot(80):
            return clock.now

    assert asyncio.run(main()) == 1000


def test_who_came_first_goes_first_and_a_cancelled_one_takes_no_place():
    clock = FakeClock()
    limiter = Limiter(1, requests_per_minute=1, clock=clock, sleep=clock.sleep)
    order = []

    async def one(name):
        async with limiter.slot():
            order.append(name)
            await asyncio.sleep(0)

    async def main():
        tasks = [asyncio.create_task(one(n)) for n in range(6)]
        await asyncio.sleep(0)
        tasks[1].cancel()
        tasks[3].cancel()
        await asyncio.wait(tasks)

    asyncio.run(main())
    assert order == [0, 2, 4, 5]
    assert clock.now == pytest.approx(1000 + 3 * WINDOW_S), "four requests, one a minute"


@pytest.mark.parametrize("limits", [(0, None, None), (1, 0, None), (1, None, -5)])
def test_a_limit_below_one_is_refused(limits):
    with pytest.raises(ValueError, match="at least 1"):
        Limiter(*limits)
