"""Working through a run, as the commands do."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from hazardmill.runs.run import Run


def worked(run: Run, batches: Sequence[Sequence[int]] | None = None) -> dict[str, int]:
    """Work on all that is pending, or on those batches of it, and give the records by outcome."""

    async def work() -> None:
        async with run.session() as session:
            await session.work_through(run.batches() if batches is None else batches)

    with run.under_way():
        asyncio.run(work())
    return run.counts()
