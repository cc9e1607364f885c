"""Safety rules and sub-goals of household tasks: which conditions on objects of a class they are made of.

A rule watches the objects of one class. A *step rule* demands that what its trigger begins is resolved within k states.
A *state rule* demands that between trigger and resolution nothing is true that is to be avoided. The source is the SPOC
paper with its published task files; ``monitors`` says what the rules mean for a sequence of states.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from hazardmill.household.world_state import ThingState, WorldState

Semantics: TypeAlias = Literal["paper", "released"]
"""Which reading of rules and goals counts: that of the paper, or that of the evaluator that was published with it."""

Flag: TypeAlias = Literal["held", "open", "on", "filled", "dirty", "sliced", "cooked", "broken"]
"""What is true or false of an object; ``filled`` is true of whatever holds a liquid."""


@dataclass(frozen=True, slots=True)
class FlagIs:
    """The condition that a flag of the object has a value.

    Attributes:
        flag: The flag.
        value: The value that it must have.
    """

    flag: Flag
    value: bool

    def holds(self, thing: ThingState, state: WorldState) -> bool:
        """Return whether it holds of a thing."""
        return bool(getattr(thing, self.flag)) is self.value


@dataclass(frozen=True, slots=True)
class FilledWith:
    """The condition that the object holds a liquid.

    Attributes:
        liquid: The liquid, such as ``water``.
    """

    liquid: str

    def holds(self, thing: ThingState, state: WorldState) -> bool:
        """Return whether it holds of a thing."""
        return thing.filled == self.liquid


@dataclass(frozen=True, slots=True)
class ListOfKinds:
    """Base of the conditions that name classes.

    Attributes:
        kinds: The classes, one of which is enough.
    """

    kinds: tuple[str, ...]


class Contains(ListOfKinds):
    """The condition that something of one of the classes is in or on the object, also by way of another receptacle."""

    __slots__ = ()

    def holds(self, thing: ThingState, state: WorldState) -> bool:
        """Return whether it holds of a thing in a state."""
        return any(
            other.kind in self.kinds and any(holder.name == thing.name for holder in holders(other, state))
            for other in state.values()
        )


class IsIn(ListOfKinds):
    """The condition that the object is in or on something of one of the classes, also by way of another receptacle."""

    __slots__ = ()

    def holds(self, thing: ThingState, state: WorldState) -> bool:
        """Return whether it holds of a thing in a state."""
        return any(holder.kind in self.kinds for holder in holders(thing, state))


Condition: TypeAlias = FlagIs | FilledWith | Contains | IsIn
"""A condition on one object in one state."""


class NotOn(ListOfKinds):
    """The condition that no object of the class of a sub-goal is in or on something of any of the classes."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class CookedBy:
    """The condition that the object was cooked by an appliance: cooked, in it, and inside when it was last turned on.

    Attributes:
        appliance: The class of the appliance.
    """

    appliance: str


GoalCondition: TypeAlias = Condition | NotOn | CookedBy
"""A condition of a sub-goal."""


@dataclass(frozen=True, slots=True)
class StepRule:
    """The rule that what begins must be resolved within some states.

    Attributes:
        kind: The class whose objects are watched.
        trigger: Conditions that begin it, all on one object.
        resolution: Conditions that resolve it, all on the same object.
        steps: Number of states within which it must be resolved (k), at least 1.
    """

    kind: str
    trigger: tuple[Condition, ...]
    resolution: tuple[Condition, ...]
    steps: int


@dataclass(frozen=True, slots=True)
class StateRule:
    """The rule that something must not be so between trigger and resolution.

    Attributes:
        kind: The class whose objects are watched.
        trigger: Conditions that begin it, all on one object.
        avoid: Conditions on the same object, none of which may hold before it is resolved.
        resolution: Conditions that resolve it, all on the same object.
    """

    kind: str
    trigger: tuple[Condition, ...]
    avoid: tuple[Condition, ...]
    resolution: tuple[Condition, ...]


Rule: TypeAlias = StepRule | StateRule


@dataclass(frozen=True, slots=True)
class SubGoal:
    """What is to be true at the end of objects of one class.

    Attributes:
        kind: The class.
        conditions: The conditions; with none of them, an object of the class must exist.
    """

    kind: str
    conditions: tuple[GoalCondition, ...] = ()


def condition_groups(goals: tuple[SubGoal, ...], rule: Rule | None) -> Iterator[tuple[str, tuple[GoalCondition, ...]]]:
    """Yield the conditions of goals and rule, each group with the class that it is about.

    Args:
        goals: The sub-goals.
        rule: The rule; ``None`` if there is none.
    """
    for goal in goals:
        yield goal.kind, goal.conditions
    if rule is None:
        return
    yield rule.kind, rule.trigger
    if isinstance(rule, StateRule):
        yield rule.kind, rule.avoid
    yield rule.kind, rule.resolution


def named_kinds(goals: tuple[SubGoal, ...], rule: Rule | None) -> frozenset[str]:
    """Return all classes that goals and rule name.

    Args:
        goals: The sub-goals.
        rule: The rule; ``None`` if there is none.
    """
    found: set[str] = set()
    for kind, conditions in condition_groups(goals, rule):
        found.add(kind)
        for condition in conditions:
            match condition:
                case Contains(kinds) | IsIn(kinds) | NotOn(kinds):
                    found |= {*kinds}
                case CookedBy(appliance):
                    found.add(appliance)
    return frozenset(found)


def holders(thing: ThingState, state: WorldState) -> Iterator[ThingState]:
    """Yield what a thing is in or on, from the inside to the outside.

    Args:
        thing: The thing.
        state: The state that says where everything is. A recorded one may say that two things hold each other; each
            thing is given once.

    Yields:
        The receptacles that the state knows.
    """
    seen = {thing.name}
    place = thing.place
    while place is not None and place not in seen:
        seen.add(place)
        holder = state.get(place)
        if holder is None:
            return
        yield holder
        place = holder.place


def meets_all(conditions: tuple[Condition, ...], thing: ThingState, state: WorldState) -> bool:
    """Return whether a thing meets all conditions in a state."""
    return all(condition.holds(thing, state) for condition in conditions)
