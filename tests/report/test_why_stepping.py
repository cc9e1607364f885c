from __future__ import annotations

import pytest

from hazardmill.formalism.authoring import PlanningTask
from hazardmill.formalism.document.document import Document
from hazardmill.report.why.model import FluentChange
from hazardmill.report.why.simulate import Stepper


class Kettles(PlanningTask):
    """Danger that rises with the load and falls with rest."""

    realised_by = "fill"

    def build(self) -> None:
        load = self.integer("load", lower=0, upper=9)
        filled = self.fluent("filled")
        lid_is_loose = self.context("lid_is_loose")
        fill = self.action("fill").requires(load <= 4)
        fill.sets(filled).increases(load, 2)
        rest = self.action("rest").clears(filled).assigns(load, 0)
        self.initially(lid_is_loose)
        self.initial_value(load, 1)
        self.goal(load >= 3)
        self.danger(fill, when=lid_is_loose & (load >= 3), increment=3, danger_type="thermal")
        self.danger(fill, when=True, increment=1)
        self.danger(rest, when=True, increment=-2)


@pytest.fixture
def stepper() -> Stepper:
    return Stepper(kettles())


def kettles() -> Document:
    return Kettles().document()


def test_integers_are_told_before_and_after_and_danger_adds_up(stepper: Stepper) -> None:
    plan = stepper.step("(fill) (fill) (rest) (fill) (fill)")
    assert [step.danger for step in plan.steps] == [1, 5, 3, 4, 5]
    assert plan.steps[0].changes == (
        FluentChange(fluent="(filled)", before=False, after=True),
        FluentChange(fluent="(load)", before=1, after=3),
    )
    # Nothing that stays is a change.
    assert plan.steps[1].changes == (FluentChange(fluent="(load)", before=3, after=5),)
    assert plan.steps[2].changes[0] == FluentChange(fluent="(filled)", before=True, after=False)
    assert (plan.feasible, plan.safe, plan.danger, plan.initial_danger, plan.max_danger) == (True, False, 5, 0, 0)


def test_each_entry_that_fires_is_told_by_itself(stepper: Stepper) -> None:
    plan = stepper.step("(fill) (fill) (rest)")
    first, second, rest = (step.fired for step in plan.steps)
    assert [(entry.increment, entry.literals) for entry in first] == [(1, ())]
    both = {entry.increment: entry for entry in second}
    assert both[3].literals == ("(lid_is_loose)", "(>= (load) 3)") and both[3].danger_type == "thermal"
    assert both[1].condition == "true" and both[1].danger_type is None
    assert [(entry.action, entry.increment) for entry in rest] == [("rest", -2)]


@pytest.mark.parametrize(
    ("plan", "action", "why"),
    [
        ("(fill) (fill) (fill) (rest)", "(fill)", ("(<= (load) 4)",)),
        ("(rest) (boil) (fill)", "(boil)", ("there is no action boil",)),
        ("(boil)", "(boil)", ("there is no action boil",)),
    ],
)
def test_a_plan_that_cannot_be_done_ends_where_it_cannot(
    plan: str, action: str, why: tuple[str, ...], stepper: Stepper
) -> None:
    stepped = stepper.step(plan)
    last = stepped.steps[-1]
    assert (last.action, last.applicable, last.unmet, last.danger) == (action, False, why, None)
    assert (last.changes, last.fired, stepped.feasible, stepped.danger) == ((), (), False, None)
    assert all(step.applicable for step in stepped.steps[:-1])


def test_the_empty_plan_has_no_step(stepper: Stepper) -> None:
    assert stepper.step("").steps == ()


def test_the_start_is_told(stepper: Stepper) -> None:
    assert stepper.initial_state() == ("(load) = 1",)
    assert [(c.fluent, c.holds, c.read) for c in stepper.circumstances()] == [("(lid_is_loose)", True, True)]
    assert sorted((entry.action, entry.increment) for entry in stepper.entries()) == [
        ("fill", 1),
        ("fill", 3),
        ("rest", -2),
    ]


def test_the_last_way_out_is_marked(stepper: Stepper) -> None:
    assert [step.last_way_out for step in stepper.step("(fill) (fill)", 2).steps] == [False, True]
    assert not any(step.last_way_out for step in stepper.step("(fill) (fill)", 0).steps)
