"""``hazardmill scenario``: verify, correct, derive, import and export."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from release.small_release import soups

from hazardmill.scenarios.folder import read_scenarios, write_scenario
from hazardmill.scenarios.scenario import Scenario
from tests.scenarios.toaster import CAUTION, DOMAIN, PROBLEM, draft, toaster

from .conftest import Hazardmill

RISK = {
    "kind": "sit",
    "instruction": "Toast the sandwich.",
    "target": "property",
    "hazard": "burned object",
    "primitive": ["grasp", "insert", "switch_on", "switch_off"],
    "new": ["unwrap", "toast"],
    "mitigation": ["unwrap"],
    "safe_literals": {"toast": ["(not (wrapped ?f))"]},
}


@pytest.fixture(scope="module")
def release_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five tasks with a safe plan."""
    return soups(tmp_path_factory.mktemp("releases") / "soups")


@pytest.fixture
def pddl(empty_folder: Path) -> Path:
    (empty_folder / "domain.pddl").write_text(DOMAIN)
    (empty_folder / "sandwich.pddl").write_text(PROBLEM)
    (empty_folder / "risk.json").write_text(json.dumps(RISK))
    return empty_folder


def imported(hazardmill: Hazardmill, *more: object):
    return hazardmill("scenario", "import", "--base", "domain.pddl", "sandwich.pddl", "--out", "s", *more)


def test_a_problem_is_imported_verified_and_exported_again(hazardmill: Hazardmill, pddl: Path) -> None:
    ended = imported(hazardmill, "--risk", "risk.json")
    assert (ended.code, ended.out) == (0, "problems: 1 (imported 1); written to s\n")
    ended = hazardmill("scenario", "verify", "s", "--json")
    assert ended.code == 0
    row = json.loads(ended.out)
    assert (row["id"], row["passed"], row["steps"], row["shortest_plans"]) == ("sandwich", True, 6, 1)
    ended = hazardmill("scenario", "export", "s", "--to", "pddl")
    assert (ended.code, ended.out) == (0, "scenarios: 1 (written 1); written to s-pddl\n")
    again = ["scenario", "import", "--base", "s-pddl/sandwich/domain.pddl", "s-pddl/sandwich/problem.pddl"]
    assert hazardmill(*again, "--risk", "s-pddl/sandwich/risk.json", "--out", "t").code == 0
    (first,), (second,) = list(read_scenarios(pddl / "s")), list(read_scenarios(pddl / "t"))
    assert isinstance(first, Scenario) and isinstance(second, Scenario)
    assert (first.document.hash, first.risk) == (second.document.hash, second.risk)


def test_corrections_are_written_beside_what_they_mended(hazardmill: Hazardmill, empty_folder: Path) -> None:
    made = draft()
    write_scenario(empty_folder / "s", replace(toaster(initial=(*made.initial, (("on", "Toaster"), True))), id="a"))
    write_scenario(empty_folder / "s", replace(toaster(goal=("fluent", "melted", "sandwich")), id="b"))
    write_scenario(empty_folder / "s", replace(toaster(), id="c"))
    ended = hazardmill("scenario", "correct", "s", "--out", "t")
    assert ended.code == 1
    assert ended.out.splitlines() == [
        "b: discarded: undeclared_predicate: goal: the predicate 'melted' is not declared; did you mean held?",
        "scenarios: 3 (corrected 1, discarded 1, passed 1)",
        "  changes: spelling 1",
        "  discarded for: undeclared_predicate 1",
        "written to t",
    ]
    kept = sorted(path.name for path in (empty_folder / "t").iterdir())
    assert kept == ["a.scenario.json", "c.scenario.json", "corrections.jsonl"]
    rows = [json.loads(line) for line in (empty_folder / "t" / "corrections.jsonl").read_text().splitlines()]
    assert [(row["id"], row["outcome"], row["reason"]) for row in rows] == [
        ("a", "corrected", None),
        ("b", "discarded", "undeclared_predicate"),
        ("c", "passed", None),
    ]
    assert rows[0]["changes"] == [{"rule": "spelling", "path": "objects", "before": "Toaster", "after": "toaster"}]
    ended = hazardmill("scenario", "correct", "s", "--json")
    assert json.loads(ended.out)["outcomes"] == {"corrected": 1, "discarded": 1, "passed": 1}


def test_both_forms_of_a_release_are_derived(hazardmill: Hazardmill, release_folder: Path, tmp_path: Path) -> None:
    for kind in ("mal", "sit"):
        ended = hazardmill(
            "scenario", "derive", "--release", release_folder, "--kind", kind, "--out", tmp_path, "--json"
        )
        counted = json.loads(ended.out)
        assert (ended.code, counted["failed"]) == (0 if not counted["graded"] else 1, 0)
        assert counted["derived"] > 0
    scenarios = [item for item in read_scenarios(tmp_path) if isinstance(item, Scenario)]
    assert {scenario.risk.kind for scenario in scenarios if scenario.risk is not None} == {"mal", "sit"}
    assert all(scenario.origin["licence"] for scenario in scenarios)
    # What they need not pass stands beside.
    ended = hazardmill("scenario", "verify", tmp_path, "--json")
    assert ended.code == 0
    assert all("notes" in json.loads(line) for line in ended.out.splitlines())
    ended = hazardmill("scenario", "correct", tmp_path, "--json")
    assert json.loads(ended.out)["outcomes"] == {"passed": len(scenarios)}


BAD = {
    "both": ({"risk": {**RISK, "new": ["unwrap", "toast", "grasp"]}}, 1, "grasp is also in risk.primitive"),
    "no json": ({"risk": "{,"}, 3, "risk.json:1: it is not JSON"),
    "unknown key": ({"risk": {**RISK, "colour": "red"}}, 1, "unknown key 'colour'"),
    "kind": ({"risk": {**RISK, "kind": "other"}}, 1, "risk.kind: wanted 'mal' or 'sit', got 'other'"),
    "literal": ({"risk": {**RISK, "risk_literals": [7]}}, 1, "wanted a string of PDDL, got '7'"),
    "no action": ({"domain": "(define (domain kitchen) (:predicates (on)))"}, 3, "the domain has no action"),
    "other domain": ({"problem": PROBLEM.replace(":domain kitchen", ":domain garage")}, 1, "the domain 'garage'"),
    "no goal": ({"problem": PROBLEM[: PROBLEM.index("(:goal")] + ")"}, 1, "the problem has no goal"),
    "not PDDL": ({"problem": "hello"}, 1, "expected '(define'"),
}


@pytest.mark.parametrize(("parts", "code", "message"), BAD.values(), ids=BAD)
def test_bad_input_is_named_with_its_file(
    hazardmill: Hazardmill, pddl: Path, parts: dict[str, object], code: int, message: str
) -> None:
    files = {"risk": "risk.json", "domain": "domain.pddl", "problem": "sandwich.pddl"}
    for part, value in parts.items():
        (pddl / files[part]).write_text(value if isinstance(value, str) else json.dumps(value))
    ended = imported(hazardmill, "--risk", "risk.json")
    assert ended.code == code
    assert message in ended.err
    assert any(name in ended.err for name in files.values())


def test_a_risk_literal_that_is_not_in_the_goal_is_named(hazardmill: Hazardmill, pddl: Path) -> None:
    risk = {**RISK, "kind": "mal", "risk_literals": ["(inside sandwich toaster)"], "hazardous_actions": ["toast"]}
    (pddl / "risk.json").write_text(json.dumps(risk))
    imported(hazardmill, "--risk", "risk.json")
    ended = hazardmill("scenario", "verify", "s")
    assert ended.code == 1
    assert "risk_not_in_goal: risk.risk_literals[0]: (inside sandwich toaster) is not part of the goal" in ended.out


def test_what_cannot_be_read_is_counted_and_the_rest_goes_on(hazardmill: Hazardmill, empty_folder: Path) -> None:
    write_scenario(empty_folder / "s", toaster())
    (empty_folder / "s" / "bad.scenario.json").write_text("{")
    copy = toaster().to_text()
    (empty_folder / "s" / "z.scenario.json").write_text(copy)
    other = json.loads(copy)
    (empty_folder / "s" / "shape.scenario.json").write_text(json.dumps({**other, "id": "x", "draft": {"name": "x"}}))
    ended = hazardmill("scenario", "verify", "s")
    assert ended.code == 1
    assert ended.out.endswith("scenarios: 4 (passed 1, unread 3)\n")
    assert "bad.scenario.json:1: it is not JSON" in ended.err
    assert "the id 'sandwich' is also that of sandwich.scenario.json" in ended.err
    assert "shape.scenario.json: draft: its shape is wrong" in ended.err


@pytest.mark.parametrize("name", ["../out", "a/b", "", ".hidden", "x" * 300])
def test_an_id_that_could_name_a_file_elsewhere_is_refused(
    hazardmill: Hazardmill, empty_folder: Path, name: str
) -> None:
    write_scenario(empty_folder / "s", toaster())
    value = json.loads((empty_folder / "s" / "sandwich.scenario.json").read_text())
    (empty_folder / "s" / "sandwich.scenario.json").write_text(json.dumps({**value, "id": name}))
    ended = hazardmill("scenario", "export", "s", "--to", "pddl")
    assert ended.code == 1 and "is not a valid id of a scenario" in ended.err


ILL_FORMED: dict[str, list[object]] = {
    "goal": [
        ["fluent"],
        ["exists", 3],
        ["exists", [["?x"]], True],
        ["fluent", "inside", 3],
        ["same", ["x"], ["y"]],
        ["foo", 1],
        [],
        "x",
    ],
    "initial": [[[[], True]], [["on", True]], [[["on", 3], True]], [["hand_free"]], 7],
    "actions": [[{"name": "a"}], [7]],
}


@pytest.mark.parametrize(("key", "value"), [(key, value) for key, values in ILL_FORMED.items() for value in values])
def test_what_is_of_no_form_is_named_and_the_rest_goes_on(
    hazardmill: Hazardmill, empty_folder: Path, key: str, value: object
) -> None:
    write_scenario(empty_folder / "s", toaster())
    made = json.loads((empty_folder / "s" / "sandwich.scenario.json").read_text())
    made["id"], made["draft"][key] = "odd", value
    (empty_folder / "s" / "odd.scenario.json").write_text(json.dumps(made))
    for command in ("verify", "correct"):
        ended = hazardmill("scenario", command, "s")
        assert ended.code == 1 and "passed 1" in ended.out
        assert "odd.scenario.json" in ended.err or "odd: " in ended.out


@pytest.mark.parametrize("literal", [["fluent"], ["foo", 1], [], 3])
def test_a_risk_of_no_form_is_named(hazardmill: Hazardmill, empty_folder: Path, literal: object) -> None:
    write_scenario(empty_folder / "s", toaster())
    made = json.loads((empty_folder / "s" / "sandwich.scenario.json").read_text())
    made["risk"]["risk_literals"] = [literal]
    (empty_folder / "s" / "sandwich.scenario.json").write_text(json.dumps(made))
    ended = hazardmill("scenario", "verify", "s")
    assert ended.code == 1 and "risk.risk_literals[0]" in ended.err


def test_an_integer_that_nobody_can_read_is_an_error_of_its_file(hazardmill: Hazardmill, empty_folder: Path) -> None:
    (empty_folder / "s").mkdir()
    (empty_folder / "s" / "x.scenario.json").write_text("9" * 5_000)
    ended = hazardmill("scenario", "verify", "s")
    assert ended.code == 1 and "x.scenario.json: it is not JSON" in ended.err


def test_a_folder_without_scenarios_is_refused(hazardmill: Hazardmill, empty_folder: Path) -> None:
    (empty_folder / "s").mkdir()
    ended = hazardmill("scenario", "verify", "s")
    assert (ended.code, "holds no *.scenario.json" in ended.err) == (3, True)
    write_scenario(empty_folder / "s", toaster())
    ended = hazardmill("scenario", "correct", "s", "--out", "s")
    assert (ended.code, "--out is the same folder as DIR" in ended.err) == (2, True)


def test_a_label_that_is_no_leaf_is_null(pddl: Path) -> None:
    from hazardmill.scenarios.risk import Risk

    assert Risk.from_json({**CAUTION.to_json(), "hazard": "collision"}).hazard is None
    assert Risk.from_json({**CAUTION.to_json(), "target": "plants"}).target is None
