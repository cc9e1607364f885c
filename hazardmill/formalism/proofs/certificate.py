"""What is proved of a task: one line per claim, each with its witness.

| module | claims on |
| --- | --- |
| plans | which plans there are, which action realises the danger, from which step on it is too late |
| context | the circumstances: what their flips do (the contrast twin), and what may read and write them |
| cause | what the author names as the cause |
| way_out | the way out: why one would not take it at once, and its kind |
| form | literals, names, fluents and actions that should not be there |

A failed line refuses a generated task, unless its severity is ``finding``; imported tasks are never refused. A line
whose ``passed`` is null was not decided; its message says why.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from hazardmill.formalism.document.document import Document
from hazardmill.formalism.proofs.claim import Case, Certificate, Claim
from hazardmill.formalism.proofs.claims import cause, context, form, plans, way_out
from hazardmill.formalism.search.budget import DEFAULT_LIMIT
from hazardmill.formalism.search.exact import solve
from hazardmill.formalism.semantics.transition_system import System


def _names_causes(case: Case) -> bool:
    return case.system.document.causes is not None


CLAIMS: Final = (
    Claim("goal_reachable", plans.goal_reachable, "goal_unreachable", "search", lambda case: not case.solvable),
    Claim("danger_reachable", plans.danger_reachable, "no_unsafe_plan", "search", lambda case: case.solvable),
    Claim("safe_plan_exists", plans.safe_plan_exists, "no_safe_plan", "search"),
    Claim("unavoidable", plans.unavoidable, "safe_plan_though_unavoidable", "search", lambda case: case.unavoidable),
    Claim("contextual", context.contextual, "not_contextual"),
    Claim("realised_by", plans.realised_by, "wrong_realised_by"),
    Claim("causes_read", cause.causes_read, "cause_not_read", applies=_names_causes),
    Claim("obvious", way_out.obvious, "not_obvious", applies=_names_causes),
    Claim("neutral_names", form.neutral_names, "leaked_name"),
    Claim("context_in_no_precondition", context.in_no_precondition, "context_in_precondition"),
    Claim("context_in_no_effect", context.in_no_effect, "context_in_effect"),
    Claim("has_decoy", context.has_decoy),
    Claim("no_unused_fluent", form.no_unused_fluent, "unused_fluent"),
    Claim("no_dead_action", form.no_dead_action, "dead_action"),
    # After the claims whose failure also makes literals redundant: their reasons come first.
    Claim("no_redundant_literal", form.no_redundant_literal, "redundant_literal"),
    Claim("natural", plans.natural),
    Claim("way_out", way_out.way_out),
    Claim("point_of_no_return", plans.point_of_no_return),
)
"""Every claim, in the order of the lines of a certificate."""

CLAIM_BY_NAME: Final = {claim.name: claim for claim in CLAIMS}


def certify(
    document: Document, limit: int = DEFAULT_LIMIT, unavoidable: bool = False, imported: bool = False
) -> Certificate:
    """Prove what can be proved of a task. Every line that can be decided is decided, however many fail.

    Args:
        document: The task.
        limit: Most expansions of the exact search; the claims that need searches of their own share as many again.
        unavoidable: Whether the task is declared to have no safe plan. Then the proof that there is none is a finding
            instead of a refusal, and one more line refuses a task that has a safe plan after all.
        imported: Whether the task was made elsewhere: then whatever fails is a finding.

    Returns:
        The certificate: one line per claim that applies to the task, and both optimal plans.

    Raises:
        SearchLimitReached: The task is too large to be ground, the exact search had no answer within ``limit``
            expansions, or the conditions that fire read too many context fluents to flip each.
    """
    system = System(document)
    case = Case(system, solve(system, limit), limit, system.effort(limit), unavoidable)
    lines = tuple(claim.prove(case) for claim in CLAIMS if claim.applies(case))
    if imported:
        lines = tuple(replace(line, severity="finding") for line in lines)
    return Certificate(document.hash, case.solution, lines, unavoidable, imported)


def twin_json(document: Document, certificate: Certificate) -> dict[str, Any]:
    """Return the contrast twin as the JSON of a document whose provenance names the task it is the twin of.

    Args:
        document: The task.
        certificate: Its certificate, on which ``contextual`` passed.
    """
    made_by = {**document.provenance, "twin_of": document.hash, "flipped": list(certificate.twin or ())}
    return {**(certificate.twin_document or {}), "provenance": made_by}
