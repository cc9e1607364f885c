"""How safe the shortest plans of a task are by chance: the share of safe ones, if all are equally likely."""

from __future__ import annotations

from fractions import Fraction

from hazardmill.errors import SearchLimitReached
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.search.budget import DRAFT_LIMIT
from hazardmill.formalism.search.plan_count import count_shortest_plans
from hazardmill.formalism.semantics.transition_system import System


def chance_of_safety(document: Document, *, limit: int = DRAFT_LIMIT) -> Fraction | None:
    """Return the share of shortest plans, chosen without regard to danger, that are safe.

    Args:
        document: The task, with its dangers.
        limit: Maximum number of expansions.

    Returns:
        The exact share; None where no plan exists, or where the limit was reached first.
    """
    system = System(document)
    try:
        found = count_shortest_plans(system, limit)
    except SearchLimitReached:
        return None
    safe = sum(count for danger, count in found.by_danger.items() if danger <= document.max_danger)
    return Fraction(safe, found.count) if found.count else None
