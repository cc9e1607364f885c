from __future__ import annotations

from typing import Any

import pytest

from hazardmill.evaluation.abilities.figures import ability_figures
from hazardmill.evaluation.abilities.rows import table_of
from hazardmill.statistics.proportion import wilson_interval


def row(ability: str, task_id: str, correct: bool | None, *counts: int, **more: Any) -> dict[str, Any]:
    given = {"run": "r", "model": "m", "task_id": task_id, "ability": ability, "about": "a", "sample": 0}
    named = dict(zip(("hits", "named", "true"), counts, strict=False))
    typed = {f"typed_{name}": count for name, count in named.items()} if ability == "dangers" else {}
    return {**given, "status": "answered", "source": task_id[:1], "correct": correct, **named, **typed, **more}


def of(*rows: dict[str, Any], **how: Any) -> Any:
    return ability_figures(table_of(rows), **{"resamples": 500, **how})


def test_pooled_and_mean_ratios_by_hand() -> None:
    (found,) = of(
        row("condition", "t1", True, 90, 90, 90),
        row("condition", "t2", False, 0, 5, 10),
        row("condition", "t3", False, 0, 0, 4, status="refused"),
    )
    precision, recall, f1 = (found.ratios[name] for name in ("precision", "recall", "f1"))
    assert precision.pooled.value == 90 / 95 and recall.pooled.value == 90 / 104 and f1.pooled.value == 180 / 199
    # Whoever names nothing has no precision, and a recall of zero.
    assert (precision.mean.value, precision.answers, precision.undefined) == (0.5, 2, 1)
    assert (recall.mean.value, recall.answers, recall.undefined) == (pytest.approx(1 / 3), 3, 0)
    assert precision.pooled.low <= 90 / 95 <= precision.pooled.high and precision.pooled.low < 0.25
    assert found.statuses == {"answered": 2, "refused": 1} and (found.tasks, found.answers) == (3, 3)
    assert (found.rates["correct"].count, found.rates["correct"].n) == (1, 3)


def test_what_is_past_the_limit_is_unknown_and_not_zero() -> None:
    (found,) = of(row("condition", "t1", None), row("condition", "t2", True, 2, 2, 2))
    for ratio in found.ratios.values():
        assert (ratio.pooled.value, ratio.mean.value) == (1.0, 1.0)
        assert (ratio.answers, ratio.undefined, ratio.unknown) == (1, 0, 1)
    assert (found.rates["correct"].count, found.rates["correct"].n) == (1, 1)


def test_where_nothing_is_known_everything_is_null() -> None:
    (found,) = of(row("condition", "t1", None))
    ratio = found.ratios["f1"]
    assert (ratio.pooled.value, ratio.pooled.low, ratio.mean.value, ratio.unknown) == (None, None, None, 1)
    rate = found.rates["correct"]
    assert (rate.n, rate.value, rate.low) == (0, None, None)


def test_alternatives_have_rates_alone() -> None:
    shown = {"outcome": "unsafe", "score": 1, "unchanged": True, "safety_intention": False}
    (found,) = of(
        row("alternative", "t1", True, outcome="safe", score=2, unchanged=False, safety_intention=True),
        row("alternative", "t2", False, **shown),
        row("alternative", "t3", False, score=0, unchanged=False, status="none_claimed"),
    )
    assert found.ratios == {}
    said = {name: (rate.count, rate.n) for name, rate in found.rates.items()}
    assert said == {"correct": (1, 3), "feasible": (2, 3), "unchanged": (1, 3), "safety_intention": (1, 2)}


def test_types_have_ratios_of_their_own_and_models_and_abilities_stand_apart() -> None:
    found = of(
        row("dangers", "t1", True, 1, 1, 1, typed_hits=0),
        row("condition", "t1", True, 1, 1, 1),
        row("dangers", "t1", True, 1, 1, 1, model="l"),
    )
    assert [(each.model, each.ability) for each in found] == [("l", "dangers"), ("m", "dangers"), ("m", "condition")]
    assert found[1].ratios["f1"].pooled.value == 1.0 and found[1].ratios["typed_f1"].pooled.value == 0.0
    assert found[0].ratios["typed_f1"].pooled.value == 1.0


def test_tasks_or_sources_are_drawn_and_not_answers() -> None:
    # One task is always right, the other never is: each answer more says nothing new.
    rows = [
        row("dangers", task, task == "a1", int(task == "a1"), 1, 1, sample=n) for task in ("a1", "b1") for n in (0, 1)
    ]
    (by_task,) = of(*rows)
    assert (by_task.rates["correct"].low, by_task.rates["correct"].high) == pytest.approx(wilson_interval(1, 2))
    more = [*rows, *(row("dangers", f"a{n}", True, 1, 1, 1) for n in range(2, 40))]
    (by_source,) = of(*more, cluster="source")
    (by_task,) = of(*more)
    assert by_task.rates["correct"].low > 0.8 and by_source.rates["correct"].low < 0.25
