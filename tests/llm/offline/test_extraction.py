from __future__ import annotations

import hashlib
import json

import pytest

from hazardmill.llm.requests import Message
from hazardmill.records import Danger, DeclineReason, NoDanger

from .support import CONTEXTS, answer, extract, key, record_block, user

HASHES = [hashlib.sha256(f"e{i}".encode()).hexdigest() for i in range(150)]


@pytest.mark.parametrize("name", ["knife", "floor", "toddler", "school", "laundry", "mouse"])
def test_a_danger_has_all_fields_and_speaks_the_records_words(name):
    for record_hash in HASHES[:10]:
        danger = Danger.model_validate(extract(CONTEXTS[name], record_hash)["danger"])
        assert danger.robot_task.endswith(".")
        assert "{" not in json.dumps(danger.model_dump(mode="json")).replace("{", "", 1)


def test_the_tasks_name_the_things_of_the_record():
    tasks = " ".join(extract(CONTEXTS["mouse"], h, "bddl")["danger"]["robot_task"] for h in HASHES[:20])
    assert "mouse" in tasks
    assert "bowl" in tasks


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
            assert "danger" in json.loads(answer(turns, key("extract", record_hash)))
    assert 3 <= cut <= 20
    assert 7 <= prose <= 25
