from __future__ import annotations

import asyncio
import gc
import random
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hazardmill.llm.limits.limiter import WINDOW_S, Limiter

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


async def turn_away(limiter, number, retry_after=None):
    """So many requests under way at once, all turned away."""
    gate = asyncio.Event()

    async def one():
        async with limiter.slot() as slot:
            await gate.wait()
            slot.note_refusal(retry_after)

    tasks = [asyncio.create_task(one()) for _ in range(number)]
    for _ in range(3):
        await asyncio.sleep(0)
    gate.set()
    await asyncio.gather(*tasks)


async def answer(limiter, number):
    for _ in range(number):
        async with limiter.slot() as slot:
            slot.note_answer()


def test_a_crowd_turned_away_together_halves_the_number_once():
    async def main():
        limiter = Limiter(16)
        limits = []
        for _ in range(6):
            await turn_away(limiter, limiter.in_flight_limit)
            limits.append(limiter.in_flight_limit)
        return limits

    assert asyncio.run(main()) == [8, 4, 2, 1, 1, 1]


def test_what_was_under_way_is_halved_not_what_was_allowed():
    async def main():
        limiter = Limiter(64)
        await turn_away(limiter, 6)
        return limiter.in_flight_limit

    assert asyncio.run(main()) == 3


@pytest.mark.parametrize(("number", "left"), [(1, 32), (3, 32), (4, 2)])
def test_one_that_is_turned_away_alone_halves_what_was_allowed(number, left):
    async def main():
        limiter = Limiter(64)
        await turn_away(limiter, number)
        return limiter.in_flight_limit

    assert asyncio.run(main()) == left


def test_it_grows_by_one_a_window_of_answers_up_to_the_maximum():
    async def main():
        limiter = Limiter(4)
        for _ in range(2):
            await turn_away(limiter, limiter.in_flight_limit)
        limits = []
        for _ in range(10):
            await answer(limiter, 1)
            limits.append(limiter.in_flight_limit)
        return limits

    assert asyncio.run(main()) == [2, 2, 3, 3, 3, 4, 4, 4, 4, 4]


def test_who_is_told_to_come_back_later_holds_everybody_back():
    clock = FakeClock()
    limiter = Limiter(4, clock=clock, sleep=clock.sleep)
    asyncio.run(turn_away(limiter, 1, retry_after=45))
    assert admissions(limiter, clock, 0, 0) == pytest.approx([45, 45])


def test_a_place_given_to_one_who_is_called_off_at_that_moment_goes_to_the_next():
    limiter = Limiter(1)
    order = []

    async def one(name, gate):
        async with limiter.slot():
            order.append(name)
            await gate.wait()

    async def main():
        gate = asyncio.Event()
        first, second, third = (asyncio.create_task(one(name, gate)) for name in ("first", "second", "third"))
        await asyncio.sleep(0)
        gate.set()
        # The first hands its place to the second in this turn of the loop; the second has not run yet.
        while not first.done():
            await asyncio.sleep(0)
        second.cancel()
        await asyncio.wait([second, third])
        return second.cancelled(), third.done()

    assert asyncio.run(main()) == (True, True)
    assert order == ["first", "third"]


def test_nobody_is_held_back_for_longer_than_is_of_use():
    clock = FakeClock()
    limiter = Limiter(4, longest_hold_s=100, clock=clock, sleep=clock.sleep)
    asyncio.run(turn_away(limiter, 1, retry_after=86_400))
    assert admissions(limiter, clock, 0) == pytest.approx([100])


@given(most=st.integers(1, 12), seed=st.integers(0, 2**16), trouble=st.floats(0, 0.9), work=st.integers(1, 60))
def test_laws_of_the_number_under_way(most, seed, trouble, work):
    """Never above the maximum, never below one; nobody is forgotten; and it recovers to the maximum."""
    draw = random.Random(seed)
    clock = FakeClock()
    limiter = Limiter(most, clock=clock, sleep=clock.sleep)
    under_way, done = 0, 0

    async def one():
        nonlocal under_way, done
        async with limiter.slot() as slot:
            under_way += 1
            assert under_way <= most
            try:
                for _ in range(draw.randrange(4)):
                    await asyncio.sleep(0)
            finally:
                under_way -= 1
            if draw.random() < trouble:
                slot.note_refusal(draw.choice([None, 0.5, 3.0]))
            else:
                slot.note_answer()
        assert 1 <= limiter.in_flight_limit <= most
        done += 1

    async def main():
        tasks = [asyncio.create_task(one()) for _ in range(work)]
        called_off = [task for task in tasks if draw.random() < 0.2]
        await asyncio.sleep(0)
        for task in called_off:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        failures = [t.exception() for t in tasks if not t.cancelled() and t.exception() is not None]
        assert not failures
        assert done + sum(task.cancelled() for task in tasks) == work
        await answer(limiter, most * (most + 1))
        assert limiter.in_flight_limit == most

    asyncio.run(main())


def sharing(whom, *limits):
    async def look():
        return Limiter.for_provider(whom, *limits)

    return asyncio.run(look())


def test_who_asks_the_same_within_the_same_limits_shares_a_limiter():
    async def main():
        mine = Limiter.for_provider("here", 4, 10, None)
        assert Limiter.for_provider("here", 4, 10, None) is mine
        others = [
            Limiter.for_provider("there", 4, 10, None),
            Limiter.for_provider("here", 3, 10),
            Limiter.for_provider("here", 4, 10, 9),
        ]
        assert mine not in others and len({id(limiter) for limiter in others}) == 3

    asyncio.run(main())


def test_what_was_sent_in_the_last_minute_counts_for_the_next_session():
    first = sharing("sessions", 1, 2)

    async def send(times):
        limiter = Limiter.for_provider("sessions", 1, 2)
        for _ in range(times):
            async with limiter.slot():
                pass
        return limiter

    assert asyncio.run(send(2)) is first
    with pytest.raises(TimeoutError):
        asyncio.run(asyncio.wait_for(send(1), 0.05))


def test_a_provider_that_had_too_much_to_do_is_spared_by_the_next_session_and_nobody_is_left_in_it():
    async def too_much():
        limiter = Limiter.for_provider("spared", 8)
        async with limiter.slot() as slot:
            slot.note_refusal()
        left = asyncio.create_task(hold(limiter))
        await asyncio.sleep(0)
        return [left]

    async def hold(limiter):
        async with limiter.slot():
            await asyncio.Event().wait()

    loop = asyncio.new_event_loop()
    tasks = loop.run_until_complete(too_much())
    loop.close()
    # Its loop was closed over it; nobody is to be told.
    tasks[0]._log_destroy_pending = False

    async def next_session():
        limiter = Limiter.for_provider("spared", 8)
        assert limiter.in_flight_limit == 4
        under_way, most = 0, 0

        async def one():
            nonlocal under_way, most
            async with limiter.slot():
                under_way += 1
                most = max(most, under_way)
                await asyncio.sleep(0)
                under_way -= 1

        await asyncio.gather(*(one() for _ in range(20)))
        tasks.clear()
        gc.collect()
        await asyncio.gather(*(one() for _ in range(20)))
        return most

    assert asyncio.run(next_session()) == 4


def test_event_loops_at_the_same_time_have_a_limiter_each():
    found = []
    both = threading.Barrier(2)

    async def look():
        found.append(Limiter.for_provider("threads", 2))
        both.wait()

    threads = [threading.Thread(target=asyncio.run, args=(look(),)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 2 and found[0] is not found[1]


def test_a_shared_limiter_needs_an_event_loop_and_limits_that_make_sense():
    with pytest.raises(RuntimeError):
        Limiter.for_provider("nobody")
    with pytest.raises(ValueError, match="at least 1"):
        sharing("nobody", 0)
