"""Runs the flow ``generate`` in a process of its own, as a worker does.

    python graph_run.py HOW GIVEN [HOW GIVEN]...

Each pair is a flow run, one after the other. ``GIVEN`` is JSON: the parameters of the flow. ``HOW`` is one of:

- ``works``: the run does what it always does.
- ``counts``: the stages do nothing. They return the counts of a wave that needs five drafts: half of its records are
  left after each draft, and none after the fifth. Nothing is stored but the run itself, and its records stay pending.
- ``fails``: the judge of the second wave raises an error. It waits until the first wave is committed, so that the graph
  is the same each time.
- ``retries``: ``GIVEN`` has the id of a flow run that was scheduled again, and its parameters. The flow run is executed
  as a worker would do it.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any, Final
from uuid import UUID

from prefect.client.orchestration import get_client
from prefect.flow_engine import run_flow_async
from pytest import MonkeyPatch

from flows.generate import generate
from hazardmill.runs.session import Session
from hazardmill.runs.waves import WaveStep

DRAFTS: Final = 5
FAILING: Final = 2
"""The number of the wave whose judge fails."""


def count_only(patch: MonkeyPatch) -> None:
    """Replace the work of all stages by counts."""

    async def extract(self: Session, step: WaveStep) -> WaveStep:
        return WaveStep(wave=step.wave, left=list(step.left), counts={"danger": len(step.left)})

    async def author(self: Session, step: WaveStep) -> WaveStep:
        counts = {"draft": len(step.left)}
        return WaveStep(wave=step.wave, draft=step.draft + 1, left=list(step.left), counts=counts)

    async def execute(self: Session, step: WaveStep) -> WaveStep:
        return WaveStep(wave=step.wave, draft=step.draft, left=list(step.left), counts={"passed": len(step.left)})

    async def judge(self: Session, step: WaveStep) -> WaveStep:
        left = [] if step.draft == DRAFTS else step.left[: -(-len(step.left) // 2)]
        counts = {"accepted": len(step.left) - len(left), "rejected": len(left)}
        return WaveStep(wave=step.wave, draft=step.draft, left=left, counts=counts)

    async def commit(self: Session, step: WaveStep) -> WaveStep:
        return WaveStep(wave=step.wave, draft=step.draft, counts={"pending": len(self._ordinals[step.wave])})

    for stage in (extract, author, execute, judge, commit):
        patch.setattr(Session, stage.__name__, stage)


def fail_once_committed(patch: MonkeyPatch) -> None:
    """Let the judge of a wave raise an error as soon as the wave before it is committed."""
    commit, judge, committed = Session.commit, Session.judge, asyncio.Event()

    async def commit_and_tell(self: Session, step: WaveStep) -> WaveStep:
        done = await commit(self, step)
        committed.set()
        return done

    async def fail(self: Session, step: WaveStep) -> WaveStep:
        if step.wave < FAILING:
            return await judge(self, step)
        await committed.wait()
        raise ZeroDivisionError("the judge is broken")

    patch.setattr(Session, "commit", commit_and_tell)
    patch.setattr(Session, "judge", fail)


async def retry(flow_run: str, parameters: dict[str, Any]) -> None:
    """Execute a flow run that is scheduled."""
    async with get_client() as client:
        found = await client.read_flow_run(UUID(flow_run))
    await run_flow_async(generate, flow_run=found, parameters=parameters, return_type="state")


def main(words: list[str]) -> None:
    for how, given in zip(words[::2], map(json.loads, words[1::2]), strict=True):
        with MonkeyPatch.context() as patch:
            if how == "retries":
                asyncio.run(retry(**given))
                continue
            if how != "works":
                {"counts": count_only, "fails": fail_once_committed}[how](patch)
            asyncio.run(generate(**given, return_state=True))


if __name__ == "__main__":
    main(sys.argv[1:])
