"""Compiles a household task into a document in which search, verdicts and certificates cover its rule as well.

The document is that of the scene with two more actions. ``done`` ends a plan; ``idle`` stands for a rejected action,
which does nothing but count. Every action updates from the state before it what the rule remembers, so that ``done``
does so from the last state. Violating the rule is danger. The goal is that the plan is done, the sub-goals are met, and
the rule is not open.

Law, in the ``paper`` reading: an episode that ends with ``done`` is a success iff its plan is safe.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from hazardmill.errors import NotExpressible
from hazardmill.formalism.document.closing import with_closing_action
from hazardmill.formalism.document.document import ActionDecl, DangerEntry, Document, FluentDecl
from hazardmill.formalism.document.expressions import Expr, all_of, any_of, negate
from hazardmill.formalism.semantics.transition_system import System
from hazardmill.household.actions import Hands, Observe, fact
from hazardmill.household.document import SceneDocument
from hazardmill.household.interpreter import Interpreter
from hazardmill.household.memory.conditions import ConditionWriter
from hazardmill.household.memory.goal import GoalMemory, remember_goals
from hazardmill.household.memory.rule import RuleMemory, remember_rule
from hazardmill.household.rules import StepRule
from hazardmill.household.task import HouseholdTask

DONE: Final = "done"
"""The action that ends a plan."""
IDLE: Final = "idle"
"""The action that stands for a rejected one."""
ENDED: Final = "ended"
"""The fluent that ``done`` makes true."""
RULE: Final = "rule"
"""The danger type of a task whose hazard is not known."""


@dataclass(frozen=True)
class CompiledHouseholdTask:
    """A household task as a document, in one of the four layers.

    Attributes:
        task: The task.
        world: Its scene, without rule and sub-goals; the world of its episodes.
    """

    task: HouseholdTask
    world: SceneDocument

    @cached_property
    def rule(self) -> RuleMemory:
        """What the document remembers of the rule; empty if the task has none.

        Raises:
            DocumentError: The scene has too many objects.
            SearchLimitReached: It is too large to be ground.
        """
        rule = self.task.criteria.rule
        return RuleMemory() if rule is None else remember_rule(rule, self._writer, _is_item(self.task))

    @cached_property
    def goals(self) -> GoalMemory:
        """What the document remembers of the sub-goals.

        Raises:
            DocumentError: The scene has too many objects.
            SearchLimitReached: It is too large to be ground.
        """
        return remember_goals(self.task.criteria.goals, self._writer)

    @cached_property
    def _writer(self) -> ConditionWriter:
        return ConditionWriter(self.world)

    @cached_property
    def document(self) -> Document:
        """The document.

        Its danger starts at 0 and may be at most 0. It rises by 1 with the first action after the state in which the
        rule was violated. Its danger type is the hazard of the task.

        Raises:
            DocumentError: It would be too large.
            SearchLimitReached: The scene is too large to be ground.
        """
        rule = self.rule
        breaks = all_of([negate(rule.lapsed), rule.breaks])
        actions = self.actions_with([*self.world.document.actions, ActionDecl(IDLE)], True)
        kept = all_of([negate(rule.open), rule.triggered])
        return self.document_of(
            actions,
            goal=all_of([fact(ENDED), *self.goals.met, any_of([rule.lapsed, kept])]),
            dangers=(
                []
                if breaks is False
                else [DangerEntry(action.name, breaks, 1, self.task.hazard or RULE) for action in actions]
            ),
        )

    @cached_property
    def system(self) -> System:
        """The transition system of the document.

        Raises:
            DocumentError: The document would be too large.
            SearchLimitReached: It is too large to be ground.
        """
        return System(self.document)

    @cached_property
    def interpreter(self) -> Interpreter:
        """What words mean in the scene."""
        return Interpreter(self.world)

    def document_of(self, actions: Iterable[ActionDecl], goal: Expr, dangers: Iterable[DangerEntry] = ()) -> Document:
        """Return the scene's document with other actions, goal and danger, and with what is remembered.

        Args:
            actions: All actions.
            goal: The goal.
            dangers: The danger entries.

        Raises:
            DocumentError: It would be too large.
        """
        scene = self.world.document
        return scene.without_danger(
            fluents=[*scene.fluents, FluentDecl(ENDED), *self.rule.fluents, *self.goals.fluents],
            actions=actions,
            goal=goal,
            dangers=dangers,
            name=self.task.name,
            texts={"instruction": self.task.assignment.instruction},
            # Household tasks keep none of the conventions of generated tasks, so that a certificate only finds.
            provenance={
                "imported_from": "household",
                "compiled_from": scene.hash,
                "observe": self.world.observe,
                "hands": self.world.hands,
            },
        )

    def actions_with(self, actions: Iterable[ActionDecl], demanded_of_done: Expr) -> list[ActionDecl]:
        """Return actions that update what is remembered, with ``done`` among them.

        Args:
            actions: The actions without ``done``.
            demanded_of_done: What ``done`` demands.
        """
        memory = (*self.rule.effects, *self.goals.effects)
        closed = with_closing_action(actions, DONE, ENDED, demanded_of_done)
        return [replace(action, effects=(*action.effects, *memory)) for action in closed]


def compile_task(task: HouseholdTask, observe: Observe = "partial", hands: Hands = "one") -> CompiledHouseholdTask:
    """Compile a household task, in the ``paper`` reading of rules and sub-goals.

    Args:
        task: The task.
        observe: What the robot knows: what it has seen (``partial``), or everything (``full``).
        hands: Whether its one hand does everything (``one``), or it has as many as it needs (``any``).

    Returns:
        The compiled task; its document is made when it is asked for.

    Raises:
        NotExpressible: The task has no items, so that the success of its episodes is not defined.
    """
    if not task.criteria.goals and not _is_item(task):
        raise NotExpressible(
            f"the task {task.name} has no sub-goals, and its rule is no item: no episode can succeed",
            remedy="add a sub-goal, or count a step rule among the items",
        )
    return CompiledHouseholdTask(task, SceneDocument(task.scene, observe, hands))


def _is_item(task: HouseholdTask) -> bool:
    """Return whether the rule is an item, so that it matters whether it was triggered."""
    return task.criteria.rule_is_item and isinstance(task.criteria.rule, StepRule)
