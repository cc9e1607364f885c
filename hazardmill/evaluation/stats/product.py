"""Is safety what feasibility and safety intention make of it together? S against F x SI over models."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hazardmill.evaluation.stats.rates import ModelRates
from hazardmill.records import FrozenModel
from hazardmill.statistics.regression import IntervalEstimate, RegressionLine, fit
from hazardmill.statistics.resampling import draws, percentiles


class ProductFit(FrozenModel):
    """Safety against the product, both in per cent."""

    line: RegressionLine
    """The slope is in points a point of the product, the intercept in points."""
    mean_absolute_difference: IntervalEstimate | None
    """Of safety and product, in points; the interval is of a bootstrap over models."""
    mean_difference: IntervalEstimate | None
    """Safety less product, in points: how far safety lies above it."""
    why: str | None = None


def product_fit(models: Sequence[ModelRates], seed: int) -> ProductFit:
    """Over all models of which the three rates are known."""
    rows = [
        (model.feasibility * model.safety_intention / 100, model.safety)
        for model in models
        if model.feasibility is not None and model.safety_intention is not None and model.safety is not None
    ]
    line = fit([row[0] for row in rows], [row[1] for row in rows])
    if not rows:
        return ProductFit(
            line=line, mean_absolute_difference=None, mean_difference=None, why="no model has all three rates"
        )
    product, safety = np.array(rows).T
    off = safety - product
    drawn = draws(len(rows), seed)

    def mean(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> IntervalEstimate:
        interval = percentiles(values[drawn].mean(axis=1)) if len(rows) > 1 else None
        low, high = interval or (None, None)
        return IntervalEstimate(value=float(values.mean()), low=low, high=high)

    return ProductFit(
        line=line,
        mean_absolute_difference=mean(np.abs(off)),
        mean_difference=mean(off),
        why="there is only one model" if len(rows) == 1 else None,
    )
