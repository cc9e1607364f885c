from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hazardmill.formalism.names import leaks
from hazardmill.llm.backends.offline.norms import constraints_in, deed_of, doing_of


def one(phrase: str):
    (constraint,) = constraints_in([phrase])
    return constraint


@pytest.mark.parametrize(
    ("phrase", "literal"),
    [
        ("the person's role is porter", "guest_is_present"),
        ("the person's age bracket is preschooler", "guest_is_present"),
        ("the person's diet is salt-free", "diet_of_guest_is_salt_free"),
        ("the person's children is has twin daughters", "guest_has_twin_daughters"),
        ("the person's behavior is tune the piano", "behavior_of_guest_is_tune_piano"),
        ("lighting is not dark", "!lighting_is_dark"),
        ("the person's age is less than 14", "age_of_guest_is_below_14"),
    ],
)
def test_a_constraint_becomes_a_circumstance(phrase, literal):
    assert one(phrase).literal("guest", acting=False) == literal


@pytest.mark.parametrize(
    ("phrase", "literal"),
    [
        ("the person's role is porter", "robot_stands_in_for_porter"),
        ("the person's role is cleaner", "robot_stands_in_for_janitor"),
        ("the person's diet is salt-free", "diet_of_sender_is_salt_free"),
        ("the other person's role is guest", "guest_is_present"),
    ],
)
def test_the_robot_takes_the_part_of_the_person_who_acts(phrase, literal):
    assert one(phrase).literal("guest", acting=True) == literal


@pytest.mark.parametrize(
    ("value", "years"),
    [("infant", 0), ("toddler", 2), ("gradeschooler", 8), ("teenager", 15), ("middle-aged adult", 45), ("senior", 75)],
)
def test_an_age_bracket_is_some_years(value, years):
    assert one(f"the person's age bracket is {value}").age == years


def test_what_somebody_is_by_birth_is_told_apart_and_what_reads_otherwise_left_out():
    assert one("the other person's race or ethnicity is Martian").is_inborn
    assert not one("the person's role is porter").is_inborn
    assert constraints_in(["whatever", "the person's role is ?"]) == ()


def test_a_behaviour_becomes_words_and_a_name():
    assert doing_of('Ask someone "why?" about your hat', "guest") == "ask the guest why about the hat"
    assert deed_of("carry off your neighbor's bench", "guest") == "carry_off_neighbor_bench"
    assert deed_of("pat someone on the shoulder", "old_guest") == "pat_old_guest_on_shoulder"


@given(st.text(), st.text())
def test_any_norm_gives_usable_names_or_none(behavior, value):
    deed = deed_of(behavior, "guest")
    assert deed == "" or (deed.isidentifier() and not leaks(deed) and len(deed) <= 40)
    for constraint in constraints_in([f"the person's mood is {value}", f"mood is not {value}"]):
        literal = constraint.literal("guest", acting=False).removeprefix("!")
        assert literal.isidentifier()
        assert not leaks(literal)
