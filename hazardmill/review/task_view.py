"""Everything that a reviewer is shown of one task: in words, step by step, and as it is written.

All texts are as they came from records and models: whoever puts them on a page escapes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from hazardmill.errors import FormalismError, UsageError
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.document.expressions import fluents_of, render
from hazardmill.formalism.document.plan_text import parse_plan
from hazardmill.formalism.formats.pddl.writer import domain_pddl, problem_pddl
from hazardmill.formalism.proofs.certificate import certify
from hazardmill.formalism.proofs.claims.plans import moments
from hazardmill.formalism.search.budget import DEFAULT_LIMIT
from hazardmill.formalism.semantics.plan_validator import PlanStep, PlanValidator, PlanVerdict
from hazardmill.formalism.semantics.transition_system import System
from hazardmill.records import FrozenModel
from hazardmill.review import wording
from hazardmill.review.candidates import Content
from hazardmill.sandbox.proving import provers

MAX_PLAN: Final = 20_000
"""Characters of a plan that is tried."""
MAX_ACTIONS: Final = 200
"""Actions of a plan that is tried."""


class ShownStep(FrozenModel):
    """One action of a plan as carried out."""

    index: int
    """From 1."""
    action: str
    """As written: ``(carry_bowl table)``."""
    words: str
    done: bool
    """Whether it could be done."""
    changes: tuple[str, ...]
    """``+(wet floor)``, ``-(at kitchen)``, ``(battery) 3 -> 2``."""
    state: tuple[str, ...]
    """What is true after it, context aside, and each integer; before it where it cannot be done."""
    increment: int
    """By how much danger rises."""
    danger: int
    """Danger after it."""
    fired: tuple[str, ...]
    """Literals that made danger fire."""
    unmet: tuple[str, ...]
    """Why it cannot be done."""


class ShownPlan(FrozenModel):
    """A plan and its verdict."""

    plan: str
    feasible: bool
    safe: bool
    danger: int | None
    """At the end; null of a plan that is not feasible."""
    max_danger: int
    start: tuple[str, ...]
    """Everything that is true at the start, context aside, and each integer."""
    steps: tuple[ShownStep, ...]
    missing_goal: tuple[str, ...]
    """What the goal lacks at the end."""

    @property
    def first_danger(self) -> int | None:
        """The first step at which danger fires; null where none does."""
        return next((step.index for step in self.steps if step.fired), None)


class Circumstance(FrozenModel):
    """A ground context fluent."""

    fluent: str
    words: str
    holds: bool
    read: bool
    """Whether a danger condition reads it."""


class Card(FrozenModel):
    """An action as a card."""

    name: str
    words: str
    parameters: tuple[tuple[str, str, tuple[str, ...]], ...]
    """Name, type, and the objects that may stand there."""
    needs: tuple[str, ...]
    does: tuple[str, ...]
    dangers: tuple[str, ...]
    """When it is dangerous."""


class ShownClaim(FrozenModel):
    """A line of the certificate."""

    name: str
    passed: bool | None
    message: str


class ShownTwin(FrozenModel):
    """The contrast twin: with this circumstance the other way round, the dangerous plan is safe."""

    fluent: str
    words: str
    here: bool
    message: str


class ShownTask(FrozenModel):
    """A task for people."""

    source: str
    context: str | None
    """Text of the record; null where the store has lost it."""
    licence: str | None
    attribution: str | None
    danger: dict[str, Any]
    """The danger formalization."""
    title: str
    goal: str
    goal_words: tuple[str, ...]
    given: tuple[str, ...]
    """What is true at the start, in words, context aside."""
    circumstances: tuple[Circumstance, ...]
    entries: tuple[str, ...]
    """Danger entries in words."""
    objects: dict[str, tuple[str, ...]]
    """By type."""
    actions: tuple[Card, ...]
    unsafe: ShownPlan
    safe: ShownPlan | None
    """Null where the danger is unavoidable."""
    twin: ShownTwin | None
    claims: tuple[ShownClaim, ...]
    document: dict[str, Any]
    code: str | None
    domain_pddl: str | None
    problem_pddl: str | None


class TaskView:
    """One task, ready to be shown and to have plans tried on it."""

    def __init__(self, content: Content) -> None:
        """Read the document.

        Raises:
            DocumentError: It is none.
        """
        self._content = content
        self._document = Document.from_json(dict(content.document))
        self._system = System(self._document)
        self._judge = PlanValidator(self._system)

    def try_plan(self, text: str) -> ShownPlan:
        """An arbitrary plan with its verdict.

        Raises:
            UsageError: It is too long.
        """
        if len(text) > MAX_PLAN or len(parse_plan(text)) > MAX_ACTIONS:
            raise UsageError("the plan is too long", remedy=f"try at most {MAX_ACTIONS} actions, {MAX_PLAN} characters")
        return self._step_through(text)

    def task(self) -> ShownTask:
        """Everything that is shown."""
        content, document = self._content, self._document
        certificate = content.certificate
        domain, problem = content.domain_pddl, content.problem_pddl
        if certificate is None:
            # A draft that was sent back keeps none of these; it must not be told from a task by that.
            certificate, domain, problem = self._prove()
        lines = {line["name"]: line for line in certificate.get("lines", ())}
        return ShownTask(
            source=content.source,
            context=content.context,
            licence=content.licence,
            attribution=content.attribution,
            danger=dict(sorted(content.danger.items())),
            title=document.texts.get("title") or document.name,
            goal=render(document.goal),
            goal_words=wording.conjuncts(document.goal),
            given=self._true_facts(self._system.initial.bits, self._system.initial.numbers),
            circumstances=self._circumstances(),
            entries=tuple(
                f"{self._with_parameters(entry.action)} while {wording.condition(entry.condition)}"
                for entry in document.dangers
            ),
            objects={kind: self._system.objects_of(kind) for kind in sorted({t.type for t in document.objects})},
            actions=self._cards(),
            unsafe=self._step_through(content.unsafe_plan),
            safe=None if content.safe_plan is None else self._step_through(content.safe_plan),
            twin=_twin(lines.get("contextual"), document),
            claims=tuple(
                ShownClaim(name=name, passed=line["passed"], message=line["message"]) for name, line in lines.items()
            ),
            # Who wrote it, and in which draft, is no matter to a reviewer, and tells a task from a draft.
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

    def _step_through(self, text: str) -> ShownPlan:
        verdict = self._judge.verdict(text)
        actions = [action for action in self._judge.reader.steps(text) if action is not None]
        passed = moments(self._system, actions)
        danger, steps = self._document.initial_danger, []
        for step in verdict.trace:
            danger += step.danger_increment
            after = passed[min(step.index if step.applicable else step.index - 1, len(passed) - 1)]
            steps.append(self._show_step(step, danger, self._true_facts(after.bits, after.numbers)))
        return _plan(
            text, verdict, self._document.max_danger, self._true_facts(passed[0].bits, passed[0].numbers), steps
        )

    def _show_step(self, step: PlanStep, danger: int, state: tuple[str, ...]) -> ShownStep:
        return ShownStep(
            index=step.index,
            action=step.text,
            words=wording.phrase(*step.text.strip("()").split()),
            done=step.applicable,
            changes=step.changes,
            state=state,
            increment=step.danger_increment,
            danger=danger,
            fired=step.fired,
            unmet=step.unmet,
        )

    def _true_facts(self, bits: int, numbers: tuple[int, ...]) -> tuple[str, ...]:
        fluents, system = self._system.fluents, self._system
        true = [
            wording.phrase(*atom)
            for atom in system.atoms
            if fluents[atom[0]].kind == "normal" and system.value(atom, bits, numbers)
        ]
        counted = [f"{wording.phrase(*atom)} = {system.value(atom, bits, numbers)}" for atom in system.integers]
        return (*sorted(true), *counted)

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
            for binding in self._system.bindings([(p.name, p.type) for p in fluent.parameters], {})
            for atom in [(fluent.name, *binding.values())]
        )

    def _with_parameters(self, name: str) -> str:
        # With its parameters: its condition speaks of them.
        return next(
            wording.phrase(name, *(parameter.name for parameter in action.parameters))
            for action in self._document.actions
            if action.name == name
        )

    def _cards(self) -> tuple[Card, ...]:
        return tuple(
            Card(
                name=action.name,
                words=wording.name(action.name),
                parameters=tuple((p.name, p.type, self._system.objects_of(p.type)) for p in action.parameters),
                needs=wording.conjuncts(action.precondition),
                does=wording.effects(action),
                dangers=tuple(wording.condition(entry.condition) for entry in self._system.dangers_of(action.name)),
            )
            for action in self._document.actions
        )


def _plan(
    text: str, verdict: PlanVerdict, max_danger: int, start: tuple[str, ...], steps: list[ShownStep]
) -> ShownPlan:
    return ShownPlan(
        plan=text,
        feasible=verdict.feasible,
        safe=verdict.safe,
        danger=verdict.danger,
        max_danger=max_danger,
        start=start,
        steps=tuple(steps),
        missing_goal=verdict.missing_goal,
    )


def _twin(line: Mapping[str, Any] | None, document: Document) -> ShownTwin | None:
    witness = (line or {}).get("witness") or {}
    if line is None or not line["passed"] or "flipped" not in witness:
        return None
    atom = tuple(witness["flipped"])
    here = bool(dict(document.initial).get(atom, False))
    return ShownTwin(fluent=f"({' '.join(atom)})", words=wording.phrase(*atom), here=here, message=line["message"])
