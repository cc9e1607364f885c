from __future__ import annotations

from typing import Any

from hazardmill.evaluation.report.redundancy import curves, redundancy_curves

from .conftest import PanelOf
from .evaluations import row


def rows(model: str = "ant") -> list[dict[str, Any]]:
    """Four tasks; each level and seed loses another one of them, objects none."""
    found = [row(model, f"t{n}") for n in range(4)]
    for level, lost in ((2, 1), (8, 2)):
        for seed in (0, 1):
            found += [
                row(model, f"t{n}", "goal" if n < lost + seed else "safe", variant=f"actions-{level}-seed-{seed}")
                for n in range(4)
            ]
    return [*found, *(row(model, f"t{n}", variant="objects-64-seed-0") for n in range(4))]


def test_a_curve_begins_with_the_tasks_as_released_and_seeds_count_together(panel_from: PanelOf) -> None:
    actions, objects = curves(panel_from(rows()))
    assert (actions.arm, actions.tasks, actions.seeds) == ("actions", 4, 2)
    told = {level: (rates["F"].count, rates["F"].n) for level, rates in actions.points.items()}
    assert told == {0: (4, 4), 2: (5, 8), 8: (3, 8)}
    assert {level: rates["S"].value for level, rates in objects.points.items()} == {0: 1.0, 64: 1.0}
    assert all(rate.low <= rate.value <= rate.high for rates in actions.points.values() for rate in rates.values())


def test_points_of_a_curve_are_about_the_same_tasks(panel_from: PanelOf) -> None:
    some = [each for each in rows() if not (each["variant"] == "actions-8-seed-0" and each["task_id"] == "t3")]
    some = [each for each in some if not (each["variant"] == "actions-8-seed-1" and each["task_id"] == "t3")]
    actions, objects = curves(panel_from([*some, row("ant", "t9", "goal")]))
    assert (actions.tasks, objects.tasks) == (3, 4)
    assert {level: rates["F"].n for level, rates in actions.points.items()} == {0: 3, 2: 6, 8: 6}


def test_a_model_without_rows_of_released_tasks_has_no_level_0(panel_from: PanelOf) -> None:
    actions, _ = curves(panel_from(each for each in rows() if each["variant"] is not None))
    assert sorted(actions.points) == [2, 8]


def test_the_figure_has_units_n_and_intervals(panel_from: PanelOf) -> None:
    figure = redundancy_curves(panel_from([*rows(), *rows("bee")]))
    assert figure.title == "Rates over levels of distractors (n = up to 4 tasks per model)"
    assert "ant, 8 actions: F 37.5 % (" in figure.alt and "n 4 tasks" in figure.alt
    assert "distractors in the task (0: as released)" in figure.svg and "safety intention (%)" in figure.svg
    assert len(figure.grid.rows) == 2 * (3 + 2)


def test_without_injected_tasks_it_says_so(panel_from: PanelOf) -> None:
    figure = redundancy_curves(panel_from([row("ant", "t1"), row("ant", "t1", variant="twin")]))
    assert "actions-8-seed-0" in figure.alt and "n = up to 0 tasks" in figure.title
