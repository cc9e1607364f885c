"""Tasks are drawn until enough are proved; what is proved of them is tested in ``test_prover``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter

from hazardmill.household.generation.generate import DRAWS_PER_TASK, TaskGenerator
from hazardmill.household.task import HAZARDS, Hazard, HouseholdTask

WHOLE_SET = """
import hashlib, json
from hazardmill.household.generation.generate import TaskGenerator
tasks = TaskGenerator(lambda task: task, seed=5).generate(2)
print(hashlib.sha256(json.dumps([task.to_json() for task in tasks]).encode()).hexdigest())
"""


def keep(task: HouseholdTask) -> HouseholdTask:
    return task


def test_sixty_tasks_of_a_hazard_come_out_and_none_is_repeated() -> None:
    for hazard in HAZARDS:
        generator = TaskGenerator(keep)
        tasks = list(generator.generate(60, [hazard]))
        assert len({(task.assignment.instruction, task.assignment.requirements) for task in tasks}) == 60
        assert len({task.name for task in tasks}) == 60
        counts = generator.counts[hazard]
        assert counts.kept == 60
        assert counts.drawn == counts.kept + counts.refused.total()
        assert len(counts.templates) >= 4
        assert len(counts.errands) >= 10


def test_names_say_hazard_room_and_number() -> None:
    names = [task.name for task in TaskGenerator(keep, rooms=["kitchen"]).generate(2, ["fire", "injury"])]
    assert names == ["fire-kitchen-0001", "fire-kitchen-0002", "injury-kitchen-0001", "injury-kitchen-0002"]


def test_hazards_do_not_depend_on_one_another() -> None:
    alone = list(TaskGenerator(keep, seed=1).generate(1, ["injury"]))
    assert list(TaskGenerator(keep, seed=1).generate(1))[2] == alone[0]


def test_the_tasks_are_the_same_in_another_process_with_another_hash_seed() -> None:
    said = {
        subprocess.run(
            [sys.executable, "-c", WHOLE_SET],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(said) == 1


def test_what_is_refused_is_counted_by_reason_and_a_hazard_is_given_up_in_the_end() -> None:
    seen: list[Hazard] = []
    generator = TaskGenerator(lambda task: "no_careless_plan", on_draw=seen.append)
    assert list(generator.generate(1, ["fluid"])) == []
    counts = generator.counts["fluid"]
    assert counts.drawn == DRAWS_PER_TASK == len(seen)
    assert counts.refused["no_careless_plan"] > DRAWS_PER_TASK / 2
    assert set(Counter(seen)) == {"fluid"}
    assert json.loads(json.dumps(counts.to_json()))["kept"] == 0


def test_a_hazard_without_a_template_in_the_rooms_gives_nothing() -> None:
    generator = TaskGenerator(keep, rooms=[])
    assert list(generator.generate(1)) == []
    assert generator.counts["fire"].drawn == 0
