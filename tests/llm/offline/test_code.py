from __future__ import annotations

import pytest

from hazardmill.llm.backends.offline.code import TaskCode
from hazardmill.llm.backends.offline.notation import parts, step

from .support import build


def task() -> TaskCode:
    code = TaskCode("PourTea", "Pour the tea.", realised_by="pour", danger_type="thermal")
    code.type("place", "kitchen", "hall")
    code.fluent("at", "place")
    code.integer("cups", 0, 3)
    code.act(
        step(
            "go", "at(?from_), ~at(?to) -> at(?to), !at(?from_)".replace("from_", "origin"), origin="place", to="place"
        )
    )
    code.act(step("pour", "at(kitchen), cups < 3 -> cups += 1, lamp_is_on if at(hall), tray_is_full"))
    code.context("tea_is_hot", holds=True)
    code.start("at(hall)")
    code.aim("cups >= 2", "tray_is_full")
    code.dangers.append(("pour", "tea_is_hot & (cups >= 1)"))
    return code


def test_the_notation_becomes_the_task_it_says():
    code = task()
    code.act(step("press", "lamp_is_on -> lamp_is_on"))
    document = build(code.write())
    go, pour, press = document.actions
    assert go.precondition == ("and", ("fluent", "at", "?origin"), ("not", ("fluent", "at", "?to")))
    assert pour.precondition == ("and", ("fluent", "at", "kitchen"), ("<", ("fluent", "cups"), 3))
    effects = {(effect.operation, effect.target[1], effect.value, effect.condition) for effect in pour.effects}
    assert effects == {
        ("increase", "cups", 1, True),
        ("assign", "lamp_is_on", True, ("fluent", "at", "hall")),
        ("assign", "tray_is_full", True, True),
    }
    assert press.precondition == ("fluent", "lamp_is_on")
    assert document.goal == ("and", (">=", ("fluent", "cups"), 2), ("fluent", "tray_is_full"))
    assert dict(document.initial) == {("at", "hall"): True, ("tea_is_hot",): True}


def test_fluents_that_nothing_reads_are_dropped_with_their_effects():
    code = task()
    code.drop_unread()
    assert "lamp_is_on" not in code.write()
    assert "tray_is_full" in code.write()


def test_a_name_is_declared_once():
    with pytest.raises(ValueError, match="the name kitchen is taken"):
        task().context("kitchen")


def test_a_long_condition_is_written_over_several_lines_and_means_the_same():
    short, long = task(), task()
    names = [f"circumstance_number_{i}_of_the_long_condition" for i in range(4)]
    for code in (short, long):
        for name in names:
            code.context(name)
    long.dangers = [("pour", " & ".join([*names, "(cups >= 1)"]))]
    assert max(map(len, long.write().splitlines())) <= 120
    assert build(long.write()).dangers[0].condition == (
        "and",
        *[("fluent", n) for n in names],
        (">=", ("fluent", "cups"), 1),
    )


def test_commas_in_brackets_do_not_separate():
    assert parts("at(a, b), !c -> ") == ("at(a, b)", "!c ->")
