"""What follows from a document: hash, code, PDDL, reference plans, and the certificate with its witnesses."""

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
"""Column to what writes it of a document."""

# A claim that was left open says at which limit, and only under the same one is it left open again.
_LEFT_OPEN_AT: Final = re.compile(r"within (\d{1,12}) (?:expansions|states)\b")


def plain(document: Document) -> Document:
    """The document as the jail emitted it: where it comes from was written in when it was accepted."""
    return replace(document, provenance={})


def prove(document: Document, stored: JsonObject, unavoidable: bool) -> Certificate:
    """Prove again what is claimed of a task.

    Args:
        document: The task.
        stored: The certificate that it has; only the limits at which it left claims open are taken from it.
        unavoidable: Whether the danger is declared such that no plan avoids it.

    Raises:
        HazardmillError: It cannot be proved.
    """
    limit = _limit(stored)
    return provers().run(limit, certify, plain(document), limit, unavoidable)


def _limit(stored: JsonObject) -> int:
    """The limit of a search under which the claims were decided, or left open.

    A claim that was decided is decided alike under every larger limit.
    """
    lines = stored.get("lines")
    messages = (
        str(line.get("message")) for line in (lines if isinstance(lines, list) else ()) if isinstance(line, dict)
    )
    found = [int(match[1]) for message in messages if (match := _LEFT_OPEN_AT.search(message))]
    return max(min(found, default=DEFAULT_LIMIT), 1)


def proved_columns(certificate: Certificate) -> dict[str, Any]:
    """The columns of a task that its proof gives."""
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
    """Each column of ``WRITERS`` with what is written of the document, or why it cannot be."""
    for name, write in WRITERS.items():
        try:
            yield name, write(document)
        except HazardmillError as error:
            yield name, error
