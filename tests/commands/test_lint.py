from __future__ import annotations

import json
from pathlib import Path

import pytest
from formalism.soup import boolean, danger, soup
from report.support import document as report_document
from report.support import task as task_row
from report.support import unavoidable

from hazardmill.commands import lint as command
from hazardmill.commands.task import task
from hazardmill.store.store import Store

from .conftest import Hazardmill

HOT, SLOWLY = ["fluent", "soup_is_hot"], ["fluent", "moving_slowly"]
UNAVOIDABLE = soup(goal=["and", ["fluent", "bowl_at", "table"], SLOWLY], dangers=[danger("carry", HOT)])


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(task.commands, "lint", command.lint)


def written(name: str, value: object, **files: object) -> None:
    folder = Path("tasks") / name
    folder.mkdir(parents=True)
    (folder / "task.json").write_text(json.dumps(value))
    for stem, content in files.items():
        (folder / f"{stem}.json").write_text(json.dumps(content))


def rules(ended) -> dict[str, tuple[str, int, list[str]]]:
    return {
        each["rule"]: (each["level"], each["tasks"], [shown["task"] for shown in each["examples"]])
        for each in ended.json["rules"]
    }


def test_folders_at_any_depth_are_linted_in_order(hazardmill: Hazardmill) -> None:
    written("b", soup())
    written("a/deep", soup(fluents__4=boolean("lamp_is_on")), twin=soup())
    written(".partial", soup())
    written("c", {"format": "none"})
    ended = hazardmill("task", "lint", "tasks", "--json")
    assert ended.code == 1 and ended.json["tasks"] == 3
    found = rules(ended)
    assert found["no_unused_fluent"] == ("refusal", 1, ["a/deep"])
    assert found["unreadable"] == ("refusal", 1, ["c"])
    assert found["one_action_apart"] == ("finding", 2, ["a/deep", "b"])


def test_findings_alone_are_exit_0_unless_strict(hazardmill: Hazardmill) -> None:
    written("soup", soup())
    ended = hazardmill("task", "lint", "tasks")
    assert ended.code == 0
    assert ended.out.splitlines() == [
        "finding    one_action_apart: 1 of 1 tasks",
        "           soup: safe with (slow_down)",
        "finding    short_unsafe_plan: 1 of 1 tasks",
        "           soup: the shortest unsafe plan is (carry kitchen table)",
        "1 tasks, 0 of them without any finding",
    ]
    assert hazardmill("task", "lint", "tasks", "--strict").code == 1


def test_tasks_of_the_same_structure_are_found(hazardmill: Hazardmill) -> None:
    written("a", soup())
    written("b", json.loads(json.dumps(soup()).replace("bowl_at", "plate_at")))
    ended = hazardmill("task", "lint", "tasks", "--json")
    assert ended.code == 0
    assert rules(ended)["same_structure"] == ("finding", 1, ["b"])


def test_what_is_imported_or_declared_unavoidable_is_not_refused(hazardmill: Hazardmill) -> None:
    leaking = soup(objects__2=["safe", "place"])
    written("theirs", {**leaking, "provenance": {"imported_from": "despite"}})
    written("no_way", UNAVOIDABLE, metadata={"hazardmill": {"avoidability": "unavoidable"}})
    ended = hazardmill("task", "lint", "tasks", "--json")
    assert ended.code == 0
    assert rules(ended)["neutral_names"][0] == rules(ended)["safe_plan_exists"][0] == "finding"
    written("ours", leaking)
    assert hazardmill("task", "lint", "tasks").code == 1
    ended = hazardmill("task", "lint", "tasks", "--imported", "--json")
    assert ended.code == 0 and rules(ended)["same_document"] == ("finding", 1, ["theirs"])
    assert hazardmill("task", "lint", "tasks", "--imported", "--strict").code == 1


def test_examples_are_limited(hazardmill: Hazardmill) -> None:
    for i in range(4):
        written(f"t{i}", soup(fluents__4=boolean(f"lamp_{i}")))
    for most in (0, 2):
        ended = hazardmill("task", "lint", "tasks", "--json", "--limit-examples", most)
        assert rules(ended)["no_unused_fluent"] == ("refusal", 4, ["t0", "t1"][:most])


def test_a_store_is_linted_by_task_id_the_latest_run_counts(
    hazardmill: Hazardmill, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "_FETCHED", 2)
    leaking = json.dumps({**report_document(), "objects": [*report_document()["objects"], ["safe", "place"]]})
    with Store(Path("s")).writer("r") as writer:
        writer.append_sync(
            {
                "tasks": [
                    task_row("neiss:1", "neiss-1", document=leaking),
                    unavoidable("neiss:2", "neiss-2"),
                    task_row("neiss:3", "neiss-3", document="{"),
                    task_row("neiss:4", "neiss-4", document='{"format": 1}'),
                ]
            }
        )
    with Store(Path("s")).writer("t") as writer:
        writer.append_sync({"tasks": [task_row("neiss:1", "neiss-1", run_id="t")]})
    ended = hazardmill("task", "lint", "s", "--json")
    assert ended.code == 1 and ended.json["tasks"] == 4
    found = rules(ended)
    assert found["unreadable"] == ("refusal", 2, ["neiss-3", "neiss-4"])
    assert found["safe_plan_exists"] == ("finding", 1, ["neiss-2"])
    assert "neutral_names" not in found


def test_it_says_how_far_it_is(hazardmill: Hazardmill, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "_SAY_EVERY_S", -1.0)
    written("a", soup())
    written("b", soup(fluents__4=boolean("lamp_is_on")))
    ended = hazardmill("task", "lint", "tasks", "--json")
    assert ended.err == "linted 0 tasks\nlinted 1 tasks\n" and ended.json["tasks"] == 2


def test_nothing_to_lint_is_exit_3(hazardmill: Hazardmill) -> None:
    Path("tasks").mkdir()
    ended = hazardmill("task", "lint", "tasks")
    assert ended.code == 3 and "there is no task here" in ended.err
    assert hazardmill("task", "lint", "nowhere").code == 3
    Store.open(Path("s"), create=True)
    assert hazardmill("task", "lint", "s").code == 3
