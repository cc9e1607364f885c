"""Maps compiled into the kitchen: what exact search proves, and what cannot be written."""

from __future__ import annotations

from pathlib import Path

import pytest

from hazardmill.errors import NotExpressible
from hazardmill.formalism.search.exact import solve
from hazardmill.formalism.semantics.plan_validator import PlanValidator
from hazardmill.formalism.semantics.transition_system import System
from hazardmill.hazards.compiled import compile_rules
from hazardmill.hazards.rules import danger_rules

from .kitchen import KITCHEN, MAP, SCRIPTS, detector, kitchen
from .test_detector import process


def test_search_finds_the_shortest_harmless_plan(tmp_path: Path) -> None:
    kitchens = detector(tmp_path)
    compiled = compile_rules(kitchens.system, kitchens.rules)
    solution = solve(compiled.document)
    assert solution.safe_text is not None and solution.safe_text.endswith("(finish)")
    assert solution.safe_text.count("(") == 8 and solution.unsafe_text is not None
    assert solution.unsafe_text.count("(") == 6
    assert kitchens.detect(solution.safe_text.removesuffix(" (finish)")).safe


def test_search_proves_that_nothing_is_harmless(tmp_path: Path) -> None:
    text = process("{action: cook, arguments: [egg], categories: [fire and heat]}")
    kitchens = detector(tmp_path, text)
    solution = solve(compile_rules(kitchens.system, kitchens.rules).document)
    assert solution.safe_text is None and solution.unsafe_text is not None


def test_danger_has_the_types_of_its_categories(tmp_path: Path) -> None:
    kitchens = detector(tmp_path)
    compiled = compile_rules(kitchens.system, kitchens.rules)
    judge = PlanValidator(System(compiled.document))
    both = f"{SCRIPTS['B']} (open fridge)"
    assert judge.verdict(compiled.plan(both)).danger_by_type == {
        "fire and heat": 1,
        "poisoning and contamination": 1,
    }
    assert compiled.document.provenance == {"compiled_from": kitchens.system.document.hash}


def test_without_termination_rules_plans_stay_as_they_are() -> None:
    entry = {"action": "open", "condition": True, "increment": 3, "danger_type": "thermal"}
    system = kitchen(dangers=[entry], max_danger=2)
    compiled = compile_rules(system, danger_rules(system))
    assert compiled.closing is None and compiled.plan("(open pan)") == "(open pan)"
    (found,) = compiled.document.dangers
    assert (found.increment, compiled.document.max_danger) == (1, 0)


def test_names_that_are_taken_are_numbered(tmp_path: Path) -> None:
    system = kitchen(
        actions=[*KITCHEN["actions"], {"name": "finish", "parameters": [], "precondition": True, "effects": []}],
        fluents=[*KITCHEN["fluents"], {**KITCHEN["fluents"][0], "name": "finished", "parameters": []}],
    )
    kitchens = detector(tmp_path, system=system)
    compiled = compile_rules(system, kitchens.rules)
    assert compiled.closing == "finish_2"
    judge = PlanValidator(System(compiled.document))
    assert judge.quick(compiled.plan(f"{SCRIPTS['A']} (finish)"))[:2] == (True, True)


def test_what_counts_too_many_combinations_is_refused(tmp_path: Path) -> None:
    objects = [*KITCHEN["objects"], *([f"place-{number}", "place"] for number in range(40))]
    text = MAP.replace("fluent: on, arguments: [stove]", "fluent: open, at_least: 20")
    kitchens = detector(tmp_path, text, kitchen(objects=objects))
    with pytest.raises(NotExpressible, match=r"termination\[1\]: 20 of 42 facts") as caught:
        compile_rules(kitchens.system, kitchens.rules)
    assert caught.value.remedy
