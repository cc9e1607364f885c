"""Execute: Python code in, a document with both optimal plans, a certificate and PDDL out, or what failed.

The code runs once, in the jail; everything here reads the document it emitted.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

from hazardmill.errors import FormalismError, ProofKilled
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.proofs import draft_proof
from hazardmill.formalism.proofs.certificate import CLAIM_BY_NAME, Certificate, ClaimResult, described
from hazardmill.formalism.semantics.ground_size import SMALLER
from hazardmill.records import Check
from hazardmill.sandbox.check import CheckFailure, check_async
from hazardmill.sandbox.jail import Jail
from hazardmill.sandbox.proving import provers

CHECKS: Final = ("policy", "jail", "document", "search", "certificate", "pddl")
"""The checks of a draft's code, in the order in which they run."""


@dataclass(frozen=True)
class Execution:
    """What execution made of a draft: its checks, and as much of the task as there is."""

    checks: tuple[Check, ...]
    document: Document | None = None
    certificate: Certificate | None = None
    domain_pddl: str | None = None
    problem_pddl: str | None = None

    @property
    def passed(self) -> bool:
        """Whether every check ran and passed."""
        return all(check.passed for check in self.checks)


async def execute(code: str, jail: Jail, limit: int, *, unavoidable: bool = False) -> Execution:
    """Run the code in the jail and prove what is to be proved of the document.

    Args:
        code: The module.
        jail: Where it runs.
        limit: Most expansions of a search.
        unavoidable: Whether the danger was declared such that no plan avoids it.
    """
    result = await check_async(code, jail)
    if isinstance(result, CheckFailure):
        return Execution(_failed_at(result))
    return await asyncio.to_thread(prove, result, limit, unavoidable)


def prove(document: Document, limit: int, unavoidable: bool = False) -> Execution:
    """The checks that read the document only, made in a process that can be ended (``sandbox.proving``)."""
    ran = [Check(name=name, passed=True) for name in ("policy", "jail", "document")]
    try:
        proved = provers().run(limit, draft_proof.prove, document, limit, unavoidable)
    except FormalismError as error:
        if isinstance(error, ProofKilled):
            ran.append(_failure("search", "killed", error.message, error.remedy))
        else:
            # An author can make the task smaller; raising a limit is for whoever runs the search.
            ran.append(_failure("search", "too_large", error.message, SMALLER))
        return Execution(_with_unrun(ran), document)
    certificate = proved.certificate
    failed = certificate.refusals
    in_search = [line for line in failed if CLAIM_BY_NAME[line.name].check == "search"]
    if in_search:
        ran.append(_from_lines("search", in_search))
        return Execution(_with_unrun(ran), document, certificate)
    solution = certificate.solution
    ran.append(
        Check(
            name="search",
            passed=True,
            details={
                "safe_plan": solution.safe_text,
                "unsafe_plan": solution.unsafe_text,
                "expanded": solution.expanded,
            },
        )
    )
    if failed:
        ran.append(_from_lines("certificate", list(failed)))
        return Execution(_with_unrun(ran), document, certificate)
    open_lines = [line.name for line in certificate.lines if line.passed is None]
    ran.append(
        Check(
            name="certificate",
            passed=True,
            details={"findings": [line.name for line in certificate.findings], "undecided": open_lines},
        )
    )
    if (inexpressible := proved.not_expressible) is not None:
        ran.append(_failure("pddl", "not_expressible", inexpressible.message, inexpressible.remedy))
        return Execution(_with_unrun(ran), document, certificate)
    ran.append(Check(name="pddl", passed=True))
    return Execution(tuple(ran), document, certificate, proved.domain_pddl, proved.problem_pddl)


def _failed_at(failure: CheckFailure) -> tuple[Check, ...]:
    ran = [Check(name=name, passed=True) for name in CHECKS[: CHECKS.index(failure.stage)]]
    place = f"line {failure.line}: " if failure.line is not None else ""
    details = {} if failure.line is None else {"line": failure.line}
    ran.append(
        Check(
            name=failure.stage,
            passed=False,
            reason=failure.reason,
            message=place + failure.message,
            mend=failure.mend,
            details=details,
        )
    )
    return _with_unrun(ran)


def _from_lines(name: str, lines: list[ClaimResult]) -> Check:
    """One check from the certificate lines that failed: the first gives the reason, all are in the details."""
    first = lines[0]
    return Check(
        name=name,
        passed=False,
        reason=CLAIM_BY_NAME[first.name].reason,
        message=first.message,
        mend=first.mend,
        details={
            "failed": [
                {
                    "reason": CLAIM_BY_NAME[line.name].reason,
                    "message": line.message,
                    "mend": line.mend,
                    # As the feedback shows it to the author, part by part.
                    "witness": described(line.witness),
                }
                for line in lines
            ]
        },
    )


def _failure(name: str, reason: str, message: str, mend: str | None) -> Check:
    return Check(name=name, passed=False, reason=reason, message=message, mend=mend)


def _with_unrun(ran: list[Check]) -> tuple[Check, ...]:
    """The checks that ran, then those that did not, as unknown."""
    return (*ran, *(Check(name=name, passed=None) for name in CHECKS[len(ran) :]))
