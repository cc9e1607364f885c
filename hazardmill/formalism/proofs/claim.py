"""What a claim is, its line in a certificate, and the certificate that the lines make up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from hazardmill.formalism.document.document import Atom
from hazardmill.formalism.search.budget import Effort
from hazardmill.formalism.search.exact import Solution
from hazardmill.formalism.semantics.transition_system import System

FORMAT: Final = "hazardmill-certificate/1"
"""The version of a certificate's JSON; ``certificate.schema.json`` publishes its shape."""

Severity = Literal["refusal", "finding"]

MOST_SHOWN: Final = 50
"""Items of a list that are shown to people and models; the JSON has all."""


@dataclass(frozen=True, slots=True)
class ClaimResult:
    """A line of a certificate: one claim, whether it holds, and the witness.

    Attributes:
        name: The claim's name, unique in a certificate.
        passed: Whether the claim holds; None where that was not decided.
        severity: Whether a failure refuses a generated task, or is a finding only.
        message: What was found, in a sentence.
        mend: How the author can mend the task; None unless the claim failed.
    """

    name: str
    passed: bool | None
    severity: Severity
    message: str
    mend: str | None = None
    witness: dict[str, Any] = field(default_factory=dict)
    """JSON values. ``plan``, ``safe_plan``, ``unsafe_plan`` are plan strings, ``step`` counts from 1, ``state`` lists
    what is true and the values of integers, ``flipped`` and ``read`` hold ground fluents as lists of names,
    ``expanded`` is how many states a search that proves an absence went through."""

    def to_json(self) -> dict[str, Any]:
        """JSON values."""
        return {
            "name": self.name,
            "passed": self.passed,
            "severity": self.severity,
            "message": self.message,
            "mend": self.mend,
            "witness": self.witness,
        }


@dataclass(frozen=True, slots=True)
class ClaimVerdict:
    """What a claim's function says of a task: whether the claim holds, why, and the witness.

    ``holds``, ``fails`` and ``leave_open`` make them; the attributes become those of ``ClaimResult``.
    """

    passed: bool | None
    message: str
    mend: str | None = None
    witness: dict[str, Any] = field(default_factory=dict)
    severity: Severity = "refusal"
    """``finding`` where a claim that can refuse tasks does not refuse this one."""


def holds(message: str, **witness: object) -> ClaimVerdict:
    """Return the verdict that the claim is proved.

    Args:
        message: What was found, in a sentence.
        **witness: JSON values that show it; see ``ClaimResult.witness``.
    """
    return ClaimVerdict(True, message, witness=witness)


def fails(message: str, mend: str, **witness: object) -> ClaimVerdict:
    """Return the verdict that the claim is refuted.

    Args:
        message: What was found, in a sentence.
        mend: How the author can mend the task.
        **witness: JSON values that show it; see ``ClaimResult.witness``.
    """
    return ClaimVerdict(False, message, mend, witness)


def leave_open(message: str, **witness: object) -> ClaimVerdict:
    """Return the verdict that the claim is neither proved nor refuted.

    Args:
        message: Why it is not decided.
        **witness: JSON values that show how far the search came; see ``ClaimResult.witness``.
    """
    return ClaimVerdict(None, message, witness=witness)


@dataclass(frozen=True)
class Case:
    """A task with everything that its claims are decided by.

    Attributes:
        system: The ground task.
        solution: Both optimal plans, or the proofs that there are none.
    """

    system: System
    solution: Solution
    limit: int
    """Most expansions of a search."""
    effort: Effort
    """What the claims that need searches of their own may spend together."""
    unavoidable: bool = False
    """Whether the danger is declared to be one that no plan avoids."""

    @property
    def solvable(self) -> bool:
        """Whether any plan reaches the goal."""
        return self.solution.safe is not None or self.solution.unsafe is not None


def _of_every_task(case: Case) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim about tasks: how it is decided, and what happens to a draft that it refuses.

    Attributes:
        name: Its name in certificates and documentation.
        decide: Decides it for one task. Its docstring makes the claim's row in docs/formalism.md, by
            ``scripts/claim_tables.py``.
        reason: Reason code of a draft that the claim refuses; None where it refuses none, but is shown as a finding.
        check: The check of a draft that the claim belongs to.
        applies: Whether the certificate of a task has a line for the claim.
    """

    name: str
    decide: Callable[[Case], ClaimVerdict]
    reason: str | None = None
    check: Literal["search", "certificate"] = "certificate"
    applies: Callable[[Case], bool] = _of_every_task

    def prove(self, case: Case) -> ClaimResult:
        """Decide the claim for a task, and return its line of the certificate."""
        verdict = self.decide(case)
        severity: Severity = verdict.severity if self.reason is not None else "finding"
        return ClaimResult(self.name, verdict.passed, severity, verdict.message, verdict.mend, verdict.witness)


@dataclass(frozen=True)
class Certificate:
    """The claims proved of one task, in a fixed order, with both plans that they refer to.

    Attributes:
        document_hash: The hash of the task.
        solution: Both optimal plans, or the proofs that there are none.
        lines: One per claim that applies to the task, in the order of ``certificate.CLAIMS``.
    """

    document_hash: str
    solution: Solution
    lines: tuple[ClaimResult, ...]
    unavoidable: bool = False
    """Whether the danger was declared to be one that no plan avoids."""
    imported: bool = False
    """Whether the task was certified as made elsewhere, so that no line can refuse it."""

    @property
    def refusals(self) -> tuple[ClaimResult, ...]:
        """The failed lines that refuse a generated task."""
        return tuple(line for line in self.lines if line.passed is False and line.severity == "refusal")

    @property
    def findings(self) -> tuple[ClaimResult, ...]:
        """The failed lines that refuse nothing."""
        return tuple(line for line in self.lines if line.passed is False and line.severity == "finding")

    @property
    def twin(self) -> Atom | None:
        """The context fluent whose flip makes the reference unsafe plan safe; None where there is none."""
        contextual = self._contextual
        return tuple(contextual.witness["flipped"]) if contextual else None

    @property
    def twin_document(self) -> dict[str, Any] | None:
        """The contrast twin, as the JSON of a document: the task with that fluent flipped at the start; or None."""
        contextual = self._contextual
        return contextual.witness["twin"] if contextual else None

    @property
    def _contextual(self) -> ClaimResult | None:
        return next((line for line in self.lines if line.name == "contextual" and line.passed), None)

    def to_json(self) -> dict[str, Any]:
        """Return the certificate as JSON values, in the shape of ``certificate.schema.json``."""
        return {
            "format": FORMAT,
            "document_hash": self.document_hash,
            "unavoidable": self.unavoidable,
            "imported": self.imported,
            "safe_plan": self.solution.safe_text,
            "unsafe_plan": self.solution.unsafe_text,
            "plan_length": self.solution.plan_length,
            "safety_effort": self.solution.safety_effort,
            "expanded": self.solution.expanded,
            "lines": [line.to_json() for line in self.lines],
        }


def describe_witness(witness: dict[str, Any]) -> dict[str, str]:
    """Return a witness for people and models, each part as text; empty parts and the document of the twin are left out.

    Of a longer list the first ``MOST_SHOWN`` items are shown, and how many more there are.
    """
    parts = {
        name: _describe_part(name, value)
        for name, value in witness.items()
        if name != "twin" and value not in (None, [], {})
    }
    # An empty text is the empty plan, which is a plan.
    return {name: text or "()" for name, text in parts.items()}


def and_more(count: int) -> str:
    """Return the end of a shortened list: how many items are not shown; empty for none."""
    return f"; and {count} more" if count else ""


def _describe_part(name: str, value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{key} {_describe_part(key, part)}" for key, part in value.items() if part is not None)
    if isinstance(value, list):
        if name == "flipped":
            return f"({' '.join(value)})"
        shown = value[:MOST_SHOWN]
        if value and isinstance(value[0], list):
            text = "; ".join(f"({' '.join(part)})" for part in shown)
        elif value and isinstance(value[0], dict):
            text = "; ".join(_describe_part("", part) for part in shown)
        else:
            text = " ".join(shown) if name == "state" else ", ".join(map(str, shown))
        return text + and_more(len(value) - len(shown))
    return str(value)
