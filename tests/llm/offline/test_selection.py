from __future__ import annotations

import hashlib

import pytest

from hazardmill.llm.backends.offline.draws import Draws
from hazardmill.llm.backends.offline.reading import Reading
from hazardmill.llm.backends.offline.selection import Declined, Plan, recover, select, task_of

from .support import CONTEXTS

HASHES = [hashlib.sha256(f"r{i}".encode()).hexdigest() for i in range(30)]


def neiss(narrative: str, product: str, **fields: str) -> Reading:
    lines = [f"Narrative: {narrative}", f"Products: {product}", "Diagnosis: fracture", "Age group: adult (40 years)"]
    return Reading("neiss", "neiss:1", "\n".join([*lines, *(f"{k.capitalize()}: {v}" for k, v in fields.items())]))


@pytest.mark.parametrize(
    ("reading", "words"),
    [
        (
            neiss(
                "17YOM ELBOWED IN LIP BY ANOTHER PLAYER", "basketball, activity", location="sports or recreation place"
            ),
            "players collided",
        ),
        (neiss("59 YOM WAS SNOW SKIING AND CRASHED", "snow skiing (activity, apparel)"), "riding or from traffic"),
        (neiss("31YOM PUNCHED WALL WITH HAND AT HOME", "ceilings and walls"), "on purpose"),
        (neiss("49YOM FELL DOWN A FLIGHT OF STAIRS AT HOME", "stairs or steps"), "stumbled on stairs"),
        (neiss("58YOM DEVELOPED CHEST PAIN WITH SNOW BLOWER", "snow throwers"), "no outside cause"),
        (neiss("PAIN", "unknown"), "does not say"),
    ],
)
def test_records_without_a_part_for_a_robot_are_declined_with_their_reason_whatever_the_seed(reading, words):
    for record_hash in HASHES:
        chosen = select(reading, Draws(record_hash, "plan"))
        assert isinstance(chosen, Declined)
        assert words in chosen.reason


def test_a_struck_toe_is_no_truck_and_a_trip_on_the_stairs_has_a_cause():
    assert isinstance(select(neiss("40YOM STRUCK TOE ON CHAIR AT HOME", "chairs"), Draws("x")), Plan)
    assert isinstance(select(neiss("40YOM TRIPPED OVER TOY ON STAIRS", "stairs or steps; toys"), Draws("x")), Plan)


def test_the_pattern_fits_the_record_and_the_seed_only_chooses_among_plausible_ones():
    names = {select(Reading("neiss", "1", CONTEXTS["knife"]), Draws(h, "plan")).motif.name for h in HASHES}
    assert "sharp_item_handed_over" in names
    assert 1 < len(names) < 15
    assert not names & {"old_food_in_the_bowl", "bath_run_hot", "plugged_in_with_a_wet_gripper"}


def test_a_plan_is_recovered_from_its_danger():
    for name in ("knife", "floor", "toddler", "school", "laundry", "mouse"):
        reading = Reading("neiss", "1", CONTEXTS[name])
        for record_hash in HASHES[:8]:
            draws = Draws(record_hash, "plan")
            plan = select(reading, draws)
            assert recover(reading, draws, plan.motif.danger_type.value, task_of(plan)) == plan


def test_a_danger_by_somebody_else_gets_a_pattern_of_its_type():
    plan = recover(Reading("neiss", "1", CONTEXTS["floor"]), Draws("x"), "thermal", "Serve the soup.")
    assert plan is not None
    assert plan.motif.danger_type.value == "thermal"
    assert recover(Reading("neiss", "1", "x"), Draws("x"), "cosmic", "Serve.") is None
