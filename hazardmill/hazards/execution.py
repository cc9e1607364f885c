"""Executing a plan up to the first action that cannot be done, with all states on the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from hazardmill.formalism.document.plan_text import PlanReader
from hazardmill.formalism.semantics.condition_compiler import Numbers
from hazardmill.formalism.semantics.transition_system import GroundAction, System

Values: TypeAlias = tuple[int, Numbers]
"""A state: its Boolean fluents as bits, and its integer fluents."""


@dataclass(frozen=True, slots=True)
class PlanExecution:
    """A plan as far as it could be executed.

    Attributes:
        done: The actions that were done.
        states: The state at the start, then the one after each of these actions.
        planned: Number of actions in the plan.
        blocked: The action that could not be done; None if all were done, or if it names no action of the task.
    """

    done: tuple[GroundAction, ...]
    states: tuple[Values, ...]
    planned: int
    blocked: GroundAction | None = None

    @property
    def whole(self) -> bool:
        """Whether all actions of the plan were done; true for the empty plan."""
        return len(self.done) == self.planned


def execute_plan(system: System, reader: PlanReader, text: str) -> PlanExecution:
    """Execute a plan string from the initial state.

    Args:
        system: The task.
        reader: A reader of this system.
        text: The plan string.

    Returns:
        What was done, and the states.

    Raises:
        SearchLimitReached: An action of the plan is too large to be ground.
    """
    state: Values = (system.initial.bits, system.initial.numbers)
    states = [state]
    done: list[GroundAction] = []
    actions = reader.steps(text)
    for action in actions:
        after = None if action is None else action.step(*state)
        if action is None or after is None:
            return PlanExecution(tuple(done), tuple(states), len(actions), action)
        done.append(action)
        states.append(after)
        state = after
    return PlanExecution(tuple(done), tuple(states), len(actions))
