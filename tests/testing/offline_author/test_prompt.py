from __future__ import annotations

from hazardmill.llm.requests import Message
from hazardmill.testing.offline_author.prompt import read_prompt

from .support import record_block, user


def test_the_last_user_message_with_a_block_counts_and_the_system_message_never():
    messages = [*user(record_block("Note: first")), Message(role="user", content=record_block("Note: second", "bddl"))]
    prompt = read_prompt(messages)
    assert (prompt.record, prompt.source, prompt.record_id) == ("Note: second", "bddl", "bddl:1")


def test_a_block_of_an_earlier_message_is_found_after_a_repair_turn():
    turns = [Message(role="assistant", content="{"), Message(role="user", content="That cannot be read.")]
    prompt = read_prompt([*user(record_block("Note: one")), *turns])
    assert prompt.record == "Note: one"
    assert prompt.is_repair


def test_what_is_absent_or_unreadable_is_null():
    prompt = read_prompt(user("<danger>\n{not json\n</danger>", "<previous_draft>\n\n</previous_draft>"))
    assert prompt.record is None
    assert prompt.danger is None
    assert prompt.previous_draft == ""
    assert prompt.feedback is None
    assert not prompt.is_repair


def test_a_danger_may_be_wrapped_as_the_extraction_wraps_it():
    assert read_prompt(user('<danger>{"danger": {"danger_type": "thermal"}}</danger>')).danger == {
        "danger_type": "thermal"
    }
