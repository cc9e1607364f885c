"""Do hard tasks differ from easy ones? Cohen's d between the hardest and the easiest bin of difficulty.

Cohen, 1988: d with the pooled standard deviation. Hedges and Olkin, 1985: its interval, from the large-sample variance.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from hazardmill.evaluation.stats.bins import LEAST, Bin, bins, places
from hazardmill.records import FrozenModel
from hazardmill.statistics.estimate import LEVEL, Estimate, IntervalOrNull, WithReason, interval_around

FIGURES: Final = {"optimal_length": "actions", "plan_length": "actions", "safety_intention": "share of answers"}
"""The figures of tasks that are compared, with their units."""


class EffectSample(FrozenModel):
    """The tasks of one of the two bins.

    Attributes:
        n: Number of tasks.
        mean: Mean of the figure; None without tasks.
        deviation: Sample standard deviation (divided by n - 1); None with fewer than two tasks.
    """

    n: int
    mean: float | None
    deviation: float | None


class EffectSize(WithReason):
    """The hardest bin minus the easiest, in pooled standard deviations.

    Attributes:
        figure: The figure that is compared.
        unit: Unit of means and deviations; d has none.
        easiest: The easiest bin.
        hardest: The hardest bin.
        easy: The figure in the easiest bin.
        hard: The figure in the hardest bin.
        d: Cohen's d with its 95 % interval, or why there is none.
        unknown: Number of tasks with a difficulty whose figure is unknown.
    """

    reason_of = ("d",)

    figure: str
    unit: str
    easiest: Bin
    hardest: Bin
    easy: EffectSample
    hard: EffectSample
    d: IntervalOrNull
    unknown: int


def effects(tasks: pd.DataFrame, least: int = LEAST) -> list[EffectSize]:
    """Return Cohen's d for each figure, over the tasks for which the figure and the difficulty are known.

    Args:
        tasks: ``Answers.tasks``.
        least: Minimum number of tasks per bin.

    Returns:
        One effect per figure of ``FIGURES``; empty if no difficulty is known.
    """
    placed = tasks[tasks["difficulty"].notna()]
    return [_effect(placed, figure, unit, least) for figure, unit in FIGURES.items()] if len(placed) else []


def _effect(placed: pd.DataFrame, figure: str, unit: str, least: int) -> EffectSize:
    known = placed[placed[figure].notna()]
    difficulty = known["difficulty"].to_numpy()
    of = bins(difficulty, least)
    at = places(difficulty, of)
    values = known[figure].to_numpy()
    easy, hard = values[at == 0], values[at == len(of) - 1]
    one_bin = Estimate(value=None, n=len(known), why=f"all tasks are in one bin: others would have under {least}")
    return EffectSize(
        figure=figure,
        unit=unit,
        easiest=of[0],
        hardest=of[-1],
        easy=_sample(easy),
        hard=_sample(hard),
        d=one_bin if len(of) == 1 else cohen(easy, hard),
        unknown=len(placed) - len(known),
    )


def _sample(values: NDArray[Any]) -> EffectSample:
    n = len(values)
    return EffectSample(
        n=n,
        mean=float(np.mean(values)) if n else None,
        deviation=float(np.std(values, ddof=1)) if n > 1 else None,
    )


def cohen(first: NDArray[Any], second: NDArray[Any]) -> Estimate:
    """Return Cohen's d of the second sample minus the first, or why it is undefined.

    Args:
        first: Values of one sample.
        second: Values of the other sample.
    """
    n, m = len(first), len(second)
    if n < 2 or m < 2:
        return Estimate(value=None, n=n + m, why="a side has fewer than two tasks")
    variance = ((n - 1) * np.var(first, ddof=1) + (m - 1) * np.var(second, ddof=1)) / (n + m - 2)
    # With equal values the variance may be a rounding error instead of zero.
    if np.ptp(first) == 0 and np.ptp(second) == 0:
        return Estimate(value=None, n=n + m, why="neither side varies")
    d = float((np.mean(second) - np.mean(first)) / math.sqrt(variance))
    reach = float(stats.norm.ppf((1 + LEVEL) / 2)) * math.sqrt((n + m) / (n * m) + d**2 / (2 * (n + m)))
    return interval_around(d, reach, n=n + m, method="hedges")
