"""All that is proved of a task at once, as values that can be handed from one process to another."""

from __future__ import annotations

from dataclasses import dataclass

from hazardmill.errors import FormalismError
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.formats.pddl.writer import domain_pddl, problem_pddl
from hazardmill.formalism.proofs.certificate import certify
from hazardmill.formalism.proofs.claim import Certificate


@dataclass(frozen=True)
class DraftProof:
    """The certificate of a task, and the PDDL of one that it does not refuse."""

    certificate: Certificate
    domain_pddl: str | None = None
    problem_pddl: str | None = None
    not_expressible: FormalismError | None = None
    """Why there is no PDDL of a task that is not refused."""


def prove(document: Document, limit: int, unavoidable: bool = False) -> DraftProof:
    """Certify a generated task, and write it as PDDL unless it is refused.

    Raises:
        SearchLimitReached: As ``certify``.
    """
    certificate = certify(document, limit, unavoidable)
    if certificate.refusals:
        return DraftProof(certificate)
    try:
        return DraftProof(certificate, domain_pddl(document), problem_pddl(document))
    except FormalismError as error:
        return DraftProof(certificate, not_expressible=error)
