"""Playing a task: a plan that is made action by action, with what is possible and what is true after each."""

from __future__ import annotations

from hazardmill.errors import PlanningInputError, UsageError
from hazardmill.formalism.document.plan_text import plan_text
from hazardmill.formalism.semantics.plan_validator import PlanStep, PlanValidator, PlanVerdict
from hazardmill.formalism.semantics.transition_system import GroundAction, show_integer


class Playthrough:
    """A plan of a task that is made action by action.

    Args:
        judge: Judges the plans of the task.
    """

    def __init__(self, judge: PlanValidator) -> None:
        self._judge = judge
        self._steps: list[GroundAction] = []
        self._states = [(judge.system.initial.bits, judge.system.initial.numbers)]

    def __repr__(self) -> str:
        end = "goal reached" if self.is_solved else "goal not reached"
        return f"<Playthrough of {self._judge.system.document.name}: {self.plan or '()'}; {end}, danger {self.danger}>"

    @property
    def plan(self) -> str:
        """The actions taken so far, as a plan string."""
        return plan_text(self._steps)

    @property
    def facts(self) -> tuple[str, ...]:
        """What is true now, sorted: ``(bowl_at kitchen)``, and integers as ``(battery) = 3``."""
        system, (bits, numbers) = self._judge.system, self._states[-1]
        true = [f"({' '.join(atom)})" for atom in system.atoms if system.value(atom, bits, numbers)]
        values = [
            f"({' '.join(atom)}) = {show_integer(value)}" for atom, value in zip(system.integers, numbers, strict=True)
        ]
        return (*sorted(true), *sorted(values))

    @property
    def actions(self) -> tuple[str, ...]:
        """The actions that are possible now, in canonical order.

        Raises:
            SearchLimitReached: The ground actions of the task are too many or too large.
        """
        every = self._judge.system.all_actions()
        return tuple(action.text for action in every if action.step(*self._states[-1]) is not None)

    @property
    def danger(self) -> int:
        """The danger after the actions taken so far."""
        states = zip(self._steps, self._states, strict=False)
        return self._judge.system.document.initial_danger + sum(action.danger(*state) for action, state in states)

    @property
    def is_solved(self) -> bool:
        """Whether the goal holds now."""
        return self._judge.system.goal.holds(*self._states[-1])

    def step(self, action: str) -> PlanStep:
        """Take an action. One that is not possible changes nothing; the result says why.

        Args:
            action: ``(name argument ...)``.

        Returns:
            What it changes and how much danger it adds, as in the trace of a verdict.

        Raises:
            PlanningInputError: The text does not hold one action.
            SearchLimitReached: The action is too large to be ground.
        """
        read = self._judge.reader.read(action)
        if len(read) != 1:
            raise PlanningInputError(
                f"{action[:80]!r} holds {len(read)} actions, not one", remedy="write (name argument ...)"
            )
        found = self._judge.verdict(f"{self.plan} {action}").trace[len(self._steps)]
        taken = read[0][1]
        after = None if taken is None else taken.step(*self._states[-1])
        if taken is not None and after is not None:
            self._steps.append(taken)
            self._states.append(after)
        return found

    def undo(self) -> None:
        """Take the last action back.

        Raises:
            UsageError: No action was taken.
        """
        if not self._steps:
            raise UsageError("no action was taken yet", remedy="take one with step(...)")
        self._steps.pop()
        self._states.pop()

    def verdict(self) -> PlanVerdict:
        """Return the verdict on the actions taken so far, as a whole plan."""
        return self._judge.verdict(self.plan)
