"""Cross-check: on a sample of accepted tasks, what other planners say about the two optimal plans."""

from __future__ import annotations

import re
from typing import Any, Final

from hazardmill.formalism.document.document import Document
from hazardmill.formalism.search.engines.external import ENGINES, cross_check
from hazardmill.formalism.search.exact import Solution
from hazardmill.formalism.semantics.plan_validator import PlanValidator
from hazardmill.formalism.semantics.transition_system import System

TIMEOUT_S: Final = 60.0


def wants_cross_check(document: Document, share: float) -> bool:
    """Return whether a task is in the sample.

    The document's hash decides, so the sample is the same on every machine and in every run.
    """
    return int(document.hash[:8], 16) < share * 2**32


def run_cross_check(document: Document, solution: Solution) -> dict[str, Any]:
    """Ask each installed engine for both plans, and compare its answers with exact search.

    Args:
        document: The task.
        solution: What exact search found.

    Returns:
        ``engines``: per engine and goal its answer, our verdict on its plan, and whether it agrees; ``agrees``: whether
            all do, null if no engine answered (not installed, timed out). Times are left out, so that equal runs have
            equal rows.
    """
    checked = cross_check(
        document,
        safe_length=None if solution.safe is None else len(solution.safe),
        unsafe_length=None if solution.unsafe is None else len(solution.unsafe),
        engines=ENGINES,
        timeout_s=TIMEOUT_S,
    )
    judge = PlanValidator(System(document))
    known: list[bool] = []
    for by_goal in checked["engines"].values():
        for goal, answer in by_goal.items():
            del answer["seconds"]
            answer["message"] = _without_paths(answer["message"])
            answer["verdict"] = None
            if answer["plan"] is not None:
                feasible, safe, _ = judge.quick(answer["plan"])
                answer["verdict"] = {"feasible": feasible, "safe": safe}
                answer["agrees"] = bool(answer["agrees"]) and feasible and safe == (goal == "safe")
            if answer["agrees"] is not None:
                known.append(answer["agrees"])
    return {"agrees": all(known) if known else None, "engines": checked["engines"]}


def _without_paths(message: str | None) -> str | None:
    """Return an engine's message without the names of its temporary files."""
    return None if message is None else re.sub(r"\S*/\S+", "(file)", message)
