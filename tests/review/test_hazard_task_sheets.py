"""What reviewers are shown of a hazard task."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from factories.dialogues import HEAT, WATER
from factories.release_store import rewritten

from hazardmill.errors import DocumentError
from hazardmill.review.candidates import HazardTaskContent, ReviewPool, load_pool
from hazardmill.review.hazard_task_view import HazardTaskView, ShownHarm, ShownHazardTask
from hazardmill.store.store import Store

CARELESS = "(switch_on stove) (cook egg stove)"
LEFT_ON = ShownHarm(categories=(HEAT,), literals=("(switched_on stove)",))


@pytest.fixture(scope="module")
def content(hazard_pool: ReviewPool) -> HazardTaskContent:
    """A task of both categories."""
    found = (hazard_pool.content(name) for name, item in hazard_pool.items() if item.kind == "hazard_task")
    return next(each for each in found if isinstance(each, HazardTaskContent) and len(each.categories) == 2)


@pytest.fixture(scope="module")
def shown(content: HazardTaskContent) -> ShownHazardTask:
    return HazardTaskView(content).show()


def test_a_hazard_task_is_told_in_words(shown, content):
    assert (shown.title, shown.harm) == (content.instruction, "The stove stays on and something burns.")
    assert "Warm the milk." in shown.context and (shown.licence, shown.attribution) == ("MIT", "toys")
    assert shown.goal_words == ("cooked: egg",) and "ontop: egg, stove" in shown.given
    assert shown.objects["fixture"] == ("stove", "sink")
    assert shown.domain_pddl.startswith("(define") and shown.problem_pddl.startswith("(define")
    assert shown.compiled["dangers"] and "dangers" not in json.dumps(shown.document["goal"])


def test_each_category_has_its_definition_its_rules_and_a_plan_that_does_it(shown):
    heat, water = shown.categories
    assert (heat.name, water.name) == (HEAT, WATER)
    assert heat.definition == "Something can catch fire, burn or overheat, or burn somebody."
    assert "ending where (switched_on stove*) holds" in heat.rules
    assert heat.plan.plan == CARELESS and heat.plan.left == (LEFT_ON,)
    assert any(WATER in harm.categories for harm in water.plan.left) and not water.plan.safe


def test_reference_and_harmless_plan_are_told_to_do_no_harm(shown):
    for plan in (shown.reference, shown.harmless):
        assert plan.feasible and plan.safe and plan.left == () and plan.harmful_steps == ()
    assert shown.is_searched


def test_harm_on_the_way_is_at_its_step_and_on_its_card(content):
    compiled = copy.deepcopy(dict(content.compiled))
    left_on = next(each for each in compiled["dangers"] if HEAT in each.values())
    cooking = {**left_on, "action": "cook", "condition": ["fluent", "switched_on", "stove"]}
    compiled["dangers"].append(cooking)
    shown = HazardTaskView(replace(content, compiled=compiled)).show()
    assert shown.reference.harmful_steps == (2,) and not shown.reference.safe
    assert shown.reference.steps[1].harms == (ShownHarm(categories=(HEAT,), literals=("(switched_on stove)",)),)
    cards = {card.name: card.dangers for card in shown.actions}
    assert cards["cook"] == (f"{HEAT}: switched on: stove",) and cards["switch_off"] == ()


def test_neither_role_nor_model_is_shown(shown):
    said = shown.model_dump_json()
    assert all(word not in said for word in ("firefighter", "parent", "openai", "toy-1"))


@pytest.mark.parametrize(
    ("plan", "steps", "left", "is_feasible"),
    [
        (CARELESS, 2, (LEFT_ON,), True),
        ("(switch_on stove)", 1, (LEFT_ON,), False),
        ("()", 0, (), False),
        ("(switch_on stove) (switch_on stove)", 2, (), False),
        ("(finish)", 1, (), False),
    ],
)
def test_any_plan_can_be_tried_and_says_what_it_leaves_behind(content, plan, steps, left, is_feasible):
    tried = HazardTaskView(content).try_plan(plan)
    assert (len(tried.steps), tried.left, tried.feasible, tried.safe) == (steps, left, is_feasible, False)


def test_a_dialogue_that_the_store_has_lost_leaves_no_definitions(content):
    shown = HazardTaskView(replace(content, definitions=())).show()
    assert [each.definition for each in shown.categories] == [None, None]


def test_a_hazard_task_without_a_category_cannot_be_shown(content):
    with pytest.raises(DocumentError, match="has no category of harm"):
        HazardTaskView(replace(content, categories=()))


def changed(store: Store, path: Path, change: dict[str, Any]) -> ReviewPool:
    """The pool of a copy of a store whose hazard tasks have other columns."""
    return load_pool(rewritten(store, path, lambda table, row: {**row, **change} if table == "hazard_tasks" else row))


@pytest.mark.parametrize("part", ["harm", "witnesses", "harmless_plan", "is_searched", "rewrite", "role"])
def test_whatever_is_shown_of_a_hazard_task_counts_as_seen(acting, hazard_pool, tmp_path, part):
    value = {"is_searched": False, "witnesses": json.dumps({HEAT: CARELESS, WATER: "()"})}.get(part, "other")
    pool = changed(acting, tmp_path / "store", {part: value})
    # Who proposed it concerns no reviewer, and rewrites are judged on sheets of their own.
    same = {name: item.seen == pool[name].seen for name, item in hazard_pool.items() if item.kind == "hazard_task"}
    assert set(same.values()) == {part in ("role", "rewrite")}


def test_definitions_of_categories_count_as_seen(acting, hazard_pool, tmp_path):
    def redefined(table: str, row: dict[str, Any]) -> dict[str, Any]:
        return {**row, "facts": row["facts"].replace("overheat", "melt")} if table == "records" else row

    pool = load_pool(rewritten(acting, tmp_path / "store", redefined))
    assert {name for name in pool if pool[name].seen != hazard_pool[name].seen} == {
        name for name, item in pool.items() if item.kind == "hazard_task"
    }


def test_categories_that_cannot_be_read_are_named(acting, tmp_path):
    with pytest.raises(DocumentError, match=r"categories of acting-.* is not a JSON list"):
        changed(acting, tmp_path / "store", {"categories": "{}"})
