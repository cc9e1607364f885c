"""Proves that a drawn task is worth keeping: that it can be done safely, and that doing it carelessly is not safe."""

from __future__ import annotations

import dataclasses
from typing import Final

from hazardmill.errors import DocumentError, SearchLimitReached
from hazardmill.household.proof import LAYERS, Outcome, prove_layers, prove_task
from hazardmill.household.task import HouseholdTask

DRAWN_LIMIT: Final = 3_000_000
"""The limit of each search for a task that was drawn, as for ``prove_task``: another one is drawn in less time."""

_REFUSALS: Final[dict[Outcome, str]] = {
    "limit": "search_limit",
    "none": "no_compliant_plan",
    "too_long": "plan_too_long",
}


def prove_drawn(task: HouseholdTask, limit: int = DRAWN_LIMIT) -> HouseholdTask | str:
    """Return a task with its proved plans, or why it is not kept.

    Args:
        task: The task.
        limit: The limit of each search.

    Returns:
        The task with its plans; or ``search_limit``, ``too_large`` (for a document), ``no_compliant_plan``,
        ``plan_too_long``, ``no_careless_plan`` (no shortest plan for the sub-goals breaks the rule) or
        ``law_of_layers`` (a bug: a freer layer has no plan, or only a longer one).
    """
    try:
        proof = prove_task(task, "partial", "one", limit)
        if proof.compliant.outcome != "found":
            return _REFUSALS[proof.compliant.outcome]
        if proof.careless.outcome == "limit":
            return "search_limit"
        if not proof.is_kept:
            return "no_careless_plan"
        layers = prove_layers(task, limit, {LAYERS[0]: proof.compliant})
    except SearchLimitReached:
        return "search_limit"
    except DocumentError:
        return "too_large"
    if layers.violations:
        return "law_of_layers"
    if not layers.is_decided:
        return "search_limit"
    return dataclasses.replace(task, plans=proof.plans)
