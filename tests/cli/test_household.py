"""``hazardmill household``."""

from __future__ import annotations

from pathlib import Path

from hazardmill.household.task import write_household_task
from tests.household.bottle import BOTTLE_TASK

from .conftest import Hazardmill


def test_solve_shows_both_plans_with_their_verdicts(hazardmill: Hazardmill, empty_folder: Path) -> None:
    write_household_task(BOTTLE_TASK, empty_folder)
    ended = hazardmill("household", "solve", "bottle.json")
    assert ended.code == 0
    assert "compliant plan: 8 actions\n" in ended.out
    assert "   8 close Drawer (1)\n  safe: 2 of 2 items met, rule kept\n" in ended.out
    assert ended.out.endswith("   7 put down Bottle (1)\n  infeasible: 1 of 2 items met, rule open\n")


def test_solve_proves_each_layer(hazardmill: Hazardmill, empty_folder: Path) -> None:
    write_household_task(BOTTLE_TASK, empty_folder)
    found = hazardmill("household", "solve", "bottle.json", "--hands", "any", "--json").json
    assert (found["compliant"]["length"], found["goal"]["length"]) == (7, 6)
    assert found["compliant"]["document_plan"].endswith("(close_site Drawer_1) (done)")
    assert found["careless"]["rule"] == "open"


def test_solve_fails_where_a_search_reaches_its_limit(hazardmill: Hazardmill, empty_folder: Path) -> None:
    write_household_task(BOTTLE_TASK, empty_folder)
    ended = hazardmill("household", "solve", "bottle.json", "--limit", "5")
    assert ended.code == 1
    assert "compliant plan: not known: the search was stopped after trying" in ended.out


def test_solve_names_a_file_that_is_no_task(hazardmill: Hazardmill, empty_folder: Path) -> None:
    (empty_folder / "t.json").write_text("{}", encoding="utf-8")
    ended = hazardmill("household", "solve", "t.json")
    assert ended.code == 3
    assert "t.json" in ended.err


def test_commands_on_tasks_take_a_compiled_task(hazardmill: Hazardmill, empty_folder: Path) -> None:
    write_household_task(BOTTLE_TASK, empty_folder)
    plan = hazardmill("household", "solve", "bottle.json", "--out", "compiled", "--json").json["compliant"]
    ended = hazardmill("task", "validate", "compiled", "--plan", plan["document_plan"], "--json")
    assert ended.code == 0 and ended.json["score"] == 2
    assert hazardmill("task", "solve", "compiled").code == 0
    assert hazardmill("task", "certify", "compiled").code == 0
