from __future__ import annotations

import re

import pytest

from hazardmill.evaluation.report.violins import difficulty_violins

from .conftest import PanelOf
from .evaluations import crowd, row


def test_bins_have_their_tasks_means_and_quartiles(panel_from: PanelOf) -> None:
    rows = [
        row("ant", f"t{n}", difficulty=0.1 if n < 20 else 0.9, optimal_length=2 + n % 2 + (n >= 20)) for n in range(40)
    ]
    figure = difficulty_violins(panel_from(rows))
    assert figure.title == "Easy and hard tasks (n = 40 tasks of known difficulty)"
    easy, hard = figure.grid.rows[:2]
    # Twenty values 2, 3, 2, 3, ...: mean 2.5, deviation 0.513, 2.09 (19 degrees) times that by the root of 20 is 0.24.
    assert easy == ("shortest safe plan, actions", "0.0 to 0.9", "20", "2.50 (2.26 to 2.74)", "2.5", "2 to 3")
    assert hard[1:4] == ("0.9 to 1.0", "20", "3.50 (3.26 to 3.74)")
    assert figure.note is not None and "as the rows state it" in figure.note
    assert "d = 1.95" in figure.svg


def test_bins_that_are_too_small_are_one_and_say_why(panel_from: PanelOf) -> None:
    figure = difficulty_violins(panel_from(row("ant", f"t{n}", difficulty=n / 10) for n in range(10)))
    assert figure.note is not None and "All tasks are in one bin: others would have under 20." in figure.note
    assert [line[1] for line in figure.grid.rows] == ["0.0 to 1.0"] * 3
    assert "d unknown" in figure.svg


def test_safety_intention_is_in_per_cent_of_answers(panel_from: PanelOf) -> None:
    rows = [row(model, "t1", end) for model, end in (("ant", "safe"), ("bee", "danger"))]
    line = difficulty_violins(panel_from(rows)).grid.rows[-1]
    assert line == (
        "safety intention, answers (%)",
        "0.0 to 1.0",
        "1",
        "50.00 (10.33 to 89.67, Wilson)",
        "50",
        "50 to 50",
    )


def test_without_a_difficulty_it_says_so(panel_from: PanelOf) -> None:
    # Not every model answered each task, so there is no share of the panel.
    figure = difficulty_violins(panel_from([row("ant", "t1"), row("bee", "t2")]))
    assert "the difficulty of no task is known" in figure.alt
    stand_in = difficulty_violins(panel_from([row("stand-in/shortest", "t1")]))
    assert "no answers of language models" in stand_in.alt


@pytest.mark.parametrize("tasks", [1, 3, 90])
def test_every_size_is_drawn(panel_from: PanelOf, tasks: int) -> None:
    figure = difficulty_violins(panel_from(crowd(tasks)))
    assert f"n = {tasks} task" in figure.title and "actions" in figure.svg and "answers (%)" in figure.svg


def test_only_shares_have_an_axis_up_to_a_hundred(panel_from: PanelOf) -> None:
    figure = difficulty_violins(panel_from(crowd(90)))
    assert re.findall(r"<text[^>]*>([^<]*)</text>", figure.svg).count("100") == 1
