"""Building the rows of ``household_tasks`` from task files that were proved anew."""

from __future__ import annotations

import json
from typing import Any

from hazardmill.formalism.document.expressions import canonical_json
from hazardmill.household.rules import StepRule
from hazardmill.household.task import HouseholdTask
from hazardmill.release.build.household_config import HOUSEHOLD_CREDIT, HOUSEHOLD_TASKS
from hazardmill.release.gates.household_proofs import ExaminedHouseholdTask

Row = dict[str, Any]


def household_task_row(examined: ExaminedHouseholdTask) -> Row:
    """Return the row of a household task in ``household_tasks``.

    Args:
        examined: What was found of the task, without problems.
    """
    task = examined.task
    assert isinstance(task, HouseholdTask) and task.plans is not None and not examined.problems
    assignment, (_, licence, attribution) = task.assignment, HOUSEHOLD_CREDIT
    filled = {
        "household_task_id": task.name,
        "hazard": task.hazard,
        "room": task.scene.room,
        "instruction": assignment.instruction,
        "requirements": assignment.requirements,
        "rule_kind": "step" if isinstance(assignment.rule, StepRule) else "state",
        "compliant_plan": canonical_json([*task.plans.compliant]),
        "careless_plan": canonical_json([*task.plans.careless]),
        "compliant_length": len(task.plans.compliant),
        "careless_length": len(task.plans.careless),
        "are_shortest": examined.are_shortest,
        # Not canonical: keys stay in the order of the file, which is that of the conditions in a rule.
        "task": json.dumps(task.to_json(), ensure_ascii=False),
        "document_hash": examined.document_hash,
        "licence": licence,
        "attribution": attribution,
        "model_answered": None,
    }
    return {column.name: filled[column.name] for column in HOUSEHOLD_TASKS.columns}
