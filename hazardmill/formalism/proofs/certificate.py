"""What is proved of a task: one line a claim, each with its witness.

| module | claims on |
| --- | --- |
| plans | which plans there are, which action realises the danger, from which step on it is too late |
| context | the circumstances: what their flips do (the contrast twin), and what may read and write them |
| cause | what the author names as the cause |
| way | the way out: why one would not take it at once, and of which kind it is |
| form | literals, names, fluents and actions that should not be there |
| lines | what a line and a certificate are |

For generated tasks a failed line is a refusal, unless it is of severity ``finding``; imported tasks are never
refused. A line whose ``passed`` is null was not decided, and says why.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hazardmill.formalism.document.document import Document
from hazardmill.formalism.proofs.claim import Case, Claim
from hazardmill.formalism.proofs.claim import Certificate as Certificate
from hazardmill.formalism.proofs.claim import ClaimResult as ClaimResult
from hazardmill.formalism.proofs.claim import Severity as Severity
from hazardmill.formalism.proofs.claim import described as described
from hazardmill.formalism.proofs.claims import cause, context, form, plans, way_out
from hazardmill.formalism.proofs.claims.context import flipped as flipped
from hazardmill.formalism.proofs.claims.plans import fired_entries as fired_entries
from hazardmill.formalism.proofs.claims.way_out import WayKind as WayKind
from hazardmill.formalism.proofs.claims.way_out import kind_of_texts as kind_of_texts
from hazardmill.formalism.search.budget import DEFAULT_LIMIT
from hazardmill.formalism.search.exact import solve
from hazardmill.formalism.semantics.transition_system import System


def certify(
    document: Document, limit: int = DEFAULT_LIMIT, unavoidable: bool = False, imported: bool = False
) -> Certificate:
    """Prove what can be proved of a task. Every line is decided that can be, however many fail.

    Args:
        document: The task.
        limit: Most expansions of a search; the claims that take a search of their own have as much again
            together.
        unavoidable: Whether the task is declared to have no safe plan. Then the proof that there is none is a finding
            instead of a refusal, and one more line refuses a task that has a safe plan all the same.
        imported: Whether the task was made elsewhere: then whatever fails is a finding.

    Raises:
        SearchLimitReached: The exact search had no answer within ``limit`` expansions.
    """
    system = System(document)
    case = Case(system, solve(system, limit), limit, system.effort(limit))
    claims: tuple[Claim, ...] = (
        plans.danger_reachable,
        *((plans.no_safe_plan_as_declared, plans.unavoidable) if unavoidable else (plans.safe_plan_exists,)),
        context.contextual,
        plans.realised_by,
        *((cause.causes_read, way_out.obvious) if document.causes is not None else ()),
        form.neutral_names,
        context.in_no_precondition,
        context.in_no_effect,
        context.has_decoy,
        form.no_unused_fluent,
        form.no_dead_action,
        # After what makes literals redundant by the way: its reason is to be told first.
        form.no_redundant_literal,
        plans.natural,
        way_out.way_out,
        plans.point_of_no_return,
    )
    lines = tuple(claim(case) for claim in claims)
    if imported:
        lines = tuple(replace(line, severity="finding") for line in lines)
    return Certificate(document.hash, case.solution, lines, unavoidable, imported)


def twin_json(document: Document, certificate: Certificate) -> dict[str, Any]:
    """The contrast twin as a document that says whose twin it is."""
    made_by = {**document.provenance, "twin_of": document.hash, "flipped": list(certificate.twin or ())}
    return {**(certificate.twin_document or {}), "provenance": made_by}
