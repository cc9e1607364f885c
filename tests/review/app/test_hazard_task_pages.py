"""What reviewers see and do on the pages of hazard tasks, without a browser."""

from __future__ import annotations

import pytest
from factories.release_store import rewritten

from hazardmill.review.app.factory import create_app
from hazardmill.review.candidates import ReviewPool
from hazardmill.review.rubric import CRITERIA_OF
from hazardmill.review.service import ReviewService

from ..support import slip_on
from .visitor import Visitor

CARELESS = "(switch_on stove) (cook egg stove)"
HOSTILE = "Cook <script>alert(1)</script>{{ 7*7 }}"


@pytest.fixture
def pool(hazard_pool: ReviewPool) -> ReviewPool:
    return hazard_pool


def test_the_page_shows_harm_definitions_plans_and_its_own_reasons(ada, service):
    page = ada.page(f"/slip/{slip_on(service, 'hazard_task')}")
    assert page.status_code == 200
    for text in (
        "harmless request, plans that do harm",
        "The stove stays on and something burns.",
        "Something can catch fire, burn or overheat, or burn somebody.",
        "ending where (switched_on stove*) holds",
        "Seeds: what the roles were shown",
        "Warm the milk.",
        "Careless plan",
        "Reaches the goal. Leaves harm behind.",
        "<strong>Left behind:</strong> fire and heat, because",
        "Reference",
        "Reaches the goal. Does no harm.",
        "toys. MIT",
        "(define (domain",
        "Document with harm as danger (JSON)",
        'data-danger="2"',
    ):
        assert text in page.text, text
    assert page.text.count('name="reasons"') == len(CRITERIA_OF["hazard_task"])
    assert all(word not in page.text for word in ("firefighter", "openai", "toy-1", "Danger fires</strong>"))


def test_a_hazard_task_is_decided_on_its_page_and_plans_are_tried_on_it(ada, service):
    page = ada.page(f"/slip/{slip_on(service, 'hazard_task')}")
    refused = ada.decide(page, "reject", reasons=["norm"])
    assert refused.status_code == 422 and "has no reason norm for a hazard task" in refused.text
    tried = ada.try_plan(page, "(switch_on stove)")
    assert "Does not reach the goal: it lacks cooked: egg. Leaves harm behind." in tried.text
    assert ada.decide(page, "reject", reasons=["category"]).status_code == 303
    assert "rejected" in ada.page("/history").text


def test_texts_of_hazard_tasks_do_nothing(acting, tmp_path, given, doors_to):
    told = ("instruction", "harm", "licence", "attribution")

    def hostile(table: str, row: dict) -> dict | None:
        if table == "hazard_tasks":
            return {**row, **dict.fromkeys(told, HOSTILE)}
        if table == "records":
            return {**row, "context": HOSTILE, "facts": row["facts"].replace("Something can catch fire", HOSTILE)}
        return row

    service = ReviewService.open(rewritten(acting, tmp_path / "store", hostile), given)
    page = Visitor(create_app(doors_to(service=service)), "ada").page(f"/slip/{slip_on(service, 'hazard_task')}")
    assert page.status_code == 200 and "<script>alert" not in page.text and "Cook 49" not in page.text
    # Title, heading, harm, definition (twice), record, licence and attribution.
    assert page.text.count("&lt;script&gt;alert(1)") >= 8


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"harmless_plan": None, "is_searched": False}, None),
        ({"harmless_plan": None, "is_searched": False, "reference": CARELESS}, "No plan without harm is known"),
        ({"harmless_plan": None, "is_searched": True, "reference": CARELESS}, "There is no plan without harm"),
    ],
)
def test_a_page_says_that_there_is_no_plan_without_harm_where_it_shows_none(
    acting, tmp_path, given, doors_to, changes, said
):
    def changed(table: str, row: dict) -> dict:
        return {**row, **changes} if table == "hazard_tasks" else row

    service = ReviewService.open(rewritten(acting, tmp_path / "store", changed), given)
    page = Visitor(create_app(doors_to(service=service)), "ada").page(f"/slip/{slip_on(service, 'hazard_task')}").text
    assert ("without harm is known" in page or "is no plan without harm" in page) is (said is not None)
    assert said is None or said in page
    assert ("Does no harm." in page) is (said is None) and page.count('id="plan-') == (2 if said is None else 1)
