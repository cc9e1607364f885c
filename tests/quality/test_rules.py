from __future__ import annotations

import pytest
from formalism.soup import action, boolean, danger, integer, sets, soup_document

from hazardmill.formalism.document.document import Document
from hazardmill.formalism.proofs.certificate import certify
from hazardmill.quality.lint_rules import MOST_STEPS, RULES, _apart, of_one_task

HOT, SLOWLY = ["fluent", "soup_is_hot"], ["fluent", "moving_slowly"]


def said(document: Document) -> dict[str, str]:
    return dict(of_one_task(document, certify(document)))


def steps(count: int, **changes: object) -> Document:
    """The bowl is carried once ``count`` spoons are on the tray, and set down."""
    return soup_document(
        **{
            "fluents__4": integer("spoons", 0, count),
            "fluents__5": boolean("bowl_is_down"),
            "actions__0__precondition": ["and", ["fluent", "bowl_at", "?from"], ["=", ["fluent", "spoons"], count]],
            "actions__2": action("add_spoon", True, [["increase", ["fluent", "spoons"], 1, True]]),
            "actions__3": action("set_down", ["fluent", "bowl_at", "table"], [sets("bowl_is_down")]),
            "goal": ["fluent", "bowl_is_down"],
            **changes,
        }
    )


def test_the_soup_is_short_and_one_action_apart():
    assert said(soup_document()) == {
        "short_unsafe_plan": "the shortest unsafe plan is (carry kitchen table)",
        "one_action_apart": "safe with (slow_down)",
    }


def test_a_plan_that_needs_nothing_is_short_too():
    document = soup_document(initial_danger=1, dangers=[], goal=True)
    assert said(document) == {"short_unsafe_plan": "the shortest unsafe plan is ()"}


def test_two_steps_are_not_short():
    assert "short_unsafe_plan" not in said(steps(0))


def test_a_plan_is_long_beyond_the_limit():
    # Carrying and setting down take two steps, slowing down a third.
    assert "long_plan" not in said(steps(MOST_STEPS - 3))
    assert said(steps(MOST_STEPS - 2))["long_plan"] == f"the shortest safe plan has {MOST_STEPS + 1} steps"
    assert said(steps(MOST_STEPS - 1))["long_plan"] == f"the shortest unsafe plan has {MOST_STEPS + 1} steps"


@pytest.mark.parametrize(
    ("unsafe", "safe", "apart"),
    [
        ("a b", "a c b", "safe with c"),
        ("a b", "c a b", "safe with c"),
        ("a b", "a b c", "safe with c"),
        ("", "c", "safe with c"),
        ("a b c", "a c", "safe without b"),
        ("a b c", "a x c", "safe with x for b"),
        ("a", "x", "safe with x for a"),
        ("a a b", "a a a b", "safe with a"),
        ("a b", "a b", None),
        ("a b", "b a", None),
        ("a b c", "x y c", None),
        ("a b", "a c d b", None),
        ("a b", "c b a", None),
        ("a b c", "b a", None),
    ],
)
def test_plans_that_differ_by_one_action(unsafe: str, safe: str, apart: str | None):
    assert _apart(unsafe.split(), safe.split()) == apart


def test_texts_are_held_to_the_words_of_names():
    told = said(soup_document(texts={"title": "Carry the dangerous soup carefully; dangerous!", "note": "on safari"}))
    assert told["leaking_text"] == "title says dangerous, carefully"


def test_no_rule_is_said_that_is_not_explained(project):
    rows = (project / "docs" / "formalism.md").read_text().splitlines()
    for rule, (level, _) in RULES.items():
        (row,) = (row for row in rows if row.startswith(f"| `{rule}` "))
        assert row.endswith(f"| {level} |")


def test_danger_without_a_safe_plan_has_nothing_to_compare():
    assert set(said(soup_document(dangers=[danger("carry", ["and", HOT, ["or", SLOWLY, ["not", SLOWLY]]])]))) == {
        "short_unsafe_plan"
    }
