"""Everything that a reviewer is shown of one task: in words, step by step, and as it is written.

Texts are as they came from records and models. Whoever puts them on a page must escape them.
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
"""Largest number of characters of a plan that is tried."""
MAX_ACTIONS: Final = 200
"""Largest number of actions of a plan that is tried."""


class ShownStep(FrozenModel):
    """One action of a plan, as it was carried out.

    Attributes:
        index: Number of the step, from 1.
        action: The action as written: ``(carry_bowl table)``.
        words: The action in words.
        done: Whether it could be carried out.
        changes: What it changed: ``+(wet floor)``, ``-(at kitchen)``, ``(battery) 3 -> 2``.
        state: What is true after it, and the value of each integer fluent, without context fluents. If the step cannot
            be carried out, the state before it.
        increment: How much it adds to danger.
        danger: Total danger after it.
        fired: Literals that made danger fire.
        unmet: Why it cannot be carried out; empty if it can.
    """

    index: int
    action: str
    words: str
    done: bool
    changes: tuple[str, ...]
    state: tuple[str, ...]
    increment: int
    danger: int
    fired: tuple[str, ...]
    unmet: tuple[str, ...]


class ShownPlan(FrozenModel):
    """A plan with its verdict and its steps.

    Attributes:
        plan: The plan as written.
        feasible: Whether every step can be carried out and the goal is reached.
        safe: Whether it is feasible and its danger stays within ``max_danger``.
        danger: Danger at the end; ``None`` if the plan is not feasible.
        max_danger: Largest danger that the task allows.
        start: What is true at the start, and the value of each integer fluent, without context fluents.
        steps: The steps, up to the first that cannot be carried out.
        missing_goal: What the goal lacks at the end; empty if a step cannot be carried out.
    """

    plan: str
    feasible: bool
    safe: bool
    danger: int | None
    max_danger: int
    start: tuple[str, ...]
    steps: tuple[ShownStep, ...]
    missing_goal: tuple[str, ...]

    @property
    def first_danger(self) -> int | None:
        """Number of the first step at which danger fires; ``None`` if there is none."""
        return next((step.index for step in self.steps if step.fired), None)


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


class Card(FrozenModel):
    """An action of the task, shown as a card.

    Attributes:
        name: Name of the action.
        words: Name in words.
        parameters: Per parameter: its name, its type, and the objects that may take its place.
        needs: Its precondition, part by part, in words.
        does: Its effects in words.
        dangers: Conditions under which it is dangerous, in words.
    """

    name: str
    words: str
    parameters: tuple[tuple[str, str, tuple[str, ...]], ...]
    needs: tuple[str, ...]
    does: tuple[str, ...]
    dangers: tuple[str, ...]


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


class ShownTask(FrozenModel):
    """A task as it is shown to people.

    Attributes:
        source: Name of the source of the record.
        context: Text of the record; ``None`` if the store has lost it.
        licence: Licence of the record; ``None`` if there is none.
        attribution: Attribution of the record; ``None`` if there is none.
        danger: The danger formalization, sorted by field.
        title: Title of the task.
        goal: The goal as written.
        goal_words: The goal in words, part by part.
        given: What is true at the start, in words, without context fluents.
        circumstances: The context fluents.
        entries: The danger entries in words.
        objects: Names of objects by type.
        actions: The actions as cards.
        unsafe: The dangerous reference plan.
        safe: The safe reference plan; ``None`` if the danger is unavoidable.
        twin: The contrast twin; ``None`` if the certificate has none.
        claims: Lines of the certificate; empty if it could not be computed.
        document: The task document without its provenance.
        code: Python code of the draft; ``None`` if it was not kept.
        domain_pddl: The PDDL domain; ``None`` if it could not be derived.
        problem_pddl: The PDDL problem; ``None`` likewise.
    """

    source: str
    context: str | None
    licence: str | None
    attribution: str | None
    danger: dict[str, Any]
    title: str
    goal: str
    goal_words: tuple[str, ...]
    given: tuple[str, ...]
    circumstances: tuple[Circumstance, ...]
    entries: tuple[str, ...]
    objects: dict[str, tuple[str, ...]]
    actions: tuple[Card, ...]
    unsafe: ShownPlan
    safe: ShownPlan | None
    twin: ShownTwin | None
    claims: tuple[ShownClaim, ...]
    document: dict[str, Any]
    code: str | None
    domain_pddl: str | None
    problem_pddl: str | None


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
        self._system = System(self._document)
        self._judge = PlanValidator(self._system)

    def try_plan(self, text: str) -> ShownPlan:
        """Return any plan with its verdict.

        Args:
            text: The plan, at most ``MAX_PLAN`` characters and ``MAX_ACTIONS`` actions.

        Raises:
            UsageError: The plan is too long.
        """
        if len(text) > MAX_PLAN or len(parse_plan(text)) > MAX_ACTIONS:
            raise UsageError("the plan is too long", remedy=f"try at most {MAX_ACTIONS} actions, {MAX_PLAN} characters")
        return self._step_through(text)

    def task(self) -> ShownTask:
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
        # With its parameters, because the condition of the entry refers to them.
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
