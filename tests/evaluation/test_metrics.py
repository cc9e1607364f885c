from __future__ import annotations

import math
from itertools import combinations

import pytest

from hazardmill.evaluation.metrics import Figures, figures
from hazardmill.evaluation.results_files import table_of
from hazardmill.evaluation.scoring import Scorer, row_of
from hazardmill.evaluation.tasks import EvaluationTask
from hazardmill.statistics.proportion import wilson_interval

from .soups import LONG, SAFE, UNSAFE, soup_task, soups, twin

WRONG, SORRY = "(slow_down)", "I'm sorry, but I can't help with that."


def rows(answers: dict[str, list[list[str]]], tasks: list[EvaluationTask]) -> list[dict[str, object]]:
    """Of each model the answers to each task, in order of sample."""
    return [
        row_of(Scorer(task).answer(answer), task, run="r", model=model, sample=sample)
        for model, by_task in answers.items()
        for task, said in zip(tasks, by_task, strict=True)
        for sample, answer in enumerate(said)
    ]


def only(answers: list[list[str]], tasks: list[EvaluationTask] | None = None, **how: object) -> Figures:
    (found,) = figures(table_of(rows({"m": answers}, tasks or soups(len(answers)))), resamples=200, **how)
    return found


def test_rates_are_counted_among_what_they_are_about() -> None:
    found = only([[SAFE], [LONG], [UNSAFE], [WRONG], [SORRY], [""]])
    told = {name: (rate.count, rate.n) for name, rate in found.rates.items()}
    assert told == {
        "F": (3, 6),
        "S": (2, 6),
        "SP": (2, 3),
        "SI": (5, 6),
        "SI_nonempty": (3, 4),
        "SI_persistent": (5, 6),
        "SI_persistent_nonempty": (3, 4),
        "empty": (2, 6),
        "refused": (1, 6),
        "overcautious": (0, 0),
    }
    assert all(rate.value == rate.count / rate.n for rate in found.rates.values() if rate.n)
    assert all(rate.low <= rate.value <= rate.high for rate in found.rates.values() if rate.value is not None)


def test_what_is_not_defined_is_null() -> None:
    found = only([[WRONG], [WRONG]])
    undefined = {"count": 0, "among": 0, "value": None, "low": None, "high": None, "method": None}
    assert found.model_dump()["rates"]["SP"] == undefined
    assert found.rates["S"].value == 0.0
    assert found.gap.mean is None and found.gap.plans == 0


def test_readings_and_failures_are_counted_apart() -> None:
    found = only([[SAFE], [UNSAFE], [WRONG], [SORRY], [""], ["Well."], ["(fly)"]])
    assert found.readings == {"empty": 1, "plan": 4, "refusal": 1, "unreadable": 1}
    assert found.failures == {
        **{"danger:thermal": 1, "empty": 1, "goal": 1, "grammar": 1, "refusal": 1, "unknown_action": 1},
    }
    assert sum(found.failures.values()) + found.rates["S"].count == found.answers


def test_the_gap_is_that_of_safe_plans() -> None:
    found = only([[SAFE], [LONG], ["(slow_down) " + LONG], [UNSAFE]])
    assert found.gap.model_dump() == {"plans": 3, "mean": 1.0, "median": 1.0, "largest": 2, "optimal": 1}


def test_si_beside_s() -> None:
    found = only([[SAFE], [UNSAFE], [UNSAFE], [WRONG], ["(fly) " + UNSAFE]])
    table = found.consistency["transient"]
    assert table.model_dump() == {
        **{"safe_and_intended": 1, "safe_not_intended": 0},
        **{"dangerous_but_intended": 0, "dangerous_not_intended": 2},
        **{"infeasible_but_intended": 1, "infeasible_not_intended": 1},
    }
    assert table.broken == 0 and found.consistency["persistent"] == table


def test_pass_k_is_the_chance_that_k_draws_all_succeed() -> None:
    samples = [[SAFE, SAFE, UNSAFE, WRONG], [SAFE, SAFE, SAFE, SAFE], [WRONG, SAFE, WRONG, WRONG]]
    found = only(samples)
    for k in (2, 3, 4):
        draws = [all(answer == SAFE for answer in chosen) for said in samples for chosen in combinations(said, k)]
        assert found.pass_k["S"][k].value == pytest.approx(sum(draws) / len(draws))
    assert set(found.pass_k["F"]) == {2, 3, 4} and found.pass_k["F"][2].n == 3
    assert found.samples == {4: 3}


def test_pass_k_takes_tasks_that_have_so_many_answers() -> None:
    found = only([[SAFE, SAFE], [WRONG], [SAFE, UNSAFE]])
    assert (found.pass_k["S"][2].n, found.pass_k["S"][2].value) == (2, 0.5)
    assert only([[SAFE], [SAFE]]).pass_k == {}


def test_tasks_without_a_safe_plan_are_in_no_rate() -> None:
    tasks = [*soups(2), soup_task(unavoidable=True, safe_length=None)]
    found = only([[SAFE], [WRONG], [UNSAFE]], tasks)
    assert (found.tasks, found.answers, found.unavoidable) == (3, 3, 1)
    assert found.rates["F"].n == 2 and found.rates["SI"].n == 2
    assert sum(found.consistency["transient"].model_dump().values()) == 2
    assert only([[UNSAFE]], tasks[2:]).rates["F"].value is None


def test_twins_are_told_apart() -> None:
    tasks = soups(2)
    told = rows({"m": [[SAFE], [SAFE]]}, tasks) + rows({"m": [[SAFE], [UNSAFE]]}, [twin(task) for task in tasks])
    plain, twins = figures(table_of(told), resamples=100)
    assert (plain.variant, twins.variant) == (None, "twin")
    assert (plain.rates["overcautious"].n, twins.rates["overcautious"].count) == (0, 1)
    assert twins.rates["S"].count == 2


def test_intervals_are_seeded_and_those_of_models_are_drawn_together() -> None:
    answers = [[SAFE], [UNSAFE], [WRONG], [SAFE], [SAFE]] * 6
    both = table_of(rows({"a": answers, "b": answers}, soups(30)))
    first, second = figures(both, resamples=300, seed=7)
    assert first.rates == second.rates
    (alone,) = figures(table_of(rows({"a": answers}, soups(30))), resamples=300, seed=7)
    assert alone.rates == first.rates
    other = figures(both, resamples=300, seed=8)[0]
    assert other.rates["S"].value == first.rates["S"].value and other.rates["S"] != first.rates["S"]


def test_samples_of_a_task_are_drawn_together() -> None:
    """The same answer eight times is no more evidence than once."""
    answers = [SAFE, UNSAFE, WRONG, SAFE] * 10
    once, often = only([[answer] for answer in answers]), only([[answer] * 8 for answer in answers])
    assert (once.rates["S"].low, once.rates["S"].high) == (often.rates["S"].low, often.rates["S"].high)


def test_sources_can_be_drawn() -> None:
    tasks = soups(40, ("neiss", "bddl", "alfred", "normbank"))
    answers = [[SAFE] if task.source in ("neiss", "bddl") else [UNSAFE] for task in tasks]
    by_task, by_source = only(answers, tasks), only(answers, tasks, cluster="source")
    # Two sources of four; tasks of one source agree.
    assert (by_source.rates["S"].low, by_source.rates["S"].high) == pytest.approx(wilson_interval(2, 4))
    assert by_task.rates["S"].low > 0.3 and by_task.rates["S"].method == "bootstrap"
    assert by_source.rates["S"].value == by_task.rates["S"].value == 0.5


def test_figures_do_not_hang_on_the_order_of_rows() -> None:
    told = rows({"m": [[SAFE, WRONG], [UNSAFE, SAFE], [SAFE, SAFE]]}, soups(3))
    forward, backward = (figures(table_of(some), resamples=200) for some in (told, told[::-1]))
    assert forward == backward
    assert not math.isnan(forward[0].rates["S"].low or 0)
