"""Events at 50, 80 and 100 % of a budget, once each; ``automations/budget.yaml`` pauses a deployment at the last."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final
from uuid import NAMESPACE_URL, uuid5

from prefect import runtime
from prefect.client.orchestration import get_client
from prefect.events import emit_event

from hazardmill.runs.budgets import bound_spending
from hazardmill.runs.run import Run

THRESHOLDS: Final = (50, 80, 100)
"""Percentages of a budget."""
EVENT: Final = "hazardmill.budget.{percent}"


class Thresholds:
    """Reports the thresholds that the spending of one budget passes, once each.

    Args:
        limit_usd: The budget.
        spent_usd: What was spent before; thresholds up to this have been reported.
        tell: Called with the percentage of a threshold and the USD spent.
    """

    def __init__(self, limit_usd: float, spent_usd: float, tell: Callable[[int, float], None]) -> None:
        self._limit = limit_usd
        self._tell = tell
        self._left = [percent for percent in THRESHOLDS if spent_usd * 100 < percent * limit_usd]

    def see(self, spent_usd: float) -> None:
        """Update what has been spent, in USD."""
        while self._left and spent_usd * 100 >= self._left[0] * self._limit:
            self._tell(self._left.pop(0), spent_usd)

    def reached(self, spent_usd: float) -> None:
        """Report the remaining thresholds, or the last one again.

        No further request fits, so the budget counts as used up even if something is left.
        """
        for percent in self._left or [THRESHOLDS[-1]]:
            self._tell(percent, spent_usd)
        self._left = []


def spent_by_others(run: Run) -> float:
    """Return what other runs spent of the budget that this one shares, in USD.

    Runs whose spending has no upper bound are left out.
    """
    shared = run.config.budget_id
    if shared is None:
        return 0.0
    rows = run.store.rows("runs", {"kind": "generate"}, ["run_id", "sequence", "config"])
    # The latest configuration counts: a run may have come to share the budget only when it was resumed.
    newest = {row["run_id"]: row["config"] for row in sorted(rows, key=lambda row: row["sequence"])}
    others = {name for name, config in newest.items() if json.loads(config).get("budget_id") == shared} - {run.run_id}
    return sum(bound_spending(run.store, other) or 0.0 for other in others)


async def threshold_emitter(run: Run) -> Callable[[int, float], None]:
    """Return a function that emits the event of a threshold for the deployment that was started."""
    related = await _deployment()
    name, limit = run.config.budget_id or run.run_id, run.config.budget_usd

    def tell(percent: int, spent_usd: float) -> None:
        emit_event(
            EVENT.format(percent=percent),
            resource={"prefect.resource.id": f"hazardmill.budget.{name}", "prefect.resource.name": name},
            related=related,
            payload={"run_id": run.run_id, "percent": percent, "spent_usd": spent_usd, "limit_usd": limit},
            # The server keeps one event per id, so a flow that is retried after a kill may emit it again.
            id=uuid5(NAMESPACE_URL, f"hazardmill:{name}:{limit}:{percent}"),
        )

    return tell


async def _deployment() -> list[dict[str, str]]:
    """Return the deployment of the outermost flow, because a flow within another one has none of its own."""
    root = runtime.flow_run.root_flow_run_id
    if not root:
        return []
    async with get_client() as client:
        deployment = (await client.read_flow_run(root)).deployment_id
    if deployment is None:
        return []
    return [{"prefect.resource.id": f"prefect.deployment.{deployment}", "prefect.resource.role": "deployment"}]
