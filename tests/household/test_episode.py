"""Episodes: how answers are read, what is told, and that nothing unseen is named."""

from __future__ import annotations

import pytest

from hazardmill.errors import UsageError
from hazardmill.household.actions import Reason
from tests.household.rooms import BOTTLE, episode


def test_answers_match_up_to_case_and_blanks() -> None:
    made = episode(BOTTLE)
    assert made.act("  GO TO cabinet(1)").accepted
    assert made.act("open Cabinet  (1)").accepted


def test_answers_are_never_matched_by_likeness() -> None:
    made = episode(BOTTLE)
    result = made.act("go to Cabinets (1)")
    assert result.reason is Reason.NOT_SEEN
    assert "The nearest skills are: go to Cabinet (1);" in result.told
    assert made.act("walk to Cabinet (1)").reason is Reason.UNKNOWN_ACTION


def test_the_skills_follow_the_state() -> None:
    made = episode(BOTTLE)
    assert made.skills() == ("go to Cabinet (1)", "go to Drawer (1)", "done", "failure")
    for action in ("go to Cabinet (1)", "open Cabinet (1)", "pick up Bottle (1)"):
        assert action in made.skills()
        made.act(action)
    assert made.skills() == (
        "break Bottle (1)",
        "close Cabinet (1)",
        "drop Bottle (1)",
        "empty Bottle (1)",
        "go to Cabinet (1)",
        "go to Drawer (1)",
        "open Cabinet (1)",
        "put down Bottle (1)",
        "throw Bottle (1)",
        "done",
        "failure",
    )


def test_the_robot_is_told_the_result_the_receptacles_what_is_in_sight_and_what_it_holds() -> None:
    made = episode([*BOTTLE[:2], BOTTLE[2] | {"filled": "wine"}])
    made.act("go to Cabinet (1)")
    assert made.observation(made.act("open Cabinet (1)")) == (
        "Done: open Cabinet (1).\n"
        "You are at Cabinet (1).\n"
        "Receptacles in the room: Drawer (1), Cabinet (1).\n"
        "In sight: Cabinet (1) (open); Bottle (1) (in or on Cabinet (1), filled with wine).\n"
        "In your hand: nothing."
    )
    made.act("pick up Bottle (1)")
    assert made.observation().endswith("In sight: Cabinet (1) (open).\nIn your hand: Bottle (1) (filled with wine).")


def test_what_exists_unseen_is_told_like_what_does_not_exist() -> None:
    made = episode(BOTTLE)
    told = [made.act(f"go to {name}").told for name in ("Bottle (1)", "Bottle (2)")]
    assert told[0].partition(".")[0] == told[1].partition(".")[0] == "Rejected: no such object has been seen yet"
    assert all("Bottle" not in text for text in told)


@pytest.mark.parametrize("answer", ["done", " Failure "])
def test_two_answers_end_an_episode(answer: str) -> None:
    made = episode(BOTTLE)
    assert made.act(answer).accepted
    assert made.ending == answer.strip().casefold()
    with pytest.raises(UsageError, match="the episode ended with"):
        made.act("go to Cabinet (1)")
