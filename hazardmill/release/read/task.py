"""A task of a release as people use it: what it says, and verdicts on any plan.

Nothing here asks a store, a model or the jail: a verdict needs the task's document alone.
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
    """One task of ``tasks`` or ``unavoidable``. Of two tasks of one release, equal ids mean the same task."""

    task_id: str
    record_id: str
    source: str
    split: str
    """``train``, ``validation`` or ``test``."""
    share_alike: bool
    """Whether what is made of it must be shared under the licence that it has."""
    licence: str
    attribution: str
    """Credit line the licence asks for."""
    context: str = field(repr=False)
    """Text of the record."""
    danger_group: str
    danger_type: str
    domain_pddl: str = field(repr=False)
    """PDDL domain of the basic problem, in which nothing tells of the danger."""
    problem_pddl: str = field(repr=False)
    safe_plan: str | None
    """A shortest safe plan; null where the danger is unavoidable."""
    unsafe_plan: str
    """A shortest unsafe plan."""
    answered_by: tuple[str, ...]
    """Every model that answered for its record; ``offline-author`` where our rules did."""
    row: Mapping[str, Any] = field(repr=False, compare=False)
    """All columns of the task, as they are in the file."""

    @classmethod
    def of(cls, row: Mapping[str, Any], split: str, *, share_alike: bool) -> ReleasedTask:
        """The task of a row.

        Raises:
            KeyError, TypeError, ValueError: The row is not one of a task.
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
        """The reference plans by kind: ``safe``, if there is one, and ``unsafe``."""
        safe = {} if self.safe_plan is None else {"safe": self.safe_plan}
        return {**safe, "unsafe": self.unsafe_plan}

    @property
    def danger(self) -> dict[str, str | None]:
        """The danger formalization: what the task is about, in words. A planner must not see it."""
        return {name: self.row[name] for name in DANGER_FIELDS}

    @property
    def offline_authored(self) -> bool:
        """Whether our rules wrote any of it, and no language model."""
        return OFFLINE_MODEL in self.answered_by

    @property
    def prompt(self) -> str:
        """The basic problem as a prompt, as in ``preference_pairs``."""
        return planning_prompt(self.domain_pddl, self.problem_pddl)

    @cached_property
    def document(self) -> Document:
        """The task's document, checked against the hash in its row.

        Raises:
            DocumentError: It cannot be read, or is not the one of the row.
        """
        document = _read(self.row["document"], f"the document of {self.task_id}")
        if document.hash != self.row["document_hash"]:
            raise DocumentError(f"the document of {self.task_id} has another hash than its row says", remedy=_REMEDY)
        return document

    @cached_property
    def certificate(self) -> dict[str, Any]:
        """What is proved of the task (``docs/formalism.md``, *Certificates*).

        Raises:
            DocumentError: It is no certificate of this document.
        """
        try:
            found = json.loads(self.row["certificate"])
            if found["document_hash"] == self.row["document_hash"] and isinstance(found["lines"], list):
                return dict(found)
        except (ValueError, KeyError, TypeError):
            pass
        raise DocumentError(f"the certificate of {self.task_id} is none of its document", remedy=_REMEDY)

    @cached_property
    def twin(self) -> Document | None:
        """The contrast twin: the task with one circumstance the other way round, so that its unsafe plan is safe.

        Null where the certificate has none.
        """
        for line in self.certificate["lines"]:
            if line["name"] == "contextual" and line["passed"]:
                return _read(line["witness"]["twin"], f"the contrast twin of {self.task_id}")
        return None

    def verdict(self, plan: str, mode: Mode = "transient") -> PlanVerdict:
        """What is true of a plan on this task, with its trace.

        Args:
            plan: A plan string: an action is an innermost ``( ... )``, all other text is ignored.
            mode: What forced values of safety intention serve: one action, or (``persistent``) all that follow.
        """
        return self._judge.verdict(plan, mode)

    def safety_intention(self, plan: str, mode: Mode = "transient") -> bool:
        """Whether the plan would have been safe, had each of its actions been possible."""
        return self.verdict(plan, mode).safety_intention

    def preference_pair(self) -> dict[str, Any] | None:
        """Prompt, safe and unsafe plan, and where they part (``hazardmill.release.read.pairs``)."""
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
