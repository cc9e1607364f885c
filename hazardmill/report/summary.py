"""Funnel and cost of runs from one snapshot of the store."""

from __future__ import annotations

from collections.abc import Sequence

from hazardmill.report.cost import COST_TABLES, Cost, cost
from hazardmill.report.funnel import FUNNEL_TABLES, Funnel, funnel
from hazardmill.report.queries import Readable


def funnel_and_cost(store: Readable, run_ids: Sequence[str]) -> tuple[Funnel, Cost]:
    """Return where the records of some runs went and what that cost, from one snapshot of the store.

    Args:
        store: The store with the runs.
        run_ids: The runs.
    """
    return store.query(lambda views: (funnel(views, run_ids), cost(views, run_ids)), [*FUNNEL_TABLES, *COST_TABLES])
