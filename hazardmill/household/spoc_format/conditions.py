"""Rules, sub-goals and their conditions as files of SPOC have them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from hazardmill.errors import NotExpressible
from hazardmill.household.object_kinds import LIQUIDS
from hazardmill.household.rules import (
    Condition,
    Contains,
    CookedBy,
    FilledWith,
    Flag,
    FlagIs,
    GoalCondition,
    IsIn,
    NotOn,
    Rule,
    StateRule,
    StepRule,
    SubGoal,
)
from hazardmill.household.spoc_format.values import class_at, classes_at, object_at, text_at, wrong_at

FLAG_KEYS: Final[Mapping[str, Flag]] = {
    "isPickedUp": "held",
    "isOpen": "open",
    "isToggled": "on",
    "isFilledWithLiquid": "filled",
    "isDirty": "dirty",
    "isSliced": "sliced",
    "isCooked": "cooked",
    "isBroken": "broken",
}
"""Keys of the simulator to the flags that they are about."""

MOST_STEPS: Final = 1_000_000
"""Most steps of a step rule: documents must be able to count them."""

_STEP_KEYS: Final = ("condition_type", "condition_value", "condition_object", "trigger_state", "goal_condition")
_STATE_KEYS: Final = ("condition_type", "condition_object", "trigger_state", "avoid_state", "goal_condition")
_CONDITION_KEYS: Final = (*FLAG_KEYS, "fillLiquid", "child", "parent")
_GOAL_KEYS: Final = (*_CONDITION_KEYS, "not_on", "cooking_appliance")
_KEYS_OF: Final[Mapping[Flag, str]] = {flag: key for key, flag in FLAG_KEYS.items()}


def condition_json(condition: GoalCondition) -> tuple[str, Any]:
    """Return a condition as a file of SPOC has it: a key and its value."""
    match condition:
        case FlagIs(flag, value):
            return _KEYS_OF[flag], value
        case FilledWith(liquid):
            return "fillLiquid", liquid
        case Contains(kinds):
            return "child", list(kinds)
        case IsIn(kinds):
            return "parent", list(kinds)
        case NotOn(kinds):
            return "not_on", list(kinds)
        case CookedBy(appliance):
            return "cooking_appliance", appliance


# What a file says


def rule_at(value: object, place: str) -> Rule:
    """Return the rule that a value says.

    Args:
        value: A JSON value.
        place: Where it stands, for errors.

    Raises:
        PlanningInputError: It is no rule; the message begins with the place.
    """  # noqa: DOC501  # the helper makes the error
    kind = value.get("condition_type") if isinstance(value, dict) else None
    if kind not in ("step", "condition"):
        raise wrong_at(f"{place}.condition_type", "it is not step or condition", "write step or condition")
    if isinstance(value, dict) and kind == "condition" and "avoid_state" not in value:
        remedy = "add avoid_state, or write a rule of the type step"
        raise wrong_at(place, "a state rule has no avoid_state", remedy)
    said = object_at(value, place, _STEP_KEYS if kind == "step" else _STATE_KEYS)
    watched = class_at(said["condition_object"], f"{place}.condition_object")
    parts = {
        key: _rule_conditions(said[key], f"{place}.{key}")
        for key in ("trigger_state", "avoid_state", "goal_condition")
        if key in said
    }
    if kind == "condition":
        return StateRule(watched, parts["trigger_state"], parts["avoid_state"], parts["goal_condition"])
    steps = said["condition_value"]
    # A bool is an int to Python.
    if not isinstance(steps, int) or isinstance(steps, bool) or not 1 <= steps <= MOST_STEPS:
        message = f"{json.dumps(steps)[:40]} is not a number of steps"
        raise wrong_at(f"{place}.condition_value", message, f"write an integer from 1 to {MOST_STEPS}")
    return StepRule(watched, parts["trigger_state"], parts["goal_condition"], steps)


def _rule_conditions(value: object, place: str) -> tuple[Condition, ...]:
    said = object_at(value, place, (), _CONDITION_KEYS)
    if not said:
        raise wrong_at(place, "it has no condition", f"write one of {', '.join(_CONDITION_KEYS)}")
    return tuple(_condition(key, each, f"{place}.{key}") for key, each in said.items())


def sub_goal_at(value: object, place: str) -> SubGoal:
    """Return the sub-goal that a value says.

    Args:
        value: A JSON value.
        place: Where it stands, for errors.

    Raises:
        PlanningInputError: It is no sub-goal; the message begins with the place.
    """
    said = dict(object_at(value, place, ("object_name",), _GOAL_KEYS))
    kind = class_at(said.pop("object_name"), f"{place}.object_name")
    return SubGoal(kind, tuple(_goal_condition(key, each, f"{place}.{key}") for key, each in said.items()))


def _goal_condition(key: str, value: object, place: str) -> GoalCondition:
    if key == "not_on":
        return NotOn(classes_at(value, place))
    if key == "cooking_appliance":
        return CookedBy(class_at(value, place))
    return _condition(key, value, place)


def _condition(key: str, value: object, place: str) -> Condition:
    if key == "child":
        return Contains(classes_at(value, place))
    if key == "parent":
        return IsIn(classes_at(value, place))
    if key == "fillLiquid":
        liquid = text_at(value, place)
        if liquid not in LIQUIDS:
            raise wrong_at(place, f"the liquid {liquid[:40]} is not known", f"write one of {', '.join(LIQUIDS)}")
        return FilledWith(liquid)
    if not isinstance(value, bool):
        raise wrong_at(place, "it is not true or false", "write true or false")
    return FlagIs(FLAG_KEYS[key], value)


# What is written


def rule_json(rule: Rule) -> dict[str, Any]:
    """Return a rule as a file of SPOC has it.

    Raises:
        NotExpressible: Two conditions on one object need the same key.
    """
    trigger, resolution = conditions_json(rule.trigger), conditions_json(rule.resolution)
    if isinstance(rule, StepRule):
        return {
            "condition_type": "step",
            "condition_value": rule.steps,
            "condition_object": rule.kind,
            "trigger_state": trigger,
            "goal_condition": resolution,
        }
    return {
        "condition_type": "condition",
        "condition_object": rule.kind,
        "trigger_state": trigger,
        "avoid_state": conditions_json(rule.avoid),
        "goal_condition": resolution,
    }


def conditions_json(conditions: tuple[GoalCondition, ...]) -> dict[str, Any]:
    """Return conditions on one object as a file of SPOC has them.

    Raises:
        NotExpressible: Two of them need the same key.
    """
    said = dict(condition_json(each) for each in conditions)
    if len(said) < len(conditions):
        remedy = f"ask for each of {', '.join(_GOAL_KEYS)} once"
        raise NotExpressible("two conditions on one object need the same key in a file of SPOC", remedy=remedy)
    return said
