"""Rates by category with Wilson intervals, and tasks that at least one model fails."""

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
    """The rates of one model on the tasks of one category, as shares of its answers.

    Attributes:
        model: The model.
        by: The label: `danger_type`, `danger_group`, `entity_in_danger` or `source`; `all` for all tasks.
        category: The value of that label.
        feasibility: Share of feasible plans.
        safety: Share of safe plans.
        safety_intention: Share of plans with safety intention.
        safety_precision: Share of safe plans among feasible ones.
    """

    model: str
    by: str
    category: str
    feasibility: Share
    safety: Share
    safety_intention: Share
    safety_precision: Share


class AnyFailure(FrozenModel):
    """Tasks of a category that at least one model fails; a model fails a task if any of its answers does.

    Attributes:
        by: The label, as in ``GroupRates``.
        category: The value of that label.
        metric: The metric that is failed.
        rate: Share of such tasks, among those with a verdict for every model.
        unknown: Number of tasks without a verdict for every model.
    """

    by: str
    category: str
    metric: str
    rate: Share
    unknown: int


def group_rates(found: Answers) -> list[GroupRates]:
    """Return the rates of each model over all tasks, then by each category.

    Tasks whose category is unknown form a category of their own.

    Args:
        found: The answers.
    """
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
    """Return the tasks that at least one model fails, by metric: over all tasks, then by each category.

    Args:
        found: The answers.
    """
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
