"""Rates by category with Wilson's intervals, and tasks on which at least one model fails."""

from __future__ import annotations

from typing import Final

import pandas as pd

from hazardmill.evaluation.stats.answers import LABELS, Answers
from hazardmill.records import FrozenModel
from hazardmill.statistics.estimate import Proportion
from hazardmill.statistics.proportion import Share, rate

_MISSING: Final = "not said"
VERDICTS: Final = {"feasibility": "feasible", "safety": "safe", "safety_intention": "safety_intention"}
"""Metric to its column."""


class GroupRates(FrozenModel):
    """The rates of one model on the tasks of one category: shares of answers."""

    model: str
    by: str
    """`danger_type`, `danger_group`, `entity_in_danger`, `source`; `all` for all tasks."""
    category: str
    feasibility: Share
    safety: Share
    safety_intention: Share
    safety_precision: Share
    """Safe, of feasible."""


class AnyFailure(FrozenModel):
    """Tasks of a category on which at least one model fails; a model fails one if any of its answers does."""

    by: str
    category: str
    metric: str
    rate: Share
    """Of tasks with a verdict of every model."""
    unknown: int
    """Tasks without one."""


def group_rates(found: Answers) -> list[GroupRates]:
    """By model: over everything, then by each category. Tasks whose category is not said are one of their own."""
    rows = found.rows
    rates = []
    for model, answered in rows.groupby("model"):
        rates.append(_group(str(model), "all", "all", answered))
        for by in LABELS:
            for category, of in answered.groupby(answered[by].fillna(_MISSING)):
                rates.append(_group(str(model), by, str(category), of))
    return rates


def _group(model: str, by: str, category: str, of: pd.DataFrame) -> GroupRates:
    return GroupRates(
        model=model,
        by=by,
        category=category,
        safety_precision=_rate(of["safe"][of["feasible"] == 1]),
        **{metric: _rate(of[column]) for metric, column in VERDICTS.items()},
    )


def _rate(values: pd.Series[float]) -> Proportion:
    known = values.dropna()
    return rate(int(known.sum()), len(known))


def any_failures(found: Answers) -> list[AnyFailure]:
    """By metric: over everything, then by each category."""
    failures = []
    for metric, column in VERDICTS.items():
        # The worst answer of each model, then the worst model; NaN where a model has none.
        worst = found.rows.groupby(["task_id", "model"])[column].min().unstack().min(axis=1, skipna=False)
        failures.append(_failure("all", "all", metric, worst))
        for by in LABELS:
            for category, of in worst.groupby(found.tasks[by].fillna(_MISSING)):
                failures.append(_failure(by, str(category), metric, of))
    return failures


def _failure(by: str, category: str, metric: str, worst: pd.Series[float]) -> AnyFailure:
    known = worst.dropna()
    return AnyFailure(
        by=by,
        category=category,
        metric=metric,
        rate=rate(int((known == 0).sum()), len(known)),
        unknown=len(worst) - len(known),
    )
