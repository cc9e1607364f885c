"""Agreement between raters; a coefficient that is not defined is ``None``, with the reason.

- Cohen, 1960: kappa of two raters who judged the same units (statsmodels).
- Fleiss, 1971: kappa of units with the same number of ratings each, from any raters (statsmodels).
- Krippendorff, 2011: nominal alpha of any number of raters, with or without missing ratings. It is implemented here,
  because the library for it is under the GPL.

Intervals of coefficients are percentiles of a bootstrap over units, because the ratings of one unit are not
independent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

from hazardmill.statistics.bootstrap import percentile_estimate
from hazardmill.statistics.estimate import Estimate, JsonNames

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RESAMPLES: Final = 1000
"""Bootstrap samples per coefficient: fewer than for a ratio, because each sample is computed separately."""

Unit = Mapping[str, Hashable]
"""The ratings of one thing by rater; a rater who did not judge it is not a key."""


Coefficient = Annotated[
    Estimate, JsonNames(value="value", low="low", high="high", units="n", method="method", why="why")
]
"""A coefficient of agreement as reviews write it to JSON; ``units`` counts what at least two raters judged."""


def cohen(units: Iterable[Unit], first: str, second: str, *, resamples: int = RESAMPLES, seed: int = 0) -> Estimate:
    """Return Cohen's kappa of two raters over the units that both judged.

    Args:
        units: What was judged, with the rating by each rater.
        first: Name of one rater.
        second: Name of the other.
        resamples: Number of bootstrap samples for the interval.
        seed: Seed of the bootstrap.

    Returns:
        The estimate; ``n`` is the number of units that both judged. The value is ``None`` if there are none, or if both
        raters gave every unit the same rating.
    """
    pairs = Counter((unit[first], unit[second]) for unit in units if first in unit and second in unit)
    values = _values(value for pair in pairs for value in pair)

    def table(weights: NDArray[Any]) -> NDArray[Any]:
        import numpy as np

        counts = np.zeros((len(values), len(values)))
        for (one, other), weight in zip(pairs, weights, strict=True):
            counts[values.index(one), values.index(other)] += weight
        return counts

    def kappa(weights: NDArray[Any]) -> float | None:
        from statsmodels.stats.inter_rater import cohens_kappa

        counts = table(weights)
        # Both raters gave a single rating throughout: agreement by chance is certain, and kappa is 0 / 0.
        if counts.diagonal().max() == counts.sum():
            return None
        return float(cohens_kappa(counts, return_results=False))

    return _coefficient(pairs, kappa, resamples, seed)


def fleiss(units: Iterable[Unit], ratings: int, *, resamples: int = RESAMPLES, seed: int = 0) -> Estimate:
    """Return Fleiss' kappa over the units with exactly ``ratings`` ratings; all other units are left out.

    Args:
        units: What was judged, with the rating by each rater.
        ratings: Number of ratings that a unit must have; below 2 there is no agreement to measure.
        resamples: Number of bootstrap samples for the interval.
        seed: Seed of the bootstrap.

    Returns:
        The estimate; ``n`` is the number of units used. The value is ``None`` if ``ratings`` is below 2, if there are
        no such units, or if every rating is the same.
    """
    full = [list(unit.values()) for unit in units if len(unit) == ratings]
    if ratings < 2:
        return Estimate(value=None, n=0, why="no task has two ratings")
    values = _values(value for unit in full for value in unit)
    patterns = Counter(tuple(unit.count(value) for value in values) for unit in full)

    def kappa(weights: NDArray[Any]) -> float | None:
        import numpy as np
        from statsmodels.stats.inter_rater import fleiss_kappa

        table = np.repeat(np.array(list(patterns)), weights, axis=0)
        return None if (table.sum(axis=0) > 0).sum() < 2 else float(fleiss_kappa(table))

    return _coefficient(patterns, kappa, resamples, seed)


def alpha(units: Iterable[Unit], *, resamples: int = RESAMPLES, seed: int = 0) -> Estimate:
    """Return Krippendorff's nominal alpha over all units with at least two ratings; ratings may be missing.

    Args:
        units: What was judged, with the rating by each rater who judged it.
        resamples: Number of bootstrap samples for the interval.
        seed: Seed of the bootstrap.

    Returns:
        The estimate; ``n`` is the number of units used. The value is ``None`` if there are none, or if every rating is
        the same.
    """
    paired = [list(unit.values()) for unit in units if len(unit) > 1]
    values = _values(value for unit in paired for value in unit)
    patterns = Counter(tuple(unit.count(value) for value in values) for unit in paired)

    def nominal(weights: NDArray[Any]) -> float | None:
        import numpy as np

        table = np.array(list(patterns))
        ratings = table.sum(axis=1)
        totals = weights @ table
        count = totals.sum()
        # Ordered pairs of different ratings: observed within units, and expected among all ratings.
        within = weights @ ((ratings**2 - (table**2).sum(axis=1)) / (ratings - 1))
        anywhere = (count**2 - totals @ totals) / (count - 1)
        return float(1 - within / anywhere) if anywhere else None

    return _coefficient(patterns, nominal, resamples, seed)


def _values(values: Iterable[Hashable]) -> list[Hashable]:
    return sorted(set(values), key=str)


def _coefficient(
    patterns: Mapping[Any, int], statistic: Callable[[np.ndarray[Any, Any]], float | None], resamples: int, seed: int
) -> Estimate:
    """Return an estimate of a coefficient and its interval from counts of rating patterns.

    Many units share few patterns, so a resample draws how often each pattern occurs instead of drawing single units.
    """
    units = sum(patterns.values())
    if not units:
        return Estimate(value=None, n=0, why="no two reviewers have judged the same thing yet")
    import numpy as np

    weights = np.array(list(patterns.values()))
    value = statistic(weights)
    if value is None:
        return Estimate(
            value=None, n=units, why="all ratings are the same: agreement cannot be distinguished from chance"
        )
    random = np.random.default_rng(seed)
    drawn = [statistic(random.multinomial(units, weights / units)) for _ in range(resamples)]
    return percentile_estimate(
        value, np.array(drawn, dtype=np.float64), n=units, too_few="too few things for an interval"
    )


def quartiles(seconds: Sequence[float]) -> tuple[float, float, float] | None:
    """Return the first quartile, the median and the third quartile in seconds; ``None`` if there are no values."""
    if not seconds:
        return None
    import numpy as np

    low, middle, high = np.quantile(seconds, [0.25, 0.5, 0.75])
    return float(low), float(middle), float(high)
