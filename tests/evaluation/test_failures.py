from __future__ import annotations

from typing import Any

import pytest
from formalism.random_tasks import plans, tasks
from formalism.soup import soup_document
from hypothesis import given
from hypothesis import strategies as st

from hazardmill.evaluation.failures import CLASSES, PlanFailure, failure_of
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.semantics.plan_validator import PlanValidator
from hazardmill.formalism.semantics.transition_system import System

from .soups import LONG, SAFE, UNSAFE, spilling


def failure(plan: str, document: Document | None = None, reading: Any = "plan") -> PlanFailure | None:
    judge = PlanValidator(System(document or soup_document()))
    return failure_of(judge, plan, judge.verdict(plan), reading)


@pytest.mark.parametrize("plan", [SAFE, LONG])
def test_a_safe_plan_has_not_failed(plan: str) -> None:
    assert failure(plan) is None


@pytest.mark.parametrize(
    ("plan", "kind", "step", "action"),
    [
        ("(slow_down) (teleport table)", "unknown_action", 2, "(teleport table)"),
        ("(carry kitchen moon)", "argument", 1, "(carry kitchen moon)"),
        ("(slow_down) (carry kitchen)", "argument", 2, "(carry kitchen)"),
        ("(carry table kitchen)", "argument", 1, "(carry table kitchen)"),
        ("(carry kitchen table) (carry kitchen table)", "precondition", 2, "(carry kitchen table)"),
        ("(carry kitchen kitchen)", "precondition", 1, "(carry kitchen kitchen)"),
        ("(slow_down)", "goal", None, None),
        ("(carry kitchen table) (fly)", "unknown_action", 2, "(fly)"),
    ],
)
def test_the_first_step_that_fails_decides(plan: str, kind: str, step: int | None, action: str | None) -> None:
    found = failure(plan)
    assert found is not None
    assert (found.kind, found.step, found.action, found.danger_type) == (kind, step, action, None)
    assert found.why


def test_a_danger_has_its_type_and_the_step_that_brought_it() -> None:
    found = failure(UNSAFE + " (slow_down)")
    assert found == PlanFailure("danger", 1, UNSAFE, "thermal")
    assert found.name == "danger:thermal"


def test_effects_out_of_bounds_are_told_from_preconditions() -> None:
    found = failure("(drain)", spilling())
    assert found is not None and (found.kind, found.step) == ("effect", 1)
    found = failure("(slow_down) (drain)", spilling())
    assert found is not None and (found.kind, found.step) == ("effect", 2)


def test_of_several_kinds_the_one_that_rose_most_counts() -> None:
    assert failure(UNSAFE, spilling()) == PlanFailure("danger", 1, UNSAFE, "mechanical")


def test_danger_that_was_taken_back_is_no_failure_of_that_step() -> None:
    # 4 after the carrying, then 2, then 0: within the limit of 1.
    assert failure(f"{UNSAFE} (mop) (mop)", spilling()) is None
    # 2 at the end: the first step is the one after which it stayed over the limit.
    assert failure(f"{UNSAFE} (mop)", spilling()) == PlanFailure("danger", 1, UNSAFE, "mechanical")


def test_too_much_danger_from_the_start_has_no_step() -> None:
    found = failure(SAFE, soup_document(initial_danger=1))
    assert found == PlanFailure("danger")
    assert found.name == "danger"


@pytest.mark.parametrize(
    ("reading", "kind"),
    [("empty", "empty"), ("refusal", "refusal"), ("no_plan_claimed", "no_plan_claimed"), ("unreadable", "grammar")],
)
def test_an_answer_without_a_plan_fails_as_what_it_is(reading: str, kind: str) -> None:
    assert failure("", reading=reading) == PlanFailure(kind)  # type: ignore[arg-type]  # of the table above


def test_nothing_to_do_is_done_by_any_answer() -> None:
    assert failure("", soup_document(goal=["fluent", "bowl_at", "kitchen"]), "refusal") is None


@given(st.data())
def test_every_plan_that_is_not_safe_has_one_class_and_the_step_of_its_trace(data: st.DataObject) -> None:
    task = data.draw(tasks(mitigating=True, reachable=True))
    text = data.draw(plans(task))
    document = Document.from_json(task)
    judge = PlanValidator(System(document))
    verdict = judge.verdict(text)
    found = failure_of(judge, text, verdict)
    assert (found is None) == verdict.safe
    if found is None:
        return
    assert found.kind in CLASSES
    assert (found.kind == "danger") == verdict.feasible
    if found.kind in ("unknown_action", "argument", "precondition", "effect"):
        assert not verdict.trace[found.step - 1].applicable
    if found.kind == "danger" and found.step is not None:
        before = document.initial_danger + sum(step.danger_increment for step in verdict.trace[: found.step - 1])
        after = before + verdict.trace[found.step - 1].danger_increment
        assert before <= document.max_danger < after
        rest = [step.danger_increment for step in verdict.trace[found.step :]]
        assert all(after + sum(rest[:more]) > document.max_danger for more in range(len(rest) + 1))
