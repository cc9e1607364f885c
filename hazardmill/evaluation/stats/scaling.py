"""How rates grow with the number of parameters: lines over log10 parameters, and ratios of their slopes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Final

import numpy as np

from hazardmill.evaluation.stats.rates import METRICS, ModelRates
from hazardmill.records import FrozenModel
from hazardmill.statistics.bootstrap import RESAMPLES, draws, percentile_estimate, percentile_interval
from hazardmill.statistics.estimate import Estimate, IntervalOrNull, WithReason
from hazardmill.statistics.regression import FEWEST, Floats, RegressionLine, fit, slopes, too_few

_TOO_FEW: Final = "too few models for an interval from resamples"
"""Why a figure over models has no interval where too many resamples do not define it."""


def estimate_over_models(value: float, resampled: Floats, n: int) -> Estimate:
    """Return a figure over models with the percentile interval of a bootstrap over them, or why it has none.

    Percentiles of few models reach too short: of normal values, the interval of the mean of two models holds the true
    mean in 51 % of samples, of three in 76 %, of four in 80 % and of ten in 89 % (``benchmarks/interval_coverage.py``).
    With fewer than ``FEWEST`` models there is therefore none.

    Args:
        value: The figure.
        resampled: The figure in each resample; values that are not finite are left out.
        n: Number of models.
    """
    if n < FEWEST:
        return Estimate(value=value, n=n, why=too_few("an interval from resamples", n))
    return percentile_estimate(value, resampled, n=n, too_few=_TOO_FEW)


class Scaling(FrozenModel):
    """One rate against log10 of the parameters in billions.

    The slope is in points per decade (ten times the parameters), the intercept in per cent at one billion.

    Attributes:
        line: The least-squares line.
        resampled: 95 % interval of the slope, from percentiles of a bootstrap over models; None where there is none.
        why: Why there is no such interval.
    """

    line: RegressionLine
    resampled: tuple[float, float] | None
    why: str | None = None


class SlopeRatio(WithReason):
    """How many times as steeply one rate grows as another, with the interval of a paired bootstrap over models.

    Attributes:
        of: Metric whose slope is divided.
        to: Metric whose slope is the divisor.
        models: Number of models that have both rates and a number of parameters.
        ratio: The ratio, or why there is none.
    """

    reason_of = ("ratio",)

    of: str
    to: str
    models: int
    ratio: IntervalOrNull


class ScalingFigures(FrozenModel):
    """All rates against the number of parameters.

    Attributes:
        rates: Metric to its line.
        ratios: Ratios of the slopes of each pair of feasibility, safety and safety intention.
        without_parameters: Number of models whose number of parameters is unknown; they are left out.
        resamples: Number of bootstrap resamples.
    """

    rates: dict[str, Scaling]
    ratios: list[SlopeRatio]
    without_parameters: int
    resamples: int = RESAMPLES


def scaling(models: Sequence[ModelRates], seed: int) -> ScalingFigures:
    """Fit every rate, and compare the slopes of each pair of rates except safety precision.

    Args:
        models: Rates of the models.
        seed: Seed of the bootstrap.

    Returns:
        A line per rate, a ratio per pair of slopes, and the number of models whose parameters are unknown.
    """
    return ScalingFigures(
        rates={metric: _scaling(models, metric, seed) for metric in METRICS},
        # Safety precision is a quotient of two of the others.
        ratios=[_ratio(models, of, to, seed) for of, to in combinations(METRICS[:3], 2)],
        without_parameters=sum(model.parameters_b is None for model in models),
    )


def log_parameters(models: Sequence[ModelRates], *metrics: str) -> list[tuple[float, ...]]:
    """Return log10 of the billions of parameters, followed by rates, for each model for which all of them are known.

    Args:
        models: Rates of the models.
        metrics: Names of the rates.
    """
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
    found = estimate_over_models(line.slope.value, slopes(x[drawn], y[drawn]), len(rows))
    if found.low is None or found.high is None:
        return Scaling(line=line, resampled=None, why=found.why)
    return Scaling(line=line, resampled=(found.low, found.high))


def _ratio(models: Sequence[ModelRates], of: str, to: str, seed: int) -> SlopeRatio:
    rows = log_parameters(models, of, to)
    return SlopeRatio(of=of, to=to, models=len(rows), ratio=_ratio_of_slopes(rows, to.replace("_", " "), seed))


def _ratio_of_slopes(rows: Sequence[tuple[float, ...]], divisor: str, seed: int) -> Estimate:
    n = len(rows)
    lines = [fit([row[0] for row in rows], [row[place] for row in rows]) for place in (1, 2)]
    above, below = lines[0].slope.value, lines[1].slope.value
    if above is None or below is None:
        return Estimate(value=None, n=n, why=lines[0].why if above is None else lines[1].why)
    if below == 0:
        return Estimate(value=None, n=n, why=f"{divisor} does not change with size")
    x, one, other = np.array(rows).T
    drawn = draws(n, seed)
    tops, bottoms = slopes(x[drawn], one[drawn]), slopes(x[drawn], other[drawn])
    value = above / below
    resampled = np.divide(tops, bottoms, out=np.full_like(tops, np.nan), where=bottoms != 0)
    # Where its denominator passes zero, a ratio jumps from one infinity to the other: percentiles then bound nothing.
    bound = percentile_interval(bottoms)
    if bound is not None and bound[0] <= 0 <= bound[1]:
        return Estimate(value=value, n=n, why=f"the slope of {divisor} may be zero: a ratio to it has no interval")
    return estimate_over_models(value, resampled, n)
