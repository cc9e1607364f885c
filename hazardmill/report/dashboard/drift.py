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

_LEAST: Final = 3
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
        past = history.last(source)
        names = [each.run_id for each in past]
        if history.run_id not in names:
            continue
        place = names.index(history.run_id)
        models = _models(history.runs[history.run_id])
        before = [each for each in past[:place] if _models(history.runs[each.run_id]) == models]
        costs = [usd for usd in map(_known_usd, before) if usd is not None][-BEFORE:]
        usd = _known_usd(past[place])
        if usd is not None and len(costs) >= _LEAST and (median := statistics.median(costs)):
            found.append(CostDrift(source, usd, median, len(costs)))
    return found


def _known_usd(past: Past) -> float | None:
    return None if past.spent.whole.sum.unknown else past.usd_per_task


def _models(row: dict[str, Any]) -> object:
    config = json.loads(row["config"])
    return config.get("backend"), config.get("models")
