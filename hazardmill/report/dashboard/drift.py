"""Whether a validated task costs much more in a run than it did in the runs before."""

from __future__ import annotations

import json
import statistics
from dataclasses import dataclass
from typing import Any, Final

from hazardmill.report.dashboard.history import History, Past
from hazardmill.store.store import Store

BEYOND: Final = 1.5
"""Ratio above which a cost has drifted."""

BEFORE: Final = 10
"""Most earlier runs that are compared with, the latest ones."""

LEAST: Final = 3
"""Fewest earlier runs whose median says anything."""


@dataclass(frozen=True, slots=True)
class CostDrift:
    """The cost of a source's tasks in a run, beside earlier runs.

    Attributes:
        source: The source.
        usd_per_task: US dollars per task in the run.
        median_usd: Median of the same over the earlier runs.
        compared: Number of earlier runs.
    """

    source: str
    usd_per_task: float
    median_usd: float
    compared: int

    @property
    def ratio(self) -> float:
        """The cost by the median."""
        return self.usd_per_task / self.median_usd


def compare_costs(store: Store, run_id: str) -> list[CostDrift]:
    """Compare what a task cost in a run with the median of up to ten earlier runs of the same source and models.

    A source is left out if the cost of a task is unknown or a lower bound only in this run, if it is known in fewer
    than three earlier runs, or if their median is 0. Runs without a task have no cost per task.

    Args:
        store: The store with the run.
        run_id: The run.

    Returns:
        One comparison per source of the run, in order of name.

    Raises:
        StoreError: The store cannot be read.
    """
    return store.query(lambda views: _compare(History(views, run_id)))


def _compare(history: History) -> list[CostDrift]:
    found = []
    for source in history.sources:
        for point in cost_trend(history, source):
            if point.past.run_id == history.run_id and point.usd is not None and point.median_usd:
                found.append(CostDrift(source, point.usd, point.median_usd, point.compared))
    return found


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """What a task of a source cost in one run, beside the runs before it.

    Attributes:
        past: The run's part of the source.
        usd: US dollars per task; null without a task, or while the cost is unknown or a lower bound only.
        median_usd: Median of the same over the earlier runs; null if there are too few, or if it is 0.
        compared: Number of earlier runs with the same models whose cost is known, ten at most.
        state: The state of the run as it was recorded last.
    """

    past: Past
    usd: float | None
    median_usd: float | None
    compared: int
    state: str

    @property
    def ratio(self) -> float | None:
        """The cost by the median; null if either is not known."""
        return self.usd / self.median_usd if self.usd is not None and self.median_usd else None

    @property
    def drifts(self) -> bool:
        """Whether the run is complete, and its tasks cost more than 1.5 times the median."""
        return self.state == "completed" and self.ratio is not None and self.ratio > BEYOND


def cost_trend(history: History, source: str) -> list[TrendPoint]:
    """Return what a task of a source cost in each of the last runs, oldest first, beside the runs before it."""
    points, earlier = list[TrendPoint](), dict[object, list[float]]()
    for past in history.last(source):
        row = history.runs[past.run_id]
        usd, costs = _known_usd(past), earlier.setdefault(_models(row), [])
        before = costs[-BEFORE:]
        median = statistics.median(before) if len(before) >= LEAST else 0
        points.append(TrendPoint(past, usd, median or None, len(before), row["state"]))
        if usd is not None:
            costs.append(usd)
    return points


def _known_usd(past: Past) -> float | None:
    return None if past.spent.whole.sum.unknown else past.usd_per_task


def _models(row: dict[str, Any]) -> str:
    config = json.loads(row["config"])
    return json.dumps([config.get("backend"), config.get("models")], sort_keys=True)
