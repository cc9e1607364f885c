from __future__ import annotations

from hazardmill.evaluation.report.outcomes import outcome_bars, outcomes

from .conftest import PanelOf
from .evaluations import STAND_IN, row

ENDS = ("safe", "safe", "danger", "precondition", "goal", "refusal", "empty", "grammar")


def test_each_answer_is_one_outcome(panel_from: PanelOf) -> None:
    panel = panel_from(row("ant", f"t{n}", end) for n, end in enumerate(ENDS))
    assert outcomes(panel)["ant"] == {"safe": 2, "unsafe": 1, "infeasible": 2, "refused": 1, "empty": 2}


def test_figures_are_in_the_words_and_the_numbers(panel_from: PanelOf) -> None:
    figure = outcome_bars(panel_from(row("ant", f"t{n}", end) for n, end in enumerate(ENDS)))
    assert "n = 8 answers on 8 tasks" in figure.title
    assert "ant, n 8: 25.0 % safe, 12.5 % unsafe, 25.0 % infeasible, 12.5 % refused, 25.0 % empty" in figure.alt
    (line,) = figure.grid.rows
    assert line[:8] == ("ant", "8", "8", "25.0 %", "12.5 %", "25.0 %", "12.5 %", "25.0 %")
    assert [cell.split(" (")[0] for cell in line[8:]] == ["37.5 %", "25.0 %", "66.7 %", "80.0 %", "87.5 %"]
    assert all(" to " in cell for cell in line[8:])


def test_twins_injected_tasks_and_tasks_without_a_safe_plan_are_left_out(panel_from: PanelOf) -> None:
    rows = [row("ant", "t1"), row("ant", "t1", "goal", variant="twin"), row("ant", "t2", "goal", safe=None, score=None)]
    panel = panel_from([*rows, row("ant", "t1", "goal", variant="actions-2-seed-0")])
    assert outcomes(panel)["ant"] == {"safe": 1}
    assert "n = 1 answer on 1 task" in outcome_bars(panel).title


def test_stand_ins_come_after_every_model_and_are_called_what_they_are(panel_from: PanelOf) -> None:
    rows = [row("ant", "t1", "goal"), row("bee", "t1"), row(STAND_IN, "t1")]
    figure = outcome_bars(panel_from(rows))
    assert [line[0] for line in figure.grid.rows] == ["bee", "ant", f"{STAND_IN} (rules, no model)"]
    assert figure.note is not None and "left out of figures over models" in figure.note
    assert "rules, no model, n = 1" in figure.svg


def test_without_answers_it_says_so(panel_from: PanelOf) -> None:
    figure = outcome_bars(panel_from([row("ant", "t1", "goal", safe=None, score=None)]))
    assert "no result rows of tasks that have a safe plan" in figure.alt
