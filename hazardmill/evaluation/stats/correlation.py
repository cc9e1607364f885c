"""Correlations of rates over models, and how much a rate varies between models.

- Fisher, 1915: interval of Pearson's r (scipy).
- Spearman, 1904: with few models, the exact p over all orders (scipy).
- Bonett and Wright, 2000: interval of Spearman's rho, with the variance (1 + rho^2 / 2) / (n - 3) of its transform.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Annotated, Final, Literal

import numpy as np
from scipy import stats

from hazardmill.evaluation.stats.rates import METRICS, ModelRates
from hazardmill.evaluation.stats.scaling import estimate_over_models, log_parameters
from hazardmill.records import FrozenModel
from hazardmill.statistics.bootstrap import draws
from hazardmill.statistics.estimate import LEVEL, Estimate, IntervalOrNull, JsonNames, WithReason
from hazardmill.statistics.regression import too_few

_FEWEST: Final = 3
"""With fewer points than this there is no correlation."""
_FEWEST_OF_INTERVAL: Final = 4
"""With fewer points than this, Fisher's transform has no variance."""
_EXACT: Final = 8
"""Up to this many points, the p of Spearman's rho is computed over all orders."""

Method = Literal["pearson", "spearman"]


class Correlation(Estimate):
    """A correlation coefficient with its 95 % interval.

    Attributes:
        n: Number of models.
        method: ``pearson`` or ``spearman``.
        p: Two-sided p of the hypothesis of no correlation, from Student's t; for Spearman with up to 8 points, over all
            orders. None where there is no coefficient.
    """

    n: int
    method: Method
    p: float | None = None


_Written = Annotated[
    Correlation, JsonNames(method="method", n="n", value="value", low="low", high="high", p="p", why="why")
]


class CorrelationPair(FrozenModel):
    """Both coefficients between two figures of models, one of which may be `log10_parameters`."""

    one: str
    other: str
    pearson: _Written
    spearman: _Written


class RateSpread(WithReason):
    """How much a rate varies between models.

    Attributes:
        n: Number of models.
        mean: Mean rate in per cent; None without models.
        deviation: Population standard deviation (divided by n) in points; None with fewer than two models.
        variation: Coefficient of variation, deviation / mean, without unit; its interval is from a bootstrap over
            models.
    """

    reason_of = ("variation",)

    n: int
    mean: float | None
    deviation: float | None
    variation: IntervalOrNull


def correlations(models: Sequence[ModelRates]) -> list[CorrelationPair]:
    """Return the correlation of log10 parameters with each rate, then that of each pair of rates.

    Args:
        models: Rates of the models; a pair uses the models that have both of its figures.
    """
    found = []
    for metric in METRICS:
        rows = log_parameters(models, metric)
        found.append(_both("log10_parameters", metric, rows))
    for one, other in combinations(METRICS, 2):
        pairs = [(model.rate(one), model.rate(other)) for model in models]
        found.append(_both(one, other, [(a, b) for a, b in pairs if a is not None and b is not None]))
    return found


def _both(one: str, other: str, rows: Sequence[tuple[float, ...]]) -> CorrelationPair:
    x, y = [row[0] for row in rows], [row[1] for row in rows]
    return CorrelationPair(one=one, other=other, pearson=pearson(x, y), spearman=spearman(x, y))


def pearson(x: Sequence[float], y: Sequence[float]) -> Correlation:
    """Return Pearson's r of two lists of equal length, or why it is undefined."""
    why = _why_not(x, y)
    if why is not None:
        return Correlation(method="pearson", n=len(x), value=None, why=why)
    found = stats.pearsonr(x, y)
    value, p = float(found.statistic), float(found.pvalue)
    return _correlation("pearson", len(x), value, p, 1 / (len(x) - 3) if len(x) >= _FEWEST_OF_INTERVAL else None)


def spearman(x: Sequence[float], y: Sequence[float]) -> Correlation:
    """Return Spearman's rho of two lists of equal length, or why it is undefined; ties get their mean rank."""
    why = _why_not(x, y)
    if why is not None:
        return Correlation(method="spearman", n=len(x), value=None, why=why)
    found = stats.spearmanr(x, y)
    value = float(found.statistic)
    p = _over_all_orders(x, y) if len(x) <= _EXACT else float(found.pvalue)
    variance = (1 + value**2 / 2) / (len(x) - 3) if len(x) >= _FEWEST_OF_INTERVAL else None
    return _correlation("spearman", len(x), value, p, variance)


def _over_all_orders(x: Sequence[float], y: Sequence[float]) -> float:
    one, other = stats.rankdata(x), stats.rankdata(y)
    # When ranks are reordered, only this sum changes: it is equivalent to rho, and cheaper.
    found = stats.permutation_test(
        (one,),
        lambda ranks, axis: (ranks * other).sum(axis=axis),
        permutation_type="pairings",
        vectorized=True,
        n_resamples=np.inf,
    )
    return float(found.pvalue)


def _why_not(x: Sequence[float], y: Sequence[float]) -> str | None:
    if len(x) < _FEWEST:
        return too_few("a correlation", len(x), fewest=_FEWEST)
    if len(set(x)) == 1 or len(set(y)) == 1:
        return "one of them does not vary"
    return None


def _correlation(method: Method, n: int, value: float, p: float, variance: float | None) -> Correlation:
    """Return a coefficient with the interval from the variance of its Fisher transform."""
    if abs(value) > 1 - 1e-12:
        # Rounding may take it slightly below or above 1.
        value, why = math.copysign(1, value), "the correlation is perfect"
        return Correlation(method=method, n=n, value=value, p=p, why=why)
    if variance is None:
        return Correlation(method=method, n=n, value=value, p=p, why="three models are too few")
    reach = float(stats.norm.ppf((1 + LEVEL) / 2)) * math.sqrt(variance)
    low, high = (math.tanh(math.atanh(value) + side * reach) for side in (-1, 1))
    return Correlation(method=method, n=n, value=value, low=low, high=high, p=p)


def spread(values: Sequence[float], seed: int) -> RateSpread:
    """Return the coefficient of variation of rates, from the population's standard deviation.

    Args:
        values: Rates in per cent, one per model.
        seed: Seed of the bootstrap.
    """
    n = len(values)
    if n < 2:
        none = Estimate(value=None, n=n, why="fewer than two models")
        return RateSpread(n=n, mean=values[0] if n else None, deviation=None, variation=none)
    array = np.array(values)
    mean, deviation = float(array.mean()), float(array.std())
    if mean == 0:
        return RateSpread(
            n=n, mean=mean, deviation=deviation, variation=Estimate(value=None, n=n, why="the mean is zero")
        )
    drawn = array[draws(n, seed)]
    means = drawn.mean(axis=1)
    resampled = np.divide(drawn.std(axis=1), means, out=np.full_like(means, np.nan), where=means != 0)
    variation = estimate_over_models(deviation / mean, resampled, n)
    return RateSpread(n=n, mean=mean, deviation=deviation, variation=variation)


def spreads(models: Sequence[ModelRates], seed: int) -> dict[str, RateSpread]:
    """Return the spread of every rate.

    Args:
        models: Rates of the models.
        seed: Seed of the bootstrap.

    Returns:
        Metric to the spread over the models whose rate is known.
    """
    return {
        metric: spread([value for model in models if (value := model.rate(metric)) is not None], seed)
        for metric in METRICS
    }
