"""Everything together: from files to figures."""

from __future__ import annotations

import json

import pytest

from hazardmill.errors import InputError
from hazardmill.evaluation.results import write_results
from hazardmill.evaluation.stats.figures import EvaluationStatistics, statistics, statistics_of_results

from .rows import panel, row, table

HEADS = "model,total_params_b,feasibility,safety,safety_intention,safety_precision\n"
PARAMETERS = "model,total_params_b\nm0,3\nm1,9\nm2,30\nm3,100\n"


@pytest.fixture(scope="module")
def rows():
    return panel(tasks=300, models=4)


def test_result_rows_and_a_table_of_their_rates_say_the_same_of_models(rows, tmp_path):
    write_results(table(rows), tmp_path / "results.parquet")
    (tmp_path / "sizes.csv").write_text(PARAMETERS)
    long = statistics(tmp_path, parameters=tmp_path / "sizes.csv", pairs=["m3=m0"], seed=2)
    lines = [
        f"{each.model},{each.parameters_b},{each.feasibility!r},{each.safety!r},{each.safety_intention!r},"
        f"{each.safety_precision!r}\n"
        for each in long.models
    ]
    (tmp_path / "models.csv").write_text(HEADS + "".join(lines))
    short = statistics(tmp_path / "models.csv", pairs=["m3=m0"], seed=2)
    assert short.of_tasks is None and long.of_tasks is not None
    for name in ("models", "scaling", "product", "correlations", "spreads"):
        assert getattr(short, name) == getattr(long, name)
    assert short.thinking.pairs[0].rates == long.thinking.pairs[0].rates
    # A single file is read as its folder is.
    assert statistics(tmp_path / "results.parquet", seed=2).of_tasks == long.of_tasks


def test_parameters_fill_what_a_table_does_not_say(tmp_path):
    (tmp_path / "models.csv").write_text(HEADS + "m0,7,10,5,50,\nm1,,20,9,50,\n")
    (tmp_path / "sizes.csv").write_text(PARAMETERS)
    found = statistics(tmp_path / "models.csv", parameters=tmp_path / "sizes.csv")
    assert [each.parameters_b for each in found.models] == [7, 9]


def test_parameters_of_strangers_are_told(rows):
    found = statistics_of_results(table(rows), {"m0": 3.0, "who": 5.0})
    assert found.notes == ["parameters of models without results: who"]


def test_what_is_left_out_is_told():
    found = statistics_of_results(table([row("m"), row("m", "t2", safe=None), row("n", "t2", safe=None)]), {})
    assert [each.model for each in found.models] == ["m"] and found.of_tasks.tasks == 1
    assert found.notes == [
        "answers on tasks that are proved to have no safe plan, left out: 2",
        "models without any other answer, left out: n",
    ]
    told = [each.rate for each in found.of_tasks.any_failure if (each.by, each.metric) == ("all", "feasibility")]
    assert [(each.count, each.n) for each in told] == [(0, 1)]


def test_the_figures_survive_json(rows):
    found = statistics_of_results(table(rows), {}, ["m1=m0"])
    text = json.dumps(found.model_dump(mode="json"), allow_nan=False)
    again = EvaluationStatistics.model_validate_json(text)
    assert again.model_dump(mode="json") == json.loads(text)
    assert [each.ratio.why for each in again.scaling.ratios] == [each.ratio.why for each in found.scaling.ratios]
    assert json.loads(text)["format"] == "hazardmill-statistics/1"


def test_the_order_of_rows_does_not_matter(rows):
    assert statistics_of_results(table(rows[::-1]), {}, ["m1=m0"]) == statistics_of_results(table(rows), {}, ["m1=m0"])


def test_what_tasks_tell(rows):
    found = statistics_of_results(table(rows), {}).of_tasks
    assert (found.tasks, found.answers, found.most_answers, found.difficulty) == (300, 1200, 1, "rows")
    assert len(found.shifts.bins) in (2, 3)
    assert statistics_of_results(table(rows), {}, least=20).of_tasks.shifts.bins != found.shifts.bins
    twice = statistics_of_results(table(panel(tasks=30, models=2, samples=2)), {}).of_tasks
    assert (twice.answers, twice.most_answers) == (120, 2)


def test_one_model_leaves_most_figures_unknown_and_breaks_none():
    found = statistics_of_results(table(panel(tasks=20, models=1)), {"m0": 5.0})
    assert found.scaling.rates["safety"].line.slope.value is None
    assert found.product.mean_absolute_difference is not None
    assert all(each.pearson.value is None for each in found.correlations)
    assert all(each.variation.value is None for each in found.spreads.values())
    assert all(each.d.value is None for each in found.of_tasks.effects)


def test_a_file_of_something_else_is_refused(tmp_path):
    (tmp_path / "models.parquet").write_text(HEADS)
    with pytest.raises(InputError, match="not a readable Parquet file"):
        statistics(tmp_path / "models.parquet")
