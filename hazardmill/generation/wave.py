"""A wave: records that go through the stages together, one stage after the other.

``extract`` all of them; then up to ``MAX_DRAFTS`` times ``author``, ``execute`` and ``judge`` those that still need a
draft. Within a stage, records are worked on concurrently. A stage ends when its slowest record is done; meanwhile the
places it leaves free go to other waves, the earliest first.
"""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from hazardmill.errors import AnswerPending, NotRecorded, PluginError, ProviderError, RunStopped
from hazardmill.generation.context import StageContext
from hazardmill.generation.craft import WorkStage, craft_of
from hazardmill.generation.priority_semaphore import PrioritySemaphore
from hazardmill.generation.refine import RecordResult, Refinement
from hazardmill.records import Record

_ASKED_PER_REQUEST: Final = 2
"""Records being asked about per request that may be under way: while one prepares its request or waits until its answer
is on disk, another one's request is sent."""

_EXECUTED_PER_CORE: Final = 4
"""Drafts being executed per core: while one is proved, another one's code runs in the jail."""


class Room:
    """What all waves of a session share: how many records they work on at once, and which waves may go on.

    Args:
        concurrency: The most requests under way.
        close: Called when the earliest wave that is not committed has failed: from then on no request is of any use.
    """

    def __init__(self, concurrency: int, close: Callable[[], None]) -> None:
        self.asking = PrioritySemaphore(_ASKED_PER_REQUEST * concurrency)
        """Places for records about which a model is asked."""
        self.executing = PrioritySemaphore(_EXECUTED_PER_CORE * len(os.sched_getaffinity(0)))
        """Places for drafts that are executed."""
        self._close = close
        self._due = 1
        self._failed: int | None = None

    def begin(self, number: int) -> None:
        """Let all waves work, from the first that is not committed."""
        self._due, self._failed = number, None

    def committed(self, number: int) -> None:
        """Note that a wave is committed, and all before it."""
        self._due = number + 1
        self._close_if_due()

    def fail(self, number: int) -> None:
        """Let neither this wave nor a later one begin anything more. Earlier ones go on, and can be committed."""
        self._failed = number if self._failed is None else min(self._failed, number)
        self._close_if_due()

    def has_failed(self, number: int) -> bool:
        """Whether this wave or an earlier one has failed."""
        return self._failed is not None and self._failed <= number

    def _close_if_due(self) -> None:
        if self._failed is not None and self._failed <= self._due:
            self._close()


class Wave:
    """Some records of a run on their way through the stages.

    Call ``extract`` first; then ``author``, ``execute`` and ``judge`` in turn while ``left`` is not empty. A stage that
    ended with an error may be called again: it does what it had not done. Nothing that the ledger knows is asked again.

    Args:
        number: Number of the wave from 1; earlier waves get free places first.
        records: The records, in order.
        context: Client, prompts, models, jail and limits.
        room: Shared by all waves of a session.
    """

    def __init__(self, number: int, records: Iterable[Record], context: StageContext, room: Room) -> None:
        self.number = number
        self._craft = craft_of(context)
        self.works = tuple(map(self._craft.begin, records))
        self._context = context
        self._room = room

    @property
    def left(self) -> tuple[Refinement, ...]:
        """The records that need another draft."""
        return tuple(work for work in self.works if work.needs_draft)

    @property
    def drafted(self) -> tuple[Refinement, ...]:
        """The records with a draft under way."""
        return tuple(work for work in self.works if work.has_draft)

    @property
    def finished(self) -> tuple[Refinement, ...]:
        """The records that no stage has anything left to do for, as far as they follow each other from the first."""
        return tuple(itertools.takewhile(lambda work: work.is_finished, self.works))

    @property
    def waits(self) -> bool:
        """Whether records wait for answers that are not there yet."""
        return any(work.waits for work in self.works)

    def go_on(self) -> None:
        """Let records that waited for an answer ask for it again."""
        for work in self.works:
            work.waits = False

    async def extract(self) -> None:
        """Ask for the danger in each record.

        Raises:
            ProviderError: The provider cannot be asked at all. Requests under way have been waited for, and their
                answers are in the ledger. All stages raise this.
            RunStopped: The client was closed, or there is no money left; as above.
        """
        asking = [work for work in self.works if work.extraction is None and not work.waits]
        await self._each(self._craft.extract, asking, self._room.asking)

    async def author(self) -> None:
        """Ask for the next draft of each record that needs one."""
        await self._each(self._craft.author, [work for work in self.left if not work.has_draft], self._room.asking)

    async def execute(self) -> None:
        """Run and prove each draft under way."""
        drafts = [work for work in self.drafted if not work.checks]
        await self._each(self._craft.execute, drafts, self._room.executing)

    async def judge(self) -> None:
        """Ask the judge about each draft that passed every check, and conclude every draft under way."""
        await self._each(self._craft.judge, self.drafted, self._room.asking)

    async def _each(
        self,
        stage: WorkStage,
        works: Sequence[Refinement],
        places: PrioritySemaphore,
    ) -> None:
        """Apply a stage to each of some records, in order and concurrently."""
        stopped: list[PluginError | ProviderError | RunStopped] = []
        failed: list[Exception] = []

        async def one(work: Refinement) -> None:
            try:
                await stage(work, self._context)
            except NotRecorded as error:
                work.unrecorded = error
            except AnswerPending:
                work.waits = True
            except (PluginError, ProviderError, RunStopped) as error:
                # Requests under way are paid for: they may end, so that the next session can use their answers.
                stopped.append(error)
                self._room.fail(self.number)
            except Exception as error:
                failed.append(error)
                self._room.fail(self.number)
                raise
            finally:
                places.release()

        tasks: list[asyncio.Task[None]] = []
        try:
            for work in works:
                await places.acquire(self.number)
                if self._room.has_failed(self.number):
                    places.release()
                    break
                tasks.append(asyncio.create_task(one(work)))
            if tasks:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        finally:
            for task in tasks:
                task.cancel()
            ended = await asyncio.gather(*tasks, return_exceptions=True)
        # What failed comes before the cancellations that followed from it.
        for error in (*failed, *stopped, *ended):
            if error is not None:
                raise error
        if self._room.has_failed(self.number):
            raise RunStopped("an earlier wave of the run has failed")


async def refine(record: Record, context: StageContext) -> RecordResult:
    """Take one record through all stages: a wave of one.

    Args:
        record: The record.
        context: Client, prompts, models, jail and limits.

    Returns:
        The record's outcome with all drafts; whether its task is a duplicate is decided later.

    Raises:
        ProviderError: The provider cannot be asked at all; the record stays pending.
    """
    wave = Wave(1, [record], context, Room(1, context.client.close))
    await wave.extract()
    while wave.left:
        await wave.author()
        await wave.execute()
        await wave.judge()
    (work,) = wave.works
    if work.unrecorded is not None:
        raise work.unrecorded
    return work.result()
