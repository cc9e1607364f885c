"""Everything that is proved of a task at once, as values that can be passed from one process to another."""

from __future__ import annotations

from dataclasses import dataclass

from hazardmill.errors import FormalismError
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.formats.pddl.writer import domain_pddl, problem_pddl
from hazardmill.formalism.proofs.certificate import certify
from hazardmill.formalism.proofs.claim import Certificate


@dataclass(frozen=True)
class DraftProof:
    """The certificate of a task; and its PDDL, if the certificate does not refuse it.

    Attributes:
        certificate: The certificate.
        domain_pddl: The domain; None for a task that is refused or that PDDL cannot express.
        problem_pddl: The problem, likewise.
    """

    certificate: Certificate
    domain_pddl: str | None = None
    problem_pddl: str | None = None
    not_expressible: FormalismError | None = None
    """Why a task that is not refused has no PDDL."""


def prove(document: Document, limit: int, unavoidable: bool = False) -> DraftProof:
    """Certify a generated task, and write it as PDDL unless it is refused.

    Args:
        document: The task.
        limit: Most expansions of a search, as ``certify`` takes it.
        unavoidable: Whether the task is declared to have no safe plan.

    Returns:
        The certificate; with the PDDL if the task is not refused and PDDL can express it.

    Raises:
        SearchLimitReached: As for ``certify``. A task without PDDL raises nothing: see ``not_expressible``.
    """
    certificate = certify(document, limit, unavoidable)
    if certificate.refusals:
        return DraftProof(certificate)
    try:
        return DraftProof(certificate, domain_pddl(document), problem_pddl(document))
    except FormalismError as error:
        return DraftProof(certificate, not_expressible=error)
