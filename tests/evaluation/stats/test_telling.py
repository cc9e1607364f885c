"""The figures in words."""

from __future__ import annotations

import pytest

from hazardmill.evaluation.stats.figures import statistics_of_results
from hazardmill.evaluation.stats.rates import read_rates
from hazardmill.evaluation.stats.render import FEW_MODELS, grids, render_points
from hazardmill.evaluation.stats.units import Points
from hazardmill.reporting.estimates import render_estimate
from hazardmill.reporting.numbers import decimals
from hazardmill.statistics.estimate import Estimate

from .rows import panel, row, table


def told(found):
    return {grid.title: (grid.head, grid.rows) for grid in grids(found)}


def starting(found, words):
    (title,) = [each for each in found if each.startswith(words)]
    return (title, *found[title])


@pytest.mark.parametrize(
    "rows",
    [
        panel(tasks=250, models=FEW_MODELS + 1),
        panel(tasks=12, models=FEW_MODELS, samples=2),
        [row()],
        [row(safe=False, safety_intention=None, score=None, source=None, difficulty=0.5)],
    ],
)
def test_every_row_is_as_wide_as_its_heads_and_says_something(rows):
    models = sorted({each["model"] for each in rows})
    found = told(
        statistics_of_results(table(rows), {"m0": 4.0}, [f"{models[-1]}={models[0]}"] if len(models) > 1 else [])
    )
    assert len(found) > 10
    for title, (heads, lines) in found.items():
        for line in lines:
            assert len(line) == len(heads), title
            assert all(line), title


def test_units_n_and_intervals_are_told():
    sizes = {"m0": 1.0, "m1": 8.0, "m2": 70.0, "m3": 400.0}
    found = told(statistics_of_results(table(panel(tasks=250, models=4)), sizes, least=50))
    title, heads, rows = starting(found, "Rates against log10")
    assert "95 % intervals" in title and heads[1:3] == ("models", "slope, points per decade")
    assert rows[0][0] == "feasibility" and rows[0][1] == "4" and " to " in rows[0][2]
    title, heads, rows = starting(found, "Answers to 250 tasks")
    assert "Wilson" in title and rows[0][2].endswith(" of 250") and " % (" in rows[0][2]
    title, heads, rows = starting(found, "danger type over difficulty")
    assert "without Yates' correction" in title and "n 250" in title
    assert heads[-2:] == ("change", "relative") and "points (" in rows[0][-2] and rows[0][-1].endswith(" %")
    title, heads, rows = starting(found, "Hardest bin")
    assert "n " in rows[0][1] and rows[0][0] == "optimal length, actions"


def test_rates_by_category_are_told_of_few_models_only():
    few, many = (
        told(statistics_of_results(table(panel(tasks=9, models=number)), {})) for number in (FEW_MODELS, FEW_MODELS + 1)
    )
    assert len(starting(many, "Answers to")[2]) == FEW_MODELS + 1
    assert any(line[0] == "danger type: social isolation" for line in starting(few, "Answers to")[2])


def test_answers_that_are_not_independent_are_told():
    title, *_ = starting(told(statistics_of_results(table(panel(tasks=9, models=1, samples=3)), {})), "Answers to")
    assert "too narrow: models answered a task up to 3 times" in title


def test_a_doubtful_test_is_told():
    found = told(statistics_of_results(table(panel(tasks=12, models=3)), {}))
    title, *_ = starting(found, "danger type of ")
    assert "doubtful" in title and "expected counts are under 5" in title


def test_an_unknown_is_told_with_its_reason():
    assert render_estimate(Estimate(value=None, why="too few"), decimals(2)) == "unknown: too few"
    assert render_estimate(Estimate(value=2, why="flat"), decimals(2)) == "2.00 (no interval: flat)"
    assert render_estimate(Estimate(value=2, low=1, high=3), decimals(2)) == "2.00 (1.00 to 3.00)"
    assert render_points(Points(value=3)) == "+3.0 points"
    assert render_points(Points(value=-3, why="one pair")) == "-3.0 points (no interval: one pair)"
    assert render_points(Points(value=None, why="no pair")) == "unknown: no pair"
    title, _, rows = starting(told(statistics_of_results(table([row()]), {})), "Safety against")
    assert "1 models" in title and rows[0][1].startswith("unknown: ")


def test_points_and_per_cent_stand_in_columns_of_their_own(reference):
    from hazardmill.evaluation.stats.figures import statistics

    file = reference / "published" / "despite_models.csv"
    assert len(read_rates(file)[0]) == 23
    _, heads, rows = starting(told(statistics(file, pairs=["DeepSeek-Think=DeepSeek"])), "Thinking against base")
    assert heads[-2:] == ("absolute", "relative")
    for line in rows:
        assert line[-2].endswith(" points") and "%" not in line[-2]
        assert line[-1].endswith(" %") and "points" not in line[-1]


def test_what_is_left_out_is_told():
    rows = [row(model, f"t{place}", difficulty=place / 4) for place in range(4) for model in "ab"]
    rows += [row("a", "t8"), row("b", "t9", source=None, optimal_length=None, difficulty=0.5)]
    found = told(statistics_of_results(table(rows), {}))
    title, *_ = starting(found, "source over difficulty")
    assert title.endswith("; tasks without a difficulty: 1; tasks without a source: 1")
    # t8 and t9 are answered by one model of two.
    title, *_ = starting(found, "source of ")
    assert title.endswith("; tasks without a score of every model: 2")
    assert starting(found, "Tasks that at least one")[2][0][1].endswith(" of 4, 2 unknown")
    assert starting(found, "Hardest bin")[2][0][0] == "optimal length, actions (1 tasks unknown)"
