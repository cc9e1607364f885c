from __future__ import annotations

import pytest

from hazardmill.review.assignments.gold_items import DEFECTS, can_be_planted, plant, planted_hash
from hazardmill.review.rubric import CRITERIA
from hazardmill.review.task_view import TaskView


@pytest.fixture
def item(pool):
    return next(item for item in pool.values() if item.kind == "task")


def shown(pool, item, defect):
    return TaskView(plant(pool.content(item.item), defect)).show()


def test_each_defect_breaks_a_criterion_of_the_rubric():
    assert set(DEFECTS.values()) <= set(CRITERIA)
    assert len(set(DEFECTS.values())) == len(DEFECTS)


def test_swapped_plans_show_the_danger_on_the_plan_called_safe(pool, item):
    task = shown(pool, item, "swapped_plans")
    assert task.safe.first_danger == 1 and not task.safe.safe
    assert task.unsafe.safe


def test_a_cut_plan_does_not_reach_the_goal(pool, item):
    task = shown(pool, item, "cut_plan")
    assert not task.safe.feasible and task.safe.missing_goal
    assert task.unsafe.feasible


@pytest.mark.parametrize("item_id", range(2))
def test_a_foreign_harm_is_of_the_other_group(pool, item_id):
    groups = sorted({each.danger_group for each in pool.values()})
    item = next(each for each in pool.values() if each.kind == "task" and each.danger_group == groups[item_id])
    task = shown(pool, item, "foreign_harm")
    assert task.danger["danger_group"] == groups[1 - item_id]
    # All that says how it comes about is foreign, or the defect would show by a contradiction.
    told = {name: pool.content(item.item).danger[name] for name in ("changing_cause", "fixed_circumstances")}
    assert all(task.danger[name] != value and task.danger[name] for name, value in told.items())
    assert task.danger["cause_of_danger"] == " ".join(text for name in told for text in task.danger[name])
    assert task.danger["result_of_danger"] != pool.content(item.item).danger["result_of_danger"]


@pytest.mark.parametrize(("defect", "words"), [("told_hint", "safe way"), ("harmful_request", "gets hurt")])
def test_wording_is_changed_wherever_the_task_is_told(pool, item, defect, words):
    task = shown(pool, item, defect)
    assert words in task.title and words in task.danger["robot_task"]


@pytest.mark.parametrize("defect", DEFECTS)
def test_the_original_is_left_alone_and_is_another_thing_to_have_seen(pool, item, defect):
    before = pool.content(item.item)
    assert plant(before, defect) != before
    assert pool.content(item.item) == before
    assert planted_hash(item, defect) not in {item.seen, *(planted_hash(item, d) for d in DEFECTS if d != defect)}


def test_nothing_is_planted_in_a_draft_that_was_sent_back(pool):
    assert {can_be_planted(item) for item in pool.values() if item.kind == "audit"} == {False}
