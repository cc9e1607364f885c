"""The smallest change that makes a plan feasible, or safe, and what each part of it is for.

A change is a script of insertions, deletions and replacements of steps, 1 each; ``edit_search.py`` finds the cheapest.
There is one exactly where the task has a plan of the wanted kind at all: every step can be deleted, and the plan
inserted.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any, Literal

from hazardmill.errors import SearchLimitReached
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.document.plan_text import plan_text
from hazardmill.formalism.repair.causes import AS_A_WHOLE, Causes
from hazardmill.formalism.repair.edit_search import Move, PlanStates, ScriptSearch, Space, Steps
from hazardmill.formalism.search.budget import DEFAULT_LIMIT, Effort
from hazardmill.formalism.search.exact import attempt_to_solve
from hazardmill.formalism.semantics.plan_validator import PlanValidator
from hazardmill.formalism.semantics.transition_system import System, width

Wanted = Literal["feasible", "safe"]


@dataclass(frozen=True, slots=True)
class Edit:
    """One change of a plan.

    Attributes:
        kind: What is done with the step.
    """

    kind: Literal["insert", "delete", "replace"]
    position: int
    """Place in the given plan, from 1; an insertion comes before the step of this place, or at the end."""
    before: str | None
    """The step as given; None for an insertion."""
    after: str | None
    """The step that takes its place; None for a deletion."""
    reason: str
    """What goes wrong without this edit, with the literals concerned."""


@dataclass(frozen=True, slots=True)
class Repair:
    """A repaired plan, or the proof that there can be none (``plan`` is None).

    Attributes:
        wanted: What the plan should become.
        feasible: Whether the repaired plan is feasible; None without one.
        safe: Whether it is safe; None without one.
    """

    wanted: Wanted
    given: tuple[str, ...]
    """The steps of the given plan."""
    edits: tuple[Edit, ...] = ()
    """What to change, in the order of the given plan; empty where nothing needs to be changed, or no change helps."""
    plan: str | None = None
    """The plan after the edits. None: it is proved that the task has no plan of the wanted kind."""
    cost: int | None = None
    """Number of edits."""
    optimal: bool = False
    """Whether it is proved that fewer edits will not do."""
    feasible: bool | None = None
    safe: bool | None = None
    expanded: int = 0
    """Expansions of all searches that were made."""
    message: str | None = None
    """Why the change is not proved to be a smallest one."""

    def to_json(self) -> dict[str, Any]:
        """Return the repair as JSON values."""
        return asdict(self)


def repair_plan(
    task: System | Document,
    plan: str,
    wanted: Wanted = "safe",
    limit: int = DEFAULT_LIMIT,
    timeout_s: float | None = None,
) -> Repair:
    """Find the smallest change of a plan that makes it feasible or safe.

    Of several equally cheap changes the first wins, where they first differ, in this order: keep a step, delete it,
    replace it, insert before it; new actions in canonical order. Beyond the limit the given plan is turned into a
    shortest plan of the task, if another search of the same limit finds one (then not ``optimal``).

    Args:
        task: The task.
        plan: The plan string.
        wanted: What the plan should become. A safe plan is also feasible.
        limit: Most expansions of a search.
        timeout_s: Most seconds for everything, for callers to whom time matters more than the same answer on every
            machine.

    Returns:
        The repair; its ``plan`` is None if it is proved that the task has no plan of the wanted kind.

    Raises:
        SearchLimitReached: It is not known how to repair the plan, nor whether it can be repaired.
    """
    system = task if isinstance(task, System) else System(task)
    judge = PlanValidator(system)
    read = judge.reader.read(plan)
    steps = [action for _, action in read]
    given = tuple("(" + " ".join(tokens) + ")" if action is None else action.text for tokens, action in read)
    most = system.document.max_danger if wanted == "safe" else None
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    # Half of the time; the other half is for the fallback.
    effort = Effort(limit, 0, None if timeout_s is None else timeout_s / 2, system.size.state_bytes)
    refusal: SearchLimitReached | None = None
    try:
        script = _find_cheapest(system, steps, most, effort)
        expanded = effort.expanded
    except SearchLimitReached as refused:
        refusal = refused
        script, fallback = _repair_towards_known_plan(system, steps, wanted, limit, deadline, refused)
        expanded = effort.expanded + fallback
    if script is None:
        return Repair(wanted, given, expanded=expanded)
    causes = Causes(judge, script, steps, given, most, lambda: deadline is not None and time.monotonic() > deadline)
    if refusal is not None:
        causes.drop_needless_moves()
    edits = tuple(
        Edit(
            move.kind,
            move.place + 1,
            None if move.kind == "insert" else given[move.place],
            None if move.action is None else move.action.text,
            causes.cause_of(number) or AS_A_WHOLE,
        )
        for number, move in enumerate(causes.script)
        if move.kind != "keep"
    )
    repaired = plan_text(move.action for move in causes.script if move.action is not None)
    feasible, safe, _ = judge.quick(repaired)
    return Repair(
        wanted,
        given,
        edits,
        repaired,
        len(edits),
        optimal=refusal is None or not edits,
        feasible=feasible,
        safe=safe,
        expanded=expanded,
        message=None if refusal is None else refusal.message,
    )


def _find_cheapest(system: System, steps: Steps, most: int | None, effort: Effort) -> list[Move] | None:
    actions = system.all_actions(effort.watch_the_clock)
    effort.widen(width(actions) + system.goal_work)
    falls = any(entry.increment < 0 for entry in system.document.dangers)
    space = Space(system, actions, effort)
    return ScriptSearch(space, steps, system.document.initial_danger, most, falls).run()


def _repair_towards_known_plan(
    system: System, steps: Steps, wanted: Wanted, limit: int, deadline: float | None, refused: SearchLimitReached
) -> tuple[list[Move] | None, int]:
    """Return the cheapest script to a shortest plan of the task, and the expansions that finding the plan took.

    The script is None as a proof that there is no such plan.

    Raises:
        SearchLimitReached: No plan was found within the limit either.
    """
    attempt = attempt_to_solve(system, limit, _seconds_left(deadline))
    kinds = [True] if wanted == "safe" else [True, False]
    if all(kind in attempt.found and attempt.found[kind] is None for kind in kinds):
        return None, attempt.expanded
    scripts: list[list[Move]] = []
    effort = Effort(limit, 0, _seconds_left(deadline))
    for kind in kinds:
        known = attempt.found.get(kind)
        if known is not None:
            found = ScriptSearch(PlanStates(known, effort), steps, 0, None, False).run()
            if found is not None:
                scripts.append(found)
    if not scripts:
        raise refused
    return min(scripts, key=_cost), attempt.expanded


def _seconds_left(deadline: float | None) -> float | None:
    return None if deadline is None else deadline - time.monotonic()


def _cost(script: list[Move]) -> int:
    return sum(move.kind != "keep" for move in script)


def feedback_text(repair: Repair) -> str:
    """Return a repair as text for people and language models: what to change, and why, one numbered line per edit."""
    if repair.plan is None:
        kind = "safe plan" if repair.wanted == "safe" else "plan that reaches the goal"
        return f"The task has no {kind}: searched to the end. No change of its steps can repair the plan."
    if not repair.edits:
        return f"The plan is {repair.wanted}: there is nothing to change."
    count = len(repair.edits)
    proof = "the fewest possible" if repair.optimal else f"perhaps more than needed: {repair.message}"
    lines = [f"The plan becomes {repair.wanted} by {count} change{'s' if count > 1 else ''} ({proof}):"]
    lines += [f"{number}. {_describe(edit, repair)}: {edit.reason}." for number, edit in enumerate(repair.edits, 1)]
    lines.append(f"The plan is then: {repair.plan or '()'}")
    return "\n".join(lines)


def _describe(edit: Edit, repair: Repair) -> str:
    if edit.kind == "delete":
        return f"delete step {edit.position} {edit.before}"
    if edit.kind == "replace":
        return f"replace step {edit.position} {edit.before} by {edit.after}"
    if edit.position > len(repair.given):
        return f"insert {edit.after} at the end"
    return f"insert {edit.after} before step {edit.position} {repair.given[edit.position - 1]}"
