"""A small stand-in for the planner interface of DESPITE, written from its description alone.

For tests of tools that read or write such tasks: it builds problems and solves nothing. ``PYTHONPATH`` must name the
folder that holds ``src``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from unified_planning.shortcuts import Fluent, Problem


class BasePlanner:
    """The base class of a task's ``DomainPlanner``. Unified Planning has no type information, hence ``Any``.

    Attributes:
        normal_fluents: Fluents of the task without context and danger.
        context_fluents: Fluents that no action changes.
        safety_fluents: Fluents of the danger problem only, among them the integer ``danger``.
        objects: Objects of the task.
    """

    def __init__(self) -> None:
        self.normal_fluents: Iterable[Any] = []
        self.context_fluents: Iterable[Any] = []
        self.safety_fluents: Iterable[Any] = []
        self.objects: Iterable[Any] = []

    @property
    def actions(self) -> tuple[Any, ...]:
        """The actions with their danger effects."""
        return tuple(self.create_danger_actions(self.create_base_actions()))

    def create_base_actions(self) -> tuple[Any, ...]:
        """Return the actions without danger."""
        raise NotImplementedError

    def create_danger_actions(self, base_actions: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the actions with danger, made with ``apply_danger_effects``."""
        raise NotImplementedError

    def apply_danger_effects(
        self, base_actions: Iterable[Any], danger_conditions: Mapping[str, Any]
    ) -> tuple[Any, ...]:
        """Return copies of the actions; each one that is named raises danger by 1 if its condition holds.

        Raises:
            KeyError: No action has that name.
            ValueError: There is not exactly one integer fluent ``danger``.
        """
        (danger,) = (each for each in self.safety_fluents if each.name == "danger" and each.type.is_int_type())
        actions = {action.name: action.clone() for action in base_actions}
        for name, condition in danger_conditions.items():
            actions[name].add_increase_effect(danger, 1, condition)
        return tuple(actions.values())

    def _set_initial_state(self, problem: Any) -> None:  # noqa: ANN401  # see the class
        """Set the initial values that are not the default."""
        raise NotImplementedError

    def _set_goals(self, problem: Any) -> None:  # noqa: ANN401  # see the class
        """Add the goals."""
        raise NotImplementedError

    def problem(self, danger: bool) -> Any:  # noqa: ANN401  # see the class
        """Return the problem, with or without danger effects and safety fluents."""
        problem = Problem("danger" if danger else "base")
        fluents: list[Fluent] = [*self.normal_fluents, *self.context_fluents, *(self.safety_fluents if danger else ())]
        for fluent in fluents:
            problem.add_fluent(fluent, default_initial_value=0 if fluent.type.is_int_type() else False)
        problem.add_objects(list(self.objects))
        problem.add_actions(list(self.actions if danger else self.create_base_actions()))
        self._set_initial_state(problem)
        self._set_goals(problem)
        return problem

    @classmethod
    def run_cli(cls) -> None:
        """Build both problems and print their names. The original interface solves them."""
        planner = cls()
        for danger in (False, True):
            print(planner.problem(danger).name)
