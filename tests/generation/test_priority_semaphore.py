from __future__ import annotations

import asyncio

import pytest

from hazardmill.generation.priority_semaphore import PrioritySemaphore


def test_the_lowest_number_passes_first_and_equal_ones_in_order() -> None:
    passed: list[str] = []

    async def wait(semaphore: PrioritySemaphore, priority: int, name: str) -> None:
        async with semaphore.place(priority):
            passed.append(name)

    async def scenario() -> None:
        semaphore = PrioritySemaphore(1)
        await semaphore.acquire(9)
        waiting = [
            asyncio.create_task(wait(semaphore, priority, name))
            for priority, name in ((3, "third"), (1, "first"), (2, "second"), (1, "also first"))
        ]
        await asyncio.sleep(0)
        semaphore.release()
        await asyncio.gather(*waiting)

    asyncio.run(scenario())
    assert passed == ["first", "also first", "second", "third"]


def test_no_more_pass_than_there_are_places() -> None:
    inside, most = 0, 0

    async def enter(semaphore: PrioritySemaphore, number: int) -> None:
        nonlocal inside, most
        async with semaphore.place(number % 3):
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0)
            inside -= 1

    async def scenario() -> None:
        semaphore = PrioritySemaphore(4)
        await asyncio.gather(*(enter(semaphore, number) for number in range(40)))

    asyncio.run(scenario())
    assert (inside, most) == (0, 4)


@pytest.mark.parametrize("given_a_place", [False, True])
def test_a_cancelled_waiter_takes_no_place(given_a_place: bool) -> None:
    async def scenario() -> None:
        semaphore = PrioritySemaphore(1)
        await semaphore.acquire(1)
        cancelled = asyncio.create_task(semaphore.acquire(1))
        other = asyncio.create_task(semaphore.acquire(2))
        await asyncio.sleep(0)
        if given_a_place:
            semaphore.release()
        cancelled.cancel()
        await asyncio.sleep(0)
        if not given_a_place:
            semaphore.release()
        await asyncio.wait_for(other, 5)
        assert cancelled.cancelled()

    asyncio.run(scenario())
