from __future__ import annotations

import pytest

from hazardmill.evaluation.failures import CLASSES
from hazardmill.evaluation.report.losses import MOST_TYPES, STAGES, failure_losses, failures

from .conftest import PanelOf
from .evaluations import STAND_IN, crowd, row


def test_every_class_of_failure_has_its_stage() -> None:
    assert sorted(kind for kinds in STAGES.values() for kind in kinds) == sorted(CLASSES)


def test_answers_get_as_far_as_they_get(panel_from: PanelOf) -> None:
    ends = ["safe", "safe", "danger", "goal", "precondition", "effect", "argument", "unknown_action", "grammar"]
    figure = failure_losses(panel_from(row("ant", f"t{n}", end) for n, end in enumerate([*ends, "empty", "refusal"])))
    assert figure.title == "Where answers are lost (n = 11 answers of 1 model)"
    stages = ("parsed 8, lost", "grounded 6, lost", "applicable 4, lost", "goal reached 3, lost goal 1", "safe 2, lost")
    assert all(stage in figure.alt for stage in stages)
    assert "danger: thermal 1" in figure.alt
    numbers = dict(zip(figure.grid.head, figure.grid.rows[0], strict=True))
    assert [numbers[name] for name in ("Answers", "Safe", "danger: thermal", "grammar")] == ["11", "2", "1", "1"]


def test_every_answer_is_counted_once(panel_from: PanelOf) -> None:
    panel = panel_from(crowd(50))
    counted = failures(panel)
    assert {member.model: sum(counted[member.model].values()) for member in panel.members} == {
        member.model: 50 for member in panel.members
    }
    assert all(counted[member.model][None] == member.figures.rates["S"].count for member in panel.members)


def test_stand_ins_are_drawn_only_where_there_is_no_model(panel_from: PanelOf) -> None:
    both = [row("ant", "t1"), row(STAND_IN, "t1", "danger")]
    figure = failure_losses(panel_from(both))
    assert "n = 1 answer of 1 model" in figure.title and "thermal" not in figure.alt
    assert [line[0] for line in figure.grid.rows] == ["ant", f"{STAND_IN} (rules, no model)"]
    alone = failure_losses(panel_from(both[1:]))
    assert alone.title == "Where answers are lost (n = 1 answer of 1 stand-in: rules, no model)"


@pytest.mark.parametrize("kinds", [MOST_TYPES + 1, MOST_TYPES + 5])
def test_rare_danger_types_are_put_together(panel_from: PanelOf, kinds: int) -> None:
    rows = [
        row("ant", f"t{n}-{k}", "danger", failure_type=f"kind_{n:02}") for n in range(kinds) for k in range(kinds - n)
    ]
    figure = failure_losses(panel_from(rows))
    folded = kinds > MOST_TYPES + 1
    assert (f"danger: {kinds - MOST_TYPES} other types" in figure.alt) is folded
    assert len(figure.grid.head) == 3 + kinds
