"""The fewest steps whose insertion makes a plan feasible, with all given steps kept, or the proof that none do."""

from __future__ import annotations

from dataclasses import dataclass

from hazardmill.formalism.document.document import Document
from hazardmill.formalism.document.plan_text import PlanReader, plan_text
from hazardmill.formalism.repair.edit_search import ScriptSearch, Space
from hazardmill.formalism.search.budget import DEFAULT_LIMIT
from hazardmill.formalism.semantics.transition_system import System


@dataclass(frozen=True, slots=True)
class InsertedStep:
    """One step that was inserted into a plan.

    Attributes:
        position: Place in the given plan, from 1; the insertion comes before the step of this place, or at the end.
        step: The inserted action as ``(name arg ...)``.
    """

    position: int
    step: str


@dataclass(frozen=True, slots=True)
class Insertion:
    """The shortest insertion that makes a plan feasible.

    Attributes:
        steps: What is inserted, in the order of the plan; empty where the given plan is feasible.
        plan: The plan after the insertion.
    """

    steps: tuple[InsertedStep, ...]
    plan: str


def shortest_insertion(task: System | Document, plan: str, limit: int = DEFAULT_LIMIT) -> Insertion | None:
    """Find the fewest steps that make a plan feasible if they are inserted, wherever that is; danger plays no part.

    All given steps are kept, in their order. Of several insertions of the same length the one wins that keeps given
    steps where the others insert, from the left; of several actions, the first in canonical order.

    Args:
        task: The task.
        plan: The plan string.
        limit: Most expansions of the search.

    Returns:
        The insertion; None as a proof that no insertion makes the plan feasible.

    Raises:
        SearchLimitReached: It is not known whether there is one: the task is too large to be ground, or the effort
            that ``limit`` allows was not enough.
    """
    system = task if isinstance(task, System) else System(task)
    steps = PlanReader(system).steps(plan)
    if None in steps:
        return None
    space = Space(system, system.all_actions(), system.effort(limit))
    script = ScriptSearch(space, steps, 0, None, False, insert_only=True).run()
    if script is None:
        return None
    inserted = tuple(
        InsertedStep(move.place + 1, move.action.text)
        for move in script
        if move.kind == "insert" and move.action is not None
    )
    return Insertion(inserted, plan_text(move.action for move in script if move.action is not None))
