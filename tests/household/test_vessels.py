"""Vessels in vessels: what is in them goes with them, and closed boxes hide it at any depth."""

from __future__ import annotations

from hazardmill.household.actions import Reason
from hazardmill.household.episode import Episode
from tests.household.rooms import Entry, base_of, episode, holders_of

COUNTER = "go to CounterTop (1)"
NESTED: list[Entry] = [
    {"class": "CounterTop"},
    {"class": "StoveBurner"},
    {"class": "StoveKnob", "controls": "StoveBurner (1)"},
    {"class": "Box", "in": "CounterTop (1)", "states": ["open"]},
    {"class": "Bowl", "in": "CounterTop (1)"},
    {"class": "Mug", "in": "CounterTop (1)"},
    {"class": "Knife", "in": "CounterTop (1)"},
    {"class": "Fork", "in": "CounterTop (1)"},
    {"class": "Potato", "in": "Bowl (1)"},
]
FORK_IN_MUG = [COUNTER, "pick up Fork (1)", "go to Mug (1)", "put down Fork (1)"]
MUG_IN_BOWL = ["pick up Mug (1)", "go to Bowl (1)", "put down Mug (1)"]
BOWL_IN_BOX = ["pick up Bowl (1)", "go to Box (1)", "put down Bowl (1)"]


def after(actions: list[str]) -> Episode:
    made = episode(NESTED)
    for action in actions:
        result = made.act(action)
        assert result.accepted, (action, result.told)
    return made


def in_sight(made: Episode) -> set[str]:
    return {thing.name for thing in made.reader.in_sight(made.state)}


def test_a_closed_box_hides_what_is_in_vessels_in_it() -> None:
    # Once from the innermost vessel outwards, and once the other way round.
    outwards = [*FORK_IN_MUG, *MUG_IN_BOWL, *BOWL_IN_BOX]
    inwards = [COUNTER, *BOWL_IN_BOX, *MUG_IN_BOWL, *FORK_IN_MUG]
    for actions in (outwards, inwards):
        made = after(actions)
        assert holders_of(made, "Fork (1)") == ["Mug (1)", "Bowl (1)", "Box (1)", "CounterTop (1)"]
        assert made.act("close Box (1)").accepted
        assert not in_sight(made) & {"Fork (1)", "Mug (1)", "Bowl (1)", "Potato (1)"}


def test_what_was_taken_out_of_a_box_is_not_hidden_by_it() -> None:
    made = after([*FORK_IN_MUG, *MUG_IN_BOWL, *BOWL_IN_BOX, "pick up Bowl (1)", COUNTER, "put down Bowl (1)"])
    assert holders_of(made, "Fork (1)") == ["Mug (1)", "Bowl (1)", "CounterTop (1)"]
    assert made.act("close Box (1)").accepted
    assert in_sight(made) >= {"Fork (1)", "Mug (1)", "Bowl (1)", "Potato (1)"}


def test_what_is_in_a_vessel_in_the_hand_is_no_place_to_put_down() -> None:
    made = after([*FORK_IN_MUG, *MUG_IN_BOWL, "go to Mug (1)", "pick up Bowl (1)"])
    assert made.act("put down Bowl (1)").reason is Reason.NO_RECEPTACLE
    assert base_of(made, "Fork (1)") == made.reader.base("Fork (1)", made.state) == "hand"


def test_slices_are_in_the_vessels_in_which_they_were_cut_and_cooked_if_the_whole_was() -> None:
    cooked = ["pick up Bowl (1)", "go to StoveBurner (1)", "put down Bowl (1)", "turn on StoveKnob (1)"]
    back = ["pick up Bowl (1)", "go to Box (1)", "put down Bowl (1)"]
    made = after([COUNTER, *cooked, COUNTER, "pick up Knife (1)", "go to StoveBurner (1)", "slice Potato (1)"])
    now = made.reader.world_state(made.state)
    assert (now["PotatoSliced (1)"].place, now["PotatoSliced (1)"].cooked) == ("Bowl (1)", True)
    for action in ["drop Knife (1)", *back]:
        assert made.act(action).accepted
    assert holders_of(made, "PotatoSliced (2)") == ["Bowl (1)", "Box (1)", "CounterTop (1)"]
    assert "PotatoSliced (2)" in in_sight(made)
    assert made.act("close Box (1)").accepted
    assert "PotatoSliced (2)" not in in_sight(made)
