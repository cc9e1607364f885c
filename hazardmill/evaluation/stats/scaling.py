"""How rates grow with the number of parameters: lines over log10, and ratios of their slopes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Final

import numpy as np

from hazardmill.evaluation.stats.rates import METRICS, ModelRates
from hazardmill.records import FrozenModel
from hazardmill.statistics.bootstrap import RESAMPLES, draws, percentile_interval
from hazardmill.statistics.estimate import Estimate, IntervalOrNull, WithReason
from hazardmill.statistics.regression import FEWEST, RegressionLine, fit, slopes

_TOO_FEW: Final = "too few models for an interval from resamples"


class Scaling(FrozenModel):
    """One rate against log10 of the parameters in billions.

    The slope is in points a decade (ten times the parameters), the intercept in per cent at a billion.
    """

    line: RegressionLine
    resampled: tuple[float, float] | None
    """95 % interval of the slope, percentiles of a bootstrap over models."""
    why: str | None = None
    """Why there is no such interval."""


class SlopeRatio(WithReason):
    """How many times steeper one rate grows than another, with the interval of a paired bootstrap over models."""

    reason_of = ("ratio",)

    of: str
    to: str
    models: int
    ratio: IntervalOrNull


class ScalingFigures(FrozenModel):
    """Everything against the number of parameters."""

    rates: dict[str, Scaling]
    ratios: list[SlopeRatio]
    without_parameters: int
    """Models that say no number of parameters, and are in none of these."""
    resamples: int = RESAMPLES


def scaling(models: Sequence[ModelRates], seed: int) -> ScalingFigures:
    """Fit every rate, and compare the slopes of each two rates but safety precision."""
    return ScalingFigures(
        rates={metric: _scaling(models, metric, seed) for metric in METRICS},
        # Safety precision is a quotient of two of the others.
        ratios=[_ratio(models, of, to, seed) for of, to in combinations(METRICS[:3], 2)],
        without_parameters=sum(model.parameters_b is None for model in models),
    )


def log_parameters(models: Sequence[ModelRates], *metrics: str) -> list[tuple[float, ...]]:
    """log10 of the billions of parameters, then the rates, of each model of which all that is known."""
    rows = []
    for model in models:
        rates = [model.rate(metric) for metric in metrics]
        known = [rate for rate in rates if rate is not None]
        if model.parameters_b is not None and len(known) == len(rates):
            rows.append((float(np.log10(model.parameters_b)), *known))
    return rows


def _scaling(models: Sequence[ModelRates], metric: str, seed: int) -> Scaling:
    rows = log_parameters(models, metric)
    line = fit([row[0] for row in rows], [row[1] for row in rows])
    if line.slope.value is None:
        return Scaling(line=line, resampled=None, why=line.why)
    x, y = np.array(rows).T
    drawn = draws(len(rows), seed)
    interval = percentile_interval(slopes(x[drawn], y[drawn]))
    return Scaling(line=line, resampled=interval, why=_TOO_FEW if interval is None else None)


def _ratio(models: Sequence[ModelRates], of: str, to: str, seed: int) -> SlopeRatio:
    rows = log_parameters(models, of, to)
    return SlopeRatio(of=of, to=to, models=len(rows), ratio=_ratio_of_slopes(rows, to.replace("_", " "), seed))


def _ratio_of_slopes(rows: Sequence[tuple[float, ...]], divisor: str, seed: int) -> Estimate:
    n = len(rows)
    lines = [fit([row[0] for row in rows], [row[place] for row in rows]) for place in (1, 2)]
    above, below = lines[0].slope.value, lines[1].slope.value
    if n < FEWEST or above is None or below is None:
        return Estimate(value=None, n=n, why=lines[0].why)
    if below == 0:
        return Estimate(value=None, n=n, why=f"{divisor} does not change with size")
    x, one, other = np.array(rows).T
    drawn = draws(n, seed)
    tops, bottoms = slopes(x[drawn], one[drawn]), slopes(x[drawn], other[drawn])
    value = above / below
    interval = percentile_interval(np.divide(tops, bottoms, out=np.full_like(tops, np.nan), where=bottoms != 0))
    # A ratio jumps to the other end of the line where its denominator passes zero: percentiles then bound nothing.
    bound = percentile_interval(bottoms)
    if bound is None or interval is None:
        return Estimate(value=value, n=n, why=_TOO_FEW)
    if bound[0] <= 0 <= bound[1]:
        return Estimate(value=value, n=n, why=f"the slope of {divisor} may be zero: a ratio to it has no interval")
    return Estimate(value=value, low=interval[0], high=interval[1], n=n, method="bootstrap")
