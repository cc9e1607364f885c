"""Do hard tasks differ from easy ones? Cohen's d between the hardest bin of difficulty and the easiest.

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
"""What is compared of tasks, with its unit."""


class EffectSample(FrozenModel):
    """One of the two sides."""

    n: int
    mean: float | None
    deviation: float | None
    """Standard deviation of a sample (divided by n - 1)."""


class EffectSize(WithReason):
    """Hardest less easiest, in pooled standard deviations."""

    reason_of = ("d",)

    figure: str
    unit: str
    """Of means and deviations; d has none."""
    easiest: Bin
    hardest: Bin
    easy: EffectSample
    hard: EffectSample
    d: IntervalOrNull
    unknown: int
    """Tasks with a difficulty of which the figure is not known."""


def effects(tasks: pd.DataFrame, least: int = LEAST) -> list[EffectSize]:
    """Cohen's d of each figure, over tasks of which it and the difficulty are known: bins are of these."""
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
    """Cohen's d of the second sample less the first, or why there is none."""
    n, m = len(first), len(second)
    if n < 2 or m < 2:
        return Estimate(value=None, n=n + m, why="a side has fewer than two tasks")
    variance = ((n - 1) * np.var(first, ddof=1) + (m - 1) * np.var(second, ddof=1)) / (n + m - 2)
    # Equal values leave rounding errors behind, not zero.
    if np.ptp(first) == 0 and np.ptp(second) == 0:
        return Estimate(value=None, n=n + m, why="neither side varies")
    d = float((np.mean(second) - np.mean(first)) / math.sqrt(variance))
    reach = float(stats.norm.ppf((1 + LEVEL) / 2)) * math.sqrt((n + m) / (n * m) + d**2 / (2 * (n + m)))
    return interval_around(d, reach, n=n + m, method="hedges")
