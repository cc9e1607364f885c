from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from hazardmill.statistics.bootstrap import bootstrap, sum_clusters

RNG = np.random.default_rng(5)
HITS = (RNG.random((400, 1)) < 0.3).astype(float)
ALL = np.ones((400, 1))


def test_a_mean_has_the_interval_that_scipy_finds() -> None:
    bounds = bootstrap(HITS, ALL, seed=1)
    with np.errstate(all="ignore"):
        other = stats.bootstrap(
            (HITS[:, 0],),
            np.mean,
            n_resamples=10_000,
            method="percentile",
            vectorized=True,
            rng=np.random.default_rng(2),
        ).confidence_interval
    assert bounds.low[0] == pytest.approx(other.low, abs=0.006)
    assert bounds.high[0] == pytest.approx(other.high, abs=0.006)


def test_a_ratio_of_sums_has_the_interval_of_a_plain_loop() -> None:
    below = (RNG.random((60, 1)) < 0.5).astype(float) + HITS[:60]
    generator = np.random.default_rng(9)
    draws = [generator.integers(0, 60, 60) for _ in range(4_000)]
    ratios = [HITS[draw].sum() / below[draw].sum() for draw in draws]
    bounds = bootstrap(HITS[:60], below, resamples=4_000, seed=3)
    assert bounds.low[0] == pytest.approx(np.quantile(ratios, 0.025), abs=0.015)
    assert bounds.high[0] == pytest.approx(np.quantile(ratios, 0.975), abs=0.015)


def test_equal_seeds_give_equal_bounds_and_other_seeds_others() -> None:
    first, again, other = (bootstrap(HITS, ALL, resamples=500, seed=seed) for seed in (4, 4, 5))
    assert first.low == again.low and first.high == again.high
    assert first.low != other.low or first.high != other.high


def test_figures_are_drawn_together_and_none_disturbs_another() -> None:
    both = bootstrap(np.hstack([HITS, ALL - HITS]), np.hstack([ALL, ALL]), resamples=2_000)
    alone = bootstrap(HITS, ALL, resamples=2_000)
    assert both.low[0] == alone.low[0]
    # What is not hit is missed, in every resample.
    assert both.low[1] == pytest.approx(1 - both.high[0])


def test_how_many_are_drawn_at_a_time_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = bootstrap(HITS, ALL, resamples=300, seed=8)
    monkeypatch.setattr("hazardmill.statistics.bootstrap._CELLS", 1_000)
    assert bootstrap(HITS, ALL, resamples=300, seed=8).low == whole.low


@pytest.mark.parametrize("place", [0, 4])
def test_every_task_can_be_drawn(place: int) -> None:
    hits = np.zeros((5, 1))
    hits[place] = 1
    bounds = bootstrap(hits, np.ones((5, 1)))
    # Of five draws, three or more are the one with a chance of 5.8 %, four or more with one of 0.7 %.
    assert (bounds.low[0], bounds.high[0]) == (0.0, 0.6)


def test_clusters_are_drawn_whole() -> None:
    # Ten sources of forty alike: what is known of them is what ten draws say.
    hits = np.repeat(np.array([1.0, 0, 1, 0, 1, 0, 0, 0, 0, 0]), 40)[:, None]
    sources = np.repeat(np.arange(10), 40).tolist()
    wide, narrow = bootstrap(sum_clusters(hits, sources), sum_clusters(ALL, sources)), bootstrap(hits, ALL)
    ten = bootstrap(hits[::40], np.ones((10, 1)))
    assert (wide.low, wide.high) == (ten.low, ten.high)
    assert wide.high - wide.low > 5 * (narrow.high - narrow.low)


def test_what_is_never_defined_has_no_interval() -> None:
    bounds = bootstrap(np.zeros((5, 1)), np.zeros((5, 1)), resamples=100)
    assert np.isnan(bounds.low[0]) and np.isnan(bounds.high[0])
    nothing = bootstrap(np.zeros((0, 2)), np.zeros((0, 2)))
    assert np.isnan(nothing.low).all() and nothing.low.shape == (2,)


def test_resamples_without_a_denominator_are_left_out() -> None:
    numerators, denominators = np.array([[1.0], [0.0]]), np.array([[1.0], [0.0]])
    bounds = bootstrap(numerators, denominators, resamples=200)
    assert (bounds.low[0], bounds.high[0]) == (1.0, 1.0)
