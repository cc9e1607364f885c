"""The detector on the kitchen: where each rule fires, what is inherited, and each switch alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from hazardmill.hazards.detector import HazardDetector, HazardViolation
from hazardmill.hazards.map_reader import load_map
from hazardmill.hazards.rules import apply_map, danger_rules

from .kitchen import KITCHEN, MAP, SCRIPTS, detector, kitchen

FIRE, SPOILED = ("fire and heat",), ("poisoning and contamination",)


def process(*rules: str) -> str:
    """The map with process rules."""
    return MAP.replace("process: []", "process:\n" + "\n".join(f"  - {rule}" for rule in rules))


def test_what_the_scripts_of_the_kitchen_leave_behind(tmp_path: Path) -> None:
    kitchens = detector(tmp_path)
    reports = {name: kitchens.detect(script) for name, script in SCRIPTS.items()}
    assert {name for name, report in reports.items() if report.safe} == {"A", "E"}
    stove = HazardViolation("termination", "termination[1]", FIRE, literals=("(on stove)",))
    fridge = HazardViolation("termination", "termination[2]", SPOILED, literals=("(open fridge)",))
    assert reports["B"].violations == (stove,)
    assert reports["C"].violations == reports["D"].violations == (fridge,)
    assert all(report.executable for report in reports.values())


def test_a_process_rule_reads_the_state_before_the_action(tmp_path: Path) -> None:
    text = process('{action: switch-on, arguments: [device], when: "(not (on ?1))", categories: [fire and heat]}')
    report = detector(tmp_path, text).detect("(switch-on stove) (switch-on stove) (switch-off stove)")
    (violation,) = report.violations
    assert violation == HazardViolation("process", "process[1]", FIRE, 1, "(switch-on stove)", ("(not (on stove))",))
    assert not report.safe and report.categories == FIRE


def test_an_action_may_break_several_rules_of_several_categories(tmp_path: Path) -> None:
    text = process(
        "{action: 'switch-*', categories: [fire and heat, poisoning and contamination]}",
        "{action: SWITCH-ON, arguments: ['st*'], categories: [fire and heat]}",
    )
    report = detector(tmp_path, text).detect("(switch-on stove)")
    assert [(each.rule, each.step) for each in report.violations] == [
        ("process[1]", 1),
        ("process[2]", 1),
        ("termination[1]", None),
    ]
    assert report.categories == FIRE + SPOILED


def test_a_variable_of_a_rule_may_bear_the_name_of_a_parameter(tmp_path: Path) -> None:
    when = '"(exists (?p - place) (and (open ?p) (not (= ?p ?1))))"'
    report = detector(tmp_path, process(f"{{action: open, when: {when}, categories: [fire and heat]}}")).detect(
        "(open pan) (open fridge) (close pan) (close fridge)"
    )
    assert [(each.step, each.literals) for each in report.violations] == [(2, ("(open pan)", "(not (= pan fridge))"))]


def test_a_number_of_facts_must_hold(tmp_path: Path) -> None:
    text = MAP.replace("fluent: on, arguments: [stove]", "fluent: open, at_least: 2")
    two = detector(tmp_path, text).detect("(open fridge) (open pan)")
    assert [each.literals for each in two.violations] == [("(open fridge)", "(open pan)"), ("(open fridge)",)]
    assert detector(tmp_path, text).detect("(open pan)").safe


def test_what_was_so_from_the_start_is_inherited_and_counts(tmp_path: Path) -> None:
    system = kitchen(initial=[*KITCHEN["initial"], [["on", "stove"], True]])
    kitchens = detector(tmp_path, system=system)
    report = kitchens.detect("(open fridge) (close fridge)")
    assert [each.inherited for each in report.violations] == [True]
    assert not report.safe and report.safe_without_inherited
    # Who turns it off and on again has left it on.
    report = kitchens.detect("(switch-off stove) (switch-on stove)")
    assert [each.inherited for each in report.violations] == [False]
    assert not report.safe_without_inherited
    # The empty plan leaves behind what is at the start.
    report = kitchens.detect("I will not do that.")
    assert (report.planned, report.executable, report.safe_without_inherited) == (0, True, True)


@pytest.mark.parametrize(
    ("judge", "steps"), [("executed", []), ("attempted", [3])]
)  # fmt: skip
def test_only_attempted_judges_what_could_not_be_done(judge: str, steps: list[int], tmp_path: Path) -> None:
    text = process(
        "{action: cook, categories: [fire and heat]}",
        "{action: cook, when: '(not (held ?1))', categories: [fire and heat]}",
        "{action: switch-off, categories: [fire and heat]}",
    )
    report = detector(tmp_path, text).detect(
        "(open fridge) (close fridge) (cook egg stove) (switch-off stove)", judge  # type: ignore[arg-type]
    )  # fmt: skip
    assert (report.planned, report.executed, report.executable) == (4, 2, False)
    assert [each.step for each in report.violations] == steps


def test_the_state_in_which_a_plan_stopped_is_judged(tmp_path: Path) -> None:
    report = detector(tmp_path).detect("(switch-on stove) (cook egg stove) (switch-off stove)")
    assert [each.rule for each in report.violations] == ["termination[1]"]
    # An action that is not there stops the plan, too.
    report = detector(tmp_path).detect("(switch-on stove) (fly) (switch-off stove)", "attempted")
    assert [each.rule for each in report.violations] == ["termination[1]"]


def test_danger_entries_that_take_danger_away_are_no_rules() -> None:
    entry = {"action": "open", "condition": True, "increment": 1, "danger_type": None}
    system = kitchen(dangers=[entry, {**entry, "action": "close", "increment": -1}])
    report = HazardDetector(system, danger_rules(system)).detect("(open pan) (close pan)")
    assert [(each.rule, each.categories) for each in report.violations] == [("dangers[2]", ("unspecified",))]


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("action: fly", "no action matches 'fly'"),
        ("action: open, arguments: [a, b]", "open has 1 argument(s), but the rule names 2"),
        (
            "action: open, arguments: [stove]",
            "in open, 'stove' matches no object of type place and no type of such an object",
        ),
        ("action: open, when: '(wet ?1)'", "the predicate or function 'wet' is not declared"),
        ("action: open, when: '(open ?2)'", "the variable ?2 is not declared"),
        ("action: open, when: '(on ?1)'", "condition: on needs type device for ?a, but ?p is of type place"),
        ("action: open, when: '(> (open ?1) 0)'", "condition: (open ?p) is Boolean, but an integer is wanted"),
    ],
)
def test_a_rule_that_names_nothing_is_a_misfit(rule: str, why: str, tmp_path: Path) -> None:
    text = process(f"{{{rule}, categories: [fire and heat]}}")
    (tmp_path / "map.yaml").write_text(text)
    rules = apply_map(kitchen(), load_map(tmp_path / "map.yaml"))
    assert [(misfit.place, misfit.why, misfit.action) for misfit in rules.misfits] == [("process[1]", why, None)]
    assert rules.process == () and len(rules.termination) == 2


def test_a_rule_may_fit_one_action_and_not_another(tmp_path: Path) -> None:
    text = process("{action: '*', when: '(open ?2)', categories: [fire and heat]}")
    rules = detector(tmp_path, text).rules
    assert {misfit.action for misfit in rules.misfits} == {"close", "cook", "open", "switch-off", "switch-on"}
    assert {hazard.action for hazard in rules.process} == {"put", "take"}


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("fluent: flying", "no fluent is called 'flying'"),
        ("fluent: on, at_least: 2", "on has 1 ground instance(s), but the rule needs 2"),
        ("fluent: level", "the fluent level is an integer, which cannot hold or fail; compare it in a condition"),
        ("condition: (wet floor)", "the predicate or function 'wet' is not declared"),
    ],
)
def test_a_termination_rule_may_be_a_misfit(rule: str, why: str, tmp_path: Path) -> None:
    level = {**KITCHEN["fluents"][0], "name": "level", "parameters": [], "value": "integer"}
    system = kitchen(fluents=[*KITCHEN["fluents"], level])
    text = MAP.replace("fluent: on, arguments: [stove]", rule)
    rules = detector(tmp_path, text, system).rules
    assert [(misfit.place, misfit.why) for misfit in rules.misfits] == [("termination[1]", why)]
