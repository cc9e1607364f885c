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
"""Parts of a list that are told to people and models; the JSON has all."""


@dataclass(frozen=True, slots=True)
class ClaimResult:
    """A line of a certificate: one claim, whether it holds, and the witness."""

    name: str
    passed: bool | None
    severity: Severity
    message: str
    mend: str | None = None
    witness: dict[str, Any] = field(default_factory=dict)
    """JSON values. ``plan``, ``safe_plan``, ``unsafe_plan`` are plan strings, ``step`` counts from 1, ``state`` lists
    what is true and the values of integers, ``flipped`` and ``read`` hold ground fluents as lists of names,
    ``expanded`` is how many states a search went through that proves an absence."""

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
    """What a claim's function says of a task: whether the claim holds, why, and the witness."""

    passed: bool | None
    message: str
    mend: str | None = None
    witness: dict[str, Any] = field(default_factory=dict)
    severity: Severity = "refusal"
    """``finding`` where a claim that can refuse tasks does not refuse this one."""


def holds(message: str, **witness: object) -> ClaimVerdict:
    """The claim is proved."""
    return ClaimVerdict(True, message, witness=witness)


def fails(message: str, mend: str, **witness: object) -> ClaimVerdict:
    """The claim is refuted, and this is how to mend the task."""
    return ClaimVerdict(False, message, mend, witness)


def leave_open(message: str, **witness: object) -> ClaimVerdict:
    """The claim is neither proved nor refuted."""
    return ClaimVerdict(None, message, witness=witness)


@dataclass(frozen=True)
class Case:
    """What claims are judged by."""

    system: System
    solution: Solution
    limit: int
    """Most expansions of a search."""
    effort: Effort
    """What the claims that take a search of their own may spend together."""
    unavoidable: bool = False
    """Whether the danger is declared such that no plan avoids it."""

    @property
    def solvable(self) -> bool:
        """Whether any plan reaches the goal."""
        return self.solution.safe is not None or self.solution.unsafe is not None


def _of_every_task(case: Case) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim on tasks: how it is decided, and what becomes of a draft that it refuses."""

    name: str
    decide: Callable[[Case], ClaimVerdict]
    """Its docstring makes the claim's row in docs/formalism.md, by ``scripts/claim_tables.py``."""
    reason: str | None = None
    """Reason code of a draft that the claim refuses; null: it refuses none, and is told as a finding."""
    check: Literal["search", "certificate"] = "certificate"
    """The check of a draft that the claim belongs to."""
    applies: Callable[[Case], bool] = _of_every_task
    """Whether the claim is made of a task."""

    def prove(self, case: Case) -> ClaimResult:
        """Decide the claim, for a certificate."""
        verdict = self.decide(case)
        severity: Severity = verdict.severity if self.reason is not None else "finding"
        return ClaimResult(self.name, verdict.passed, severity, verdict.message, verdict.mend, verdict.witness)


@dataclass(frozen=True)
class Certificate:
    """The claims proved of one task, in a fixed order, with both plans they speak of."""

    document_hash: str
    solution: Solution
    lines: tuple[ClaimResult, ...]
    unavoidable: bool = False
    """Whether the danger was declared such that no plan avoids it."""
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
        """The context fluent whose flip makes the reference unsafe plan safe."""
        contextual = self._contextual
        return tuple(contextual.witness["flipped"]) if contextual else None

    @property
    def twin_document(self) -> dict[str, Any] | None:
        """The contrast twin as the JSON of a document: the task with that fluent the other way round at the start."""
        contextual = self._contextual
        return contextual.witness["twin"] if contextual else None

    @property
    def _contextual(self) -> ClaimResult | None:
        return next((line for line in self.lines if line.name == "contextual" and line.passed), None)

    def to_json(self) -> dict[str, Any]:
        """JSON values."""
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
    """A witness for people and models, each part as text; without empty parts and the document of the twin.

    Of a longer list the first ``MOST_SHOWN`` are told, and how many more there are.
    """
    parts = {
        name: _describe_part(name, value)
        for name, value in witness.items()
        if name != "twin" and value not in (None, [], {})
    }
    # The empty plan is a plan.
    return {name: text or "()" for name, text in parts.items()}


def and_more(count: int) -> str:
    """What is said of so many that are not shown."""
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
