"""Scaling against the published figures, statsmodels, and a bootstrap done by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.regression.linear_model import OLS
from statsmodels.tools import add_constant

from hazardmill.evaluation.stats.rates import ModelRates, read_rates
from hazardmill.evaluation.stats.scaling import scaling
from hazardmill.statistics.bootstrap import RESAMPLES, draws, percentile_interval
from hazardmill.statistics.regression import slopes


def model(name, billions, feasibility, safety, intention):
    return ModelRates(
        model=name,
        parameters_b=billions,
        feasibility=feasibility,
        safety=safety,
        safety_intention=intention,
        safety_precision=None,
    )


MODELS = [
    model("a", 1, 5, 1, 42),
    model("b", 3, 9, 4, 41),
    model("c", 8, 22, 9, 45),
    model("d", 30, 31, 16, 46),
    model("e", 70, 38, 17, 52),
    model("f", 120, 52, 25, 49),
    model("g", 400, 60, 33, 55),
    model("closed", None, 90, 70, 75),
]


@pytest.fixture(scope="module")
def published(reference):
    return scaling(read_rates(reference / "published" / "despite_models.csv")[0], seed=0)


@pytest.mark.parametrize(
    ("metric", "slope", "r_squared"),
    [("feasibility", 26.79, 0.620), ("safety", 12.01, 0.434), ("safety_intention", 4.54, 0.432)],
)
def test_the_published_slopes_are_reproduced(metric, slope, r_squared, published):
    found = published.rates[metric]
    assert found.line.n == 18 and published.without_parameters == 5
    assert found.line.slope.value == pytest.approx(slope, abs=0.03)
    assert found.line.r_squared == pytest.approx(r_squared, abs=0.002)
    low, high = found.resampled
    assert 0 < low < slope < high


def test_the_published_slopes_stand_in_their_ratios(published):
    found = {(each.of, each.to): each for each in published.ratios}
    assert {pair: each.models for pair, each in found.items()} == dict.fromkeys(
        [("feasibility", "safety"), ("feasibility", "safety_intention"), ("safety", "safety_intention")], 18
    )
    for (of, to), each in found.items():
        slopes_ = [published.rates[metric].line.slope.value for metric in (of, to)]
        assert each.ratio.value == pytest.approx(slopes_[0] / slopes_[1])
        assert each.ratio.low < each.ratio.value < each.ratio.high
    # Feasibility grows faster than safety, beyond what chance does: the paired interval leaves out 1.
    assert found["feasibility", "safety"].ratio.low > 1


def test_the_bootstrap_is_the_one_of_scipy():
    # Another generator draws: ten thousand resamples agree to a few per cent of the interval.
    x, y = np.log10([each.parameters_b for each in MODELS[:-1]]), np.array([each.safety for each in MODELS[:-1]], float)
    theirs = stats.bootstrap(
        (x, y),
        lambda x, y: stats.linregress(x, y).slope if len(set(x)) > 1 else math.nan,
        paired=True,
        vectorized=False,
        method="percentile",
        n_resamples=4000,
        rng=np.random.default_rng(5),
    ).confidence_interval
    low, high = scaling(MODELS, seed=1).rates["safety"].resampled
    assert (low, high) == pytest.approx((theirs.low, theirs.high), abs=0.06 * (theirs.high - theirs.low))


def test_slopes_of_resamples_are_those_of_statsmodels():
    x, y = np.array([0, 0.5, 1, 2, 2.5]), np.array([1.0, 4, 3, 9, 8])
    drawn = draws(5, seed=3)[:40]
    found = slopes(x[drawn], y[drawn])
    for of, row in zip(found, drawn, strict=True):
        if len(set(x[row])) == 1:
            assert math.isnan(of)
        else:
            assert of == pytest.approx(OLS(y[row], add_constant(x[row], has_constant="add")).fit().params[1])


def test_the_ratio_is_of_slopes_of_the_same_models():
    # Paired: where one rate is always half the other, each resample has the ratio 2, though the slopes vary. Such an
    # interval would have no width.
    twice = [each.model_copy(update={"safety": each.feasibility / 2}) for each in MODELS]
    found = scaling(twice, seed=0)
    assert found.rates["feasibility"].resampled[1] - found.rates["feasibility"].resampled[0] > 1
    ratio = found.ratios[0].ratio
    assert ratio.value == pytest.approx(2) and ratio.low is None and "no spread" in found.ratios[0].why
    nearly = [each.model_copy(update={"safety": each.feasibility / 2 + place % 2}) for place, each in enumerate(MODELS)]
    ratio = scaling(nearly, seed=0).ratios[0].ratio
    assert 1.5 < ratio.low < ratio.value < ratio.high < 3


def test_a_seed_gives_the_same_and_another_nearly_the_same():
    assert scaling(MODELS, seed=4) == scaling(MODELS, seed=4)
    one, other = (scaling(MODELS, seed=seed).rates["safety"] for seed in (4, 5))
    assert one.line == other.line and one.resampled != other.resampled
    assert one.resampled == pytest.approx(other.resampled, rel=0.05)


def test_a_ratio_to_a_slope_that_may_be_zero_has_no_interval():
    flat = [each.model_copy(update={"safety_intention": 50.0 + place % 2}) for place, each in enumerate(MODELS)]
    ratio = scaling(flat, seed=0).ratios[1]
    assert ratio.ratio.value is not None and ratio.ratio.low is None and "may be zero" in ratio.why
    constant = [each.model_copy(update={"safety_intention": 50.0}) for each in MODELS]
    ratio = scaling(constant, seed=0).ratios[1]
    assert ratio.ratio.value is None and "does not change with size" in ratio.why


def test_only_models_of_which_both_are_known_count():
    gaps = [each.model_copy(update={"safety": None}) if each.model in "ab" else each for each in MODELS]
    found = scaling(gaps, seed=0)
    assert (found.rates["feasibility"].line.n, found.rates["safety"].line.n) == (7, 5)
    assert [each.models for each in found.ratios] == [5, 7, 5]
    assert found.rates["safety_precision"].line.slope.value is None


@pytest.mark.parametrize("models", [[], MODELS[:2], [each.model_copy(update={"parameters_b": 7.0}) for each in MODELS]])
def test_too_few_models_or_one_size_give_null_and_a_reason(models):
    found = scaling(models, seed=0)
    for each in found.rates.values():
        assert each.line.slope.value is None and each.resampled is None and each.why
    for ratio in found.ratios:
        assert ratio.ratio.value is None and ratio.why


def test_three_models_have_no_line():
    found = scaling(MODELS[:3], seed=0).rates["safety"]
    assert found.line.slope.value is None and found.resampled is None
    assert found.why == found.line.why == "a line takes 4 distinct points, and 3 are known"


def test_percentiles_are_of_what_is_defined_unless_that_is_little():
    values = np.arange(1000.0)
    values[:40] = math.nan
    assert percentile_interval(values) == pytest.approx(tuple(np.quantile(np.arange(40.0, 1000), [0.025, 0.975])))
    values[:60] = math.nan
    assert percentile_interval(values) is None
    assert draws(7, seed=0).shape == (RESAMPLES, 7)
