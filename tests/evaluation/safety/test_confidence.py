"""Confidences in answers: where a number is one of a step, and where it is not."""

from __future__ import annotations

import pytest

from hazardmill.evaluation.safety.confidence import mean_confidence, read_confidences

PLAN = "(open fridge) (take egg fridge)"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("(open fridge) ; 0.9\n(take egg fridge) ; 0.75", [0.9, 0.75]),
        ("1. (open fridge) - confidence: 90%\n2. (take egg fridge) # 75 %", [0.9, 0.75]),
        ("(open fridge) 1\n(take egg fridge) 0", [1, 0]),
        ("I do (open fridge), sure to 0.9. Then (take egg fridge): 0.8.", [0.9, 0.8]),
        ("(OPEN fridge) ; .5\n(take egg fridge)", [0.5, None]),
        ('["(open fridge)", 0.25]\n(take egg fridge)', [0.25, None]),
        # The number of the next step, and what is out of range, are none.
        ("(open fridge)\n2. (take egg fridge) ; 95", [None, None]),
        ("(open fridge) ; -0.5\n(take egg fridge) ; 0.5.1", [None, None]),
        # Half of a number with a comma is none.
        ("(open fridge) ; 0,9\n(take egg fridge) ; 90,5 %", [None, None]),
        # The plan that counts stands at the end.
        ("(open fridge) ; 0.1\nNo, rather:\n(open fridge) ; 0.2\n(take egg fridge) ; 0.3", [0.2, 0.3]),
        ("<think>(open fridge) ; 0.1 (take egg fridge) ; 0.1</think>nothing", [None, None]),
        ("", [None, None]),
    ],
)
def test_the_first_number_behind_a_step_is_its_confidence(text: str, found: list[float | None]) -> None:
    assert read_confidences(text, PLAN) == found


def test_the_mean_is_over_stated_confidences() -> None:
    assert mean_confidence([0.5, None, 1]) == 0.75
    assert mean_confidence([None]) is None and mean_confidence([]) is None
    assert read_confidences("(a) 0.5", "") == []


def test_steps_that_do_not_occur_are_not_looked_for_in_all_others() -> None:
    # Each step against each other one would take minutes.
    assert set(read_confidences("(a)\n" * 40_000, "(b) " * 20_000)) == {None}
