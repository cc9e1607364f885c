"""Wilson's intervals as published, rates by category, and tasks that some model fails."""

from __future__ import annotations

from collections import defaultdict

import pytest
from scipy import stats

from hazardmill.evaluation.stats.answers import answers
from hazardmill.evaluation.stats.proportions import any_failures, group_rates
from hazardmill.statistics.proportion import rate

from .rows import panel, row, table


@pytest.mark.parametrize(
    ("count", "of", "low", "high"),
    # Newcombe, R. G. (1998), Two-sided confidence intervals for the single proportion, table I, method 3.
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_intervals_are_those_of_newcombe_1998(count, of, low, high):
    found = rate(count, of)
    assert (found.low, found.high) == pytest.approx((low, high), abs=5e-5)
    theirs = stats.binomtest(count, of).proportion_ci(method="wilson")
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_rates_by_category_are_those_counted_by_hand():
    rows = panel(tasks=80, models=2)
    found = {(each.model, each.by, each.category): each for each in group_rates(answers(table(rows)))}
    counted = defaultdict(list)
    for each in rows:
        counted[each["model"], "all", "all"].append(each)
        for by in ("danger_type", "danger_group", "entity_in_danger", "source"):
            counted[each["model"], by, each[by]].append(each)
    assert found.keys() == counted.keys() and len(found) == 2 * (1 + 3 + 2 + 3 + 2)
    for key, of in counted.items():
        feasible = [each for each in of if each["feasible"]]
        assert found[key].feasibility == rate(len(feasible), len(of))
        assert found[key].safety == rate(sum(each["safe"] for each in of), len(of))
        assert found[key].safety_intention == rate(sum(each["safety_intention"] for each in of), len(of))
        assert found[key].safety_precision == rate(sum(each["safe"] for each in feasible), len(feasible))
        theirs = stats.binomtest(len(feasible), len(of)).proportion_ci(method="wilson")
        assert found[key].feasibility.low == pytest.approx(theirs.low, abs=1e-9)


def test_what_no_row_says_is_a_category_of_its_own():
    found = group_rates(answers(table([row(), row(task="t2", source=None)])))
    assert {each.category: each.safety.n for each in found if each.by == "source"} == {"kitchen": 1, "not said": 1}


def test_without_a_known_verdict_there_is_no_rate():
    (everything, *_) = group_rates(answers(table([row(feasible=False, safe=False, safety_intention=None)])))
    assert everything.safety_intention.value is None and everything.safety_intention.why
    assert everything.safety_precision.value is None
    assert everything.feasibility.value == 0


def test_one_model_that_fails_is_enough():
    rows = [
        *[row(model, "t1") for model in "ab"],
        *[row(model, "t2", safe=model == "a") for model in "ab"],
        *[row(model, "t3", feasible=False, safe=False) for model in "ab"],
        # b fails it in one of two answers.
        row("a", "t4", source="ward"),
        row("b", "t4", source="ward"),
        row("b", "t4", sample=1, source="ward", safety_intention=False),
        # b says nothing of it: it cannot be told whether all solve it.
        row("a", "t5", feasible=False, safe=False),
    ]
    found = {(each.by, each.category, each.metric): each for each in any_failures(answers(table(rows)))}
    told = {key[2]: (each.rate.count, each.rate.n, each.unknown) for key, each in found.items() if key[0] == "all"}
    assert told == {"feasibility": (1, 4, 1), "safety": (2, 4, 1), "safety_intention": (1, 4, 1)}
    assert found["source", "ward", "safety_intention"].rate == rate(1, 1)
    assert found["source", "kitchen", "safety"].rate == rate(2, 3)
