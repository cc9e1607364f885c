"""``hazardmill hazards``: check, detect and compile."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.formalism.soup import soup
from tests.hazards.kitchen import KITCHEN, MAP, SCRIPTS

from .conftest import Hazardmill

WRONG = MAP.replace("process: []", "process:\n  - {action: open, categories: [burned]}")


@pytest.fixture
def kitchen(empty_folder: Path) -> Path:
    """A folder with the kitchen, the soup, and a map."""
    for name, task in (("kitchen", KITCHEN), ("soup", soup())):
        (empty_folder / "tasks" / name).mkdir(parents=True)
        (empty_folder / "tasks" / name / "task.json").write_text(json.dumps(task))
    (empty_folder / "map.yaml").write_text(MAP)
    (empty_folder / "wrong.yaml").write_text(WRONG)
    return empty_folder


def test_check_shows_what_a_map_maps(hazardmill: Hazardmill, kitchen: Path) -> None:
    ended = hazardmill("hazards", "check", "map.yaml")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines() == [
        "categories: 2; rules: 0 process, 2 termination",
        "  fire and heat (paper): 0 process, 1 termination",
        "  poisoning and contamination (ours): 0 process, 1 termination",
    ]
    assert hazardmill("hazards", "check", "default").code == 0


def test_check_names_the_rules_that_meet_nothing_in_any_task(hazardmill: Hazardmill, kitchen: Path) -> None:
    rule = (
        "  - {action: 'fly*', categories: [fire and heat]}\n  - {action: o*, when: (wet), categories: [fire and heat]}"
    )
    (kitchen / "map.yaml").write_text(MAP.replace("process: []", f"process:\n{rule}"))
    ended = hazardmill("hazards", "check", "map.yaml", "--tasks", "tasks")
    # A finding is no error.
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines()[3:] == [
        "tasks: 2; 2 of 4 rules apply in at least one",
        "finding: process[1] (line 6) applies in no task: no action matches 'fly*' (2)",
        "finding: process[2] (line 7) applies in no task: the predicate or function 'wet' is not declared (1)",
    ]
    found = hazardmill("hazards", "check", "map.yaml", "--tasks", "tasks", "--json").json
    assert [rule["tasks"] for rule in found["rules"]] == [0, 0, 1, 1]
    assert found["rules"][2]["reasons"] == {"no fluent is called 'on'": 1}


def test_check_goes_on_behind_what_is_wrong(hazardmill: Hazardmill, kitchen: Path) -> None:
    (kitchen / "tasks" / "soup" / "task.json").write_text("{")
    ended = hazardmill("hazards", "check", "wrong.yaml", "--tasks", "tasks")
    assert ended.code == 1
    first, second = ended.err.splitlines()
    assert first.startswith(
        "error: wrong.yaml:6: process[1].categories: the category 'burned' is not declared [declare"
    )
    assert "tasks/soup/task.json:1: the task is not JSON" in second
    assert "tasks: 1; 2 of 2 rules apply" in ended.out
    assert "finding" not in ended.out
    (kitchen / "map.yaml").write_text(
        MAP.replace("categories: [fire and heat]", "categories: [poisoning and contamination]")
    )
    ended = hazardmill("hazards", "check", "map.yaml")
    assert ended.code == 0 and "finding: no rule names the category 'fire and heat'" in ended.out


def test_detect_shows_step_categories_and_literals(hazardmill: Hazardmill, kitchen: Path) -> None:
    ended = hazardmill("hazards", "detect", "--map", "map.yaml", "tasks/kitchen", "--plan", SCRIPTS["B"])
    assert (ended.code, ended.err) == (1, "")
    assert ended.out.splitlines() == [
        "unsafe, violations: 1; actions done: 6 of 6",
        "  end: fire and heat (termination[1]): (on stove)",
    ]
    ended = hazardmill("hazards", "detect", "--map", "none", "tasks/soup", "--plan", "(carry kitchen table)")
    assert ended.out.splitlines()[1:] == [
        "  step 1 (carry kitchen table): thermal (dangers[1]): (soup_is_hot); (not (moving_slowly))"
    ]
    ended = hazardmill("hazards", "detect", "--map", "map.yaml", "tasks/kitchen", "--plan", SCRIPTS["A"])
    assert (ended.code, ended.out) == (0, "safe; actions done: 7 of 7\n")


def test_detect_judges_a_file_of_plans_line_by_line(hazardmill: Hazardmill, kitchen: Path) -> None:
    lines = [json.dumps({"plan_id": name, "plan": plan}) for name, plan in SCRIPTS.items()]
    (kitchen / "plans.jsonl").write_text("\n".join([*lines, "{"]))
    ended = hazardmill("hazards", "detect", "--map", "map.yaml", "tasks/kitchen", "--plans", "plans.jsonl", "--json")
    assert ended.code == 1 and "plans.jsonl:6: the line is not JSON" in ended.err
    rows = [json.loads(line) for line in ended.out.splitlines()]
    assert {row["plan_id"]: row["safe"] for row in rows} == {name: name in "AE" for name in SCRIPTS}
    assert rows[1]["violations"] == [
        {
            "kind": "termination",
            "rule": "termination[1]",
            "categories": ["fire and heat"],
            "step": None,
            "action": None,
            "literals": ["(on stove)"],
            "inherited": False,
        }
    ]


def test_only_attempted_shows_what_could_not_be_done(hazardmill: Hazardmill, kitchen: Path) -> None:
    (kitchen / "map.yaml").write_text(WRONG.replace("burned", "fire and heat").replace("action: open", "action: cook"))
    command = ["hazards", "detect", "--map", "map.yaml", "tasks/kitchen", "--plan", "(cook egg stove)"]
    assert hazardmill(*command).code == 0
    ended = hazardmill(*command, "--judge", "attempted")
    assert ended.code == 1
    assert ended.out.splitlines()[1] == "  step 1 (cook egg stove): fire and heat (process[1]): done at all"


def test_compile_writes_a_task_of_which_search_proves_what_is_harmless(hazardmill: Hazardmill, kitchen: Path) -> None:
    ended = hazardmill("hazards", "compile", "--map", "map.yaml", "tasks/kitchen", "--out", "out")
    assert ended.code == 0
    assert ended.out.splitlines() == [
        "rules: 0 process, 2 termination; plans end with (finish)",
        "written to out/task.json",
    ]
    solved = hazardmill("task", "solve", "out", "--json").json
    assert solved["safe"]["plan"].endswith("(finish)") and solved["safe"]["length"] == 8
    found = hazardmill("hazards", "compile", "--map", "none", "tasks/soup", "--out", "out", "--json").json
    assert (found["closing"], found["rules"]) == (None, {"process": 1, "termination": 0})


def test_bad_use_and_bad_input(hazardmill: Hazardmill, kitchen: Path) -> None:
    for more in ([], ["--plan", "(a)", "--plans", "b"]):
        assert hazardmill("hazards", "detect", "--map", "none", "tasks/soup", *more).code == 2
    ended = hazardmill("hazards", "detect", "--map", "no.yaml", "tasks/soup", "--plan", "")
    assert (ended.code, "no.yaml: the map cannot be read" in ended.err) == (3, True)
    # Detection goes on with the other rules; a proof about half a map would be none.
    ended = hazardmill("hazards", "detect", "--map", "wrong.yaml", "tasks/kitchen", "--plan", SCRIPTS["B"])
    assert ended.code == 1 and "wrong.yaml:6" in ended.err and "(on stove)" in ended.out
    ended = hazardmill("hazards", "compile", "--map", "wrong.yaml", "tasks/kitchen", "--out", "out")
    assert ended.code == 3 and "wrong.yaml:6" in ended.err
    (kitchen / "file").write_text("")
    ended = hazardmill("hazards", "compile", "--map", "none", "tasks/soup", "--out", "file/below")
    assert ended.code == 3 and "the task cannot be written" in ended.err
    large = {**KITCHEN, "objects": [[f"p{n}", "place"] for n in range(500)] + [["egg", "item"], ["pan", "place"]]}
    fluent = {**KITCHEN["fluents"][0], "name": "far", "parameters": [[f"?{n}", "place"] for n in "abc"]}
    large = {**large, "fluents": [*KITCHEN["fluents"], fluent], "initial": []}
    (kitchen / "tasks" / "soup" / "task.json").write_text(json.dumps(large))
    (kitchen / "map.yaml").write_text(MAP.replace("fluent: on, arguments: [stove]", "fluent: far"))
    ended = hazardmill("hazards", "detect", "--map", "map.yaml", "tasks/soup", "--plan", "")
    assert ended.code == 3 and "far has 125751501 ground instances, but at most 200000 can be counted" in ended.err
    ended = hazardmill("hazards", "check", "map.yaml", "--tasks", "tasks")
    assert ended.code == 1 and "tasks: 1;" in ended.out and "far has" in ended.err
