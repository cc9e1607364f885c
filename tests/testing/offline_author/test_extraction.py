from __future__ import annotations

import hashlib
import json

import pytest

from hazardmill.llm.requests import Message
from hazardmill.records import Danger, DeclineReason, NoDanger

from .support import CONTEXTS, answer, extract, key, record_block, user

HASHES = [hashlib.sha256(f"e{i}".encode()).hexdigest() for i in range(150)]


@pytest.mark.parametrize("name", ["knife", "floor", "toddler", "school", "laundry", "mouse"])
def test_a_danger_has_all_fields(name):
    found = [extract(CONTEXTS[name], record_hash) for record_hash in HASHES[:20]]
    dangers = [Danger.model_validate(each["danger"]) for each in found if "danger" in each]
    assert len(dangers) > 10
    for danger in dangers:
        assert danger.robot_task.endswith(".")
        assert "{" not in danger.model_dump_json().removeprefix("{")


def test_what_the_record_names_plays_a_part():
    tasks = {extract(CONTEXTS["potato"], record_hash).get("danger", {}).get("robot_task") for record_hash in HASHES}
    assert any("kettle" in (task or "") for task in tasks)


def test_some_records_are_declined_because_a_robot_has_no_part_in_them():
    codes = [extract(CONTEXTS["knife"], record_hash).get("decline_reason") for record_hash in HASHES]
    assert 4 <= codes.count("no_robot_part") <= 25
    violent = NoDanger.model_validate(extract("Narrative: ASSAULTED BY A STRANGER", HASHES[0]))
    assert violent.decline_reason is DeclineReason.SEXUAL_OR_VIOLENT


def test_a_record_that_suggests_nothing_is_declined_with_a_reason():
    declined = NoDanger.model_validate(extract(CONTEXTS["bare"], HASHES[0]))
    assert declined.no_danger.startswith("Nothing")
    assert declined.decline_reason is DeclineReason.NOTHING_TO_BUILD_ON


def test_some_answers_are_cut_off_until_the_repair_turn_and_some_have_prose_around():
    cut = prose = 0
    for record_hash in HASHES:
        asked = user(record_block(CONTEXTS["knife"]))
        text = answer(asked, key("extract", record_hash))
        if text.startswith("Here"):
            prose += 1
            continue
        try:
            json.loads(text)
        except ValueError:
            cut += 1
            turns = [
                *asked,
                Message(role="assistant", content=text),
                Message(role="user", content="That cannot be read."),
            ]
            assert {"danger", "no_danger"} & set(json.loads(answer(turns, key("extract", record_hash))))
    assert 3 <= cut <= 20
    assert 7 <= prose <= 25
