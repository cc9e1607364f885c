"""Events at 50, 80, 100 % of a budget, each once; ``automations/budget.yaml`` pauses a deployment at the last."""

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
"""Percent of a budget."""
EVENT: Final = "hazardmill.budget.{percent}"


class Thresholds:
    """Watches what is spent of one budget.

    Args:
        limit_usd: The budget.
        spent_usd: What was spent of it before: thresholds up to there have been told.
        tell: Told of a threshold, with what is spent.
    """

    def __init__(self, limit_usd: float, spent_usd: float, tell: Callable[[int, float], None]) -> None:
        self._limit = limit_usd
        self._tell = tell
        self._left = [percent for percent in THRESHOLDS if spent_usd * 100 < percent * limit_usd]

    def see(self, spent_usd: float) -> None:
        """Take in what is spent now."""
        while self._left and spent_usd * 100 >= self._left[0] * self._limit:
            self._tell(self._left.pop(0), spent_usd)

    def reached(self, spent_usd: float) -> None:
        """Nothing more can be sent: that is all of the budget, though what is left may be more than nothing."""
        for percent in self._left or [THRESHOLDS[-1]]:
            self._tell(percent, spent_usd)
        self._left = []


def spent_by_others(run: Run) -> float:
    """USD that other runs spent of the budget that this one shares; what nobody can bound is left out."""
    shared = run.config.budget_id
    if shared is None:
        return 0.0
    rows = run.store.rows("runs", {"kind": "generate"}, ["run_id", "sequence", "config"])
    # As each was last gone on with: a run may have come to share the budget later than it began.
    newest = {row["run_id"]: row["config"] for row in sorted(rows, key=lambda row: row["sequence"])}
    others = {name for name, config in newest.items() if json.loads(config).get("budget_id") == shared} - {run.run_id}
    return sum(bound_spending(run.store, other) or 0.0 for other in others)


async def threshold_emitter(run: Run) -> Callable[[int, float], None]:
    """Something that emits the event of a threshold, in the name of the deployment that was started."""
    related = await _deployment()
    name, limit = run.config.budget_id or run.run_id, run.config.budget_usd

    def tell(percent: int, spent_usd: float) -> None:
        emit_event(
            EVENT.format(percent=percent),
            resource={"prefect.resource.id": f"hazardmill.budget.{name}", "prefect.resource.name": name},
            related=related,
            payload={"run_id": run.run_id, "percent": percent, "spent_usd": spent_usd, "limit_usd": limit},
            # The server keeps one event of an id: a flow that is retried after a kill may tell it again.
            id=uuid5(NAMESPACE_URL, f"hazardmill:{name}:{limit}:{percent}"),
        )

    return tell


async def _deployment() -> list[dict[str, str]]:
    """The deployment of the outermost flow: one of several flows within a run has none of its own."""
    root = runtime.flow_run.root_flow_run_id
    if not root:
        return []
    async with get_client() as client:
        deployment = (await client.read_flow_run(root)).deployment_id
    if deployment is None:
        return []
    return [{"prefect.resource.id": f"prefect.deployment.{deployment}", "prefect.resource.role": "deployment"}]
