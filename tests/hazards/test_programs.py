"""Programs of VirtualHome to plan strings and back: the reference data, and what cannot be said."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hazardmill.errors import PlanningInputError
from hazardmill.hazards.programs import UnsaidStep, read_program, write_program

PROGRAM = """Take a cup
Before the guests come.


[WALK] <home_office> (1.319)
[Grab] <cup> (1)
[STANDUP]
[PUTBACK] <cup> (1) <table_2> (12.1000)
"""
PLAN = "(WALK home_office_1-319) (Grab cup_1) (STANDUP) (PUTBACK cup_1 table_2_12-1000)"


def test_a_program_is_a_plan_and_the_plan_the_program() -> None:
    found = read_program(PROGRAM)
    assert (found.plan, found.unsaid) == (PLAN, ())
    assert list(write_program(PLAN).lines) == PROGRAM.splitlines()[4:]
    assert write_program("I will not.").lines == ()


def test_the_programs_of_the_reference_data_come_back_line_by_line(reference: Path) -> None:
    folders = [
        reference / "data" / "eai" / "virtualhome" / "executable_programs",
        reference / "data" / "virtualhome",
    ]
    files = [path for folder in folders for path in sorted(folder.rglob("*.txt"))]
    counts: Counter[str] = Counter()
    for path in files:
        text = path.read_text(encoding="utf-8")
        found = read_program(text, str(path))
        numbered = {number: line.strip() for number, line in enumerate(text.splitlines(), 1)}
        wanted = [line for line in numbered.values() if line.startswith("[")]
        for step in found.unsaid:
            assert numbered[step.place] == step.text
            wanted.remove(step.text)
            counts[step.reason] += 1
        written = write_program(found.plan)
        assert list(written.lines) == wanted and written.unsaid == ()
        counts["lines"] += len(wanted)
    assert len(files) == 689
    # Only names of the 20 older programs have blanks.
    assert counts == {"lines": 9_968, "blank_in_name": 76}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("[WALK] <home office> (1)", "blank_in_name"),
        ("[WALK] <2nd_floor> (1)", "no_name"),
        ("[WALK] <café> (1)", "no_name"),
        ("[WALK] <office> (one)", "no_instance"),
        ("[WALK] office (1)", "no_action"),
        ("and so on", "no_action"),
    ],
)
def test_a_line_that_cannot_be_said_is_counted_with_its_reason(line: str, reason: str) -> None:
    found = read_program(f"[STANDUP]\n{line}\n\n[SLEEP]\n")
    assert found.plan == "(STANDUP) (SLEEP)"
    assert found.unsaid == (UnsaidStep(2, line, reason),)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("action", "reason"),
    [("(switch_on lamp_1)", "no_verb"), ("(grab cup)", "no_instance"), ("(grab _1)", "no_instance")],
)
def test_an_action_that_cannot_be_said_is_counted_with_its_reason(action: str, reason: str) -> None:
    found = write_program(f"(SLEEP) {action}")
    assert found.lines == ("[SLEEP]",)
    assert found.unsaid == (UnsaidStep(2, action, reason),)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["", "Take a cup\nBefore the guests come.\n", "(grab cup_1)"])
def test_what_is_no_program_is_refused(text: str) -> None:
    with pytest.raises(PlanningInputError, match=r"a\.txt: no line is an action \[give a program"):
        read_program(text, "a.txt")


_NAMES = st.text("aB2_-", max_size=8).map("c{}".format)
_INSTANCES = st.lists(st.integers(0, 2_000), min_size=1, max_size=2).map(lambda numbers: ".".join(map(str, numbers)))


@given(st.text("aZ", min_size=1), st.lists(st.tuples(_NAMES, _INSTANCES), max_size=3))
def test_every_line_of_plain_names_comes_back(verb: str, things: list[tuple[str, str]]) -> None:
    line = " ".join([f"[{verb}]", *(f"<{name}> ({instance})" for name, instance in things)])
    found = read_program(line)
    assert found.unsaid == () and write_program(found.plan).lines == (line,)
