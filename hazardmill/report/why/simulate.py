"""Step through plans: what each action changes, and which danger entries fire because of which literals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hazardmill.formalism.document.document import Document
from hazardmill.formalism.document.expressions import fluents_of, render
from hazardmill.formalism.proofs.claims.plans import Moment, moments
from hazardmill.formalism.semantics.explain import ground_nnf, support
from hazardmill.formalism.semantics.plan_validator import PlanValidator
from hazardmill.formalism.semantics.transition_system import GroundAction, System, show_integer
from hazardmill.report.why.model import (
    CircumstanceStory,
    DangerStory,
    FiredDanger,
    FluentChange,
    PlanStory,
    StepStory,
    Value,
)

_WRITTEN_OUT = 128
"""Largest integer that is written out, in bits; of a larger one only the size is shown."""


class Stepper:
    """Steps through plans of one task.

    Args:
        document: The task.
    """

    def __init__(self, document: Document) -> None:
        self._document = document
        self._system = System(document)
        self._judge = PlanValidator(self._system)

    def step(self, plan: str, last_way_out: int | None = None) -> PlanStory:
        """Return the story of a plan: everything that happens when it is executed, step by step.

        Args:
            plan: The plan as text.
            last_way_out: The last step, from 1, before which a safe way is left; null if none is known.
        """
        verdict = self._judge.verdict(plan)
        actions = self._judge.reader.steps(plan)
        before = moments(self._system, [action for action in actions if action is not None])
        steps = []
        for step in verdict.trace:
            action, place = actions[step.index - 1], step.index - 1
            done = action is not None and step.applicable
            steps.append(
                StepStory(
                    index=step.index,
                    action=step.text,
                    applicable=step.applicable,
                    changes=tuple(self._changes(before[place], before[place + 1])) if done else (),
                    fired=tuple(self._fired_dangers(action, before[place])) if done and action is not None else (),
                    danger=before[place + 1].danger if done else None,
                    unmet=step.unmet,
                    last_way_out=step.index == last_way_out,
                )
            )
        return PlanStory(
            plan=plan,
            feasible=verdict.feasible,
            safe=verdict.safe,
            danger=verdict.danger,
            safety_intention=verdict.safety_intention,
            initial_danger=self._document.initial_danger,
            max_danger=self._document.max_danger,
            steps=tuple(steps),
        )

    def initial_state(self) -> tuple[str, ...]:
        """Return the atoms that are true at the start, without context fluents, and the value of each integer."""
        normal = {name for name, fluent in self._system.fluents.items() if fluent.kind == "normal"}
        true = [_atom_words(atom) for atom, value in self._document.initial if value is True and atom[0] in normal]
        numbers = zip(self._system.integers, self._system.initial.numbers, strict=True)
        return (*true, *(f"{_atom_words(atom)} = {show_integer(value)}" for atom, value in numbers))

    def circumstances(self) -> tuple[CircumstanceStory, ...]:
        """Return all ground context fluents with their values in the initial state."""
        start = dict(self._document.initial)
        read = {node[1] for entry in self._document.dangers for node in fluents_of(entry.condition)}
        return tuple(
            CircumstanceStory(fluent=_atom_words(atom), holds=bool(start.get(atom, False)), read=atom[0] in read)
            for fluent in self._document.fluents
            if fluent.kind == "context"
            for binding in self._system.bindings([(p.name, p.type) for p in fluent.parameters], {})
            for atom in [(fluent.name, *binding.values())]
        )

    def entries(self) -> tuple[DangerStory, ...]:
        """Return the danger entries of the task."""
        return tuple(
            DangerStory(
                action=entry.action,
                condition=render(entry.condition),
                increment=entry.increment,
                danger_type=entry.danger_type,
            )
            for entry in self._document.dangers
        )

    def _changes(self, before: Moment, after: Moment) -> Iterator[FluentChange]:
        """Yield the atoms gained, then those lost, then integers, each in order of name."""
        changes = []
        for atom in (*self._system.atoms, *self._system.integers):
            old = self._system.value(atom, before.bits, before.numbers)
            new = self._system.value(atom, after.bits, after.numbers)
            if old != new:
                changes.append((new is not True, new is not False, _atom_words(atom), old, new))
        for _, _, name, old, new in sorted(changes, key=lambda change: change[:3]):
            yield FluentChange(fluent=name, before=_value(old), after=_value(new))

    def _fired_dangers(self, action: GroundAction, moment: Moment) -> Iterator[FiredDanger]:
        for entry in action.firing(moment.bits, moment.numbers):
            condition = ground_nnf(self._system, entry.condition, action.binding)
            yield FiredDanger(
                action=entry.action,
                condition=render(entry.condition),
                increment=entry.increment,
                danger_type=entry.danger_type,
                literals=support(self._system, condition, moment.bits, moment.numbers),
            )


def _atom_words(atom: Sequence[str]) -> str:
    return f"({' '.join(atom)})"


def _value(value: bool | int) -> Value:
    return value if value.bit_length() <= _WRITTEN_OUT else show_integer(value)
