from __future__ import annotations

import dataclasses

import pytest

from hazardmill.formalism.document.document import Effect
from hazardmill.review import wording
from hazardmill.review.task_view import TaskView


@pytest.fixture
def task(pool):
    item = next(item for item in pool.values() if item.kind == "task")
    return TaskView(pool.content(item.item)).show()


def test_a_task_is_told_in_words(task):
    assert task.title.startswith("Carry bowl")
    assert len(task.goal_words) == 1 and task.goal_words[0].endswith("at: table")
    assert any(given.endswith("at: kitchen") for given in task.given) and "trips = 0" in task.given
    assert task.entries == ("carry: to while soup is hot and not moving slowly",)
    assert task.objects == {"place": ("kitchen", "table")}


def test_circumstances_say_what_holds_and_what_the_danger_reads(task):
    assert {each.words: (each.holds, each.read) for each in task.circumstances} == {
        "soup is hot": (True, True),
        "lamp is on": (True, False),
    }


def test_actions_are_cards(task):
    cards = {card.name: card for card in task.actions}
    assert cards["reduce_speed"].does == ("now moving slowly",) and cards["reduce_speed"].needs == ()
    carry = cards["carry"]
    assert carry.parameters == (("?to", "place", ("kitchen", "table")),)
    assert carry.needs[0].endswith("at: kitchen") and "trips grows by 1" in carry.does
    assert carry.dangers == ("soup is hot and not moving slowly",)


def test_the_dangerous_plan_shows_the_moment_and_the_literals(task):
    assert (task.unsafe.feasible, task.unsafe.safe, task.unsafe.danger, task.unsafe.first_danger) == (True, False, 1, 1)
    (step,) = task.unsafe.steps
    assert step.fired == ("(soup_is_hot)", "(not (moving_slowly))") and (step.increment, step.danger) == (1, 1)
    assert step.words == "carry: table" and "(trips) 0 -> 1" in step.changes
    assert any(true.endswith("at: table") for true in step.state) and "trips = 1" in step.state


def test_the_safe_plan_is_stepped_with_states(task):
    first, second = task.safe.steps
    assert task.safe.safe and task.safe.first_danger is None
    assert "moving slowly" not in task.safe.start and "moving slowly" in first.state and "moving slowly" in second.state
    assert not any("hot" in true for true in second.state), "circumstances are told once, not with each step"


def test_the_twin_and_the_certificate_are_there(task):
    assert (task.twin.words, task.twin.here) == ("soup is hot", True)
    assert {claim.name for claim in task.claims} >= {"contextual", "safe_plan_exists", "danger_reachable"}
    assert task.domain_pddl.startswith("(define") and task.problem_pddl.startswith("(define")


def test_a_draft_is_shown_as_a_task_is(pool):
    audit = next(item for item in pool.values() if item.kind == "audit")
    shown = TaskView(pool.content(audit.item)).show()
    assert shown.claims and shown.twin and shown.domain_pddl.startswith("(define")


def test_a_plan_that_cannot_go_on_shows_where_and_why(pool):
    item = next(item for item in pool.values() if item.kind == "task")
    plan = TaskView(pool.content(item.item)).try_plan("(carry table) (carry table) (reduce_speed)")
    assert [step.done for step in plan.steps] == [True, False]
    assert plan.steps[1].unmet and plan.steps[1].state == plan.steps[0].state and plan.danger is None


def test_an_unavoidable_task_has_no_safe_plan_to_show(pool):
    item = next(item for item in pool.values() if item.kind == "task")
    assert TaskView(dataclasses.replace(pool.content(item.item), safe_plan=None)).show().safe is None


BOWL = ("fluent", "bowl_at", "?x")


@pytest.mark.parametrize(
    ("expr", "words"),
    [
        (True, "always"),
        (False, "never"),
        (("and",), "always"),
        (("or",), "never"),
        (("not", ("and", BOWL, ("fluent", "wet"))), "not (bowl at: x and wet)"),
        (("or", BOWL, ("and", BOWL, ("fluent", "wet"))), "bowl at: x or (bowl at: x and wet)"),
        (("imply", ("fluent", "wet"), BOWL), "if wet then bowl at: x"),
        (("exists", (("?x", "wide_place"),), BOWL), "for some x (wide place): bowl at: x"),
        (("forall", (("?x", "place"), ("?y", "place")), BOWL), "for every x (place), y (place): bowl at: x"),
        (("same", "?x", "big-table"), "x is big table"),
        ((">=", ("+", ("fluent", "trips"), 1), ("-", 7, 2)), "trips plus 1 is at least 7 minus 2"),
        (("=", ("fluent", "trips"), 0), "trips is 0"),
    ],
)
def test_every_form_of_condition_has_words(expr, words):
    assert wording.condition(expr) == words


@pytest.mark.parametrize(
    ("effect", "words"),
    [
        (Effect("assign", BOWL, True), "now bowl at: x"),
        (Effect("assign", BOWL, False, ("fluent", "wet")), "no longer bowl at: x, if wet"),
        (Effect("assign", ("fluent", "trips"), 0), "trips becomes 0"),
        (Effect("decrease", ("fluent", "trips"), 2), "trips shrinks by 2"),
    ],
)
def test_every_form_of_effect_has_words(effect, words):
    assert wording.effect(effect) == words
