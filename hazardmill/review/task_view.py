"""Everything that a reviewer is shown of one task: in words, step by step, and as it is written.

Texts are as they came from records and models. Whoever puts them on a page must escape them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hazardmill.errors import FormalismError
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.document.expressions import fluents_of
from hazardmill.formalism.formats.pddl.writer import domain_pddl, problem_pddl
from hazardmill.formalism.proofs.certificate import certify
from hazardmill.formalism.search.budget import DEFAULT_LIMIT
from hazardmill.records import FrozenModel
from hazardmill.review import wording
from hazardmill.review.candidates import Content
from hazardmill.review.document_view import DocumentView, ShownItem, ShownPlan
from hazardmill.sandbox.proving import provers


class Circumstance(FrozenModel):
    """A ground context fluent.

    Attributes:
        fluent: The fluent as written: ``(wet floor)``.
        words: The fluent in words.
        holds: Whether it is true in this task.
        read: Whether the condition of a danger entry reads it.
    """

    fluent: str
    words: str
    holds: bool
    read: bool


class ShownClaim(FrozenModel):
    """A line of the certificate.

    Attributes:
        name: Name of the claim.
        passed: Whether it is proved; ``None`` if unknown.
        message: What was found.
    """

    name: str
    passed: bool | None
    message: str


class ShownTwin(FrozenModel):
    """The contrast twin: the same task with one circumstance reversed, in which the dangerous plan is safe.

    Attributes:
        fluent: The reversed circumstance as written.
        words: The same in words.
        here: Whether it is true in this task.
        message: The message of the certificate's line.
    """

    fluent: str
    words: str
    here: bool
    message: str


class ShownTask(ShownItem):
    """A task as it is shown to people.

    Attributes:
        danger: The danger formalization, sorted by field.
        circumstances: The context fluents.
        entries: The danger entries in words.
        unsafe: The dangerous reference plan.
        safe: The safe reference plan; ``None`` if the danger is unavoidable.
        twin: The contrast twin; ``None`` if the certificate has none.
        claims: Lines of the certificate; empty if it could not be computed.
        code: Python code of the draft; ``None`` if it was not kept.
    """

    danger: dict[str, Any]
    circumstances: tuple[Circumstance, ...]
    entries: tuple[str, ...]
    unsafe: ShownPlan
    safe: ShownPlan | None
    twin: ShownTwin | None
    claims: tuple[ShownClaim, ...]
    code: str | None


class TaskView:
    """One task, ready to be shown and to have plans tried on it.

    A view changes nothing and keeps no plan that was tried.
    """

    def __init__(self, content: Content) -> None:
        """Read the document of a task.

        Raises:
            DocumentError: It is not a task document.
        """
        self._content = content
        self._document = Document.from_json(dict(content.document))
        self._view = DocumentView(self._document)

    def try_plan(self, text: str) -> ShownPlan:
        """Return any plan with its verdict; see ``DocumentView.try_plan``.

        Raises:
            UsageError: The plan is too long.
        """
        return self._view.try_plan(text)

    def show(self) -> ShownTask:
        """Return everything that is shown of the task.

        For a draft, certificate and PDDL are computed here, in a process that is ended if it takes too long.
        """
        content, document = self._content, self._document
        certificate = content.certificate
        domain, problem = content.domain_pddl, content.problem_pddl
        if certificate is None:
            # A draft that was sent back keeps none of these, and must not be recognizable by their absence.
            certificate, domain, problem = self._prove()
        lines = {line["name"]: line for line in certificate.get("lines", ())}
        return ShownTask(
            **self._view.describe(content),
            danger=dict(sorted(content.danger.items())),
            title=document.texts.get("title") or document.name,
            circumstances=self._circumstances(),
            entries=tuple(
                f"{self._with_parameters(entry.action)} while {wording.condition(entry.condition)}"
                for entry in document.dangers
            ),
            actions=tuple(map(self._view.card, document.actions)),
            unsafe=self._view.step_through(content.unsafe_plan),
            safe=None if content.safe_plan is None else self._view.step_through(content.safe_plan),
            twin=_twin(lines.get("contextual"), document),
            claims=tuple(
                ShownClaim(name=name, passed=line["passed"], message=line["message"]) for name, line in lines.items()
            ),
            # Who wrote it, and in which draft, does not concern a reviewer, and would give away a draft.
            document={name: part for name, part in sorted(content.document.items()) if name != "provenance"},
            code=content.code,
            domain_pddl=domain,
            problem_pddl=problem,
        )

    def _prove(self) -> tuple[Mapping[str, Any], str | None, str | None]:
        unavoidable = self._content.danger.get("instantaneous_avoidability") == "unavoidable"
        try:
            return (
                provers().run(DEFAULT_LIMIT, certify, self._document, unavoidable=unavoidable).to_json(),
                domain_pddl(self._document),
                problem_pddl(self._document),
            )
        except FormalismError:
            return {}, None, None

    def _circumstances(self) -> tuple[Circumstance, ...]:
        start = dict(self._document.initial)
        read = {node[1] for entry in self._document.dangers for node in fluents_of(entry.condition)}
        return tuple(
            Circumstance(
                fluent=f"({' '.join(atom)})",
                words=wording.phrase(*atom),
                holds=bool(start.get(atom, False)),
                read=atom[0] in read,
            )
            for fluent in self._document.fluents
            if fluent.kind == "context"
            for binding in self._view.system.bindings([(p.name, p.type) for p in fluent.parameters], {})
            for atom in [(fluent.name, *binding.values())]
        )

    def _with_parameters(self, name: str) -> str:
        # With its parameters, because the condition of the entry refers to them.
        return next(
            wording.phrase(name, *(parameter.name for parameter in action.parameters))
            for action in self._document.actions
            if action.name == name
        )


def _twin(line: Mapping[str, Any] | None, document: Document) -> ShownTwin | None:
    witness = (line or {}).get("witness") or {}
    if line is None or not line["passed"] or "flipped" not in witness:
        return None
    atom = tuple(witness["flipped"])
    here = bool(dict(document.initial).get(atom, False))
    return ShownTwin(fluent=f"({' '.join(atom)})", words=wording.phrase(*atom), here=here, message=line["message"])
