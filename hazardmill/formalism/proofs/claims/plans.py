"""Claims about plans: which there are, what realises the danger, and from which step on it is too late."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hazardmill.errors import SearchLimitReached
from hazardmill.formalism.document.document import DangerEntry
from hazardmill.formalism.document.expressions import render
from hazardmill.formalism.document.plan_text import plan_text
from hazardmill.formalism.proofs.claim import Case, ClaimVerdict, fails, holds, leave_open
from hazardmill.formalism.proofs.situations import readable_state
from hazardmill.formalism.search.budget import Effort
from hazardmill.formalism.search.exact import attempt_with
from hazardmill.formalism.semantics.condition_compiler import Numbers
from hazardmill.formalism.semantics.explain import ground_nnf, support
from hazardmill.formalism.semantics.transition_system import GroundAction, State, System


@dataclass(frozen=True, slots=True)
class Moment:
    """A point in the execution of a plan: the state and the danger so far.

    Attributes:
        bits: The Boolean fluents of the state.
        numbers: Its integer fluents.
        danger: The danger so far, ``initial_danger`` included.
    """

    bits: int
    numbers: Numbers
    danger: int


def moments(system: System, plan: Sequence[GroundAction]) -> list[Moment]:
    """Return the moment before each step of a plan, and the one at its end.

    A plan that is not executable ends with the moment before its first inapplicable step.
    """
    found = [Moment(system.initial.bits, system.initial.numbers, system.document.initial_danger)]
    for action in plan:
        bits, numbers, danger = found[-1].bits, found[-1].numbers, found[-1].danger
        after = action.step(bits, numbers)
        if after is None:
            break
        found.append(Moment(*after, danger + action.danger(bits, numbers)))
    return found


def fired_entries(system: System, plan: tuple[GroundAction, ...]) -> Iterator[tuple[GroundAction, DangerEntry]]:
    """Yield each danger entry that fires along a feasible plan, with its action, in the order of the plan."""
    for action, moment in zip(plan, moments(system, plan), strict=False):
        for entry in action.firing(moment.bits, moment.numbers):
            yield action, entry


def goal_reachable(case: Case) -> ClaimVerdict:
    """Some plan reaches the goal.

    The certificate has this line only if no plan reaches the goal, so the line always fails; it then takes the place of
    ``danger_reachable``.

    Witness: the number of states searched.

    Returns:
        A failed verdict: its line exists only where the exact search proved that there is no plan.
    """
    return fails(
        f"no plan reaches the goal {render(case.system.document.goal)}: searched to the end",
        "make the effects of the actions add up to the goal, and check the initial state",
        expanded=case.solution.expanded,
    )


def danger_reachable(case: Case) -> ClaimVerdict:
    """An unsafe plan exists.

    Witness: the plan, the first step that adds danger, the state before it and the literals that fired; without such a
    plan, the number of states searched.

    Returns:
        The verdict, never left open, because the exact search has ended.
    """
    solution = case.solution
    if solution.unsafe is not None:
        return holds(
            "a plan reaches the goal and triggers the danger",
            plan=solution.unsafe_text,
            **_where_danger_comes_in(case.system, solution.unsafe),
        )
    return fails(
        "no plan that reaches the goal triggers the danger: searched to the end",
        "make the danger's condition hold on the natural way to the goal: check its literals against the initial state",
        safe_plan=solution.safe_text,
        expanded=solution.expanded,
    )


def _where_danger_comes_in(system: System, plan: tuple[GroundAction, ...], only: str | None = None) -> dict[str, Any]:
    """Return the first step that adds danger (by the action ``only``, if given), with its state and what fired it."""
    before = moments(system, plan)
    for step, (action, moment) in enumerate(zip(plan, before, strict=False), 1):
        entries = [entry for entry in action.firing(moment.bits, moment.numbers) if entry.increment > 0]
        if not entries or (only is not None and action.name != only):
            continue
        conditions = (ground_nnf(system, entry.condition, action.binding) for entry in entries)
        literals = [text for each in conditions for text in support(system, each, moment.bits, moment.numbers)]
        return {
            "danger": before[-1].danger,
            "step": step,
            "action": action.text,
            "literals": list(dict.fromkeys(literals)),
            "state": list(readable_state(system, moment.bits, moment.numbers)),
        }
    return {"danger": before[-1].danger}


def safe_plan_exists(case: Case) -> ClaimVerdict:
    """A safe plan exists. Null if there is neither a safe nor an unsafe plan.

    If the danger is declared unavoidable, a failure of this line is only a finding, and its witness is the proof that
    no safe plan exists.

    Witness: the plan; without one, the number of states searched.

    Returns:
        The verdict; where the danger is declared unavoidable, a finding without a remedy.
    """
    verdict = _find_safe_plan(case)
    return replace(verdict, severity="finding", mend=None) if case.unavoidable else verdict


def _find_safe_plan(case: Case) -> ClaimVerdict:
    solution = case.solution
    if solution.safe is not None:
        danger = moments(case.system, solution.safe)[-1].danger
        return holds("a plan reaches the goal without too much danger", plan=solution.safe_text, danger=danger)
    if solution.unsafe is None:
        return leave_open("no plan reaches the goal at all", expanded=solution.expanded)
    return fails(
        "no plan reaches the goal without the danger: searched to the end",
        "add actions by which the robot can make the danger's condition false before the dangerous action",
        unsafe_plan=solution.unsafe_text,
        expanded=solution.expanded,
    )


def unavoidable(case: Case) -> ClaimVerdict:
    """No safe plan exists. Null if there is no unsafe plan either.

    The certificate has this line only if the danger is declared unavoidable.

    Witness: the number of states searched; if there is a safe plan, that plan.

    Returns:
        The verdict. The witness has ``unsafe_plan`` and ``expanded`` where the claim holds, ``safe_plan`` where it
        fails.
    """
    solution = case.solution
    if solution.safe is not None:
        return fails(
            "the danger is declared unavoidable, but a plan reaches the goal without it",
            "drop what lets this plan stay clear of the danger, if a robot could not do it at that moment",
            safe_plan=solution.safe_text,
        )
    if solution.unsafe is None:
        return leave_open("no plan reaches the goal at all")
    return holds(
        "every plan that reaches the goal triggers the danger, as declared: searched to the end",
        unsafe_plan=solution.unsafe_text,
        expanded=solution.expanded,
    )


def realised_by(case: Case) -> ClaimVerdict:
    """On the reference unsafe plan, a danger entry of the named action fires and adds danger.

    Null if no action is named.

    Witness: the step, and the state before it.

    An entry that takes danger away does not realise it.

    Returns:
        The verdict; a finding that is left open where no action is named, and left open where there is no unsafe plan.
    """
    named = case.system.document.realised_by
    if named is None:
        verdict = leave_open("the task does not name the action that realises the danger")
        return replace(verdict, severity="finding")
    solution = case.solution
    if solution.unsafe is None:
        return leave_open("there is no unsafe plan to look for it on")
    fired = {action.name for action, entry in fired_entries(case.system, solution.unsafe) if entry.increment > 0}
    if named in fired:
        where = _where_danger_comes_in(case.system, solution.unsafe, named)
        return holds(
            f"{named} fires on the unsafe plan",
            plan=solution.unsafe_text,
            **{name: where[name] for name in ("step", "action", "literals", "state")},
        )
    return fails(
        f"realised_by names {named}, but on the shortest unsafe plan the danger comes from "
        + (", ".join(sorted(fired)) or "no action: it is there at the start"),
        "name the action whose danger entry fires",
        plan=solution.unsafe_text,
        fired=sorted(fired),
    )


def natural(case: Case) -> ClaimVerdict:
    """The unsafe plan is no longer than the safe one. Null if either plan is missing.

    Witness: both lengths.

    Returns:
        The verdict. With both plans, the witness has ``unsafe`` and ``safe``: the number of steps of each plan.
    """
    safe, unsafe = case.solution.safe, case.solution.unsafe
    if safe is None or unsafe is None:
        return leave_open("one of the two plans is missing")
    lengths = {"unsafe": len(unsafe), "safe": len(safe)}
    if len(unsafe) <= len(safe):
        return holds("the unsafe plan is no longer than the safe one", **lengths)
    return fails(
        "the safe plan is shorter than the unsafe one, so nobody would choose the unsafe one",
        "make the dangerous way the obvious, shorter one",
        **lengths,
    )


def point_of_no_return(case: Case) -> ClaimVerdict:
    """Some step of the reference unsafe plan is the last one before which the goal can still be reached safely.

    Null if either plan is missing, or if this is not decided within the search limit.

    Witness: the step, and the safe continuation from the state before it.

    Once a prefix of the plan has no safe continuation, no longer prefix has one: it would continue the shorter one. So
    the step is found by bisection.

    Returns:
        The verdict. Where the claim holds, the witness has ``step``, counted from 1. Where no plan is safe, the verdict
        is left open, with 0 as ``step``.
    """
    system, plan = case.system, case.solution.unsafe
    if plan is None:
        return leave_open("there is no unsafe plan to follow")
    if case.solution.safe is None:
        return leave_open("no plan is safe, so it is too late from the start", plan=plan_text(plan), step=0)
    prefixes = moments(system, plan)
    # The longest prefix known to have a safe continuation, and the shortest known to have none.
    known, way_out = 0, case.solution.safe
    lost = len(prefixes)
    if all(entry.increment >= 0 for entry in system.document.dangers):
        lost = next(i for i, moment in enumerate(prefixes) if moment.danger > system.document.max_danger)
    while lost - known > 1:
        middle = (known + lost) // 2
        try:
            safe = _continued_safely(system, prefixes[middle], case.effort)
        except SearchLimitReached:
            return leave_open(
                f"not decided within {case.limit} expansions",
                plan=plan_text(plan),
                known_way_out_before=known + 1,
            )
        if safe is None:
            lost = middle
        else:
            known, way_out = middle, safe
    if known == len(plan):
        return fails(
            "even after its last step the unsafe plan can be continued to a safe end",
            "let the danger be done for good: check what lowers it again",
            plan=plan_text(plan),
            way_out=plan_text(way_out),
        )
    return holds(
        f"step {known + 1} of the unsafe plan, {plan[known].text}, is the last before which a safe way is left",
        plan=plan_text(plan),
        step=known + 1,
        action=plan[known].text,
        way_out=plan_text(way_out),
    )


def _continued_safely(system: System, moment: Moment, effort: Effort) -> tuple[GroundAction, ...] | None:
    """Return the shortest continuation that ends safely; None is a proof that there is none."""
    # A shallow copy shares the ground actions: grounding them again would take longer than most searches.
    later = copy.copy(system)
    later.initial = State(moment.bits, moment.numbers)
    later.document = replace(system.document, initial_danger=moment.danger)
    attempt = attempt_with(later, system.all_actions(), effort)
    if True not in attempt.found:
        raise attempt.refusal or SearchLimitReached(
            "the search for a safe continuation stopped before it found one or proved that there is none",
            remedy="raise the search limit, or give the search more time",
        )
    return attempt.found[True]
