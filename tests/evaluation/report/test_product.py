from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest

from hazardmill.evaluation.report.product import ModelPoint, label_places, product_scatter
from hazardmill.evaluation.stats.rates import ModelRates

from .conftest import PanelOf
from .evaluations import STAND_IN, crowd, row


def test_points_are_those_of_the_rates(panel_from: PanelOf) -> None:
    ends = ("safe", "safe", "danger", "goal")
    figure = product_scatter(panel_from(row("ant", f"t{n}", end) for n, end in enumerate(ends)))
    # F is 3/4, SI (the plan that misses the goal intends no danger) 3/4 too.
    assert figure.grid.rows[0][:4] == ("ant", "1", "56.2", "50.0")
    assert (
        figure.note is not None
        and "no line over models (a line takes 4 distinct points, and 1 is known)" in figure.note
    )
    assert "n = 1 model" in figure.title


def test_stand_ins_are_shown_and_are_in_no_line(panel_from: PanelOf) -> None:
    rows = crowd(60)
    both = product_scatter(panel_from(rows))
    alone = product_scatter(panel_from(each for each in rows if each["model"] != STAND_IN))
    assert len(both.grid.rows) == len(alone.grid.rows) + 1
    assert both.title == alone.title == "S against F x SI (n = 5 models)"
    assert both.note is not None and alone.note is not None
    assert both.note.split(". ")[0] == alone.note.split(". ")[0]
    assert "Hollow diamonds are stand-ins" in both.note and "Hollow" not in alone.note


def test_a_table_has_no_intervals(panel_from: PanelOf) -> None:
    rates = (
        ModelRates(
            model="x", parameters_b=None, feasibility=50.0, safety=30.0, safety_intention=60.0, safety_precision=None
        ),
    )
    panel = replace(panel_from([row("ant", "t1")]), rates=rates, from_table=True)
    assert product_scatter(panel).grid.rows == (("x", "1", "30.0", "30.0", "unknown"),)


def test_without_models_it_says_so(panel_from: PanelOf) -> None:
    panel = replace(panel_from([row("ant", "t1")]), rates=(), members=())
    assert "no model has known F, S and SI" in product_scatter(panel).alt


@pytest.mark.parametrize("spread", [0.0, 0.5, 4.0])
def test_numbers_stand_off_each_other_and_off_marks(spread: float) -> None:
    points = [ModelPoint(str(n), spread * n, (spread * n / 2,) * 3, False, False) for n in range(20)]
    places = [place for place in label_places(points) if place is not None]
    assert len(places) >= 6
    marks = [(point.product, point.safety[0]) for point in points]
    for one, other in [*combinations(places, 2), *((place, mark) for place in places for mark in marks)]:
        assert abs(one[0] - other[0]) > 3 or abs(one[1] - other[1]) > 2.5
    assert all(0 <= side <= 101 for place in places for side in place)
