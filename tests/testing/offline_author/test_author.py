from __future__ import annotations

import hashlib
import itertools

import pytest

from hazardmill.llm.requests import Message
from hazardmill.testing.offline_author.author import NO_DANGER_GIVEN, versions_of
from hazardmill.testing.offline_author.choosing import recover
from hazardmill.testing.offline_author.draws import Draws
from hazardmill.testing.offline_author.faults import FAULTS, AuthorFault, answer_of

from .support import (
    CONTEXTS,
    again,
    answer,
    author,
    danger_block,
    examine,
    extract,
    judge,
    key,
    module_in,
    record_block,
    user,
)

CONTEXT = CONTEXTS["knife"]
HASHES = [hashlib.sha256(f"hash {i}".encode()).hexdigest() for i in range(400)]
HASHES = [record_hash for record_hash in HASHES if "danger" in extract(CONTEXT, record_hash)]


def versions(record_hash: str):
    plan = recover(CONTEXT, Draws(record_hash, "plan"), "mechanical", "")
    return versions_of(plan, record_hash)


def faults_of(record_hash: str) -> list[str]:
    return [version.fault.name for version in versions(record_hash) if version.fault]


PLANS = {record_hash: faults_of(record_hash) for record_hash in HASHES}


def hash_with_first(name: str) -> str:
    return next(record_hash for record_hash, faults in PLANS.items() if faults[:1] == [name])


def test_a_fixed_share_of_first_drafts_is_faulty_and_all_lengths_occur():
    lengths = [len(faults) for faults in PLANS.values()]
    assert 0.49 < sum(map(bool, lengths)) / len(lengths) < 0.61
    assert set(lengths) == {0, 1, 2, 3, 4, 5}
    assert all(len(set(faults)) == len(faults) for faults in PLANS.values())
    assert {faults[0] for faults in PLANS.values() if faults} == set(FAULTS)


EXPECTED = {
    "syntax_error": "syntax",
    "prose_around": None,
    "cut_off": "syntax exception",
    "undeclared_fluent": "exception",
    "unreachable_goal": "goal_unreachable",
    "no_unsafe_plan": "no_unsafe_plan",
    "no_safe_plan": "no_safe_plan",
    "leaked_name": "leaked_name",
    "context_in_precondition": "context_in_precondition",
    "wrong_realised_by": "wrong_realised_by",
    "dead_action": "dead_action",
    "unused_fluent": "unused_fluent",
    "wrong_entity": "judge:entity",
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_what_it_says_and_is_mended_only_if_the_feedback_names_it(name):
    record_hash = hash_with_first(name)
    danger = extract(CONTEXT, record_hash)["danger"]
    first = author(CONTEXT, danger, record_hash)
    code = module_in(first)
    reasons = examine(code)[2] or [f"judge:{criterion}" for criterion in judge(danger, code)]
    if EXPECTED[name] is None:
        # Prose around the code is no fault of the code: whoever cannot read such an answer says so.
        assert reasons == []
        assert not first.startswith("```")
        reasons, code = ["no_code"], first
    assert set(reasons) & set((EXPECTED[name] or "no_code").split())
    kept = author(CONTEXT, danger, record_hash, 2, *again(code, "too_large"))
    assert kept == first
    mended = author(CONTEXT, danger, record_hash, 2, *again(code, *reasons))
    assert mended != first
    follower = [*PLANS[record_hash][1:], None][0]
    assert (examine(module_in(mended))[2] == []) == (follower in (None, "prose_around", "wrong_entity"))


@pytest.mark.parametrize("name", ["prose_around", "cut_off"])
def test_an_illegible_draft_is_recognised_from_the_answer_and_from_nothing(name):
    record_hash = hash_with_first(name)
    danger = extract(CONTEXT, record_hash)["danger"]
    first = author(CONTEXT, danger, record_hash)
    for previous in (first, ""):
        assert author(CONTEXT, danger, record_hash, 2, *again(previous, "no_code")) != first
        assert author(CONTEXT, danger, record_hash, 2, *again(previous, "timeout")) == first


def test_where_the_task_as_meant_comes_back_another_composition_is_tried():
    record_hash = next(record_hash for record_hash, faults in PLANS.items() if not faults)
    danger = extract(CONTEXT, record_hash)["danger"]
    codes = [module_in(author(CONTEXT, danger, record_hash))]
    for draft in range(2, 6):
        codes.append(module_in(author(CONTEXT, danger, record_hash, draft, *again(codes[-1], "not_contextual"))))
    assert all(examine(code)[2] == [] for code in codes)
    assert len(set(codes)) >= 3


def test_another_sample_is_another_draw_of_the_same_plan():
    record_hash = HASHES[0]
    danger = extract(CONTEXT, record_hash)["danger"]
    answers = {author(CONTEXT, danger, record_hash, sample=sample) for sample in range(6)}
    assert len(answers) >= 3


def test_a_repair_turn_gets_a_legible_answer():
    record_hash = hash_with_first("cut_off")
    danger = extract(CONTEXT, record_hash)["danger"]
    asked = user(record_block(CONTEXT), danger_block(danger))
    first = answer(asked, key("author", record_hash, 1))
    turns = [*asked, Message(role="assistant", content=first), Message(role="user", content="That cannot be read.")]
    assert examine(module_in(answer(turns, key("author", record_hash, 1))))[2] == []


def test_without_a_danger_or_a_record_it_does_what_a_model_could():
    assert answer(user(record_block(CONTEXT)), key("author", "f" * 64, 1)) == NO_DANGER_GIVEN
    danger = extract(CONTEXT, "f" * 64)["danger"]
    text = answer(user(danger_block(danger)), key("author", "f" * 64, 1))
    assert "class " in text


def test_every_fault_changes_every_shape_or_is_left_out_of_the_plan():
    for record_hash, faults in itertools.islice(PLANS.items(), 60):
        written = versions(record_hash)
        clean = answer_of(written[-1].code, None)
        assert all(
            isinstance(v.fault, AuthorFault) and answer_of(v.code, v.fault) != clean for v in written[: len(faults)]
        )
