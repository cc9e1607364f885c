"""A provider of batches in this process, with every fault that a test wants, over a scripted backend.

It keeps its batches over several runs of a process, as a provider does, and counts what it was asked.
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field

from factories.scripted import ScriptedBackend
from hazardmill.errors import ProviderError
from hazardmill.llm.batches.provider import BatchLimits, BatchLine, BatchState, BatchStatus, LineResult


@dataclass
class Job:
    """A batch at the provider."""

    name: str
    lines: list[BatchLine]
    results: list[LineResult] | None = None
    looks: int = 0


@dataclass
class BatchesInProcess:
    """Answers the lines of each batch when it is looked at for the ``ready_at``-th time.

    Attributes:
        backend: Who answers; one call is one paid request.
        ready_at: Number of the look that finds a batch ended.
        ends: State in which the n-th batch ends; those not named are ``ENDED``.
        change: Changes the results of the n-th batch.
        before_create: Called with the number of the attempt at creating a batch; what it raises, nothing was made.
        after_create: Likewise, after the batch was made.
        can_find: Whether batches are found by name.
        counts: Whether it says how many lines are done.
    """

    backend: ScriptedBackend
    ready_at: int = 1
    ends: dict[int, BatchState] = field(default_factory=dict)
    change: Callable[[int, list[LineResult]], list[LineResult]] = lambda number, results: results
    before_create: Callable[[int], None] = lambda attempt: None
    after_create: Callable[[int], None] = lambda attempt: None
    can_find: bool = True
    counts: bool = False
    limits: BatchLimits = field(default_factory=lambda: BatchLimits(requests=1000, bytes=10_000_000))

    def __post_init__(self) -> None:
        self.jobs: dict[str, Job] = {}
        self.cancelled: list[str] = []
        self._attempts = itertools.count(1)

    def size(self, line: BatchLine) -> int:
        """Return the length of its messages."""
        return sum(len(message.content) for message in line.request.messages)

    async def create(self, name: str, lines: Sequence[BatchLine]) -> str:
        """Keep the lines under the number of the batch."""
        attempt = next(self._attempts)
        self.before_create(attempt)
        batch_id = f"job-{len(self.jobs) + 1}"
        self.jobs[batch_id] = Job(name, list(lines))
        self.after_create(attempt)
        return batch_id

    async def find(self, name: str) -> str | None:
        """Return the batch of that name."""
        assert self.can_find, "it was asked for what it cannot do"
        return next((batch_id for batch_id, job in self.jobs.items() if job.name == name), None)

    async def status(self, batch_id: str) -> BatchStatus:
        """Count the looks, and answer when it is time."""
        job = self.jobs[batch_id]
        job.looks += 1
        if job.looks < self.ready_at:
            return BatchStatus(BatchState.RUNNING, answered=0)
        if job.results is None:
            number = int(batch_id.removeprefix("job-"))
            job.results = self.change(number, [await self._answer(line) for line in job.lines])
        end = self.ends.get(int(batch_id.removeprefix("job-")), BatchState.ENDED)
        return BatchStatus(end, answered=len(job.results) if self.counts else None)

    async def results(
        self, batch_id: str, lines: Sequence[BatchLine], total: int | None = None
    ) -> AsyncIterator[LineResult]:
        """Yield the results that the test left."""
        for result in self.jobs[batch_id].results or ():
            yield result

    async def cancel(self, batch_id: str) -> None:
        """Note it."""
        self.cancelled.append(batch_id)

    async def close(self) -> None:
        """Do nothing."""

    async def _answer(self, line: BatchLine) -> LineResult:
        try:
            return LineResult(line.custom_id, completion=await self.backend.complete(line.request))
        except ProviderError as error:
            return LineResult(line.custom_id, error=error)
