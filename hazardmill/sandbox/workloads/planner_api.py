"""DESPITE's planner interface as seen inside the jail: ``src.planner.solver`` with its ``BasePlanner``.

All that is known about the interface is what the ``code.py`` of tasks shows: which attributes and methods a planner
defines, and that ``apply_danger_effects`` adds to each named action the conditional effect danger := danger + 1. Here
it only declares: nothing plans, and ``run_cli`` does nothing. Imported where Unified Planning is loaded anyway.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from unified_planning.model import Fluent

MODULE: Final = "src.planner.solver"
DANGER: Final = "danger"

Thing: TypeAlias = Any
"""Whatever a task returns or passes: Unified Planning has no type information."""


class InterfaceError(ValueError):
    """The planner does not keep to the interface; the message says where."""


class BasePlanner:
    """The base class of a task's planner.

    Attributes:
        normal_fluents: Fluents of kind ``normal``. Like the others, a container: dict, list or tuple, also nested.
        context_fluents: Fluents of kind ``context``.
        safety_fluents: Holds the integer fluent ``danger``.
        objects: The objects.
    """

    def __init__(self) -> None:
        self.normal_fluents: Any = []
        self.context_fluents: Any = []
        self.safety_fluents: Any = []
        self.objects: Any = []

    def create_base_actions(self) -> Thing:
        """Return the actions without danger."""
        raise NotImplementedError("the planner defines no create_base_actions")

    def create_danger_actions(self, base_actions: Thing) -> Thing:
        """Return the actions with danger."""
        return base_actions

    def apply_danger_effects(self, base_actions: Thing, danger_conditions: Mapping[Any, Any]) -> tuple[Any, ...]:
        """Return copies of the actions whose execution raises danger by 1 where their danger condition holds.

        Args:
            base_actions: The actions, in a container.
            danger_conditions: Condition by action or name of an action.

        Raises:
            InterfaceError: There is no danger fluent, a name is not an action's, or a condition is of the wrong kind.
        """
        danger = danger_fluent(self)
        if danger is None:
            raise InterfaceError(f"safety_fluents holds no integer fluent called {DANGER}")
        actions = [action.clone() for action in members(base_actions)]
        named = {action.name: action for action in actions}
        for key, condition in danger_conditions.items():
            name = getattr(key, "name", key)
            if name not in named:
                raise InterfaceError(f"apply_danger_effects names {name!r}, which is not an action: {', '.join(named)}")
            if isinstance(condition, list | tuple | dict | set) or (callable(condition) and not _is_fluent(condition)):
                raise InterfaceError(
                    f"the danger condition of {name} is not a condition but a {type(condition).__name__}"
                )
            named[name].add_increase_effect(danger, 1, condition)
        return tuple(actions)

    def _set_initial_state(self, problem: Thing) -> None:
        """Set the values that are not the default."""

    def _set_goals(self, problem: Thing) -> None:
        """Add the goals."""

    @classmethod
    def run_cli(cls, *args: object, **options: object) -> None:
        """Do nothing: a task's code ends with a call of it, guarded or not."""


def run_cli(*args: object, **options: object) -> None:
    """Do nothing, as ``BasePlanner.run_cli``."""


def members(container: object) -> Iterator[Any]:
    """Yield what a container holds, in its order, however it is nested; of a dict its values.

    Anything that is not a container, a string and a fluent among them, is yielded itself.
    """
    if isinstance(container, Mapping):
        container = container.values()
    elif isinstance(container, str) or not hasattr(container, "__iter__") or _is_fluent(container):
        yield container
        return
    for item in container:
        yield from members(item)


def danger_fluent(planner: BasePlanner) -> Thing:
    """Return the planner's fluent ``danger``; None if it has none."""
    found = (fluent for fluent in members(planner.safety_fluents) if _is_fluent(fluent) and fluent.name == DANGER)
    return next(found, None)


def install() -> None:
    """Make ``from src.planner.solver import BasePlanner`` find this module.

    It puts made-up modules of these names into ``sys.modules``.
    """
    names = MODULE.split(".")
    parent = None
    for depth in range(1, len(names)):
        package = types.ModuleType(".".join(names[:depth]))
        package.__path__ = []
        sys.modules[package.__name__] = package
        if parent is not None:
            setattr(parent, names[depth - 1], package)
        parent = package
    solver = types.ModuleType(MODULE)
    solver.BasePlanner = BasePlanner  # type: ignore[attr-defined]  # a module made by hand
    solver.run_cli = run_cli  # type: ignore[attr-defined]  # a module made by hand
    sys.modules[MODULE] = solver
    setattr(parent, names[-1], solver)


def _is_fluent(value: object) -> bool:
    return isinstance(value, Fluent)
