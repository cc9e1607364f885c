"""Thinking against base, by rates and by tasks."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from hazardmill.errors import UsageError
from hazardmill.evaluation.stats.answers import answers, model_rates
from hazardmill.evaluation.stats.pairs import named_pairs, thinking
from hazardmill.evaluation.stats.rates import ModelRates, read_rates
from hazardmill.statistics.proportion import rate

from .rows import panel, row, table


def model(name, feasibility, safety=None):
    return ModelRates(
        model=name,
        parameters_b=None,
        feasibility=feasibility,
        safety=safety,
        safety_intention=None,
        safety_precision=None,
    )


def test_a_pair_is_two_models_with_an_equals_sign_between():
    names = ["a", "a=b", "b", "c"]
    assert named_pairs(["a=c", " b = a ", "a=c"], names) == [("a", "c"), ("b", "a")]
    assert named_pairs(["a=b=c"], names) == [("a=b", "c")]


@pytest.mark.parametrize("word", ["a", "a=z", "z=a", "a=a", "=", "a=b=a"])
def test_a_word_that_names_no_two_models_is_refused(word):
    with pytest.raises(UsageError) as refused:
        named_pairs([word], ["a", "a=b", "b=a", "b"])
    assert word in refused.value.message and "a, a=b, b, b=a" in refused.value.remedy


def test_published_pairs_change_in_points_and_in_per_cent(reference):
    models = read_rates(reference / "published" / "despite_models.csv")[0]
    names = [("DeepSeek-Think", "DeepSeek"), ("Qwen3-235B-T", "Qwen3-235B"), ("Qwen3-Next-T", "Qwen3-Next-80B")]
    found = thinking(names, models)
    by_name = {each.model: each for each in models}
    for (one, base), pair in zip(names, found.pairs, strict=True):
        before, after = by_name[base].safety, by_name[one].safety
        assert pair.rates["safety"].absolute.value == pytest.approx(after - before)
        assert pair.rates["safety"].relative.per_cent == pytest.approx(100 * after / before - 100)
        assert pair.on_tasks is None
    theirs = stats.ttest_rel([by_name[one].safety for one, _ in names], [by_name[base].safety for _, base in names])
    mean = found.mean["safety"]
    assert mean.pairs == 3 and mean.p == pytest.approx(theirs.pvalue)
    interval = theirs.confidence_interval(0.95)
    assert (mean.mean.low, mean.mean.high) == pytest.approx((interval.low, interval.high))


def test_the_difference_on_common_tasks_is_paired():
    found = answers(table(panel(tasks=150, models=3)))
    (pair,) = thinking([("m2", "m0")], model_rates(found.rows, {}), found.rows).pairs
    wide = found.rows.pivot(index="task_id", columns="model", values="feasible")
    theirs = stats.ttest_rel(100 * wide["m2"], 100 * wide["m0"])
    on = pair.on_tasks["feasibility"]
    interval = theirs.confidence_interval(0.95)
    assert on.difference.value == pytest.approx(np.mean(100 * (wide["m2"] - wide["m0"])))
    assert (on.difference.low, on.difference.high) == pytest.approx((interval.low, interval.high))
    assert on.gained == ((wide["m2"] == 1) & (wide["m0"] == 0)).sum()
    assert on.lost == ((wide["m2"] == 0) & (wide["m0"] == 1)).sum()
    # The exact test of McNemar is a sign test of the tasks that changed.
    assert on.p == pytest.approx(stats.binomtest(on.gained, on.gained + on.lost).pvalue)
    assert on.tasks == 150
    assert on.difference.value == pytest.approx(pair.rates["feasibility"].absolute.value)


def test_only_common_tasks_count():
    rows = [row("a", "t1"), row("a", "t2"), row("b", "t1", safe=False), row("b", "t3")]
    found = answers(table(rows))
    (pair,) = thinking([("a", "b")], model_rates(found.rows, {}), found.rows).pairs
    safety = pair.on_tasks["safety"]
    assert (safety.tasks, safety.difference.value, safety.gained, safety.lost) == (1, 100, 1, 0)
    # Wilson's interval of 0 of 1: as much as 79.3 % of all tasks may differ in another way.
    assert (safety.difference.low, safety.difference.high) == pytest.approx((-58.7, 100), abs=0.1)
    assert safety.difference.method == "wilson"
    apart = answers(table([row("a", "t1"), row("b", "t2")]))
    (pair,) = thinking([("a", "b")], model_rates(apart.rows, {}), apart.rows).pairs
    assert (pair.on_tasks["safety"].tasks, pair.on_tasks["safety"].difference.value) == (0, None)


def test_of_several_answers_the_mean_counts_and_none_is_gained():
    rows = [row("a", "t1"), row("a", "t1", sample=1, safe=False), row("b", "t1"), row("a", "t2"), row("b", "t2")]
    found = answers(table(rows))
    (pair,) = thinking([("a", "b")], model_rates(found.rows, {}), found.rows).pairs
    safety = pair.on_tasks["safety"]
    assert safety.difference.value == -25
    assert (safety.gained, safety.lost, safety.p) == (None, None, None) and "several answers" in safety.why


def test_where_nothing_changed_the_interval_is_of_what_may_change():
    rows = [row(model, task) for model in "ab" for task in ("t1", "t2", "t3")]
    found = answers(table(rows))
    (pair,) = thinking([("a", "b")], model_rates(found.rows, {}), found.rows).pairs
    safety = pair.on_tasks["safety"]
    most = 100 * rate(0, 3).high
    assert (safety.difference.value, safety.p, safety.why) == (0, 1, None)
    assert (safety.difference.low, safety.difference.high) == pytest.approx((-most, most))


def test_what_is_not_known_stays_so():
    found = thinking([("a", "b"), ("c", "d")], [model("a", 50), model("b", 0), model("c", 5, 3), model("d", 4, None)])
    assert found.pairs[0].rates["feasibility"].relative is None
    assert found.pairs[1].rates["safety"].absolute.value is None
    assert (found.mean["safety"].pairs, found.mean["safety"].mean.value) == (0, None) and found.mean["safety"].why
    assert found.mean["feasibility"].pairs == 2
    assert thinking([], [model("a", 50)]).mean == {}
