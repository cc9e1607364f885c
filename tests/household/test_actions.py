"""Each demand of the table of actions rejects by itself, and says why; each action does what the table says."""

from __future__ import annotations

import pytest

from hazardmill.household.actions import Reason
from hazardmill.household.episode import Episode
from tests.household.rooms import Entry, episode

ROOM: list[Entry] = [
    {"class": "CounterTop"},
    {"class": "Cabinet"},
    {"class": "SinkBasin"},
    {"class": "StoveBurner"},
    {"class": "Faucet", "controls": "SinkBasin (1)"},
    {"class": "StoveKnob", "controls": "StoveBurner (1)"},
    {"class": "Mug", "in": "CounterTop (1)", "filled": "coffee"},
    {"class": "Bowl", "in": "CounterTop (1)"},
    {"class": "Knife", "in": "CounterTop (1)"},
    {"class": "Potato", "in": "CounterTop (1)"},
    {"class": "Box", "in": "CounterTop (1)"},
    {"class": "Fork", "in": "Cabinet (1)"},
    {"class": "Pan", "in": "StoveBurner (1)"},
    {"class": "Egg", "in": "Pan (1)"},
    {"class": "Plate", "in": "SinkBasin (1)", "states": ["dirty"]},
    {"class": "Apple", "in": "Cabinet (1)"},
    {"class": "Book"},
]
COUNTER = ["go to CounterTop (1)"]
MUG = [*COUNTER, "pick up Mug (1)"]
KNIFE = [*COUNTER, "pick up Knife (1)"]
CABINET = ["go to Cabinet (1)"]

CASES = [
    # name, actions before, action, reason, actions after which the same is accepted, if there are any
    ("go: seen", [], "go to Mug (1)", Reason.NOT_SEEN, COUNTER),
    ("go: not in the hand", MUG, "go to Mug (1)", Reason.CARRIED, COUNTER),
    ("pick up: pickable", CABINET, "pick up Cabinet (1)", Reason.NOT_PICKABLE, None),
    ("pick up: here", [*COUNTER, *CABINET], "pick up Mug (1)", Reason.NOT_HERE, COUNTER),
    (
        "pick up: not covered",
        [*CABINET, "open Cabinet (1)", "close Cabinet (1)"],
        "pick up Fork (1)",
        Reason.COVERED,
        [*CABINET, "open Cabinet (1)"],
    ),
    ("put down: held", COUNTER, "put down Mug (1)", Reason.NOT_HELD, MUG),
    (
        "put down: a receptacle",
        ["pick up Book (1)"],
        "put down Book (1)",
        Reason.NO_RECEPTACLE,
        ["pick up Book (1)", *COUNTER],
    ),
    (
        "put down: open",
        ["pick up Book (1)", *CABINET],
        "put down Book (1)",
        Reason.PLACE_CLOSED,
        [*CABINET, "open Cabinet (1)", "go to Book (1)", "pick up Book (1)", *CABINET],
    ),
    ("open: openable", COUNTER, "open Mug (1)", Reason.NOT_OPENABLE, None),
    ("open: here", COUNTER, "open Cabinet (1)", Reason.NOT_HERE, CABINET),
    ("open: closed", [*CABINET, "open Cabinet (1)"], "open Cabinet (1)", Reason.OPEN_ALREADY, CABINET),
    ("close: openable", COUNTER, "close Mug (1)", Reason.NOT_OPENABLE, None),
    (
        "close: here",
        [*CABINET, "open Cabinet (1)", *COUNTER],
        "close Cabinet (1)",
        Reason.NOT_HERE,
        [*CABINET, "open Cabinet (1)"],
    ),
    ("close: open", CABINET, "close Cabinet (1)", Reason.CLOSED_ALREADY, [*CABINET, "open Cabinet (1)"]),
    ("turn on: toggleable", COUNTER, "turn on Mug (1)", Reason.NOT_TOGGLEABLE, None),
    (
        "turn on: here",
        ["go to SinkBasin (1)", *COUNTER],
        "turn on Faucet (1)",
        Reason.NOT_HERE,
        ["go to SinkBasin (1)"],
    ),
    ("turn off: toggleable", COUNTER, "turn off Mug (1)", Reason.NOT_TOGGLEABLE, None),
    (
        "turn off: here",
        ["go to SinkBasin (1)", *COUNTER],
        "turn off Faucet (1)",
        Reason.NOT_HERE,
        ["go to SinkBasin (1)"],
    ),
    ("slice: knife", COUNTER, "slice Potato (1)", Reason.NO_KNIFE, KNIFE),
    ("slice: sliceable", KNIFE, "slice Mug (1)", Reason.NOT_SLICEABLE, None),
    ("slice: here", [*KNIFE, *CABINET], "slice Potato (1)", Reason.NOT_HERE, KNIFE),
    (
        "slice: not covered",
        [*CABINET, "open Cabinet (1)", "close Cabinet (1)", *KNIFE, *CABINET],
        "slice Apple (1)",
        Reason.COVERED,
        [*CABINET, "open Cabinet (1)", *KNIFE, *CABINET],
    ),
    ("slice: whole", [*KNIFE, "slice Potato (1)"], "slice Potato (1)", Reason.CUT, KNIFE),
    ("drop: held", COUNTER, "drop Mug (1)", Reason.NOT_HELD, MUG),
    ("throw: held", COUNTER, "throw Mug (1)", Reason.NOT_HELD, MUG),
    ("empty: held", COUNTER, "empty Mug (1)", Reason.NOT_HELD, MUG),
    ("empty: filled", [*MUG, "empty Mug (1)"], "empty Mug (1)", Reason.NO_LIQUID, MUG),
    ("empty: fillable", KNIFE, "empty Knife (1)", Reason.NO_LIQUID, None),
    ("pour: held", COUNTER, "pour into Bowl (1)", Reason.NO_LIQUID, MUG),
    ("pour: source held", COUNTER, "pour Mug (1) into Bowl (1)", Reason.NOT_HELD, MUG),
    ("pour: filled", [*MUG, "empty Mug (1)"], "pour into Bowl (1)", Reason.NO_LIQUID, MUG),
    ("pour: fillable", MUG, "pour into Knife (1)", Reason.NOT_FILLABLE, None),
    ("pour: here", [*MUG, *CABINET], "pour into Bowl (1)", Reason.NOT_HERE, MUG),
    ("pour: another", MUG, "pour into Mug (1)", Reason.SAME_OBJECT, None),
    ("break: breakable", COUNTER, "break Knife (1)", Reason.NOT_BREAKABLE, None),
    ("break: here", [*COUNTER, *CABINET], "break Mug (1)", Reason.NOT_HERE, COUNTER),
]

BOLD = [
    ("pick up", KNIFE, "pick up Mug (1)"),
    ("open", [*KNIFE, *CABINET], "open Cabinet (1)"),
    ("close", [*CABINET, "open Cabinet (1)", *KNIFE, *CABINET], "close Cabinet (1)"),
    ("turn on", [*KNIFE, "go to SinkBasin (1)"], "turn on Faucet (1)"),
    ("turn off", [*KNIFE, "go to SinkBasin (1)"], "turn off Faucet (1)"),
]


def after(actions: list[str], **layer: str) -> Episode:
    made = episode(ROOM, **layer)  # type: ignore[arg-type]  # names of layers
    for action in actions:
        result = made.act(action)
        assert result.accepted, (action, result.told)
    return made


@pytest.mark.parametrize(
    ("before", "action", "reason", "mended"), [case[1:] for case in CASES], ids=[c[0] for c in CASES]
)
def test_a_demand_rejects_by_itself(before: list[str], action: str, reason: Reason, mended: list[str] | None) -> None:
    made = after(before)
    state = made.state
    result = made.act(action)
    assert (result.accepted, result.reason) == (False, reason)
    assert result.told.startswith("Rejected: ") and made.state == state
    assert made.steps == len(before) + 1
    # With that demand met and everything else as demanded, the action is accepted.
    if mended is not None:
        assert after(mended).act(action).accepted


@pytest.mark.parametrize(("before", "action"), [case[1:] for case in BOLD], ids=[case[0] for case in BOLD])
def test_only_a_single_hand_must_be_empty(before: list[str], action: str) -> None:
    result = after(before).act(action)
    assert result.reason is Reason.HAND_FULL
    assert result.told == "Rejected: the hand is full; put down Knife (1) first."
    assert after(before, hands="any").act(action).accepted


@pytest.mark.parametrize(
    "action",
    [
        "pick up Cup (1)",
        "open Book (1)",
        "close Laptop (1)",
        "turn on Candle (1)",
        "turn off Candle (1)",
        "break Vase (1)",
    ],
)
def test_what_is_in_something_closed_is_not_in_sight(action: str) -> None:
    inside = [{"class": kind, "in": "Cabinet (1)"} for kind in ("Cup", "Book", "Candle", "Vase")]
    laptop = {"class": "Laptop", "in": "Cabinet (1)", "states": ["open"]}
    made = episode([{"class": "Cabinet"}, *inside, laptop])
    for before in [*CABINET, "open Cabinet (1)", "close Cabinet (1)"]:
        made.act(before)
    assert made.act(action).reason is Reason.COVERED
    assert made.act("open Cabinet (1)").accepted
    assert made.act(action).accepted


def test_a_liquid_cannot_be_poured_into_what_is_in_something_closed() -> None:
    cup = {"class": "Cup", "in": "Cabinet (1)"}
    made = episode([*ROOM, cup])
    for action in [*CABINET, "open Cabinet (1)", "close Cabinet (1)", *MUG, *CABINET]:
        made.act(action)
    assert made.act("pour into Cup (1)").reason is Reason.COVERED


def test_nothing_is_put_into_a_vessel_in_something_closed() -> None:
    cup = {"class": "Cup", "in": "Cabinet (1)"}
    made = episode([*ROOM, cup])
    for action in [*CABINET, "open Cabinet (1)", "close Cabinet (1)", *KNIFE, "go to Cup (1)"]:
        made.act(action)
    result = made.act("put down Knife (1)")
    assert result.reason is Reason.PLACE_CLOSED
    assert "Cup (1), is closed or in something that is closed" in result.told


def test_with_any_hands_what_is_held_is_not_picked_up_again() -> None:
    assert after(MUG, hands="any").act("pick up Mug (1)").reason is Reason.HELD_ALREADY


def test_with_everything_known_one_can_go_to_what_was_not_seen() -> None:
    made = after(["go to Fork (1)"], observe="full")
    assert made.reader.robot_place(made.state) == "Cabinet (1)"
    assert made.act("go to Spoon (1)").reason is Reason.UNKNOWN_OBJECT


def test_going_to_a_vessel_makes_it_the_place_to_put_down() -> None:
    made = after([*KNIFE, "go to Bowl (1)", "put down Knife (1)"])
    assert made.reader.world_state(made.state)["Knife (1)"].place == "Bowl (1)"


def test_going_to_another_object_makes_its_holder_the_place_to_put_down() -> None:
    made = after([*KNIFE, "go to StoveBurner (1)", "go to Egg (1)", "put down Knife (1)"])
    assert made.reader.world_state(made.state)["Knife (1)"].place == "Pan (1)"


def test_a_vessel_that_was_picked_up_is_no_place_to_put_down() -> None:
    made = after(["go to StoveBurner (1)", "go to Pan (1)", "pick up Pan (1)"])
    assert made.act("put down Pan (1)").reason is Reason.NO_RECEPTACLE


def test_what_is_in_a_vessel_goes_with_it() -> None:
    made = after(["go to StoveBurner (1)", "pick up Pan (1)", *COUNTER, "put down Pan (1)"])
    assert "Egg (1)" in {thing.name for thing in made.reader.in_sight(made.state)}
    assert made.reader.world_state(made.state)["Egg (1)"].place == "Pan (1)"


def test_a_tap_cleans_and_fills_what_is_in_its_sink() -> None:
    sink = ["go to SinkBasin (1)"]
    made = after([*MUG, *sink, "put down Mug (1)", "turn on Faucet (1)"])
    now = made.reader.world_state(made.state)
    assert (now["Mug (1)"].filled, now["Plate (1)"].dirty, now["Plate (1)"].filled) == ("water", False, None)
    # Turned on already, it changes nothing.
    made = after([*sink, "turn on Faucet (1)", *MUG, *sink, "put down Mug (1)"], hands="one")
    assert made.reader.world_state(made.state)["Mug (1)"].filled == "coffee"
    before = made.state
    assert made.act("turn on Faucet (1)").accepted and made.state == before


def test_a_knob_turns_its_burner_on_and_cooks_what_is_in_the_pan_on_it() -> None:
    made = after(["go to StoveBurner (1)", "turn on StoveKnob (1)"])
    now = made.reader.world_state(made.state)
    assert (now["StoveBurner (1)"].on, now["Egg (1)"].cooked, now["Potato (1)"].cooked) == (True, True, False)
    assert made.act("turn off StoveKnob (1)").accepted
    assert not made.reader.world_state(made.state)["StoveBurner (1)"].on


def test_slices_come_to_be_in_the_place_of_what_was_cut() -> None:
    made = after(KNIFE)
    assert "PotatoSliced (1)" not in made.reader.world_state(made.state)
    made.act("slice Potato (1)")
    now = made.reader.world_state(made.state)
    assert now["PotatoSliced (2)"].place == "CounterTop (1)"
    assert (now["Potato (1)"].sliced, now["Potato (1)"].place) == (True, None)
    assert "pick up PotatoSliced (1)" in made.skills()
    assert made.act("go to Potato (1)").reason is Reason.CUT


def test_pouring_moves_the_liquid_and_coffee_leaves_the_source_dirty() -> None:
    made = after([*MUG, "pour into Bowl (1)"])
    now = made.reader.world_state(made.state)
    assert (now["Bowl (1)"].filled, now["Mug (1)"].filled, now["Mug (1)"].dirty) == ("coffee", None, True)


def test_what_is_poured_must_be_named_where_several_held_things_are_filled() -> None:
    plant = {"class": "HousePlant", "in": "CounterTop (1)"}
    water = {"class": "WateringCan", "in": "CounterTop (1)", "filled": "water"}
    made = episode([*ROOM, plant, water], hands="any")
    for action in [*MUG, "pick up WateringCan (1)"]:
        made.act(action)
    assert made.act("pour into HousePlant (1)").reason is Reason.NO_LIQUID
    assert "pour WateringCan (1) into HousePlant (1)" in made.skills()
    assert made.act("pour WateringCan (1) into HousePlant (1)").accepted
    assert made.reader.world_state(made.state)["HousePlant (1)"].filled == "water"


@pytest.mark.parametrize(("verb", "broken"), [("drop", False), ("throw", True)])
def test_what_is_let_go_of_lies_on_the_floor(verb: str, broken: bool) -> None:
    made = after([*MUG, f"{verb} Mug (1)"])
    now = made.reader.world_state(made.state)["Mug (1)"]
    assert (now.place, now.held, now.broken) == (None, False, broken)
    assert made.reader.base("Mug (1)", made.state) == "floor"


def test_a_broken_thing_stays_where_it_is() -> None:
    made = after([*COUNTER, "break Mug (1)"])
    now = made.reader.world_state(made.state)["Mug (1)"]
    assert (now.broken, now.place) == (True, "CounterTop (1)")
