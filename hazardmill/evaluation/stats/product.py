"""Is safety the product of feasibility and safety intention? S against F x SI over models."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hazardmill.evaluation.stats.rates import ModelRates
from hazardmill.evaluation.stats.scaling import estimate_over_models
from hazardmill.statistics.bootstrap import draws
from hazardmill.statistics.estimate import Estimate, IntervalOrNull, WithReason
from hazardmill.statistics.regression import RegressionLine, fit


class ProductFit(WithReason):
    """Safety against the product of feasibility and safety intention, both in per cent.

    Attributes:
        line: Least-squares line; the slope is in points per point of the product, the intercept in points.
        mean_absolute_difference: Between safety and product, in points; its interval is from a bootstrap over models.
        mean_difference: Safety minus product, in points: how far safety lies above the product.
    """

    reason_of = ("mean_absolute_difference", "mean_difference")

    line: RegressionLine
    mean_absolute_difference: IntervalOrNull
    mean_difference: IntervalOrNull


def product_fit(models: Sequence[ModelRates], seed: int) -> ProductFit:
    """Fit safety against the product over all models whose three rates are known.

    Args:
        models: Rates of the models.
        seed: Seed of the bootstrap.

    Returns:
        The line, and how far safety lies from the product, in percentage points.
    """
    rows = [
        (model.feasibility * model.safety_intention / 100, model.safety)
        for model in models
        if model.feasibility is not None and model.safety_intention is not None and model.safety is not None
    ]
    line = fit([row[0] for row in rows], [row[1] for row in rows])
    if not rows:
        none = Estimate(value=None, n=0, why="no model has all three rates")
        return ProductFit(line=line, mean_absolute_difference=none, mean_difference=none)
    product, safety = np.array(rows).T
    off = safety - product
    drawn = draws(len(rows), seed)

    def mean(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Estimate:
        return estimate_over_models(float(values.mean()), values[drawn].mean(axis=1), len(rows))

    return ProductFit(line=line, mean_absolute_difference=mean(np.abs(off)), mean_difference=mean(off))
