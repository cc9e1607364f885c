"""What thinking changes: a model that thinks before it answers, compared with its base.

- Student, 1908: interval of a mean of differences (scipy).
- McNemar, 1947: exact test of answers that changed (``mcnemar``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from hazardmill.errors import UsageError
from hazardmill.evaluation.stats.proportions import VERDICTS
from hazardmill.evaluation.stats.rates import METRICS, ModelRates
from hazardmill.evaluation.stats.units import Points, PointsOrNull, RateChange, change
from hazardmill.records import FrozenModel
from hazardmill.statistics.estimate import LEVEL, WithReason
from hazardmill.statistics.mcnemar import exact_p
from hazardmill.statistics.ratios import FEWEST_DEVIATING, count_deviating, wilson_over_units

MODELS = tuple[str, str]
"""A thinking model and its base."""


class TaskDifference(WithReason):
    """The thinking model minus its base, over the tasks that both answered.

    Attributes:
        tasks: Number of these tasks.
        difference: Mean difference over tasks, in points; several answers to a task count by their mean. If it is the
            same on all tasks, its interval is Wilson's.
        gained: Number of tasks that only the thinking model solves; None where tasks have several answers.
        lost: Number of tasks that only the base solves; None likewise.
        p: Exact McNemar test, two-sided; None likewise.
    """

    reason_of = ("difference",)

    tasks: int
    difference: PointsOrNull
    gained: int | None
    lost: int | None
    p: float | None


class ModelPair(FrozenModel):
    """A thinking model beside its base.

    Attributes:
        thinking: The thinking model.
        base: Its base.
        rates: Metric to the change from base to thinking model, each over all its answers.
        on_tasks: Metric to the difference on the tasks that both answered; None where only rates are known.
    """

    thinking: str
    base: str
    rates: dict[str, RateChange]
    on_tasks: dict[str, TaskDifference] | None


class MeanChange(WithReason):
    """The mean over pairs of the absolute change of one metric.

    Attributes:
        pairs: Number of pairs whose change is known.
        mean: The mean in points, with its interval.
        p: Paired t test; None where it is undefined.
    """

    reason_of = ("mean",)

    pairs: int
    mean: PointsOrNull
    p: float | None


class Thinking(FrozenModel):
    """All pairs that were named, and the mean change of each metric over them."""

    pairs: list[ModelPair]
    mean: dict[str, MeanChange]


def named_pairs(words: Iterable[str], models: Sequence[str]) -> list[MODELS]:
    """Parse pairs of the form ``THINKING=BASE``; names may contain equals signs.

    Args:
        words: The pairs; repeated ones count once.
        models: Names of all models.

    Returns:
        Thinking model and base of each pair, in the order given.

    Raises:
        UsageError: A word does not name two of the models.
    """
    found: list[MODELS] = []
    for word in words:
        cuts = [(word[:place].strip(), word[place + 1 :].strip()) for place, sign in enumerate(word) if sign == "="]
        known = [(one, other) for one, other in cuts if one in models and other in models and one != other]
        if len(known) != 1:
            raise UsageError(
                f"--pair {word} does not name two models",
                remedy=f"write THINKING=BASE with two of: {', '.join(sorted(models))}",
            )
        if known[0] not in found:
            found.append(known[0])
    return found


def thinking(pairs: Sequence[MODELS], models: Sequence[ModelRates], rows: pd.DataFrame | None = None) -> Thinking:
    """Compare thinking models with their bases.

    Args:
        pairs: Thinking model and base of each pair.
        models: The rates of all these models.
        rows: Their answers (``Answers.rows``); None where only rates are known.

    Returns:
        The change of each metric per pair, and its mean over the pairs, which is empty if there are none.
    """
    by_name = {model.model: model for model in models}
    compared = [
        ModelPair(
            thinking=one,
            base=base,
            rates={metric: change(by_name[base].rate(metric), by_name[one].rate(metric)) for metric in METRICS},
            on_tasks=None
            if rows is None
            else {metric: _on_tasks(rows, one, base, column) for metric, column in VERDICTS.items()},
        )
        for one, base in pairs
    ]
    return Thinking(pairs=compared, mean={metric: _mean(compared, metric) for metric in METRICS} if compared else {})


def _mean(compared: Sequence[ModelPair], metric: str) -> MeanChange:
    points = [found for pair in compared if (found := pair.rates[metric].absolute.value) is not None]
    if not points:
        return MeanChange(pairs=0, mean=Points(value=None, why="no pair has both rates"), p=None)
    mean, p = _mean_of_differences(np.array(points))
    return MeanChange(pairs=len(points), mean=mean, p=p)


def _on_tasks(rows: pd.DataFrame, one: str, base: str, column: str) -> TaskDifference:
    both = rows[rows["model"].isin([one, base])]
    grouped = both.groupby(["task_id", "model"])[column]
    means = grouped.mean().unstack().reindex(columns=[one, base]).dropna()
    if not len(means):
        none = Points(value=None, why="they share no task")
        return TaskDifference(tasks=0, difference=none, gained=None, lost=None, p=None)
    off = (means[one] - means[base]).to_numpy()
    difference = _difference_over_tasks(100 * off)
    if grouped.count().unstack().loc[means.index].to_numpy().max() > 1:
        several = "tasks with several answers are neither solved nor failed"
        difference = difference.model_copy(update={"why": several})
        return TaskDifference(tasks=len(means), difference=difference, gained=None, lost=None, p=None)
    gained, lost = int((off > 0).sum()), int((off < 0).sum())
    p = exact_p(gained, lost)
    return TaskDifference(tasks=len(means), difference=difference, gained=gained, lost=lost, p=p)


def _difference_over_tasks(points: NDArray[Any]) -> Points:
    """Return the mean difference in points, with Wilson's interval where (almost) all tasks differ alike."""
    tasks = np.ones(len(points))
    found, _ = _mean_of_differences(points)
    if found.low is not None and count_deviating(points, tasks) >= FEWEST_DEVIATING:
        return found
    low, high = wilson_over_units(points, tasks, (-100.0, 100.0))
    return Points(value=found.value, low=low, high=high, n=len(points), method="wilson")


def _mean_of_differences(points: NDArray[Any]) -> tuple[Points, float | None]:
    """Return the mean of differences, with interval and p of the paired t test, or why it has none."""
    n, mean = len(points), float(np.mean(points))
    if n < 2:
        return Points(value=mean, n=n, why="there is only one"), None
    if np.ptp(points) == 0:
        return Points(value=mean, n=n, why="the differences do not vary"), None
    error = float(np.std(points, ddof=1)) / math.sqrt(n)
    reach = float(stats.t.ppf((1 + LEVEL) / 2, n - 1)) * error
    p = float(2 * stats.t.sf(abs(mean) / error, n - 1))
    return Points(value=mean, low=mean - reach, high=mean + reach, n=n, method="student"), p
