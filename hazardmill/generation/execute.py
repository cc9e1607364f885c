"""The execute stage: runs a draft's code and proves the resulting document.

The code runs once, in the jail. Everything here reads the document that it emitted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from hazardmill.errors import FormalismError, ProofKilled
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.proofs import draft_proof
from hazardmill.formalism.proofs.certificate import CLAIM_BY_NAME
from hazardmill.formalism.proofs.claim import Certificate, describe_witness
from hazardmill.formalism.proofs.draft_proof import DraftProof
from hazardmill.formalism.semantics.ground_size import SMALLER
from hazardmill.records import Check, Record
from hazardmill.sandbox.check import CheckFailure, check_async
from hazardmill.sandbox.jail import Jail
from hazardmill.sandbox.proving import provers


@dataclass(frozen=True)
class Execution:
    """The result of executing a draft: its checks, and as much of the task as exists.

    Attributes:
        checks: One check per entry of ``CHECKS``, or of what was given instead; ``passed`` is null if not reached.
        document: The document; null if the code gave none.
        certificate: The proof of the document; null if the search did not finish.
        domain_pddl: The PDDL domain; null if there is no proof or PDDL cannot express the task.
        problem_pddl: The PDDL problem; null under the same conditions.
    """

    checks: tuple[Check, ...]
    document: Document | None = None
    certificate: Certificate | None = None
    domain_pddl: str | None = None
    problem_pddl: str | None = None

    @property
    def passed(self) -> bool:
        """Whether every check ran and passed."""
        return all(check.passed for check in self.checks)


@dataclass
class DraftEvidence:
    """What the checks of a draft's code look at. Results of one check are available to the later ones.

    Attributes:
        limit: Maximum number of expansions per search.
        unavoidable: Whether the danger was declared to be one that no plan avoids.
        proof: Set by the check ``search``.
    """

    outcome: Document | CheckFailure
    """What running the code in the jail gave."""
    limit: int
    unavoidable: bool
    proof: DraftProof | None = None
    record: Record | None = None
    """The record that the draft was made from; None where a draft is executed without it."""


@dataclass(frozen=True, slots=True)
class DraftCheck:
    """One check of a draft's code. It runs only if all earlier checks passed.

    Attributes:
        name: Name of the check, as in the table ``checks``.
    """

    name: str
    examine: Callable[[str, DraftEvidence], Check]
    """Runs the check, given its name."""
    reasons: Mapping[str, str] = field(default_factory=dict)
    """Reason codes of its failure, each with its meaning, besides those of the claims that belong to it."""


async def execute(
    code: str,
    jail: Jail,
    limit: int,
    *,
    unavoidable: bool = False,
    checks: Sequence[DraftCheck] | None = None,
    record: Record | None = None,
) -> Execution:
    """Run a draft's code in the jail and prove the resulting document.

    Args:
        code: The module.
        jail: Where it runs.
        limit: Maximum number of expansions per search.
        unavoidable: Whether the danger was declared to be one that no plan avoids.
        checks: The checks, in the order in which they run; by default ``CHECKS``.
        record: The record that the draft was made from, which checks of packages look at.

    Returns:
        All checks, and as much of the task as exists; there is no document if the code gave none.

    Raises:
        PluginError: A check of an installed package failed to work.
    """
    outcome = await check_async(code, jail)
    if isinstance(outcome, CheckFailure):
        return _run_checks(DraftEvidence(outcome, limit, unavoidable, record=record), checks or CHECKS)
    return await asyncio.to_thread(prove, outcome, limit, unavoidable, checks, record)


def prove(
    document: Document,
    limit: int,
    unavoidable: bool = False,
    checks: Sequence[DraftCheck] | None = None,
    record: Record | None = None,
) -> Execution:
    """Run the checks of a document. The search runs in a process that can be terminated (``sandbox.proving``).

    Args:
        document: The document that the code emitted.
        limit: Maximum number of expansions per search.
        unavoidable: Whether the danger was declared to be one that no plan avoids.
        checks: As ``execute`` takes them.
        record: As ``execute`` takes it.

    Returns:
        All checks, the document and, if the search finished, its proof; PDDL too where that can express the task.
    """
    return _run_checks(DraftEvidence(document, limit, unavoidable, record=record), checks or CHECKS)


def _run_checks(evidence: DraftEvidence, wanted: Sequence[DraftCheck]) -> Execution:
    checks: list[Check] = []
    for check in wanted:
        reached = all(earlier.passed for earlier in checks)
        checks.append(check.examine(check.name, evidence) if reached else Check(name=check.name, passed=None))
    document = evidence.outcome if isinstance(evidence.outcome, Document) else None
    proof = evidence.proof
    if proof is None:
        return Execution(tuple(checks), document)
    return Execution(tuple(checks), document, proof.certificate, proof.domain_pddl, proof.problem_pddl)


def _check_code(name: str, evidence: DraftEvidence) -> Check:
    """Check that the code passed one stage on its way to a document."""
    failure = evidence.outcome
    if isinstance(failure, Document) or failure.stage != name:
        return Check(name=name, passed=True)
    place = f"line {failure.line}: " if failure.line is not None else ""
    details = {} if failure.line is None else {"line": failure.line}
    return _fail(name, failure.reason, place + failure.message, failure.mend, **details)


def _check_search(name: str, evidence: DraftEvidence) -> Check:
    document = evidence.outcome
    assert isinstance(document, Document)  # otherwise an earlier check has failed
    try:
        evidence.proof = provers().run(
            evidence.limit, draft_proof.prove, document, evidence.limit, evidence.unavoidable
        )
    except ProofKilled as error:
        return _fail(name, "killed", error.message, error.remedy)
    except FormalismError as error:
        # The author can make the task smaller, but cannot raise a limit.
        return _fail(name, "too_large", error.message, SMALLER)
    solution = evidence.proof.certificate.solution
    found = {"safe_plan": solution.safe_text, "unsafe_plan": solution.unsafe_text, "expanded": solution.expanded}
    return _refuse(name, evidence.proof.certificate) or Check(name=name, passed=True, details=found)


def _check_certificate(name: str, evidence: DraftEvidence) -> Check:
    assert evidence.proof is not None  # set when the search passed
    certificate = evidence.proof.certificate
    found = {
        "findings": [line.name for line in certificate.findings],
        "undecided": [line.name for line in certificate.lines if line.passed is None],
    }
    return _refuse(name, certificate) or Check(name=name, passed=True, details=found)


def _check_pddl(name: str, evidence: DraftEvidence) -> Check:
    assert evidence.proof is not None  # set when the search passed
    error = evidence.proof.not_expressible
    if error is not None:
        return _fail(name, "not_expressible", error.message, error.remedy)
    return Check(name=name, passed=True)


def _refuse(name: str, certificate: Certificate) -> Check | None:
    """Return the failure of a check whose claims refuse the task; null if none of them does.

    The first claim gives the reason; all are in the details.
    """
    refusals = [line for line in certificate.refusals if CLAIM_BY_NAME[line.name].check == name]
    if not refusals:
        return None
    failed = [
        {
            "reason": CLAIM_BY_NAME[line.name].reason,
            "message": line.message,
            "mend": line.mend,
            # In the form in which the feedback shows it to the author.
            "witness": describe_witness(line.witness),
        }
        for line in refusals
    ]
    first = refusals[0]
    return _fail(name, CLAIM_BY_NAME[first.name].reason, first.message, first.mend, failed=failed)


def _fail(name: str, reason: str | None, message: str, mend: str | None, **details: object) -> Check:
    return Check(name=name, passed=False, reason=reason, message=message, mend=mend, details=details)


_OF_POLICY: Final = {
    "syntax": "The module is not Python.",
    "policy": "The module has a character, import, name, statement or size that is not allowed.",
}
_OF_JAIL: Final = {
    "exception": "The module raised an exception.",
    "not_a_task": "The module ran and produced no task, or more than one.",
    "timeout": "The module ran longer than the jail allows.",
    "memory": "The module needed more memory than the jail allows.",
    "output_too_large": "The module wrote more output than the jail allows.",
    "crashed": "The process of the module ended without a result.",
}
_OF_DOCUMENT: Final = {
    "forged_output": "The module wrote a result of its own instead of that of its task.",
    "too_large": "The document is too large to be written out as a module.",
}
_OF_SEARCH: Final = {
    "too_large": "The search reached its limit before both plans were found or excluded.",
    "killed": "The process of the search was ended from outside or ran out of memory: a bug in hazardmill.",
}
_OF_PDDL: Final = {"not_expressible": "The basic problem cannot be written as PDDL."}

CHECKS: Final = (
    DraftCheck("policy", _check_code, _OF_POLICY),
    DraftCheck("jail", _check_code, _OF_JAIL),
    DraftCheck("document", _check_code, _OF_DOCUMENT),
    DraftCheck("search", _check_search, _OF_SEARCH),
    DraftCheck("certificate", _check_certificate),
    DraftCheck("pddl", _check_pddl, _OF_PDDL),
)
"""The checks of every draft's code, in the order in which they run (``draft_checks`` adds those of packages)."""
