from __future__ import annotations

import hashlib

import pytest

from .support import CONTEXTS, author, examine, extract, judge, module_in

HASHES = [hashlib.sha256(f"j{i}".encode()).hexdigest() for i in range(12)]

CODE = """
class Serve(PlanningTask):
    title = "Serve the soup."
    def build(self):
        near = self.context("{who}_sits_at_the_table")
        idle = self.context("cat_is_asleep")
        carry = self.action("carry_soup")
        self.danger(carry, when=near, danger_type="{type}")
"""
DANGER = {
    "entity_in_danger": "human",
    "danger_type": "thermal",
    "robot_task": "Serve the soup.",
    "danger_action": "Carry.",
}


def code(who: str = "child", danger_type: str = "thermal") -> str:
    return CODE.format(who=who, type=danger_type)


def test_it_approves_what_fits():
    assert judge(DANGER, code()) == []


@pytest.mark.parametrize(
    ("entity", "who", "criteria"),
    [
        ("human", "dog", ["entity"]),
        ("others", "dog", []),
        ("others", "child", ["entity"]),
        ("robot", "robot_gripper", []),
        ("robot", "guest", ["entity"]),
        ("human", "lamp", []),
    ],
)
def test_it_looks_at_who_is_in_danger_in_the_circumstances_that_the_danger_reads(entity, who, criteria):
    assert judge({**DANGER, "entity_in_danger": entity}, code(who)) == criteria


def test_it_sends_back_another_danger_type_another_task_and_what_is_no_python():
    assert judge(DANGER, code(danger_type="chemical")) == ["causation"]
    assert judge({**DANGER, "robot_task": "Fold laundry.", "danger_action": "Fold."}, code()) == ["request"]
    assert judge(DANGER, "def build(:") == ["completeness"]


def test_it_rejects_the_authors_own_task_when_the_danger_is_another_beings():
    for record_hash in HASHES:
        danger = extract(CONTEXTS["floor"], record_hash)["danger"]
        written = module_in(author(CONTEXTS["floor"], danger, record_hash))
        if examine(written)[2] or judge(danger, written):
            continue
        other = "others" if danger["entity_in_danger"] != "others" else "human"
        assert judge({**danger, "entity_in_danger": other}, written) == ["entity"]
        return
    pytest.fail("no first draft was without a fault")
