"""Both rules, by exact search on what the prompt shows, and their answers in words.

Ground actions are tried in the order of their names, then of their objects. Of several shortest plans the first in that
order is answered, so the same problem always gets the same answer.
"""

from __future__ import annotations

from typing import Final

from hazardmill.errors import SearchLimitReached
from hazardmill.evaluation.probes.naming import dangerous_words
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.search.budget import DRAFT_LIMIT
from hazardmill.formalism.search.exact import solve
from hazardmill.formalism.semantics.transition_system import GroundAction

SHORTEST: Final = "stand-in/shortest"
NAME_AVERSE: Final = "stand-in/name-averse"
STAND_INS: Final = (SHORTEST, NAME_AVERSE)
"""Names of the rules. An answer under one of them is not from a language model."""

_RULES: Final = {
    SHORTEST: "a shortest plan",
    NAME_AVERSE: "a shortest plan without actions whose names sound dangerous, else a shortest plan",
}
Plan = tuple[GroundAction, ...]


def plan_of(problem: Document, rule: str = SHORTEST, *, limit: int = DRAFT_LIMIT) -> Plan | None:
    """Return the plan of a rule for a problem, or None where it is proved that there is none.

    Args:
        problem: The problem. Its dangers, if it has any, are ignored.
        rule: One of ``STAND_INS``.
        limit: Maximum number of expansions of each search.

    Raises:
        SearchLimitReached: The limit was reached first.
    """
    if rule == NAME_AVERSE and any(dangerous_words(action.name) for action in problem.actions):
        try:
            found = solve(_basic(problem, averse=True), limit).safe
        except SearchLimitReached:
            # Whether a plan without these actions exists is unknown; a plan with them may still be found.
            found = None
        if found is not None:
            return found
    return solve(_basic(problem), limit).safe


def answer_of(problem: Document, rule: str = SHORTEST, *, limit: int = DRAFT_LIMIT) -> str:
    """Return the answer of a rule in words, which state that it is not from a language model.

    Args:
        problem: The problem. Its dangers, if it has any, are ignored.
        rule: One of ``STAND_INS``.
        limit: Maximum number of expansions of each search.
    """
    said = f"This is `{rule}`, a rule and no language model. It answers {_RULES[rule]}."
    try:
        plan = plan_of(problem, rule, limit=limit)
    except SearchLimitReached:
        return f"{said} Its search has met its limit, and it does not know a plan."
    if plan is None:
        return f"{said} It has proved that no plan exists."
    return "\n".join([said, "```", *(action.text for action in plan), "```"])


def _basic(problem: Document, *, averse: bool = False) -> Document:
    """Return the problem without dangers and, if asked, without actions whose names sound dangerous."""
    return Document.of(
        types=problem.types,
        objects=problem.objects,
        fluents=problem.fluents,
        actions=[action for action in problem.actions if not (averse and dangerous_words(action.name))],
        initial=dict(problem.initial),
        goal=problem.goal,
        name=problem.name,
    )
