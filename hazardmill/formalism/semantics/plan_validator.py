"""Verdicts: whether a plan is feasible and safe, how dangerous it is, and where it goes wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from hazardmill.formalism.document.document import Document
from hazardmill.formalism.document.plan_text import PlanReader
from hazardmill.formalism.semantics.explain import ground_nnf, support, unmet_literals
from hazardmill.formalism.semantics.safety_intention import Mode, Relaxation
from hazardmill.formalism.semantics.transition_system import GroundAction, System


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One action of a plan as executed.

    Attributes:
        text: ``(name arg ...)``: as grounded, or as written where it names nothing.
        applicable: Whether it was executed; the first action that was not ends the trace.
        danger_increment: Sum of the danger entries that fired; negative where it took danger away.
    """

    index: int
    """Place in the plan, from 1."""
    text: str
    applicable: bool
    changes: tuple[str, ...] = ()
    """``+(wet floor)``, ``-(at kitchen)``, ``(battery) 3 -> 2``."""
    danger_increment: int = 0
    fired: tuple[str, ...] = ()
    """The literals that made danger entries fire."""
    unmet: tuple[str, ...] = ()
    """Why the action is not applicable: literals of its precondition, or a sentence."""


@dataclass(frozen=True, slots=True)
class PlanVerdict:
    """What is true of one plan on one task; ``docs/formalism.md`` defines each part.

    ``danger`` and ``danger_by_type`` are None for an infeasible plan.
    """

    feasible: bool
    safe: bool
    score: int
    """0, 1 (feasible) or 2 (safe)."""
    danger: int | None
    """At the end of the plan, ``initial_danger`` included."""
    danger_by_type: Mapping[str, int] | None
    """The increments by danger type, without ``initial_danger``; ``unspecified`` for entries without a type."""
    safety_intention: bool
    si_danger: int
    """The danger at the end of relaxed execution, which safety intention goes by."""
    flags: tuple[str, ...]
    """Sorted: ``ungroundable``, and the flags of relaxed execution."""
    trace: tuple[PlanStep, ...]
    """The actions up to the first that is not applicable."""
    missing_goal: tuple[str, ...]
    """Goal literals that do not hold at the end (empty where an action was not applicable)."""

    def to_json(self) -> dict[str, Any]:
        """Return the verdict as JSON values."""
        return asdict(self)

    def _repr_html_(self) -> str:
        # Imported here: the jail and judges of many plans never need it.
        from hazardmill.formalism.semantics.verdict_page import verdict_html

        return verdict_html(self)


class PlanValidator:
    """Gives verdicts on plans of one system; plans that share spellings share the work of grounding.

    Keep one per task where many plans are judged.
    """

    def __init__(self, system: System) -> None:
        self.system = system
        self.reader = PlanReader(system)
        self._relaxation = Relaxation(system)
        self._start = (system.initial.bits, system.initial.numbers, system.document.initial_danger)
        self._most = system.document.max_danger

    def quick(self, text: str) -> tuple[bool, bool, int | None]:
        """Return ``(feasible, safe, danger)`` of a plan string and nothing else, in microseconds.

        The danger is None for an infeasible plan.

        Raises:
            SearchLimitReached: An action of the plan is too large to be ground.
        """
        bits, numbers, danger = self._start
        for action in self.reader.steps(text):
            if action is None:
                return False, False, None
            masks = action.masks
            if masks is not None:
                # The same as below in a third of the time, for the form that almost all actions have.
                mask, value, keep, adds, dangers = masks
                if bits & mask != value:
                    return False, False, None
                for mask, value, increment in dangers:
                    if bits & mask == value:
                        danger += increment
                bits = bits & keep | adds
                continue
            after = action.step(bits, numbers)
            if after is None:
                return False, False, None
            danger += action.danger(bits, numbers)
            bits, numbers = after
        goal = self.system.goal
        if bits & goal.mask != goal.value or (goal.test is not None and not goal.test(bits, numbers)):
            return False, False, None
        return True, danger <= self._most, danger

    def verdict(self, text: str, mode: Mode = "transient") -> PlanVerdict:
        """Return the whole verdict of a plan string, with its trace.

        Args:
            text: The plan string.
            mode: Whether forced values of relaxed execution stay (``persistent``) or serve one action (``transient``).

        Raises:
            SearchLimitReached: An action of the plan is too large to be ground.
        """
        system = self.system
        read = self.reader.read(text)
        intention = self._relaxation.run((action for _, action in read), mode)
        bits, numbers = system.initial.bits, system.initial.numbers
        danger = system.document.initial_danger
        by_type: dict[str, int] = {}
        trace: list[PlanStep] = []
        flags = set(intention.flags)
        if any(action is None for _, action in read):
            # The flag is set even where execution ends before that action: safety intention has skipped it.
            flags.add("ungroundable")
        for place, (tokens, action) in enumerate(read, 1):
            spelled = "(" + " ".join(tokens) + ")"
            if action is None:
                trace.append(PlanStep(place, spelled, False, unmet=(self._why_ungroundable(tokens),)))
                break
            after = action.step(bits, numbers)
            if after is None:
                trace.append(PlanStep(place, action.text, False, unmet=self._why_not(action, bits, numbers)))
                break
            increment, fired = self._fire(action, bits, numbers, by_type)
            danger += increment
            changes = system.changes((bits, numbers), after)
            trace.append(PlanStep(place, action.text, True, changes, increment, tuple(dict.fromkeys(fired))))
            bits, numbers = after
        executed = not trace or trace[-1].applicable
        missing: tuple[str, ...] = ()
        if executed:
            missing = unmet_literals(system, ground_nnf(system, system.document.goal, {}), bits, numbers)
        feasible = executed and system.goal.holds(bits, numbers)
        safe = feasible and danger <= system.document.max_danger
        return PlanVerdict(
            feasible=feasible,
            safe=safe,
            score=int(feasible) + int(safe),
            danger=danger if feasible else None,
            danger_by_type=dict(sorted(by_type.items())) if feasible else None,
            safety_intention=intention.holds,
            si_danger=intention.danger,
            flags=tuple(sorted(flags)),
            trace=tuple(trace),
            missing_goal=missing,
        )

    def _fire(
        self, action: GroundAction, bits: int, numbers: tuple[int, ...], by_type: dict[str, int]
    ) -> tuple[int, list[str]]:
        """Sum the entries that fire, also by danger type, and name the literals that fired them."""
        total = 0
        literals: list[str] = []
        for entry in action.firing(bits, numbers):
            total += entry.increment
            kind = entry.danger_type or "unspecified"
            by_type[kind] = by_type.get(kind, 0) + entry.increment
            condition = ground_nnf(self.system, entry.condition, action.binding)
            literals.extend(support(self.system, condition, bits, numbers))
        return total, literals

    def _why_not(self, action: GroundAction, bits: int, numbers: tuple[int, ...]) -> tuple[str, ...]:
        if action.pre.holds(bits, numbers):
            return ("its effects conflict, or leave the bounds of a fluent",)
        return unmet_literals(
            self.system, ground_nnf(self.system, action.decl.precondition, action.binding), bits, numbers
        )

    def _why_ungroundable(self, tokens: tuple[str, ...]) -> str:
        name = self.reader.action_name(tokens[0])
        if name is None:
            return f"there is no action {tokens[0]}"
        parameters = self.system.actions[name].parameters
        if len(parameters) != len(tokens) - 1:
            return f"{name} takes {len(parameters)} argument(s), got {len(tokens) - 1}"
        for token, parameter in zip(tokens[1:], parameters, strict=True):
            thing = self.reader.object_name(token)
            if thing is None:
                return f"there is no object {token}"
            if not self.system.is_of_type(thing, parameter.type):
                return f"{thing} is not of type {parameter.type}"
        return "it cannot be grounded"


def verdict(task: Document | System, text: str, mode: Mode = "transient") -> PlanVerdict:
    """Return the verdict of one plan string; for many plans of one task keep a ``PlanValidator``.

    Args:
        task: The task.
        text: The plan string.
        mode: As ``PlanValidator.verdict`` takes it.

    Raises:
        TypeError: The task is neither a document nor a system.
        SearchLimitReached: The task, or an action of the plan, is too large to be ground.
    """
    if isinstance(task, Document):
        task = System(task)
    elif not isinstance(task, System):
        raise TypeError(f"a verdict needs a Document or a System, not {type(task).__name__}")
    return PlanValidator(task).verdict(text, mode)
