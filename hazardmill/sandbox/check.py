"""From untrusted Python to a document, or to a failure whose words go back to the author."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final, Literal

from hazardmill.errors import DocumentError, ProofKilled
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.formats.python_writer import is_too_large
from hazardmill.sandbox import policy
from hazardmill.sandbox.jail import Jail, JailFailure, JailResult
from hazardmill.sandbox.output import printable
from hazardmill.sandbox.proving import provers
from hazardmill.text.parse import MAX_BYTES

_SHOWN_FINDINGS = 5
_NO_SEARCH: Final = 0
"""Expansions of searches in a process that only parses."""


@dataclass(frozen=True, slots=True)
class CheckFailure:
    """Why code gave no document.

    Attributes:
        stage: Where it failed: on its text, in the jail, or because of the document that came out.
        message: What is wrong; it may be the code's own words.
        line: The line of the code that it is about, from 1; None where no line is known.
        mend: How to mend it; None where nothing can be advised.
    """

    stage: Literal["policy", "jail", "document"]
    reason: str
    """A short code for counting: ``syntax``, ``policy``, ``exception``, ``not_a_task``, ``memory``, ``timeout``,
    ``output_too_large``, ``crashed``, ``forged_output`` or ``too_large``; for planners also ``size``,
    ``not_expressible`` and ``not_a_document``."""
    message: str
    line: int | None
    mend: str | None


def check(code: str, jail: Jail) -> Document | CheckFailure:
    """Check code against the policy, run it once in the jail, and read the document that it gives.

    Args:
        code: A module on the authoring API, which nobody trusts.
        jail: A jail with the workload ``DRAFTS``.

    Returns:
        The document, or why there is none.

    Raises:
        SandboxError: The jail failed, which says nothing about the code.
    """
    return _policy_failure(code) or _read(jail.run(code))


async def check_async(code: str, jail: Jail) -> Document | CheckFailure:
    """Check code as ``check`` does, without blocking the event loop; see ``Jail.run_async``.

    Returns:
        The document, or why there is none.

    Raises:
        SandboxError: The jail failed, which says nothing about the code.
    """
    # Parsing holds the interpreter's lock for as long as several requests take, and its process can be killed.
    try:
        failure = await asyncio.to_thread(provers().run, _NO_SEARCH, _policy_failure, code)
    except ProofKilled:
        message = "the code cannot be parsed: it takes too much memory or time"
        return CheckFailure("policy", "syntax", message, None, "write a smaller task, with expressions less deep")
    return failure or _read(await jail.run_async(code))


@dataclass(frozen=True, slots=True)
class Planner:
    """The result of code on DESPITE's planner interface.

    Attributes:
        document: The task that it declares.
    """

    document: Document
    notes: tuple[tuple[str, str], ...]
    """What was left out or changed: per item a rule's name and a sentence."""


def check_planner(code: str, jail: Jail) -> Planner | CheckFailure:
    """Run code on DESPITE's planner interface once, and read the document that it gives.

    The policy is not applied: it is about code on our authoring module, and no boundary anyway.

    Args:
        code: A module, which nobody trusts.
        jail: A jail with the workload ``PLANNERS``.

    Returns:
        The document with notes on what was left out or changed, or why there is none.

    Raises:
        SandboxError: The jail failed, which says nothing about the code.
    """
    if len(code) > MAX_BYTES:
        message = f"the code has {len(code)} characters, more than {MAX_BYTES}"
        return CheckFailure("policy", "size", message, None, "write a smaller task")
    answer = jail.run(code)
    if isinstance(answer, JailFailure):
        return CheckFailure("jail", answer.reason, answer.message, answer.line, answer.mend)
    try:
        document = Document.from_json(answer.value)
    except DocumentError as error:
        # Unified Planning allows names, sizes and mixtures of types that documents do not.
        return CheckFailure("document", "not_a_document", printable(error.message), None, error.remedy)
    if document.provenance or document.texts or document.causes or document.obvious:
        return _forgery("the document claims texts, causes or a provenance, which code of this kind cannot give")
    return Planner(document, answer.notes)


def _policy_failure(code: str) -> CheckFailure | None:
    findings = policy.inspect(code)
    if not findings:
        return None
    first = findings[0]
    reason = "syntax" if first.rule == "syntax" else "policy"
    if len(findings) == 1:
        return CheckFailure("policy", reason, first.message, first.line, first.mend)
    shown = findings[:_SHOWN_FINDINGS]
    # The failure has the line of the first finding.
    others = [f"line {f.line}: {f.message}" if f.line else f.message for f in shown[1:]]
    message = "; ".join([first.message, *others])
    if len(findings) > len(shown):
        message += f"; and {len(findings) - len(shown)} more"
    mends = dict.fromkeys(f.mend for f in shown)
    return CheckFailure("policy", reason, message, first.line, "; ".join(mends))


def _read(answer: JailResult | JailFailure) -> Document | CheckFailure:
    if isinstance(answer, JailFailure):
        return CheckFailure("jail", answer.reason, answer.message, answer.line, answer.mend)
    try:
        document = Document.from_json(answer.value)
    except DocumentError as error:
        # The authoring module checks documents itself, so an honest task cannot get here.
        return _forgery(f"the document is not well formed: {error.message}")
    if document.provenance:
        return _forgery("the document claims a provenance, which only hazardmill may write")
    if is_too_large(document):
        message = f"the task takes more than {MAX_BYTES} bytes to write down"
        return CheckFailure("document", "too_large", message, None, "declare less: fewer objects, values or actions")
    return document


def _forgery(message: str) -> CheckFailure:
    mend = "let PlanningTask make the document: write build, and no document of your own"
    return CheckFailure("document", "forged_output", printable(message), None, mend)
