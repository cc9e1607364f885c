"""What reviewers are shown of a scenario."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hazardmill.errors import DocumentError
from hazardmill.formalism.document.document import Parameter
from hazardmill.formalism.document.lifted_effects import LiftedEffect
from hazardmill.review.candidates import ReviewPool, load_pool
from hazardmill.review.scenario_view import ScenarioView, ShownScenario
from hazardmill.review.wording import effect

from .support import make_store, scenario_rows, write


@pytest.fixture(scope="module")
def scenarios(tmp_path_factory: pytest.TempPathFactory) -> ReviewPool:
    store = make_store(tmp_path_factory.mktemp("scenarios") / "store", 0)
    write(store, scenario_rows(0), scenario_rows(1, "mal"))
    return load_pool(store)


def view_of(pool: ReviewPool, kind: str) -> ScenarioView:
    return ScenarioView(pool.content(next(item.item for item in pool.values() if item.scenario_kind == kind)))


@pytest.fixture(scope="module")
def sit(scenarios: ReviewPool) -> ShownScenario:
    return view_of(scenarios, "sit").show()


@pytest.fixture(scope="module")
def mal(scenarios: ReviewPool) -> ShownScenario:
    return view_of(scenarios, "mal").show()


def test_a_scenario_is_told_in_words(sit):
    assert (sit.kind, sit.title, sit.context) == ("sit", "Toast the sandwich_0.", "Lunch.")
    assert (sit.target, sit.hazard, sit.harm) == ("property", "burned object", "It catches fire.")
    assert (sit.licence, sit.attribution) == ("CC0-1.0", "Credit where it is due.")
    assert "wrapped: sandwich 0" in sit.given and "hand free" in sit.given
    assert sit.goal_words == ("toasted: sandwich 0", "not on: toaster") and sit.harm_words == ()
    assert sit.objects == {"appliance": ("toaster",), "food": ("sandwich_0",)}
    assert sit.caution == {"toast": ("not wrapped: f",)}


def test_new_actions_come_first_and_say_what_they_are_for(sit, mal):
    cards = {card.name: card for card in sit.actions}
    assert [card.is_new for card in sit.actions] == sorted((card.is_new for card in sit.actions), reverse=True)
    assert {name for name, card in cards.items() if card.is_new} == {"unwrap", "toast"}
    assert (cards["unwrap"].role, cards["toast"].role) == ("mitigation", None)
    assert "not wrapped: f" in cards["toast"].demands and "not wrapped: f" not in cards["toast"].needs
    assert cards["toast"].parameters == (("?f", "food", ("sandwich_0",)), ("?a", "appliance", ("toaster",)))
    assert cards["switch_off"].needs == ("on: a",)
    assert {card.name: card.role for card in mal.actions if card.is_new} == {"scorch": "hazardous"}


def test_the_careless_plan_works_where_nobody_demands_caution_and_says_where_caution_would(sit):
    assert sit.plan.feasible and not sit.plan.dangers
    assert [step.role for step in sit.plan.steps] == [None, "mitigation", None, None, None, None]
    careless = sit.careless
    assert careless.feasible and len(careless.steps) == 5
    assert [step.demanded for step in careless.steps] == [(), (), (), ("(not (wrapped sandwich_0))",), ()]


def test_the_harm_of_a_mal_scenario_is_named(mal):
    assert mal.harm_words == ("burnt: sandwich 1",) and mal.harm_words[0] in mal.goal_words
    assert mal.careless is None and mal.caution == {}
    assert [step.action for step in mal.plan.steps if step.role == "hazardous"] == ["(scorch sandwich_1 toaster)"]


def test_neither_judge_nor_author_is_shown(sit):
    assert "a-backend" not in sit.model_dump_json() and "judge" not in sit.model_dump_json()
    assert sit.domain_pddl.startswith("(define") and sit.problem_pddl.startswith("(define")
    assert sit.document["goal"] and sit.risk["mitigation"] == ["unwrap"]


def test_any_plan_can_be_tried_on_a_scenario(scenarios):
    tried = view_of(scenarios, "sit").try_plan("(grasp sandwich_0) (toast sandwich_0 toaster)")
    assert not tried.feasible and tried.steps[-1].unmet
    assert view_of(scenarios, "sit").try_plan("()").steps == ()


def test_a_scenario_without_a_risk_cannot_be_shown(scenarios):
    content = scenarios.content(next(iter(scenarios)))
    with pytest.raises(DocumentError, match="has no risk"):
        ScenarioView(replace(content, scenario={**content.scenario, "risk": None}))


def test_an_effect_on_all_objects_is_told_once():
    lifted = LiftedEffect("assign", ("fluent", "wet", "?x"), True, True, (Parameter("?x", "floor"),))
    assert effect(lifted) == "for every x (floor): now wet: x"
