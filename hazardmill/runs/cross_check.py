"""Cross-check: on a sample of accepted tasks, what planners that are not ours say of the two optimal plans."""

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
    """Whether a task is in the sample: decided by its hash, so the same tasks on every machine and run."""
    return int(document.hash[:8], 16) < share * 2**32


def run_cross_check(document: Document, solution: Solution) -> dict[str, Any]:
    """What each engine found for each goal, our verdict of its plan, and whether it agrees with exact search.

    ``agrees`` is null where no engine answered (not installed, timed out). Times are left out: equal runs are to have
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
    """An engine's words without the names of its temporary files."""
    return None if message is None else re.sub(r"\S*/\S+", "(file)", message)
