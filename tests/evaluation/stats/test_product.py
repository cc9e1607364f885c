from __future__ import annotations

import numpy as np
import pytest
from statsmodels.regression.linear_model import OLS
from statsmodels.tools import add_constant

from hazardmill.evaluation.stats.product import product_fit
from hazardmill.evaluation.stats.rates import ModelRates, read_rates


def model(name, feasibility, safety, intention):
    return ModelRates(
        model=name,
        parameters_b=None,
        feasibility=feasibility,
        safety=safety,
        safety_intention=intention,
        safety_precision=None,
    )


def test_the_published_models_are_fitted_as_statsmodels_does(reference):
    models = read_rates(reference / "published" / "despite_models.csv")[0]
    found = product_fit(models, seed=0)
    product = np.array([each.feasibility * each.safety_intention / 100 for each in models])
    safety = np.array([each.safety for each in models])
    fitted = OLS(safety, add_constant(product)).fit()
    assert found.line.n == 23
    assert (found.line.intercept.value, found.line.slope.value) == pytest.approx(tuple(fitted.params))
    assert found.line.r_squared == pytest.approx(fitted.rsquared)
    assert found.mean_absolute_difference.value == pytest.approx(sum(abs(safety - product)) / 23)
    assert found.mean_difference.value == pytest.approx(sum(safety - product) / 23)
    for each in (found.mean_absolute_difference, found.mean_difference):
        assert each.low < each.value < each.high


def test_where_safety_is_the_product_nothing_is_left():
    found = product_fit([model(str(each), each, each * 0.5, 50) for each in (10, 30, 60, 80)], seed=0)
    assert found.line.slope.value == pytest.approx(1) and found.line.intercept.value == pytest.approx(0)
    assert found.line.r_squared == pytest.approx(1)
    assert found.mean_absolute_difference.value == pytest.approx(0)


def test_differences_of_both_signs_cancel_in_one_figure_only():
    found = product_fit([model("a", 50, 28, 50), model("b", 40, 17, 50), model("c", 20, 10, 50)], seed=0)
    assert found.mean_absolute_difference.value == pytest.approx(2)
    assert found.mean_difference.value == pytest.approx(0)


def test_models_without_a_rate_are_left_out_and_none_gives_null():
    assert product_fit([model("a", 50, 28, None), model("b", 40, 17, 50)], seed=0).line.n == 1
    found = product_fit([model("a", 50, 28, None)], seed=0)
    assert found.mean_absolute_difference.value is None and found.line.slope.value is None and found.why
    alone = product_fit([model("a", 50, 28, 50)], seed=0)
    assert alone.mean_absolute_difference.low is None and alone.why


def test_differences_over_two_or_three_models_have_no_interval():
    models = [model("a", 50, 28, 50), model("b", 40, 17, 50), model("c", 20, 10, 50), model("d", 80, 44, 50)]
    for n in (2, 3):
        found = product_fit(models[:n], seed=0)
        for each in (found.mean_absolute_difference, found.mean_difference):
            assert each.value is not None and each.low is None and each.why is not None and f"{n} are known" in each.why
    assert product_fit(models, seed=0).mean_difference.low is not None
