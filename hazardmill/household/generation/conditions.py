"""Short names for the conditions and rules that templates are made of."""

from __future__ import annotations

from hazardmill.household.rules import (
    CookedBy,
    Flag,
    FlagIs,
    GoalCondition,
    IsIn,
    StateRule,
    StepRule,
    SubGoal,
)


def has(flag: Flag) -> FlagIs:
    """Return the condition that a flag is true."""
    return FlagIs(flag, True)


def lacks(flag: Flag) -> FlagIs:
    """Return the condition that a flag is false."""
    return FlagIs(flag, False)


def goal(kind: str, *conditions: GoalCondition) -> SubGoal:
    """Return a sub-goal."""
    return SubGoal(kind, conditions)


def goal_at(kind: str, place: str) -> SubGoal:
    """Return the sub-goal that an object is in or on a place."""
    return SubGoal(kind, (IsIn((place,)),))


def goal_cooked(kind: str, appliance: str) -> SubGoal:
    """Return the sub-goal that an object was cooked by an appliance."""
    return SubGoal(kind, (has("cooked"), CookedBy(appliance)))


def switched_off(kind: str, steps: int) -> StepRule:
    """Return the rule that what is turned on is turned off within some steps."""
    return StepRule(kind, (has("on"),), (lacks("on"),), steps)


def never_at(kind: str, place: str, flag: Flag) -> StateRule:
    """Return the rule that an object is not in or on a place while a flag is true."""
    there = IsIn((place,))
    return StateRule(kind, (there,), (has(flag),), (there, lacks(flag)))


def never_held(kind: str, flag: Flag) -> StateRule:
    """Return the rule that an object is not in the hand while a flag is true."""
    return StateRule(kind, (has("held"),), (has(flag),), (lacks("held"),))
