"""How the records of a run are divided into waves, and the way of a wave through the stages.

Every stage takes a ``WaveStep`` and returns a new one. The command line calls the stages of a session as they are;
flows wrap each in a Prefect task, and the steps that are passed on become the edges of the graph.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import Field

from hazardmill.errors import PluginError, ProviderError, RunStopped
from hazardmill.generation.wave import Room
from hazardmill.records import FrozenModel

AT_ONCE: Final = 8
"""The most waves under way at once. Results of a wave stay in memory until all earlier waves are committed."""

_WAVES: Final = 8
"""Number of waves that a run is divided into, unless they would be too small or too large."""

_SMALLEST: Final = 25
_LARGEST: Final = 1000


WAITING: Final = "waiting"
"""Count of the records that wait for answers, in what ``commit`` returns for a wave that cannot be committed yet."""


class WaveStep(FrozenModel):
    """Where a wave stands between two stages, and what the last stage did.

    Attributes:
        wave: Number of the wave, from 1.
        draft: Number of the draft that the last stage was about; 0 before the first draft.
        left: Ids of the records that need another draft.
        counts: What the last stage found: records or drafts by result.
        usd: Cost in USD of the answers that the last stage used and this run paid for, now or before it was resumed;
            null if a price is unknown, or if the stage asks nobody.
        seconds: How long the last stage took; null before the first.
    """

    wave: int
    draft: int = 0
    # A new list each time, and no float by default: Prefect knows results by their identity, and would draw edges
    # between stages that only share the empty tuple, or one and the same 0.0.
    left: list[str] = Field(default_factory=list)
    counts: dict[str, int] = Field(default_factory=dict)
    usd: float | None = None
    seconds: float | None = None


Stage = Callable[[WaveStep], Awaitable[WaveStep]]


@dataclass(frozen=True)
class WaveStages:
    """The stages of a wave, in order; ``author`` to ``judge`` are repeated for each draft.

    Attributes:
        commit: Writes the outcomes of the wave; must be called for one wave after the other.
    """

    extract: Stage
    author: Stage
    execute: Stage
    judge: Stage
    commit: Stage


def wave_size(records: int) -> int:
    """Return how many records a wave of a run has unless the run's options say otherwise.

    Args:
        records: Number of records of the run.
    """
    return min(max(-(-records // _WAVES), _SMALLEST), _LARGEST)


async def run_wave(stages: WaveStages, step: WaveStep, turn: Callable[[], Awaitable[object]]) -> WaveStep:
    """Take one wave through all stages.

    Args:
        stages: The stages.
        step: Number and records of the wave.
        turn: Returns when the wave may be committed, because all earlier ones are.

    Returns:
        The result of ``commit``.
    """
    step = await stages.extract(step)
    while step.left:
        step = await stages.judge(await stages.execute(await stages.author(step)))
    await turn()
    return await stages.commit(step)


async def run_waves(stages: WaveStages, waves: Sequence[WaveStep], room: Room, at_once: int = AT_ONCE) -> None:
    """Take waves through all stages, several at once, and commit them in order.

    If a wave fails, whatever the reason, no later one begins anything more.

    Args:
        stages: The stages.
        waves: Number and records of each wave, in order.
        room: What the waves share; it is told which of them failed or were committed.
        at_once: The most waves under way.

    Raises:
        PluginError: A check of a package failed; waves before the first unfinished one were committed.
        ProviderError: No wave can ask any more; likewise.
        RunStopped: Likewise.
        Exception: As raised by a stage of the first wave that failed, after all earlier waves were committed.
    """
    places = asyncio.Semaphore(at_once)

    async def one(step: WaveStep, before: asyncio.Task[WaveStep] | None) -> WaveStep:
        async with places:
            if room.has_failed(step.wave):
                raise RunStopped("an earlier wave of the run has failed")
            try:
                done = await run_wave(stages, step, lambda: _wait_for(before))
            except Exception:
                room.fail(step.wave)
                raise
            room.committed(step.wave)
            return done

    tasks: list[asyncio.Task[WaveStep]] = []
    for step in waves:
        tasks.append(asyncio.create_task(one(step, tasks[-1] if tasks else None)))
    try:
        for task in tasks:
            await task
    except (ProviderError, RunStopped, PluginError):
        # No wave asks any more, but requests under way are paid for, and may end.
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _wait_for(before: asyncio.Task[WaveStep] | None) -> None:
    if before is not None:
        # Shielded, because cancelling this wave must not cancel the one before it.
        await asyncio.shield(before)
