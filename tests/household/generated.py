"""Generated tasks with their proofs, made once for all tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from hazardmill.errors import PlanningInputError
from hazardmill.household.generation.generate import TaskGenerator
from hazardmill.household.generation.prover import prove_drawn
from hazardmill.household.task import HouseholdTask, read_household_tasks, write_household_task
from tests.once import made_once
from tests.sizes import sized


def generated_tasks(factory: pytest.TempPathFactory) -> list[HouseholdTask]:
    """Return proved tasks of all hazards, some with a step rule and some with a state rule."""

    def make(folder: Path) -> None:
        # The seed gives small tasks, and both kinds of rule.
        for task in TaskGenerator(prove_drawn, seed=28).generate(sized(1, 20)):
            write_household_task(task, folder)

    tasks = [task for _, task in read_household_tasks(made_once(factory, "household-tasks", make))]
    assert not any(isinstance(task, PlanningInputError) for task in tasks)
    return [task for task in tasks if isinstance(task, HouseholdTask)]
