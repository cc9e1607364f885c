"""What reviewers see and do on the pages of scenarios, without a browser."""

from __future__ import annotations

import pytest

from hazardmill.review.app.factory import create_app
from hazardmill.review.assignments.publish import give_tasks
from hazardmill.review.assignments.sampler import Wish
from hazardmill.review.candidates import ReviewPool, load_pool
from hazardmill.review.rubric import CRITERIA_OF
from hazardmill.review.service import ReviewService

from ..support import make_scenario_store, make_store, scenario_rows, slip_on, write
from .visitor import Visitor

HOSTILE = "Toast <script>alert(1)</script>{{ 7*7 }}"


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> ReviewPool:
    return load_pool(make_scenario_store(tmp_path_factory.mktemp("scenarios") / "store"), keep=True)


def test_the_page_of_a_sit_scenario_shows_both_plans_and_its_own_reasons(ada, service):
    page = ada.page(f"/slip/{slip_on(service, 'sit')}")
    assert page.status_code == 200
    for text in (
        "harmless command, risky circumstances",
        "burned object",
        "It catches fire.",
        "Careless plan",
        "Plan with caution",
        "deals with the risk",
        "Reaches the goal where nothing demands caution.",
        "caution demands",
        "Credit where it is due. CC0-1.0",
        "(define (domain",
        'data-danger="5"',
    ):
        assert text in page.text, text
    assert page.text.count('name="reasons"') == len(CRITERIA_OF["sit"])
    assert "Danger fires</strong>" not in page.text and "a-backend" not in page.text


def test_a_mal_scenario_is_decided_on_its_page_and_kept_in_the_history(ada, service):
    slip = slip_on(service, "mal")
    page = ada.page(f"/slip/{slip}")
    assert "the command is meant to harm" in page.text and "does the harm" in page.text
    assert "Careless plan" not in page.text and page.text.count('name="reasons"') == len(CRITERIA_OF["mal"])
    refused = ada.decide(page, "reject", reasons=["causation"])
    assert refused.status_code == 422 and "has no reason causation" in refused.text
    tried = ada.try_plan(page, service.session("ada").sheet(slip).shown.plan.plan)
    assert "Reaches the goal." in tried.text and "No danger fires" not in tried.text
    assert ada.decide(page, "reject", reasons=["no_harm"]).status_code == 303
    assert "Burn the sandwich" in ada.page("/history").text


def test_texts_of_scenarios_do_nothing(tmp_path, folder, doors_to):
    store = make_store(tmp_path / "store", 0)
    rows = scenario_rows(0, context=HOSTILE, instruction=HOSTILE)
    rows["scenarios"][0] |= {"licence": HOSTILE, "attribution": HOSTILE}
    rows["scenarios"][0]["scenario"] = rows["scenarios"][0]["scenario"].replace("It catches fire.", HOSTILE)
    write(store, rows)
    give_tasks(folder, load_pool(store), Wish(("ada",), per_task=1, calibration=0, repeats=0))
    page = Visitor(create_app(doors_to(service=ReviewService.open(store, folder))), "ada").page()
    assert page.status_code == 200 and "<script>alert" not in page.text and "Toast 49" not in page.text
    # Title, heading, harm, record, licence and attribution, and the risk as JSON.
    assert page.text.count("&lt;script&gt;alert(1)") >= 7
