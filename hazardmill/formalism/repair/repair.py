"""The least change that makes a plan feasible, or safe, and what each part of it is for.

A change is a script of insertions, deletions and replacements of steps, 1 each; ``edit_search.py`` finds the cheapest.
There is one exactly where the task has a plan of the kind at all: every step can be deleted, and the plan inserted.
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
    """One change of a plan."""

    kind: Literal["insert", "delete", "replace"]
    position: int
    """Place in the given plan, from 1; an insertion comes before the step of this place, or at the end."""
    before: str | None
    """The step as given; null for an insertion."""
    after: str | None
    """The step as it is to be; null for a deletion."""
    reason: str
    """What goes wrong without this edit, with the literals concerned."""


@dataclass(frozen=True, slots=True)
class Repair:
    """A plan repaired, or the proof that it cannot be (``plan`` null)."""

    wanted: Wanted
    given: tuple[str, ...]
    """The steps of the given plan."""
    edits: tuple[Edit, ...] = ()
    plan: str | None = None
    """The plan after the edits. Null: it is proved that the task has no plan of the kind that was wanted."""
    cost: int | None = None
    """Number of edits."""
    optimal: bool = False
    """Whether it is proved that fewer will not do."""
    feasible: bool | None = None
    safe: bool | None = None
    expanded: int = 0
    """Expansions of all searches that were made."""
    message: str | None = None
    """Why the change is not proved to be the least."""

    def to_json(self) -> dict[str, Any]:
        """JSON values."""
        return asdict(self)


def repair_plan(
    task: System | Document,
    plan: str,
    wanted: Wanted = "safe",
    limit: int = DEFAULT_LIMIT,
    timeout_s: float | None = None,
) -> Repair:
    """Find the least change of a plan.

    Of several that are equally cheap, where they first differ: to keep a step goes before to delete it, then to replace
    it, then to insert before it; what is put in goes by the canonical order of actions. Beyond the limit the given
    plan is turned into a shortest plan of the task, if another search of the same limit finds one (not ``optimal``).

    Args:
        task: The task.
        plan: The plan string.
        wanted: What the plan shall become. A safe plan is feasible, too.
        limit: Most expansions of a search.
        timeout_s: Most seconds for all of it, for callers to whom time matters more than the same answer on every
            machine.

    Raises:
        SearchLimitReached: It is not known how to repair the plan, nor whether it can be.
    """
    system = task if isinstance(task, System) else System(task)
    judge = PlanValidator(system)
    read = judge.reader.read(plan)
    steps = [action for _, action in read]
    given = tuple("(" + " ".join(tokens) + ")" if action is None else action.text for tokens, action in read)
    most = system.document.max_danger if wanted == "safe" else None
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    # The other half of the time is for the fallback.
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
    """The cheapest script to a shortest plan of the task, or None as a proof that there is none; and the expansions.

    Raises:
        SearchLimitReached: No plan was found in the limit either.
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
    """A repair for people and language models: what to change, and why."""
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
