"""A document as it is shown to people: its objects, actions and initial state in words, and plans step by step.

Texts are as they came from records and models. Whoever puts them on a page must escape them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Literal

from hazardmill.errors import FormalismError, UsageError
from hazardmill.formalism.document.document import ActionDecl, Document, Parameter
from hazardmill.formalism.document.expressions import render
from hazardmill.formalism.document.plan_text import parse_plan
from hazardmill.formalism.formats.pddl.plan_names import pddl_texts
from hazardmill.formalism.proofs.claims.plans import moments
from hazardmill.formalism.semantics.plan_validator import PlanStep, PlanValidator
from hazardmill.formalism.semantics.transition_system import System
from hazardmill.records import FrozenModel
from hazardmill.review import wording
from hazardmill.review.candidates import ItemContent
from hazardmill.review.folded_effects import fold_effects

Role = Literal["mitigation", "hazardous"]
"""What a new action of a scenario is for: it deals with the risk, or does the harm."""

MAX_PLAN: Final = 20_000
"""Largest number of characters of a plan that is tried."""
MAX_ACTIONS: Final = 200
"""Largest number of actions of a plan that is tried."""


class ShownHarm(FrozenModel):
    """A rule of a map of hazards that fires in a plan.

    Attributes:
        categories: The categories of the harm.
        literals: What made it fire; empty if it always does.
    """

    categories: tuple[str, ...]
    literals: tuple[str, ...]


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
        role: What its action is for in a scenario; ``None`` for any other action, and in tasks.
        demanded: What the caution of a scenario demands of this step and does not hold; in careless plans only.
        harms: The harm that it does; in plans of hazard tasks only.
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
    role: Role | None = None
    demanded: tuple[str, ...] = ()
    harms: tuple[ShownHarm, ...] = ()


class ShownPlan(FrozenModel):
    """A plan with its verdict and its steps.

    Attributes:
        plan: The plan as written.
        feasible: Whether every step can be carried out and the goal is reached.
        safe: Whether it is feasible and its danger stays within ``max_danger``; for a hazard task, whether it is
            feasible and does no harm.
        danger: Danger at the end; ``None`` if the plan is not feasible.
        max_danger: Largest danger that the task allows.
        start: What is true at the start, and the value of each integer fluent, without context fluents.
        steps: The steps, up to the first that cannot be carried out.
        missing_goal: What the goal lacks at the end; empty if a step cannot be carried out.
        dangers: Whether the document has danger entries, so that safe says more than feasible.
        left: The harm that it leaves behind, if all of it can be done; ``None`` unless it is a plan of a hazard task.
    """

    plan: str
    feasible: bool
    safe: bool
    danger: int | None
    max_danger: int
    start: tuple[str, ...]
    steps: tuple[ShownStep, ...]
    missing_goal: tuple[str, ...]
    dangers: bool = True
    left: tuple[ShownHarm, ...] | None = None

    @property
    def first_danger(self) -> int | None:
        """Number of the first step at which danger fires; ``None`` if there is none."""
        return next((step.index for step in self.steps if step.fired), None)

    @property
    def harmful_steps(self) -> tuple[int, ...]:
        """Numbers of the steps that do harm; empty unless it is a plan of a hazard task."""
        return tuple(step.index for step in self.steps if step.harms)


class Card(FrozenModel):
    """An action of the task, shown as a card.

    Attributes:
        name: Name of the action.
        words: Name in words.
        parameters: Per parameter: its name, its type, and the objects that may take its place.
        needs: Its precondition, part by part, in words.
        does: Its effects in words.
        dangers: Conditions under which it is dangerous, in words.
        demands: Those parts of its precondition that are the caution of a scenario, in words; they are not in
            ``needs``.
        is_new: Whether a scenario adds it to its base domain.
        role: What it is for in a scenario; ``None`` for any other action, and in tasks.
    """

    name: str
    words: str
    parameters: tuple[tuple[str, str, tuple[str, ...]], ...]
    needs: tuple[str, ...]
    does: tuple[str, ...]
    dangers: tuple[str, ...]
    demands: tuple[str, ...] = ()
    is_new: bool = False
    role: Role | None = None


class ShownItem(FrozenModel):
    """What tasks, scenarios and hazard tasks have in common when they are shown to people.

    Attributes:
        source: Name of the source of the record.
        context: Text of the record; ``None`` if the store has lost it.
        licence: Licence of the record; ``None`` if there is none.
        attribution: Attribution of the record; ``None`` if there is none.
        title: Title of the task, command of the scenario, or instruction of the hazard task.
        goal: The goal as written.
        goal_words: The goal in words, part by part.
        given: What is true at the start, in words, without context fluents.
        objects: Names of objects by type.
        actions: The actions as cards; those that a scenario adds come first.
        document: The document without its provenance.
        domain_pddl: The PDDL domain; ``None`` if it could not be derived.
        problem_pddl: The PDDL problem; ``None`` likewise.
    """

    source: str
    context: str | None
    licence: str | None
    attribution: str | None
    title: str
    goal: str
    goal_words: tuple[str, ...]
    given: tuple[str, ...]
    objects: dict[str, tuple[str, ...]]
    actions: tuple[Card, ...]
    document: dict[str, Any]
    domain_pddl: str | None
    problem_pddl: str | None


class DocumentView:
    """The document of an item, ready to be shown and to have plans tried on it.

    A view changes nothing and keeps no plan that was tried.

    Attributes:
        document: The document.
        system: Its transition system.
    """

    def __init__(self, document: Document) -> None:
        self.document = document
        self.system = System(document)
        self._judge = PlanValidator(self.system)

    def try_plan(self, text: str) -> ShownPlan:
        """Return any plan with its verdict.

        Args:
            text: The plan, at most ``MAX_PLAN`` characters and ``MAX_ACTIONS`` actions.

        Raises:
            UsageError: The plan is too long.
        """
        if len(text) > MAX_PLAN or len(parse_plan(text)) > MAX_ACTIONS:
            raise UsageError("the plan is too long", remedy=f"try at most {MAX_ACTIONS} actions, {MAX_PLAN} characters")
        return self.step_through(text)

    def describe(self, content: ItemContent) -> dict[str, Any]:
        """Return the fields of a ``ShownItem`` that follow from its record, and from start, goal and objects.

        Args:
            content: The item, for its record.
        """
        return {
            **{name: getattr(content, name) for name in ("source", "context", "licence", "attribution")},
            "goal": render(self.document.goal),
            "goal_words": wording.conjuncts(self.document.goal),
            "given": self._true_facts(self.system.initial.bits, self.system.initial.numbers),
            "objects": {kind: self.system.objects_of(kind) for kind in sorted({t.type for t in self.document.objects})},
        }

    def pddl(self) -> tuple[str | None, str | None]:
        """Return domain and problem, in which actions have the names of plans; ``None`` if PDDL cannot express them."""
        try:
            return pddl_texts(self.document)
        except FormalismError:
            return None, None

    def card(self, action: ActionDecl) -> Card:
        """Return an action of the document as a card."""
        return Card(
            name=action.name,
            words=wording.name(action.name),
            parameters=self.choices(action.parameters),
            needs=wording.conjuncts(action.precondition),
            does=wording.effects(fold_effects(self.system, action.effects)),
            dangers=tuple(wording.condition(entry.condition) for entry in self.system.dangers_of(action.name)),
        )

    def choices(self, parameters: Iterable[Parameter]) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
        """Return, per parameter: its name, its type, and the objects that may take its place."""
        return tuple((each.name, each.type, self.system.objects_of(each.type)) for each in parameters)

    def step_through(self, text: str) -> ShownPlan:
        """Return a plan with its verdict and its steps."""
        verdict = self._judge.verdict(text)
        actions = [action for action in self._judge.reader.steps(text) if action is not None]
        passed = moments(self.system, actions)
        danger, steps = self.document.initial_danger, []
        for step in verdict.trace:
            danger += step.danger_increment
            after = passed[min(step.index if step.applicable else step.index - 1, len(passed) - 1)]
            steps.append(self._show_step(step, danger, self._true_facts(after.bits, after.numbers)))
        return ShownPlan(
            plan=text,
            feasible=verdict.feasible,
            safe=verdict.safe,
            danger=verdict.danger,
            max_danger=self.document.max_danger,
            start=self._true_facts(passed[0].bits, passed[0].numbers),
            steps=tuple(steps),
            missing_goal=verdict.missing_goal,
            dangers=bool(self.document.dangers),
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
        fluents, system = self.system.fluents, self.system
        true = [
            wording.phrase(*atom)
            for atom in system.atoms
            if fluents[atom[0]].kind == "normal" and system.value(atom, bits, numbers)
        ]
        counted = [f"{wording.phrase(*atom)} = {system.value(atom, bits, numbers)}" for atom in system.integers]
        return (*sorted(true), *counted)
