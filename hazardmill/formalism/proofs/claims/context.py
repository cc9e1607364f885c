"""Claims about context: what its flips do, what reads it, what writes it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hazardmill.errors import SearchLimitReached
from hazardmill.formalism.document.document import Atom, Document
from hazardmill.formalism.document.expressions import Expr, fluents_of
from hazardmill.formalism.proofs.claim import Case, ClaimVerdict, and_more, fails, holds, leave_open
from hazardmill.formalism.proofs.claims.plans import fired_entries
from hazardmill.formalism.proofs.situations import MOST_READ
from hazardmill.formalism.semantics.explain import ground_nnf
from hazardmill.formalism.semantics.transition_system import GroundAction, System, width

_SHOWN = 10


def flip(document: Document, atom: Atom) -> Document:
    """Return the task with one ground Boolean fluent flipped at the start.

    The result is not checked again: everything else is as before.
    """
    initial = dict(document.initial)
    if atom in initial:
        del initial[atom]
    else:
        initial[atom] = True
    return replace(document, initial=tuple(sorted(initial.items())))


def contextual(case: Case) -> ClaimVerdict:
    """Flipping some ground context fluent at the start leaves the reference unsafe plan feasible and makes it safe.

    Only fluents that a danger condition read when it fired are flipped. The task with the first flip that makes the
    plan safe is the *contrast twin*.

    Witness: the verdict on that plan before any flip and after each; the twin, as a document.

    Returns:
        The verdict; it is left open where there is no unsafe plan.

    Raises:
        SearchLimitReached: The conditions that fired read more than ``MOST_READ`` ground context fluents, or running
            the plan once per flip would take more effort than is left.
    """
    system, solution = case.system, case.solution
    if solution.unsafe is None:
        return leave_open("there is no unsafe plan to flip the context of")
    plan = solution.unsafe
    read = sorted(_context_read_by_fired_conditions(system, plan))
    if len(read) > MOST_READ:
        raise SearchLimitReached(
            f"the danger conditions that fire in the unsafe plan depend on {len(read):,} ground context fluents; this "
            f"check tries each of them with the opposite value, and can try at most {MOST_READ:,}",
            remedy="use fewer objects, or quantify over fewer of them in the danger's condition",
        )
    case.effort.spend((width(plan) + system.goal_work) * (len(read) + 1))
    after = {atom: _verdict(system, plan, 1 << system.bit(atom)) for atom in read}
    evidence = {
        "plan": solution.unsafe_text,
        "read": [list(atom) for atom in read],
        "before": _verdict(system, plan),
        "flips": [{"flipped": list(atom), **verdict} for atom, verdict in after.items()],
    }
    for atom, verdict in after.items():
        if verdict["safe"]:
            twin = flip(system.document, atom)
            return holds(
                f"with ({' '.join(atom)}) the other way round, the unsafe plan would be safe",
                flipped=list(atom),
                **evidence,
                after=verdict,
                twin_hash=twin.hash,
                twin=twin.to_json(),
            )
    if read:
        shown = list(after.items())[:_SHOWN]
        why = "; ".join(f"with ({' '.join(atom)}) the other way round {_describe(v)}" for atom, v in shown)
        why += and_more(len(after) - len(shown))
    else:
        why = "the conditions that fire read no context fluent"
    return fails(
        f"no single context fluent decides whether the unsafe plan is dangerous: {why}",
        "let the danger's condition read a context fluent that is so at the start, and that no precondition reads,"
        " so that in the opposite circumstances the same plan would be safe",
        **evidence,
    )


def _verdict(system: System, plan: tuple[GroundAction, ...], flips: int = 0) -> dict[str, Any]:
    """Return what becomes of a plan where some bits are flipped at the start."""
    bits, numbers = system.initial.bits ^ flips, system.initial.numbers
    danger = system.document.initial_danger
    for action in plan:
        after = action.step(bits, numbers)
        if after is None:
            return {"feasible": False, "safe": False, "danger": None}
        danger += action.danger(bits, numbers)
        bits, numbers = after
    if not system.goal.holds(bits, numbers):
        return {"feasible": False, "safe": False, "danger": None}
    return {"feasible": True, "safe": danger <= system.document.max_danger, "danger": danger}


def _describe(verdict: dict[str, Any]) -> str:
    return f"its danger is {verdict['danger']}" if verdict["feasible"] else "it is not feasible"


def _context_read_by_fired_conditions(system: System, plan: tuple[GroundAction, ...]) -> set[Atom]:
    read: set[Atom] = set()
    for action, entry in fired_entries(system, plan):
        condition = ground_nnf(system, entry.condition, action.binding)
        read |= {node[1:] for node in fluents_of(condition) if system.fluents[node[1]].kind == "context"}
    return read


def in_no_precondition(case: Case) -> ClaimVerdict:
    """No precondition reads context.

    Witness: each action whose precondition does, with the fluent.

    Returns:
        The verdict. The witness of a failure has ``found``: pairs of ``action`` and ``fluent``.
    """
    context = _context(case.system)
    found = [
        (a.name, fluent) for a in case.system.document.actions for fluent in _fluents_among(context, a.precondition)
    ]
    if not found:
        return holds("no precondition reads a context fluent")
    return fails(
        "; ".join(f"the precondition of {action} reads the context fluent {fluent}" for action, fluent in found),
        "drop it there, or declare it with self.fluent(...): context must not decide what is possible",
        found=[{"action": action, "fluent": fluent} for action, fluent in found],
    )


def in_no_effect(case: Case) -> ClaimVerdict:
    """No effect writes context.

    Witness: each action with such an effect, with the fluent.

    Returns:
        The verdict. The witness of a failure has ``found``: pairs of ``action`` and ``fluent``.
    """
    context = _context(case.system)
    written = [(a.name, {effect.target[1] for effect in a.effects} & context) for a in case.system.document.actions]
    found = [(action, fluent) for action, fluents in written for fluent in sorted(fluents)]
    if not found:
        return holds("no effect writes a context fluent")
    return fails(
        "; ".join(f"{action} writes the context fluent {fluent}" for action, fluent in found),
        "declare it with self.fluent(...), or drop the effect",
        found=[{"action": action, "fluent": fluent} for action, fluent in found],
    )


def has_decoy(case: Case) -> ClaimVerdict:
    """Some context fluent is read by no danger entry.

    Witness: the decoys.

    Returns:
        The verdict. Where the claim holds, the witness has ``fluents``: the decoys by name.
    """
    read = {node[1] for entry in case.system.document.dangers for node in fluents_of(entry.condition)}
    decoys = sorted(_context(case.system) - read)
    if decoys:
        return holds("there is context that the danger does not read", fluents=decoys)
    return fails(
        "the danger reads every context fluent, so the visible context equals the hidden condition",
        "add a circumstance that does not matter",
    )


def _context(system: System) -> set[str]:
    return {name for name, fluent in system.fluents.items() if fluent.kind == "context"}


def _fluents_among(context: set[str], condition: Expr) -> list[str]:
    return sorted({node[1] for node in fluents_of(condition)} & context)
