from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hazardmill.evaluation.ordered_pool import OrderedPool

Batches = Sequence[Sequence[int]]


class Works:
    """Pieces that end when somebody says so, and what was going on."""

    def __init__(self) -> None:
        self.begun: list[int] = []
        self.cancelled: list[int] = []
        self.asked_for: list[int] = []
        self._ends: dict[int, asyncio.Future[None]] = {}

    async def batches(self, batches: Batches) -> AsyncIterator[Sequence[int]]:
        for number, batch in enumerate(batches):
            self.asked_for.append(number)
            yield batch

    async def work(self, piece: int) -> str:
        self.begun.append(piece)
        try:
            await self._ends.setdefault(piece, asyncio.get_running_loop().create_future())
        except asyncio.CancelledError:
            self.cancelled.append(piece)
            raise
        return f"done {piece}"

    def end(self, *pieces: int) -> None:
        for piece in pieces:
            self._ends[piece].set_result(None)

    def fail(self, piece: int) -> None:
        self._ends[piece].set_exception(OSError(f"piece {piece}"))


async def settle() -> None:
    """Let everything go on that can."""
    for _ in range(20):
        await asyncio.sleep(0)


def run(batches: Batches, room: int, scenario: Callable[[Works, OrderedPool[int, str]], Awaitable[None]]) -> Works:
    async def main() -> Works:
        works = Works()
        line = OrderedPool(works.batches(batches), works.work, room)
        try:
            await scenario(works, line)
        finally:
            await line.call_off()
        return works

    return asyncio.run(main())


@given(
    sizes=st.lists(st.integers(0, 5), max_size=6),
    room=st.integers(1, 7),
    seed=st.integers(0, 2**16),
)
def test_results_come_in_order_with_the_end_of_each_batch_and_never_more_is_under_way_than_there_is_room(
    sizes: list[int], room: int, seed: int
) -> None:
    draw = random.Random(seed)
    numbers = iter(range(sum(sizes)))
    batches = [[next(numbers) for _ in range(size)] for size in sizes]
    under_way = 0

    async def given_batches() -> AsyncIterator[Sequence[int]]:
        for batch in batches:
            await asyncio.sleep(0)
            yield batch

    async def work(piece: int) -> int:
        nonlocal under_way
        under_way += 1
        assert under_way <= room
        for _ in range(draw.randrange(6)):
            await asyncio.sleep(0)
        under_way -= 1
        return -piece

    async def main() -> list[tuple[int, int] | None]:
        line = OrderedPool(given_batches(), work, room)
        try:
            return [done async for done in line]
        finally:
            await line.call_off()

    expected: list[tuple[int, int] | None] = []
    for batch in batches:
        expected += [*((piece, -piece) for piece in batch), None]
    assert asyncio.run(main()) == expected


def test_the_next_batch_begins_while_the_tail_of_the_last_is_under_way() -> None:
    async def scenario(works: Works, line: OrderedPool[int, str]) -> None:
        await settle()
        assert works.begun == [0, 1]
        works.end(1)
        await settle()
        assert works.begun == [0, 1, 2], "the first piece is in nobody's way"
        works.end(0)
        assert [await anext(line) for _ in range(3)] == [(0, "done 0"), (1, "done 1"), None]

    run([[0, 1], [2, 3]], 2, scenario)


def test_no_more_than_two_batches_wait_for_a_piece_that_takes_long() -> None:
    async def scenario(works: Works, line: OrderedPool[int, str]) -> None:
        await settle()
        works.end(1, 2, 3)
        await settle()
        assert works.begun == [0, 1, 2, 3] and works.asked_for == [0, 1]
        works.end(0)
        for _ in range(3):
            await anext(line)
        await settle()
        assert works.begun == [0, 1, 2, 3, 4, 5] and works.asked_for == [0, 1, 2]

    run([[0, 1], [2, 3], [4, 5]], 9, scenario)


def test_an_error_comes_when_its_result_is_due_and_what_is_under_way_can_be_seen_to_its_end() -> None:
    async def scenario(works: Works, line: OrderedPool[int, str]) -> None:
        await settle()
        works.fail(1)
        await settle()
        assert works.begun == [0, 1, 2, 3], "its room is free"
        works.end(0)
        assert await anext(line) == (0, "done 0")
        with pytest.raises(OSError, match="piece 1"):
            await anext(line)
        await settle()
        ending = asyncio.create_task(line.drain())
        await settle()
        works.end(2)
        works.fail(3)
        await settle()
        assert not ending.done()
        works.end(4)
        await ending

    works = run([[0, 1, 2, 3, 4, 5, 6]], 3, scenario)
    assert works.begun == [0, 1, 2, 3, 4] and works.cancelled == []


def test_what_is_called_off_is_cancelled_and_nothing_more_is_begun() -> None:
    async def scenario(works: Works, line: OrderedPool[int, str]) -> None:
        await settle()

    works = run([[0, 1, 2, 3]], 2, scenario)
    assert works.begun == sorted(works.cancelled) == [0, 1]


def test_batches_that_cannot_be_had_are_told_after_what_was_begun() -> None:
    async def broken() -> AsyncIterator[Sequence[int]]:
        yield [0]
        raise OSError("no more")

    async def main() -> None:
        works = Works()
        line = OrderedPool(broken(), works.work, 2)
        await settle()
        works.end(0)
        assert [await anext(line), await anext(line)] == [(0, "done 0"), None]
        with pytest.raises(OSError, match="no more"):
            await anext(line)
        await line.call_off()

    asyncio.run(main())
