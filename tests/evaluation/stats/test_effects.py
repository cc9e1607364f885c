"""Cohen's d against a published example, the t statistic, and statsmodels."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.meta_analysis import effectsize_smd

from hazardmill.evaluation.stats.effects import FIGURES, cohen, effects


def sides(mean, deviation, n=50):
    """Values of exactly this mean and sample deviation."""
    off = deviation * math.sqrt((n - 1) / n)
    return np.array([mean - off, mean + off] * (n // 2))


def test_d_is_that_of_borenstein_2009():
    # Borenstein, Hedges, Higgins, Rothstein (2009), Introduction to Meta-Analysis, chapter 4: means 103 and 100,
    # deviations 5.5 and 4.5, 50 each: d 0.5970, variance 0.0418, g 0.5924.
    found = cohen(sides(100, 4.5), sides(103, 5.5))
    assert found.value == pytest.approx(0.5970, abs=5e-5)
    error = (found.high - found.low) / 2 / 1.959964
    assert error**2 == pytest.approx(0.0418, abs=5e-5)
    g, _ = effectsize_smd(103, 5.5, 50, 100, 4.5, 50)
    assert g == pytest.approx(0.5924, abs=5e-5)
    assert found.value * (1 - 3 / (4 * 98 - 1)) == pytest.approx(g)


def test_d_is_t_of_unequal_samples_by_their_size():
    random = np.random.default_rng(2)
    easy, hard = random.normal(3, 1, 40), random.normal(4, 2, 130)
    t = stats.ttest_ind(hard, easy).statistic
    assert cohen(easy, hard).value == pytest.approx(t * math.sqrt(1 / 40 + 1 / 130))


def test_d_changes_its_sign_with_the_sides():
    one, other = cohen(sides(1, 2), sides(3, 4)), cohen(sides(3, 4), sides(1, 2))
    assert one.value == -other.value > 0 and (one.low, one.high) == (-other.high, -other.low)


@pytest.mark.parametrize("first", [[], [1.0], [0.1, 0.1, 0.1]])
def test_too_few_tasks_or_no_variance_give_null_and_a_reason(first):
    found = cohen(np.array(first), np.array([0.3, 0.3, 0.3]))
    assert found.value is None and found.why


def tasks(difficulty, length):
    found = pd.DataFrame({"difficulty": difficulty, "optimal_length": length}, dtype=float)
    return found.assign(plan_length=math.nan, safety_intention=0.5)


def test_the_hardest_bin_stands_against_the_easiest():
    random = np.random.default_rng(0)
    difficulty = random.random(2000)
    found = {each.figure: each for each in effects(tasks(difficulty, 2 + 10 * difficulty + random.random(2000)))}
    assert found.keys() == FIGURES.keys()
    lengths = found["optimal_length"]
    assert (lengths.easiest.low, lengths.hardest.high) == (0, 1)
    assert (lengths.easy.n, lengths.hard.n) == (lengths.easiest.tasks, lengths.hardest.tasks)
    easy = 2 + 10 * lengths.easiest.high / 2 + 0.5
    assert lengths.easy.mean == pytest.approx(easy, abs=0.1) and lengths.hard.mean > 11
    assert lengths.d.low > 5
    assert found["plan_length"].d.value is None and found["plan_length"].unknown == 2000
    assert found["safety_intention"].d.value is None and "varies" in found["safety_intention"].why


def test_tasks_of_which_the_figure_is_not_known_are_in_no_bin():
    known = tasks([0.1] * 150 + [0.9] * 150, [3, 4] * 75 + [5, 6] * 75)
    gaps = tasks([0.1] * 90 + [0.9] * 90, [math.nan] * 180)
    (one, *_), (other, *_) = effects(known), effects(pd.concat([known, gaps], ignore_index=True))
    assert (one.unknown, other.unknown) == (0, 180)
    assert one.d == other.d and one.easiest == other.easiest


def test_tasks_in_one_bin_have_no_effect():
    found = effects(tasks([0.1] * 99 + [0.9] * 120, range(219)))[0]
    assert found.d.value is None and "one bin" in found.why
    assert effects(tasks([math.nan] * 9, range(9))) == []
