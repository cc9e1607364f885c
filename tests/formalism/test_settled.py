"""Effects that are settled mean the same, and none of them clears what another one sets."""

from __future__ import annotations

import random

import pytest

from hazardmill.formalism.search.engines.external import solve_with
from hazardmill.formalism.search.engines.settled import settle_writes
from hazardmill.formalism.semantics.plan_validator import PlanValidator
from hazardmill.formalism.semantics.transition_system import System
from hazardmill.household.compile import compile_task
from tests.household.bottle import BOTTLE_TASK
from tests.household.random_tasks import random_task

from .despite_folders import random_documents
from .support import kitchen


def test_no_effect_clears_what_another_one_sets() -> None:
    rng = random.Random(3)
    cleared = 0
    for document in (*random_documents(40), compile_task(random_task(rng)).document):
        system, settled = System(document), System(settle_writes(document))
        bits, numbers = system.initial.bits, system.initial.numbers
        # Both systems number their fluents as they meet them.
        own = (settled.initial.bits, settled.initial.numbers)
        for _ in range(30):
            action = rng.choice(system.all_actions())
            other = settled.ground(action.name, action.args)
            assert other is not None
            after, others = action.step(bits, numbers), other.step(*own)
            assert (after is None) == (others is None)
            if after is None or others is None:
                continue
            writes = other.writes(*own)
            assert writes is not None and not writes.adds & writes.deletes
            cleared += bool(writes.deletes)
            (bits, numbers), own = after, others
            assert {atom for atom in system.atoms if system.value(atom, bits, numbers)} == {
                atom for atom in settled.atoms if settled.value(atom, *own)
            }
    assert cleared > 20


def test_a_task_with_nothing_to_settle_is_the_same() -> None:
    settled = settle_writes(kitchen())
    assert settle_writes(settled) is settled


@pytest.mark.full
def test_enhsp_solves_a_household_task() -> None:
    document = compile_task(BOTTLE_TASK).document
    answer = solve_with("enhsp", document, "safe", 60)
    assert answer.status == "solved" and answer.plan_text is not None
    assert PlanValidator(System(document)).quick(answer.plan_text)[1]
