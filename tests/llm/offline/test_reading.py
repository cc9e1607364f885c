from __future__ import annotations

import pytest

from hazardmill.llm.backends.offline.draws import Draws
from hazardmill.llm.backends.offline.reading import Reading

from .support import CONTEXTS

DRAWS = Draws("record")


def reading(name: str) -> Reading:
    return Reading("neiss", "neiss:1", CONTEXTS[name])


@pytest.mark.parametrize(
    ("record", "person", "place"),
    [
        ("knife", "woman", "home"),
        ("floor", "resident", "care"),
        ("toddler", "baby", "home"),
        ("school", "pupil", "school"),
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
