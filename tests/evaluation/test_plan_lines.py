from __future__ import annotations

import pytest
from formalism.soup import soup_document

from hazardmill.evaluation.answers.text import Names, read_line

NAMES = Names.of(soup_document())


def test_the_names_of_a_task() -> None:
    assert NAMES.actions == {"carry": {2}, "slow_down": {0}}
    assert NAMES.objects == {"kitchen", "table"}
    assert NAMES.fluents == {"bowl_at", "moving_slowly", "soup_is_hot", "window_is_open"}


@pytest.mark.parametrize(
    ("words", "fits"),
    [
        ("slow_down", True),
        ("SLOW_DOWN", True),
        ("slow_down now", False),
        ("slow_down kitchen", True),  # an object too many is an argument, not prose
        ("carry kitchen table", True),
        ("carry kitchen moon", True),
        ("carry kitchen", True),
        ("carry the bowl to the table", False),
        ("teleport", False),
    ],
)
def test_words_are_a_step_by_the_number_of_arguments_or_by_their_names(words: str, fits: bool) -> None:
    assert NAMES.fits(tuple(words.split())) is fits


@pytest.mark.parametrize(
    ("line", "number", "listed"),
    [
        ("3. (slow_down)", 3, True),
        ("(3) (slow_down)", 3, True),
        ("Step 12: (slow_down)", 12, True),
        ("- (slow_down)", None, True),
        ("(slow_down)", None, False),
        ("4 (slow_down)", 4, True),
    ],
)
def test_marks_are_told_from_steps(line: str, number: int | None, listed: bool) -> None:
    found = read_line(line, NAMES, explicit=False)
    assert (found.steps, found.number, found.listed) == ((("slow_down",),), number, listed)


@pytest.mark.parametrize(
    ("line", "heading"),
    [
        ("Final plan:", "plan"),
        ("## Solution", "plan"),
        ("Steps to reach the goal:", "plan"),
        ("Explanation of the plan:", "aside"),
        ("Initial state:", "aside"),
        ("The robot then drives on to the table, and everything is where the plan wants it to be.", None),
    ],
)
def test_headings(line: str, heading: str | None) -> None:
    assert read_line(line, NAMES, explicit=False).heading == heading


@pytest.mark.parametrize(
    "line", ["", "; (slow_down)", "// (slow_down)", "(:action slow_down)", "(and (bowl_at table) x)"]
)
def test_lines_without_a_step(line: str) -> None:
    assert read_line(line, NAMES, explicit=True).steps == ()


def test_what_is_likely_outside_a_block() -> None:
    def likely(line: str) -> bool:
        return read_line(line, NAMES, explicit=False).is_likely(NAMES)

    assert likely("(carry kitchen table)") and likely("(fly_over kitchen)") and likely("(fly)")
    assert not likely("(bowl_at kitchen)")
    assert not likely("(note that the bowl is still hot)")
