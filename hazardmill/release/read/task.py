"""A task of a release: its texts, plans and proofs, and verdicts on any plan.

Nothing here needs a store, a model or the sandbox: a verdict follows from the task's document.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from hazardmill.errors import DocumentError, SearchLimitReached
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.semantics.plan_validator import PlanValidator, PlanVerdict
from hazardmill.formalism.semantics.safety_intention import Mode
from hazardmill.formalism.semantics.transition_system import System
from hazardmill.llm.requests import OFFLINE_MODEL
from hazardmill.release.build.configs import DANGER_FIELDS
from hazardmill.release.read.pairs import planning_prompt, preference_pair

_REMEDY: Final = "the release is damaged: download or build it again"


@dataclass(frozen=True)
class ReleasedTask:
    """One task of the config ``tasks`` or ``unavoidable``.

    The document and the certificate are parsed when first used. Two tasks are equal if all fields except ``row`` are.
    """

    task_id: str
    record_id: str
    source: str
    split: str
    """``train``, ``validation`` or ``test``."""
    share_alike: bool
    """Whether works derived from it must be shared under its licence."""
    licence: str
    attribution: str
    """Credit line that the licence requires."""
    context: str = field(repr=False)
    """Text of the record that the task was made from."""
    danger_group: str
    danger_type: str
    domain_pddl: str = field(repr=False)
    """PDDL domain of the basic problem, which does not mention the danger."""
    problem_pddl: str = field(repr=False)
    """PDDL basic problem."""
    safe_plan: str | None
    """A shortest safe plan; None if the danger is unavoidable."""
    unsafe_plan: str
    """A shortest unsafe plan."""
    answered_by: tuple[str, ...]
    """Every model that answered for its record; ``offline-author`` if hazardmill's rules did."""
    row: Mapping[str, Any] = field(repr=False, compare=False)
    """All columns of the task, as in the file."""

    @classmethod
    def of(cls, row: Mapping[str, Any], split: str, *, share_alike: bool) -> ReleasedTask:
        """Return the task of a row.

        Args:
            row: A row of the config ``tasks`` or ``unavoidable``.
            split: The split of the row.
            share_alike: Whether the row is in a config of share-alike rows.

        Raises:
            KeyError: The row lacks a column.
            TypeError: The column ``answered_by`` is not a list, or not text.
            ValueError: The column ``answered_by`` is not JSON.
        """
        return cls(
            task_id=row["task_id"],
            record_id=row["record_id"],
            source=row["source"],
            split=split,
            share_alike=share_alike,
            licence=row["licence"],
            attribution=row["attribution"],
            context=row["context"],
            danger_group=row["danger_group"],
            danger_type=row["danger_type"],
            domain_pddl=row["domain_pddl"],
            problem_pddl=row["problem_pddl"],
            # Tasks without a safe plan have no column for it.
            safe_plan=row.get("safe_plan"),
            unsafe_plan=row["unsafe_plan"],
            answered_by=tuple(json.loads(row["answered_by"])),
            row=row,
        )

    @property
    def plans(self) -> dict[str, str]:
        """The reference plans by kind: ``safe`` (unless the danger is unavoidable) and ``unsafe``."""
        safe = {} if self.safe_plan is None else {"safe": self.safe_plan}
        return {**safe, "unsafe": self.unsafe_plan}

    @property
    def danger(self) -> dict[str, str | None]:
        """The danger formalization: field to text. A planner must not see it."""
        return {name: self.row[name] for name in DANGER_FIELDS}

    @property
    def offline_authored(self) -> bool:
        """Whether hazardmill's rules wrote any part of it, instead of a language model."""
        return OFFLINE_MODEL in self.answered_by

    @property
    def prompt(self) -> str:
        """The basic problem as a prompt, as in ``preference_pairs``."""
        return planning_prompt(self.domain_pddl, self.problem_pddl)

    @cached_property
    def document(self) -> Document:
        """The task's document, checked against the hash in its row.

        Raises:
            DocumentError: It cannot be read, or does not have the hash in its row.
        """
        document = _read(self.row["document"], f"the document of {self.task_id}")
        if document.hash != self.row["document_hash"]:
            raise DocumentError(f"the document of {self.task_id} does not have the hash in its row", remedy=_REMEDY)
        return document

    @cached_property
    def certificate(self) -> dict[str, Any]:
        """The proofs about the task (``docs/formalism.md``, *Certificates*).

        Raises:
            DocumentError: The column is not a certificate of this document.
        """
        try:
            found = json.loads(self.row["certificate"])
            if found["document_hash"] == self.row["document_hash"] and isinstance(found["lines"], list):
                return dict(found)
        except (ValueError, KeyError, TypeError):
            pass
        raise DocumentError(f"the certificate of {self.task_id} does not belong to its document", remedy=_REMEDY)

    @cached_property
    def twin(self) -> Document | None:
        """The contrast twin: the task with one circumstance reversed, so that its unsafe plan is safe.

        None if the certificate has no twin.

        Raises:
            DocumentError: The certificate is not one of this document, or its twin cannot be read.
        """
        for line in self.certificate["lines"]:
            if line["name"] == "contextual" and line["passed"]:
                return _read(line["witness"]["twin"], f"the contrast twin of {self.task_id}")
        return None

    def verdict(self, plan: str, mode: Mode = "transient") -> PlanVerdict:
        """Return the verdict on a plan for this task, with its trace.

        Args:
            plan: A plan as text: an action is an innermost ``( ... )``, and all other text is ignored.
            mode: How long forced values last when safety intention is judged: for one action (``transient``), or for
                all later actions, too (``persistent``).

        Raises:
            DocumentError: The task is too large, or its document cannot be read.
        """
        return self._judge.verdict(plan, mode)

    def safety_intention(self, plan: str, mode: Mode = "transient") -> bool:
        """Check whether a plan would have been safe if each of its actions had been possible; see ``verdict``."""
        return self.verdict(plan, mode).safety_intention

    def preference_pair(self) -> dict[str, Any] | None:
        """Build prompt, safe and unsafe plan, and the steps where they part (``hazardmill.release.read.pairs``).

        Returns:
            The columns of ``preference_pairs``; None if there is no safe plan, or the unsafe plan has no step.

        Raises:
            DocumentError: The document cannot be read.
            InputError: A reference plan is not what its column says.
        """
        return preference_pair({"safe_plan": None, **self.row})

    @cached_property
    def _judge(self) -> PlanValidator:
        try:
            return PlanValidator(System(self.document))
        except SearchLimitReached as error:
            raise DocumentError(f"{self.task_id} is too large for a verdict: {error.message}") from error


def _read(value: object, what: str) -> Document:
    try:
        return Document.from_json(json.loads(value) if isinstance(value, str) else value)
    except ValueError as error:
        raise DocumentError(f"{what} cannot be read: {error}", remedy=_REMEDY) from error
