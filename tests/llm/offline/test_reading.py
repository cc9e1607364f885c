from __future__ import annotations

import pytest

from hazardmill.llm.backends.offline.draws import Draws
from hazardmill.llm.backends.offline.reading import Reading

from .support import CONTEXTS, SOURCES

DRAWS = Draws("record")


def reading(name: str) -> Reading:
    return Reading(SOURCES.get(name, "neiss"), f"{name}:1", CONTEXTS[name])


@pytest.mark.parametrize(
    ("record", "person", "place"),
    [
        ("knife", "woman", "home"),
        ("floor", "resident", "care"),
        ("toddler", "baby", "home"),
        ("school", "pupil", "school"),
        ("reading room", "student", "public"),
    ],
)
def test_person_and_place_come_from_age_sex_and_location(record, person, place):
    assert reading(record).person(DRAWS) == person
    assert reading(record).place == place


def test_things_are_the_products_or_objects_in_order():
    assert reading("toddler").things == ("toy", "battery")
    assert reading("laundry").things_of("textile") == ["undergarment", "sock", "jersey"]


def test_rooms_begin_with_those_the_record_names():
    assert reading("laundry").named_rooms == ("utility_room", "bedroom")
    rooms = reading("laundry").rooms(4, DRAWS)
    assert rooms[:2] == ["utility_room", "bedroom"]
    assert len(set(rooms)) == 4


def test_unknown_values_are_left_out_and_abbreviations_spelled_out():
    text = "Narrative: LAC TO LIP AFTER FALL\nDiagnosis: not recorded\nLocation: not recorded"
    words = Reading("neiss", "1", text).words
    assert {"laceration", "fell"} <= words
    assert "diagnosis" not in Reading("neiss", "1", text).fields


def test_an_animal_is_the_records_own():
    assert reading("mouse").animal(DRAWS) == "mouse"


def test_a_program_tells_of_what_its_steps_handle_and_not_of_where_somebody_sits():
    ironing = reading("ironing")
    assert ironing.things == ("ironing_board", "iron", "shirt", "chair")
    assert ironing.told_things == ("ironing_board", "iron", "shirt")
    assert {"iron", "unfold", "press"} <= ironing.words
    assert not {"chair", "sit", "hand", "laundry"} & ironing.words
    assert ironing.named_rooms == ("bedroom", "laundry_room")
    assert not ironing.is_idle


def test_a_program_without_a_handled_thing_is_idle():
    text = "Title: Doze\nDescription: not given\nSteps: walk to couch; find couch; lie on couch; sleep\nObjects: couch"
    assert Reading("virtualhome", "1", text).is_idle


def test_an_instruction_tells_of_its_target_and_not_of_what_else_stands_in_the_room():
    potato = reading("potato")
    assert set(potato.told_things) == {"potato", "microwave", "dining_table", "table"}
    assert {"kettle", "soap_bottle", "butter_knife"} <= set(potato.things)
    assert not {"kettle", "knife", "sliced"} & potato.words
    assert potato.nearest("heated") == ["potato"]
    assert potato.named_rooms == ("kitchen",)


def test_what_a_record_is_about_goes_before_what_stands_about():
    text = "Instructions: Put the mug away.\nSteps: Pick up the mug.\nObjects: bowl; mug; plate\nTarget: mug"
    assert Reading("alfred", "1", text).nearest("breakable") == ["mug"]
    assert Reading("alfred", "1", text).nearest("breakable", {"mug"}) == ["bowl", "plate"]
    assert Reading("bddl", "1", "Activity: x\nObjects: bowl; mug; plate").nearest("breakable") == [
        "bowl",
        "mug",
        "plate",
    ]


def test_a_norm_tells_of_its_behaviour_and_its_constraints():
    room = reading("reading room")
    assert room.deeds("student") == ["hum_march_loudly"]
    assert room.limits("student", acting=True) == [
        "robot_stands_in_for_librarian",
        "student_is_present",
        "!lighting_is_dark",
    ]
    assert room.person(DRAWS, acting=True) == "student"
    assert room.named_rooms == ("reading_room",)
    assert "norm_taboo" in room.circumstances


def test_who_is_told_of_alone_is_concerned_unless_the_robot_takes_that_part():
    alone = Reading(
        "normbank", "1", "Setting: pool\nBehavior: x y\nConstraints: the person's role is usher\nNorm: taboo"
    )
    assert alone.person(DRAWS) == "usher"
    assert alone.person(DRAWS, acting=True) in ("visitor", "guest")


def test_a_mouse_beside_a_computer_is_no_animal():
    text = "Title: Work\nDescription: not given\nSteps: grab mouse; switch on computer\nObjects: mouse; computer"
    assert "mouse" not in Reading("virtualhome", "1", text).words
    assert Reading("virtualhome", "1", text).animal(DRAWS) != "mouse"
