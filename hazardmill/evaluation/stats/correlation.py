"""How two rates go together over models, and how much one varies.

- Fisher, 1915: interval of Pearson's r (scipy).
- Spearman, 1904: the exact p of few models is over all orders (scipy).
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
from hazardmill.evaluation.stats.scaling import log_parameters
from hazardmill.records import FrozenModel
from hazardmill.statistics.bootstrap import draws, percentile_interval
from hazardmill.statistics.estimate import LEVEL, Estimate, IntervalOrNull, JsonNames, WithReason
from hazardmill.statistics.regression import FEWEST, too_few

_FEWEST: Final = 4
"""Points below which the transform has no variance."""
_EXACT: Final = 8
"""Points up to which the p of Spearman's rho is worked out over all orders."""

Method = Literal["pearson", "spearman"]


class Correlation(Estimate):
    """A coefficient with its 95 % interval."""

    n: int
    method: Method
    p: float | None = None
    """Of no correlation, two-sided, from Student's t; of Spearman's up to 8 points over all orders."""


_Written = Annotated[
    Correlation, JsonNames(method="method", n="n", value="value", low="low", high="high", p="p", why="why")
]


class CorrelationPair(FrozenModel):
    """Both coefficients of two figures of models; `log10_parameters` is one of them."""

    one: str
    other: str
    pearson: _Written
    spearman: _Written


class RateSpread(WithReason):
    """How much a rate varies over models."""

    reason_of = ("variation",)

    n: int
    mean: float | None
    """Per cent."""
    deviation: float | None
    """Population standard deviation (divided by n), in points."""
    variation: IntervalOrNull
    """Coefficient of variation, deviation / mean, no unit; the interval is of a bootstrap over models."""


def correlations(models: Sequence[ModelRates]) -> list[CorrelationPair]:
    """Of log10 parameters with each rate, then of each two rates."""
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
    """Pearson's r."""
    why = _why_not(x, y)
    if why is not None:
        return Correlation(method="pearson", n=len(x), value=None, why=why)
    found = stats.pearsonr(x, y)
    value, p = float(found.statistic), float(found.pvalue)
    return _correlation("pearson", len(x), value, p, 1 / (len(x) - 3) if len(x) >= _FEWEST else None)


def spearman(x: Sequence[float], y: Sequence[float]) -> Correlation:
    """Spearman's rho; ties have their mean rank."""
    why = _why_not(x, y)
    if why is not None:
        return Correlation(method="spearman", n=len(x), value=None, why=why)
    found = stats.spearmanr(x, y)
    value = float(found.statistic)
    p = _over_all_orders(x, y) if len(x) <= _EXACT else float(found.pvalue)
    return _correlation("spearman", len(x), value, p, (1 + value**2 / 2) / (len(x) - 3) if len(x) >= _FEWEST else None)


def _over_all_orders(x: Sequence[float], y: Sequence[float]) -> float:
    one, other = stats.rankdata(x), stats.rankdata(y)
    # Of ranks in another order only this sum changes.
    found = stats.permutation_test(
        (one,),
        lambda ranks, axis: (ranks * other).sum(axis=axis),
        permutation_type="pairings",
        vectorized=True,
        n_resamples=np.inf,
    )
    return float(found.pvalue)


def _why_not(x: Sequence[float], y: Sequence[float]) -> str | None:
    if len(x) < FEWEST:
        return too_few("a correlation", len(x))
    if len(set(x)) == 1 or len(set(y)) == 1:
        return "one of them does not vary"
    return None


def _correlation(method: Method, n: int, value: float, p: float, variance: float | None) -> Correlation:
    """With the interval that the variance of Fisher's transform gives."""
    if abs(value) > 1 - 1e-12:
        # Rounding takes it to one side of one or the other.
        value, why = math.copysign(1, value), "the correlation is perfect"
        return Correlation(method=method, n=n, value=value, p=p, why=why)
    if variance is None:
        return Correlation(method=method, n=n, value=value, p=p, why="three models are too few")
    reach = float(stats.norm.ppf((1 + LEVEL) / 2)) * math.sqrt(variance)
    low, high = (math.tanh(math.atanh(value) + side * reach) for side in (-1, 1))
    return Correlation(method=method, n=n, value=value, low=low, high=high, p=p)


def spread(values: Sequence[float], seed: int) -> RateSpread:
    """The coefficient of variation of rates in per cent, with the population's standard deviation."""
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
    interval = percentile_interval(
        np.divide(drawn.std(axis=1), means, out=np.full_like(means, np.nan), where=means != 0)
    )
    low, high = interval or (None, None)
    why = "too few models for an interval from resamples" if interval is None else None
    variation = Estimate(value=deviation / mean, low=low, high=high, n=n, method="bootstrap", why=why)
    return RateSpread(n=n, mean=mean, deviation=deviation, variation=variation)


def spreads(models: Sequence[ModelRates], seed: int) -> dict[str, RateSpread]:
    """The spread of every rate."""
    return {
        metric: spread([value for model in models if (value := model.rate(metric)) is not None], seed)
        for metric in METRICS
    }
