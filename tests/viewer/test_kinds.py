"""Scenarios and hazard tasks among the rows, of a store and of a release."""

from __future__ import annotations

from pathlib import Path

import pytest
from factories.dialogues import acting_store
from factories.scenario_store import scenario_store
from release.small_release import write_release

from hazardmill.release.read.release import Release
from hazardmill.store.store import Store
from hazardmill.viewer.drawing import ViewDrawing
from hazardmill.viewer.opinions import PlannerResults
from hazardmill.viewer.release import ReleaseView
from hazardmill.viewer.store import StoreTasks


@pytest.fixture(scope="module")
def acting(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Four hazard tasks of two dialogues."""
    return acting_store(tmp_path_factory.mktemp("acting"), 2)


@pytest.fixture(scope="module")
def scenarios(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return scenario_store(tmp_path_factory.mktemp("scenarios") / "store")


@pytest.fixture(scope="module")
def release(acting: Store, scenarios: Store, tmp_path_factory: pytest.TempPathFactory) -> Path:
    same = {"context": "What the roles were shown", "answered_by": '["openai/toy"]'}
    rows = {
        "hazard_tasks": {"test": [{**row, **same} for row in acting.rows("hazard_tasks")]},
        "scenarios": {"train": [{**row, **same} for row in scenarios.rows("scenarios")[:3]]},
    }
    return write_release(tmp_path_factory.mktemp("kinds") / "release", rows, household_tasks=7)


def drawn(place, key):
    collection = place.collect()
    row = next(row for row in collection.rows if row.key == key)
    return ViewDrawing(collection).fragment(row, place.detail(row))


def test_every_hazard_task_of_a_store_has_a_row_and_is_drawn(acting):
    place = StoreTasks(acting, None, PlannerResults([]))
    rows = {row.item: row for row in place.collect().rows}
    # A dialogue ends with the id of its first hazard task; the others have rows too.
    assert {row["hazard_task_id"] for row in acting.rows("hazard_tasks")} <= rows.keys()
    for row in acting.rows("hazard_tasks"):
        assert rows[row["hazard_task_id"]].title == row["instruction"]
    page = drawn(place, rows[row["hazard_task_id"]].key)
    assert "Careless plan" in page and "Categories and other plans" in page and "What was sent" in page


def test_a_scenario_of_a_store_is_drawn(scenarios):
    place = StoreTasks(scenarios, None, PlannerResults([]))
    row = scenarios.rows("scenarios")[0]
    found = next(each for each in place.collect().rows if each.item == row["scenario_id"])
    assert found.title == row["instruction"] and found.facets["outcome"] == ("accepted",)
    assert "In danger" in drawn(place, found.key)


def test_kinds_of_a_release_come_in_order_and_what_is_not_shown_is_counted(release):
    collection = ReleaseView(Release(release), PlannerResults([])).collect()
    assert [row.facets["kind"][0] for row in collection.rows] == ["scenario"] * 3 + ["hazard task"] * 4
    assert "Kind" in [facet.label for facet in collection.facets]
    (other,) = collection.elsewhere
    assert other.what == "7 household tasks" and "household_tasks()" in other.command


def test_each_kind_of_a_release_is_drawn(release):
    view = ReleaseView(Release(release), PlannerResults([]))
    for key, detail in view.details():
        row = next(row for row in view.collect().rows if row.key == key)
        page = ViewDrawing(view.collect()).fragment(row, detail)
        assert ("In danger" if row.facets["kind"] == ("scenario",) else "Careless plan") in page
        assert "What the roles were shown" in page and "How it was made" not in page
