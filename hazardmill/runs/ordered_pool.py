"""A line of work: begun in order, so much at a time, and its results taken in the same order, batch by batch.

A batch does not wait for the one before it to end: its first piece is begun as soon as that one has no more to begin.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from enum import Enum, auto
from typing import Final, Generic, TypeVar

Piece = TypeVar("Piece")
Result = TypeVar("Result")

_BATCHES: Final = 2
"""Most batches in line: one piece that takes long must not let the results of all later ones pile up."""


class _Mark(Enum):
    BATCH_ENDS = auto()
    LINE_ENDS = auto()


class OrderedPool(Generic[Piece, Result]):
    """Pieces of work under way. An async iterator of (piece, result), with null after the last one of each batch.

    What a piece of work raises is raised where its result is due, after all results before it; what the batches
    themselves raise, after the results of all that was begun. However that ends, ``call_off`` the line.

    Args:
        batches: What is to be worked on. A batch is asked for when all of the one before it is begun.
        work: Works on a piece.
        room: Pieces that are worked on at a time; one whose result waits for its turn takes no room.
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
        """Begun, and its result not taken."""
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
        """Begin nothing more, and see what is under way to its end, whatever that is."""
        self._feeding.cancel()
        await asyncio.gather(self._feeding, return_exceptions=True)
        await asyncio.gather(*self._left, return_exceptions=True)

    async def call_off(self) -> None:
        """Begin nothing more, and cancel what is under way. Done when that has ended."""
        for task in self._left:
            task.cancel()
        await self.drain()

    async def _feed(self) -> None:
        try:
            # Not asked for before there is a place for it: what a batch needs to begin is read then.
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
