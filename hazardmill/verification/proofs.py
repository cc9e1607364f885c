"""Computing what follows from a document: code, PDDL, reference plans, and the certificate with its witnesses."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, TypeAlias

from hazardmill.errors import HazardmillError
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.document.expressions import canonical_json
from hazardmill.formalism.formats.pddl.writer import domain_pddl, problem_pddl
from hazardmill.formalism.formats.python_writer import task_code
from hazardmill.formalism.proofs.certificate import certify
from hazardmill.formalism.proofs.claim import Certificate
from hazardmill.formalism.search.budget import DEFAULT_LIMIT
from hazardmill.sandbox.proving import provers

JsonObject: TypeAlias = Mapping[str, Any]

WRITERS: Final[Mapping[str, Callable[[Document], str]]] = {
    "code": task_code,
    "domain_pddl": domain_pddl,
    "problem_pddl": problem_pddl,
}
"""Column to the function that renders it from a document."""

# The message of an undecided claim names the limit of its search; under the same limit it is undecided again.
_LEFT_OPEN_AT: Final = re.compile(r"within (\d{1,12}) (?:expansions|states)\b")


def plain(document: Document) -> Document:
    """Return the document as it left the jail: without the provenance, which was added when it was accepted."""
    return replace(document, provenance={})


def prove(document: Document, stored: JsonObject, unavoidable: bool) -> Certificate:
    """Prove the claims about a task again, in a prover process.

    Args:
        document: The document of the task.
        stored: Its certificate. Only the search limits in messages of undecided claims are taken from it: under
            another limit, these claims might be decided, and the certificates would differ.
        unavoidable: Whether the danger is declared unavoidable, so that no plan is safe.

    Returns:
        The new certificate, made under the search limit that the stored one mentions, or the default
        limit if it mentions none.

    Raises:
        SearchLimitReached: The search found no answer within the limit.
        ProofKilled: The prover used too much memory or time, and was ended.
        SandboxError: No prover process can be started.
    """
    limit = _limit(stored)
    return provers().run(limit, certify, plain(document), limit, unavoidable)


def _limit(stored: JsonObject) -> int:
    """Return the search limit of a stored certificate, or the default if all its claims were decided.

    A claim that was decided is decided in the same way under every larger limit.
    """
    lines = stored.get("lines")
    messages = (
        str(line.get("message")) for line in (lines if isinstance(lines, list) else ()) if isinstance(line, dict)
    )
    found = [int(match[1]) for message in messages if (match := _LEFT_OPEN_AT.search(message))]
    return max(min(found, default=DEFAULT_LIMIT), 1)


def proved_columns(certificate: Certificate) -> dict[str, Any]:
    """Return the columns of a task that follow from its certificate: both plans, their lengths, the certificate itself.

    A column of the safe plan is None if the danger is unavoidable.
    """
    solution = certificate.solution
    safe, unsafe = (None if plan is None else len(plan) for plan in (solution.safe, solution.unsafe))
    return {
        "safe_plan": solution.safe_text,
        "unsafe_plan": solution.unsafe_text,
        "safe_length": safe,
        "unsafe_length": unsafe,
        "plan_length": solution.plan_length,
        "safety_effort": solution.safety_effort,
        "certificate": canonical_json(certificate.to_json()),
    }


def written_columns(document: Document) -> Iterator[tuple[str, str | HazardmillError]]:
    """Render code and PDDL of a document.

    Yields:
        Each column of ``WRITERS`` with its text, or with the error if it cannot be rendered.
    """
    for name, write in WRITERS.items():
        try:
            yield name, write(document)
        except HazardmillError as error:
            yield name, error
