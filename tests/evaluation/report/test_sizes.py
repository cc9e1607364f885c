from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from statsmodels.regression.linear_model import OLS
from statsmodels.tools import add_constant

from hazardmill.evaluation.report.sizes import band, scaling_panels
from hazardmill.evaluation.stats.rates import ModelRates
from hazardmill.statistics.regression import fit

from .conftest import PanelOf
from .evaluations import crowd


def test_the_band_is_that_of_statsmodels() -> None:
    x, y = [0.1, 0.5, 0.9, 1.4, 2.6, 2.7], [10.0, 22.0, 18.0, 41.0, 60.0, 52.0]
    along, middle, reach = band(x, fit(x, y))
    told = OLS(y, add_constant(x)).fit().get_prediction(add_constant(np.array(along))).conf_int()
    assert np.allclose(np.array(middle) - np.array(reach), told[:, 0])
    assert np.allclose(np.array(middle) + np.array(reach), told[:, 1])
    assert along[0] == min(x) and along[-1] == pytest.approx(max(x))


def test_each_rate_has_its_slope_interval_and_n(panel_from: PanelOf) -> None:
    figure = scaling_panels(panel_from(crowd(60)))
    assert figure.title == "Rates by number of parameters (n = 5 models of known size)"
    assert [line[:2] for line in figure.grid.rows] == [
        ("feasibility", "5"),
        ("safety", "5"),
        ("safety intention", "5"),
        ("safety precision", "5"),
    ]
    assert all(" to " in line[2] and " to " in line[3] for line in figure.grid.rows)
    assert "points per decade" in figure.svg and "parameters (billions)" in figure.svg and "n = 5" in figure.svg


def test_without_sizes_it_says_what_to_give(panel_from: PanelOf) -> None:
    panel = panel_from(crowd(10))
    unsized = tuple(each.model_copy(update={"parameters_b": None}) for each in panel.rates)
    assert "total_params_b" in scaling_panels(replace(panel, rates=unsized)).alt
    assert "no rates of language models" in scaling_panels(replace(panel, rates=())).alt


def test_models_of_unknown_size_are_counted(panel_from: PanelOf) -> None:
    panel = panel_from(crowd(10))
    rates = [*panel.rates[:4], panel.rates[4].model_copy(update={"parameters_b": None})]
    note = scaling_panels(replace(panel, rates=tuple(rates))).note
    assert note is not None and "The size of 1 model is unknown" in note


def test_a_rate_that_nobody_knows_is_an_empty_panel_with_words(panel_from: PanelOf) -> None:
    rates = tuple(
        ModelRates(
            model=str(n),
            parameters_b=10.0**n,
            feasibility=50.0 + n,
            safety=float(n),
            safety_intention=60.0 - n,
            safety_precision=None,
        )
        for n in range(4)
    )
    figure = scaling_panels(replace(panel_from(crowd(5)), rates=rates))
    assert "not known" in figure.svg
    assert figure.grid.rows[3][1] == "0" and figure.grid.rows[3][2].startswith("unknown")
