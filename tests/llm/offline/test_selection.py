from __future__ import annotations

import hashlib

import pytest

from hazardmill.llm.backends.offline.composing import compose
from hazardmill.llm.backends.offline.draws import Draws
from hazardmill.llm.backends.offline.reading import Reading
from hazardmill.llm.backends.offline.selection import Declined, Plan, recover, select, task_of

from .support import CONTEXTS

HASHES = [hashlib.sha256(f"r{i}".encode()).hexdigest() for i in range(30)]


def neiss(narrative: str, product: str, **fields: str) -> Reading:
    lines = [f"Narrative: {narrative}", f"Products: {product}", "Diagnosis: fracture", "Age group: adult (40 years)"]
    return Reading("neiss", "neiss:1", "\n".join([*lines, *(f"{k.capitalize()}: {v}" for k, v in fields.items())]))


@pytest.mark.parametrize(
    ("reading", "words", "code"),
    [
        (
            neiss(
                "17YOM ELBOWED IN LIP BY ANOTHER PLAYER", "basketball, activity", location="sports or recreation place"
            ),
            "players collided",
            "no_robot_part",
        ),
        (
            neiss("59 YOM WAS SNOW SKIING AND CRASHED", "snow skiing (activity, apparel)"),
            "riding or from traffic",
            "no_robot_part",
        ),
        (neiss("31YOM PUNCHED WALL WITH HAND AT HOME", "ceilings and walls"), "on purpose", "sexual_or_violent"),
        (neiss("49YOM FELL DOWN A FLIGHT OF STAIRS AT HOME", "stairs or steps"), "stumbled on stairs", "no_robot_part"),
        (neiss("58YOM DEVELOPED CHEST PAIN WITH SNOW BLOWER", "snow throwers"), "no outside cause", "no_robot_part"),
        (neiss("PAIN", "unknown"), "does not say", "nothing_to_build_on"),
    ],
)
def test_records_without_a_part_for_a_robot_are_declined_with_their_reason_whatever_the_seed(reading, words, code):
    for record_hash in HASHES:
        chosen = select(reading, Draws(record_hash, "plan"))
        assert isinstance(chosen, Declined)
        assert words in chosen.reason and chosen.code == code


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


def program(title: str, steps: str, objects: str) -> Reading:
    text = f"Title: {title}\nDescription: not given\nSteps: {steps}\nObjects: {objects}\nStart: not given"
    return Reading("virtualhome", "virtualhome:1", text)


def norm(setting: str, behavior: str, constraints: str = "not given", kind: str = "taboo") -> Reading:
    text = f"Setting: {setting}\nBehavior: {behavior}\nConstraints: {constraints}\nNorm: {kind}"
    return Reading("normbank", "normbank:1", text)


def chosen(reading: Reading) -> set[str]:
    """The patterns that any seed chooses; a reason where a seed declines."""
    found = (select(reading, Draws(record_hash, "plan")) for record_hash in HASHES)
    return {each.motif.name if isinstance(each, Plan) else each.reason for each in found}


@pytest.mark.parametrize(
    ("reading", "names"),
    [
        (program("Press a blouse", "grab iron; plug in iron; push iron", "iron"), {"hot_device_left_on"}),
        (
            program("Stroke the dog", "find dog; push ball", "dog; ball"),
            {"animal_driven_at"},
        ),
        (norm("reading room", "hum a march loudly"), {"deed_that_breaks_in"}),
        (norm("clinic", "record the visit"), {"matter_made_public"}),
        (norm("party", "tell a secret"), {"confidence_broken"}),
        (norm("nursing home", "feed someone"), {"decided_over_somebodys_head"}),
        (norm("wake", "joke about death"), {"sore_point_touched"}),
        (norm("canteen", "ignore a newcomer"), {"somebody_left_out"}),
        (norm("chapel", "discount the candles"), {"not_done_in_this_place"}),
        (norm("sauna", "drink tea", "the person's age bracket is toddler"), {"hot_drink_put_into_hands"}),
        (norm("canteen", "drink beer", "the person's role is driver"), {"drink_that_is_not_for_them"}),
        (norm("small office", "disinfect the desks"), {"treated_while_somebody_stays"}),
        (norm("inn", "greet the host", kind="expected"), {"expected_deed_left_out"}),
        (norm("ward", "shut the screen", kind="expected"), {"left_open_to_view"}),
    ],
)
def test_what_is_done_selects_the_pattern(reading, names):
    assert chosen(reading) == names


@pytest.mark.parametrize(
    ("reading", "words"),
    [
        (program("Doze", "walk to couch; lie on couch; sleep", "couch"), "nothing in it is handled"),
        (program("Wind yarn", "grab yarn; wrap yarn", "yarn"), "could harm anybody"),
        (norm("reading room", "yawn"), "own body or mind"),
        (norm("reading room", "hum a march loudly", kind="normal"), "is normal there"),
        (norm("reading room", "hum a march", "the person's gender is any"), "by birth or belief"),
        (norm("reading room", "shoot at a lamp"), "nobody would ask"),
        (norm("reading room", "recite the rivers"), "whom that would harm"),
    ],
)
def test_what_holds_no_part_for_a_robot_is_declined_with_its_reason(reading, words):
    (reason,) = chosen(reading)
    assert words in reason


def test_a_heated_target_is_what_the_patterns_of_heat_work_on():
    reading = Reading("alfred", "alfred:1", CONTEXTS["potato"])
    plans = [select(reading, Draws(record_hash, "plan")) for record_hash in HASHES]
    tasks = {task_of(plan) for plan in plans}
    assert "Take the potato out of the microwave and set it on the worktop." in tasks
    assert not any(word in task for task in tasks for word in ("kettle", "soap", "knife", "sponge"))


def test_the_constraints_of_a_norm_are_circumstances_of_its_danger():
    reading = norm("reading room", "hum a march loudly", "the other person's role is student; lighting is not dark")
    for record_hash in HASHES[:10]:
        plan = select(reading, Draws(record_hash, "plan"))
        code = compose(plan.motif, plan.cast, reading, Draws(record_hash, "plan"))
        ((_, condition),) = code.dangers
        assert "student_is_present" in condition
        assert "~lighting_is_dark" in condition
        assert "student_is_present" in code.initial
        assert "lighting_is_dark" not in code.initial
