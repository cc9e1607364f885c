"""Funnel and cost of runs in one look at the store."""

from __future__ import annotations

from collections.abc import Sequence

from hazardmill.report.cost import Cost, cost
from hazardmill.report.funnel import Funnel, funnel
from hazardmill.report.queries import Readable


def funnel_and_cost(store: Readable, run_ids: Sequence[str]) -> tuple[Funnel, Cost]:
    """Where the records of the runs went, and what they cost, both of one moment."""
    return store.query(lambda views: (funnel(views, run_ids), cost(views, run_ids)))
