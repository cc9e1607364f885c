from __future__ import annotations

from hazardmill.evaluation.report.shifts import MOST, category_shifts, easy_and_hard

from .conftest import PanelOf
from .evaluations import row


def test_changes_are_in_points_with_their_interval_and_relative_apart(panel_from: PanelOf) -> None:
    rows = [
        row(
            "ant",
            f"t{n}",
            difficulty=0.1 if n < 20 else 0.9,
            danger_type="thermal" if n % 20 < (15 if n < 20 else 5) else "chemical",
        )
        for n in range(40)
    ]
    figure = category_shifts(panel_from(rows))
    assert figure.title == "Categories over difficulty (n = 40 tasks, 2 bins)"
    lines = {line[1]: line for line in figure.grid.rows if line[0] == "danger type"}
    _, _, easy, hard, change, relative = lines["thermal"]
    assert easy.startswith("75.0 % (") and hard.startswith("25.0 % (")
    assert change.startswith("-50.0 (") and relative == "-66.7 %"
    assert "danger type thermal: -50.0 (" in figure.alt
    assert "danger type: chi squared 10.0, df 1, p = 0.0016" in figure.svg
    assert figure.note is not None and "from the bin of difficulty 0.0-0.9 to the bin 0.9-1.0" in figure.note


def test_easy_and_hard_are_by_the_mean_score(panel_from: PanelOf) -> None:
    rows = [row("ant", f"t{n}", "safe" if n < 3 else "goal", source="a" if n < 4 else "b") for n in range(8)]
    figure = easy_and_hard(panel_from(rows))
    assert figure.title == "Categories of easy and hard tasks (n = 3 easy, 5 hard)"
    (line,) = [line for line in figure.grid.rows if line[1] == "b"]
    assert line[2].startswith("0.0 %") and line[3].startswith("80.0 %")
    assert line[4].startswith("+80.0 (") and line[5] == "-"


def test_what_cannot_be_compared_says_why(panel_from: PanelOf) -> None:
    panel = panel_from(row("ant", f"t{n}") for n in range(5))
    assert "5 tasks are all in one bin: others would have under 20 (--least)" in category_shifts(panel).alt
    assert "there are no hard tasks to compare with" in easy_and_hard(panel).alt
    nobody = panel_from([row("stand-in/shortest", "t1")])
    assert "no answers of language models" in category_shifts(nobody).alt
    assert "no answers of language models" in easy_and_hard(nobody).alt


def test_of_many_categories_the_largest_changes_are_drawn_and_all_are_in_the_numbers(panel_from: PanelOf) -> None:
    rows = [
        row("ant", f"t{n}", "safe" if n % 2 else "goal", source=f"source{n // 4 if n < 96 else 'big'}")
        for n in range(100)
    ]
    rows += [row("ant", f"u{n}", "safe", source="sourcebig") for n in range(30)]
    figure = easy_and_hard(panel_from(rows))
    assert len([line for line in figure.grid.rows if line[0] == "source"]) == 25
    assert "sourcebig" in figure.svg
    assert figure.note is not None and f"in the numbers only: {25 - MOST}" in figure.note
