"""A pool of concurrent work that starts pieces in order and yields results in the same order, batch by batch.

Batches overlap: the first piece of a batch starts as soon as the last piece of the previous one has started.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from enum import Enum, auto
from typing import Final, Generic, TypeVar

Piece = TypeVar("Piece")
Result = TypeVar("Result")

_BATCHES: Final = 2
"""The most batches at once, lest results pile up behind one piece that takes long."""


class _Mark(Enum):
    BATCH_ENDS = auto()
    LINE_ENDS = auto()


class OrderedPool(Generic[Piece, Result]):
    """Concurrent pieces of work, as an async iterator of (piece, result), with None after each batch.

    An exception of a piece is raised where its result is due, after all earlier results; an exception of the batches
    themselves, after the results of everything that was started. In every case, ``call_off`` the pool in the end.

    Args:
        batches: The batches of pieces. A batch is requested when all pieces of the previous one have started.
        work: Works on a piece.
        room: The most pieces worked on at once; a finished piece whose result waits for its turn does not count.
    """

    def __init__(
        self, batches: AsyncIterator[Sequence[Piece]], work: Callable[[Piece], Awaitable[Result]], room: int
    ) -> None:
        self._batches = batches
        self._work = work
        self._room = asyncio.Semaphore(room)
        self._places = asyncio.Semaphore(_BATCHES)
        self._begun: asyncio.Queue[tuple[Piece, asyncio.Task[Result]] | _Mark] = asyncio.Queue()
        self._left: set[asyncio.Task[Result]] = set()
        """Tasks that were started and whose results were not taken yet."""
        self._feeding = asyncio.create_task(self._feed())

    def __aiter__(self) -> OrderedPool[Piece, Result]:
        return self

    async def __anext__(self) -> tuple[Piece, Result] | None:
        begun = await self._begun.get()
        if begun is _Mark.BATCH_ENDS:
            self._places.release()
            return None
        if begun is _Mark.LINE_ENDS:
            await self._feeding
            raise StopAsyncIteration
        piece, task = begun
        result = await task
        self._left.discard(task)
        return piece, result

    async def drain(self) -> None:
        """Start nothing more, and wait for everything under way, ignoring its exceptions."""
        self._feeding.cancel()
        await asyncio.gather(self._feeding, return_exceptions=True)
        await asyncio.gather(*self._left, return_exceptions=True)

    async def call_off(self) -> None:
        """Start nothing more, cancel everything under way, and wait until it has ended."""
        for task in self._left:
            task.cancel()
        await self.drain()

    async def _feed(self) -> None:
        try:
            # A batch reads its records when it is requested, so it waits for a place first.
            await self._places.acquire()
            async for batch in self._batches:
                for piece in batch:
                    await self._room.acquire()
                    task = asyncio.create_task(self._one(piece))
                    self._left.add(task)
                    self._begun.put_nowait((piece, task))
                self._begun.put_nowait(_Mark.BATCH_ENDS)
                await self._places.acquire()
        finally:
            self._begun.put_nowait(_Mark.LINE_ENDS)

    async def _one(self, piece: Piece) -> Result:
        try:
            return await self._work(piece)
        finally:
            self._room.release()
