"""The event that a validated task costs much more than it did; ``automations/notify-cost.yaml`` notifies of it."""

from __future__ import annotations

import asyncio
from typing import Final
from uuid import NAMESPACE_URL, uuid5

from prefect.events import emit_event

from hazardmill.report.dashboard.drift import BEYOND, CostDrift, compare_costs
from hazardmill.store.store import Store

EVENT: Final = "hazardmill.cost.drift"


async def report_drift(store: Store, run_id: str) -> list[CostDrift]:
    """Emit an event for each source whose tasks cost more than 1.5 times the median of earlier runs, once per run.

    Args:
        store: The store with the run.
        run_id: A run that is complete: the server takes one event per run, and costs of a part would say little.

    Returns:
        The costs that the events are about.
    """
    beyond = [each for each in await asyncio.to_thread(compare_costs, store, run_id) if each.ratio > BEYOND]
    for drift in beyond:
        emit_event(
            EVENT,
            resource={"prefect.resource.id": f"hazardmill.cost.{drift.source}", "prefect.resource.name": drift.source},
            payload={
                "run_id": run_id,
                "source": drift.source,
                "usd_per_task": round(drift.usd_per_task, 6),
                "median_usd": round(drift.median_usd, 6),
                "ratio": round(drift.ratio, 2),
                "runs": drift.compared,
            },
            # The server keeps one event per id, so a run that is published again is reported once.
            id=uuid5(NAMESPACE_URL, f"{EVENT}:{store.address}:{run_id}:{drift.source}"),
        )
    return beyond
