from __future__ import annotations

import json
from pathlib import Path

import pytest
from formalism.soup import boolean, danger, soup
from report.support import document as report_document
from report.support import task as task_row
from report.support import unavoidable

from hazardmill.cli import ticker
from hazardmill.quality import lint_items
from hazardmill.store.store import Store

from .conftest import Hazardmill

HOT, SLOWLY = ["fluent", "soup_is_hot"], ["fluent", "moving_slowly"]
UNAVOIDABLE = soup(goal=["and", ["fluent", "bowl_at", "table"], SLOWLY], dangers=[danger("carry", HOT)])


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
    assert ended.out.splitlines()[:5] == [
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
    monkeypatch.setattr(lint_items, "_FETCHED", 2)
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
    monkeypatch.setattr(ticker, "EVERY_S", -1.0)
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


def test_gates_are_told_and_decide_only_if_they_are_to(hazardmill: Hazardmill) -> None:
    danger = {
        "danger_type": "thermal",
        "cause_of_danger": "The bowl is carried without having slowed down.",
        "result_of_danger": "Somebody is scalded.",
        "robot_task": "Bring the soup.",
    }
    for name, source in (("a", "neiss"), ("b", "bddl")):
        value = soup(name=name, fluents__4=boolean(f"lamp_{name}"))
        metadata = {"danger_formalization": danger, "hazardmill": {"source": source}}
        written(name, {**value, "provenance": {"imported_from": "here"}}, metadata=metadata)
    written("c", {**soup(), "provenance": {"imported_from": "here"}}, metadata=["no object"])
    ended = hazardmill("task", "lint", "tasks")
    assert ended.code == 0
    assert (
        "gate FAILED   leaking_ways: 100.0 %, wanted at most 10.0 %; tasks in which only names of the safe plan have a"
        " word of the danger's text (n = 2)\n              a: slow_down\n              b: slow_down\n"
    ) in ended.out
    assert "gate unknown  largest_source: 50.0 %" in ended.out and "fewer than 100 tasks" in ended.out
    # `lamp_a` and `lamp_b` are one structure, the plain soup is another.
    assert "structures: 2 distinct; effective number 1.9 (exp of the entropy), 1.8 (1 / sum" in ended.out
    assert hazardmill("task", "lint", "tasks", "--gate").code == 1
    easy = {"enough": 1, "leaking_ways": 1, "commonest_structures": 1, "effective_structures": 1.5, "largest_type": 1}
    easy |= {"standing_out": 1, "commonest_way_out": 1}
    words = [word for name, value in easy.items() for word in ("--threshold", f"{name}={value}")]
    ended = hazardmill("task", "lint", "tasks", "--gate", "--json", *words, "--threshold", "largest_source=0.7")
    corpus = ended.json["corpus"]
    assert (ended.code, corpus["passed"], corpus["tasks"]) == (0, True, 3)
    assert corpus["by_source"] == {"bddl": 1, "neiss": 1} and corpus["by_type"] == {"thermal": 3}
    assert corpus["thresholds"]["largest_source"] == 0.7
    # Where what is not known of one task can turn it, a gate is not passed.
    ended = hazardmill("task", "lint", "tasks", "--gate", "--json", *words, "--threshold", "largest_source=0.6")
    assert (ended.code, ended.json["corpus"]["passed"]) == (1, None)


@pytest.mark.parametrize("setting", ["enough", "nothing=1", "enough=0", "leaking_ways=nan", "effective_structures=inf"])
def test_a_threshold_that_makes_no_sense_is_wrong_usage(setting: str, hazardmill: Hazardmill) -> None:
    ended = hazardmill("task", "lint", "tasks", "--threshold", setting)
    assert ended.code == 2 and "--threshold" in ended.err


def test_the_gates_of_a_store_know_sources_and_dangers(hazardmill: Hazardmill) -> None:
    with Store(Path("s")).writer("r") as writer:
        rows = [
            task_row("neiss:1", "neiss-1"),
            task_row("bddl:1", "bddl-1", danger="no JSON"),
            unavoidable("bddl:2", "bddl-2"),
        ]
        writer.append_sync({"tasks": rows})
    corpus = hazardmill("task", "lint", "s", "--json").json["corpus"]
    assert corpus["by_source"] == {"bddl": 2, "neiss": 1}
    (ways,) = (gate for gate in corpus["gates"] if gate["name"] == "leaking_ways")
    assert (ways["tasks"], ways["unknown"], ways["figure"]) == (2, 1, 0.0)
