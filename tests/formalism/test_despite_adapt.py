from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from hazardmill.errors import NotExpressible
from hazardmill.formalism.document.document import ActionDecl, DangerEntry, Document, Effect, FluentDecl, Parameter
from hazardmill.formalism.formats.despite.adapt import adapt
from hazardmill.formalism.formats.despite.write import TaskOrigin, despite_files
from hazardmill.formalism.formats.up.convert import to_up
from hazardmill.formalism.search.exact import attempt_to_solve
from tests.sizes import sized

from .despite_folders import HOT, NIGHT, galley, preserved, random_documents
from .support import kitchen

LEFT, STEPS = ("fluent", "left"), ("fluent", "steps")


def files_of(document: Document, **options: Any) -> dict[str, str]:
    return despite_files(document, TaskOrigin("kitchen-1"), limit=2_000, **options)


CASES: dict[str, tuple[dict[str, Any], Callable[[Document], object], object]] = {
    "several_conditions": (
        {"dangers": [DangerEntry("go", HOT), DangerEntry("go", NIGHT)]},
        lambda document: document.dangers,
        (DangerEntry("go", ("or", HOT, NIGHT)),),
    ),
    "increment": (
        {"dangers": [DangerEntry("go", HOT, 3, "thermal")]},
        lambda document: document.dangers,
        (DangerEntry("go", HOT, 1, "thermal"),),
    ),
    "danger_types": (
        {"dangers": [DangerEntry("go", HOT, 1, "thermal"), DangerEntry("ring", NIGHT)]},
        lambda document: document.dangers,
        (DangerEntry("go", HOT), DangerEntry("ring", NIGHT)),
    ),
    "mitigation": ({"dangers": [DangerEntry("go", HOT, -1)]}, lambda document: document.dangers, ()),
    "initial_danger": ({"initial_danger": 1}, lambda document: document.initial_danger, 0),
    "max_danger": ({"max_danger": 2}, lambda document: document.max_danger, 0),
    "comparison_turned": (
        {"goal": ("<=", 2, LEFT)},
        lambda document: document.goal,
        (">=", LEFT, 2),
    ),
    "short_connective": (
        {"goal": ("or", ("and", HOT), ("and",))},
        lambda document: document.goal,
        ("or", HOT, True),
    ),
    "double_negation": (
        {"goal": ("not", ("not", HOT))},
        lambda document: document.goal,
        HOT,
    ),
    "never_the_same": (
        {"goal": ("not", ("exists", (("?u", "unused"), ("?r", "room")), ("same", "?u", "?r")))},
        lambda document: document.goal,
        ("not", False),
    ),
    "empty_type": (
        {"goal": ("forall", (("?u", "unused"),), HOT)},
        lambda document: document.goal,
        True,
    ),
    "zero_out_of_bounds": (
        {
            "fluents": [*galley().fluents, FluentDecl("oil", integer=True, lower=1, upper=4)],
            "initial": {**dict(galley().initial), ("oil",): 2},
        },
        lambda document: next(fluent for fluent in document.fluents if fluent.name == "oil").lower,
        0,
    ),
}


@pytest.mark.parametrize("rule", CASES)
def test_what_is_lost(rule: str) -> None:
    changes, part, expected = CASES[rule]
    document = galley(**changes)
    adapted = adapt(document)
    # A comparison of things that are never the same leaves its variable unread.
    assert {lost.rule for lost in adapted.lost} - ({"empty_type"} if rule == "never_the_same" else set()) == {rule}
    assert not adapted.barred
    assert part(adapted.document) == expected
    with pytest.raises(NotExpressible, match="export with --lossy"):
        files_of(document)
    metadata = json.loads(files_of(document, lossy=True)["metadata.json"])["hazardmill"]
    assert rule in {lost["rule"] for lost in metadata["lost"]}
    assert metadata["document_hash"] == document.hash != adapted.document.hash


@pytest.mark.parametrize(
    ("comparison", "written"),
    [
        ((">=", LEFT, 2), (">=", LEFT, 2)),
        ((">", ("+", LEFT, 1), -2), (">", ("+", LEFT, 1), -2)),
        (("<=", LEFT, 2), ("<=", LEFT, 2)),
        (("<", LEFT, STEPS), ("<", LEFT, STEPS)),
        (("<", 1, 2), ("<", 1, 2)),
        (("=", 2, LEFT), ("=", 2, LEFT)),
        (("<=", 2, LEFT), (">=", LEFT, 2)),
        (("<", 2, LEFT), (">", LEFT, 2)),
        ((">=", 2, LEFT), ("<=", LEFT, 2)),
        ((">", LEFT, STEPS), ("<", STEPS, LEFT)),
        ((">=", 1, 2), ("<=", 2, 1)),
    ],
)
def test_comparisons_that_come_back(comparison: tuple[object, ...], written: tuple[object, ...]) -> None:
    adapted = adapt(galley(goal=comparison))
    assert adapted.document.goal == written
    assert [lost.rule for lost in adapted.lost] == ([] if comparison == written else ["comparison_turned"])


@pytest.mark.parametrize(
    ("said", "types", "written"),
    [
        (None, ["thermal"], "thermal"),
        (None, ["thermal", "thermal"], "thermal"),
        (None, [None], None),
        ("thermal", ["thermal"], "thermal"),
        ("Privacy violation", ["privacy_violation"], "privacy_violation"),
        ("soggy", [None], None),
        ("soggy", [], None),
        (None, ["thermal", "chemical"], None),
        (None, ["thermal", None], None),
        (None, ["soggy"], None),
        (None, ["Thermal"], "thermal"),
        ("thermal", ["chemical"], "thermal"),
        ("thermal", [None], "thermal"),
        ("soggy", ["thermal"], None),
    ],
)
def test_danger_types_that_come_back(said: str | None, types: list[str | None], written: str | None) -> None:
    actions = ("go", "ring")[: len(types)]
    document = galley(dangers=[DangerEntry(*parts) for parts in zip(actions, [HOT] * 2, [1] * 2, types, strict=False)])
    adapted = adapt(document, {"danger_type": said})
    assert [entry.danger_type for entry in adapted.document.dangers] == [written for _ in types]
    assert [lost.rule for lost in adapted.lost] == (["danger_types"] if set(types) - {written} else [])


@pytest.mark.parametrize(
    ("name", "other"), [("Hall", "Hall_fluent"), ("danger", "danger_fluent"), ("when", "when_fluent")]
)
def test_a_name_that_is_taken(name: str, other: str) -> None:
    document = galley(fluents=[*galley().fluents, FluentDecl(name)], goal=("fluent", name), realised_by="pay")
    adapted = adapt(document)
    assert [lost.rule for lost in adapted.lost] == ["name_clash"]
    assert adapted.renames == {"fluents": {other: name}}
    assert adapted.document.goal == ("fluent", other)
    assert json.loads(files_of(document, lossy=True)["metadata.json"])["hazardmill"]["renames"] == {
        "fluents": {other: name}
    }


def test_all_reasons_are_given() -> None:
    with pytest.raises(NotExpressible) as refused:
        files_of(kitchen(max_danger=1))
    for part in (
        "max_danger is 1",
        "adds 2 to the danger",
        "2 danger entries",
        "of type null, thermal would come back as null",
    ):
        assert part in refused.value.message


@pytest.mark.parametrize(
    ("effects", "rule"),
    [
        ([Effect("assign", ("fluent", "left"), 11)], "value_out_of_bounds"),
        ([Effect("assign", ("fluent", "left"), ("+", 6, 5))], "value_out_of_bounds"),
        ([Effect("increase", ("fluent", "left"), ("-", -1, ("fluent", "left")))], "value_out_of_bounds"),
        ([Effect("assign", ("fluent", "left"), 1), Effect("assign", ("fluent", "left"), 2)], "assigns_meet"),
        ([Effect("assign", ("fluent", "left"), 1), Effect("decrease", ("fluent", "left"), 1)], "assigns_meet"),
    ],
)
def test_what_unified_planning_refuses_is_barred(effects: list[Effect], rule: str) -> None:
    document = preserved(actions=[*galley().actions, ActionDecl("spill", (), True, tuple(effects))])
    assert {each.rule for each in adapt(document).barred} == {rule}
    with pytest.raises(NotExpressible):
        to_up(document)
    for lossy in (False, True):
        with pytest.raises(NotExpressible, match="no folder of DESPITE"):
            files_of(document, lossy=lossy)


def test_pddl_that_would_be_too_long_is_barred() -> None:
    fluent = FluentDecl("far", tuple(Parameter(f"?p{i}", "object") for i in range(12)), integer=True)
    assert [each.rule for each in adapt(preserved(fluents=[*galley().fluents, fluent])).barred] == ["no_pddl"]


@pytest.mark.parametrize("examples", [sized(70, 200)])
def test_random_tasks_are_barred_where_unified_planning_refuses_them(examples: int) -> None:
    barred = 0
    for document in random_documents(examples):
        adapted = adapt(document)
        try:
            to_up(adapted.document, danger="integer")
        except NotExpressible:
            assert adapted.barred
            barred += 1
        else:
            assert not adapted.barred
        # Once is enough, and what loses nothing is the task itself.
        again = adapt(adapted.document)
        assert not again.lost and again.document == adapted.document
        assert adapted.lost or adapted.document == document
    assert barred > 5 * examples / 200


@pytest.mark.parametrize("examples", [sized(50, 150)])
def test_rewriting_conditions_and_names_changes_no_plan(examples: int) -> None:
    changed = 0
    for document in random_documents(examples):
        whole = replace(document, dangers=(), initial_danger=0, max_danger=0)
        adapted = adapt(whole)
        if any(lost.rule == "zero_out_of_bounds" for lost in adapted.lost):
            continue
        changed += bool({lost.rule for lost in adapted.lost} - {"name_clash"})
        plans = [attempt_to_solve(task, 3_000).found.get(True) for task in (whole, adapted.document)]
        assert len(plans[0] or ()) == len(plans[1] or ())
        assert (plans[0] is None) == (plans[1] is None)
    assert changed > 20 * examples / 150
