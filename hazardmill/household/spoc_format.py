"""SPOC's task files, read and written: a JSON object with scene, instruction, rule, sub-goals and initial actions.

Reading is strict: keys and classes that are not known are refused, so that no part of a task is lost in silence. What
is read and written again has the same values in the same order. The format is that of the published task files
(Apache-2.0); classes and ``objectId`` are AI2-THOR's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from hazardmill.errors import NotExpressible, PlanningInputError
from hazardmill.files import read_regular
from hazardmill.household.object_kinds import KINDS, LIQUIDS
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
from hazardmill.household.scores import EpisodeCriteria

Room: TypeAlias = Literal["kitchen", "living room", "bedroom", "bathroom"]

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

_FLOOR_PLANS: Final[Mapping[int, Room]] = {0: "kitchen", 2: "living room", 3: "bedroom", 4: "bathroom"}
"""Hundreds of the number of a floor plan to its room; each has the numbers 1 to 30."""

_TASK_KEYS: Final = (
    "scene_name",
    "instruction",
    "requirements",
    "treat_step_constraint_as_goal",
    "requirement_condition",
    "goal_condition_state",
)
_STEP_KEYS: Final = ("condition_type", "condition_value", "condition_object", "trigger_state", "goal_condition")
_STATE_KEYS: Final = ("condition_type", "condition_object", "trigger_state", "avoid_state", "goal_condition")
_CONDITION_KEYS: Final = (*FLAG_KEYS, "fillLiquid", "child", "parent")
_GOAL_KEYS: Final = (*_CONDITION_KEYS, "not_on", "cooking_appliance")
_KEYS_OF: Final[Mapping[Flag, str]] = {flag: key for key, flag in FLAG_KEYS.items()}


@dataclass(frozen=True, slots=True)
class InitialAction:
    """An action of the simulator that prepares the scene.

    Attributes:
        action: Its name, such as ``DirtyObject``.
        args: Its arguments as JSON values.
    """

    action: str
    args: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SpocTask:
    """A task as a file of SPOC has it.

    Attributes:
        scene: Name of the floor plan, such as ``FloorPlan216``.
        instruction: What the robot is asked to do.
        requirements: The rule in words.
        rule: The rule.
        rule_is_item: Whether a step rule counts among the items of GSR.
        goals: The sub-goals.
        initial_actions: What prepares the scene; ``None`` if the file does not say.
    """

    scene: str
    instruction: str
    requirements: str
    rule: Rule
    rule_is_item: bool
    goals: tuple[SubGoal, ...]
    initial_actions: tuple[InitialAction, ...] | None = None

    @property
    def room(self) -> Room:
        """The kind of room that the floor plan shows; a kitchen for a scene that is no floor plan."""
        return _room(self.scene) or "kitchen"

    @property
    def criteria(self) -> EpisodeCriteria:
        """What episodes of the task are judged by."""
        return EpisodeCriteria(self.goals, self.rule, self.rule_is_item)

    def to_json(self) -> dict[str, Any]:
        """Return the task as the JSON values of a file of SPOC.

        Raises:
            NotExpressible: Two conditions on one object need the same key.
        """
        said: dict[str, Any] = {
            "scene_name": self.scene,
            "instruction": self.instruction,
            "requirements": self.requirements,
            "treat_step_constraint_as_goal": self.rule_is_item,
            "requirement_condition": _rule_json(self.rule),
            "goal_condition_state": [
                {"object_name": goal.kind, **_conditions_json(goal.conditions)} for goal in self.goals
            ],
        }
        if self.initial_actions is not None:
            said["init_actions"] = [{"action": each.action, "args": dict(each.args)} for each in self.initial_actions]
        return said


def read_spoc_folder(folder: Path) -> Iterator[tuple[Path, SpocTask | PlanningInputError]]:
    """Read all task files of a folder, sorted by name; files whose names do not end in ``.json`` are no task files.

    Args:
        folder: The folder.

    Yields:
        Each file with its task, or with what is wrong with it.

    Raises:
        PlanningInputError: The folder cannot be listed, or has no task file.
    """
    remedy = "name a folder with task files of SPOC"
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix == ".json")
    except OSError as error:
        message = f"the folder cannot be listed: {error.strerror or error}"
        raise PlanningInputError(message, file=str(folder), remedy=remedy) from error
    if not paths:
        raise PlanningInputError("the folder has no file that ends in .json", file=str(folder), remedy=remedy)
    for path in paths:
        try:
            yield path, read_spoc_task(path)
        except PlanningInputError as error:
            yield path, error


def read_spoc_task(path: Path) -> SpocTask:
    """Read one task file.

    Args:
        path: The file.

    Returns:
        The task.

    Raises:
        PlanningInputError: It cannot be read, is no JSON, or says something that is not known.
    """
    remedy = f"write a JSON object with {', '.join(_TASK_KEYS)}"
    try:
        value = json.loads(read_regular(path), object_pairs_hook=_without_repetition)
        return parse_spoc_task(value)
    except PlanningInputError as error:
        error.file = str(path)
        raise
    except OSError as error:
        message = f"the task cannot be read: {error.strerror or error}"
        raise PlanningInputError(message, file=str(path), remedy="check the path") from error
    except (ValueError, RecursionError) as error:
        raise PlanningInputError(f"the task is no JSON: {error}", file=str(path), remedy=remedy) from error


def write_spoc_task(task: SpocTask, path: Path) -> None:
    """Write a task file, in UTF-8.

    Args:
        task: The task.
        path: The file; one that is there is replaced.

    Raises:
        NotExpressible: As for ``SpocTask.to_json``.
    """
    text = json.dumps(task.to_json(), indent=4, ensure_ascii=False)
    path.write_text(f"{text}\n", encoding="utf-8")


def parse_spoc_task(value: object) -> SpocTask:
    """Return the task that the JSON values of a file say.

    Args:
        value: The values.

    Returns:
        The task.

    Raises:
        PlanningInputError: A key is missing or not known, or a value is not of its form; the message begins with the
            place.
    """  # noqa: DOC501  # the helper makes the error
    said = _object(value, "the task", _TASK_KEYS, ("init_actions",))
    scene = _text(said["scene_name"], "scene_name")
    if _room(scene) is None:
        raise _wrong("scene_name", f"there is no floor plan {scene}", "name FloorPlan1 to 30, 201 to 230, and so on")
    if not isinstance(said["treat_step_constraint_as_goal"], bool):
        raise _wrong("treat_step_constraint_as_goal", "it is not true or false", "write true or false")
    return SpocTask(
        scene=scene,
        instruction=_text(said["instruction"], "instruction"),
        requirements=_text(said["requirements"], "requirements"),
        rule=_rule(said["requirement_condition"], "requirement_condition"),
        rule_is_item=said["treat_step_constraint_as_goal"],
        goals=tuple(_sub_goal(each, place) for each, place in _items(said, "goal_condition_state")),
        initial_actions=(
            tuple(_initial_action(each, place) for each, place in _items(said, "init_actions"))
            if "init_actions" in said
            else None
        ),
    )


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


def _room(scene: str) -> Room | None:
    match = re.fullmatch(r"FloorPlan([1-9][0-9]{0,2})", scene)
    if match is None:
        return None
    hundred, number = divmod(int(match[1]), 100)
    return _FLOOR_PLANS.get(hundred) if 1 <= number <= 30 else None


# What a file says


def _rule(value: object, place: str) -> Rule:
    kind = value.get("condition_type") if isinstance(value, dict) else None
    if kind not in ("step", "condition"):
        raise _wrong(f"{place}.condition_type", "it is not step or condition", "write step or condition")
    if isinstance(value, dict) and kind == "condition" and "avoid_state" not in value:
        remedy = "add avoid_state, or write a rule of the type step"
        raise _wrong(place, "a state rule has no avoid_state", remedy)
    said = _object(value, place, _STEP_KEYS if kind == "step" else _STATE_KEYS)
    watched = _kind(said["condition_object"], f"{place}.condition_object")
    parts = {
        key: _rule_conditions(said[key], f"{place}.{key}")
        for key in ("trigger_state", "avoid_state", "goal_condition")
        if key in said
    }
    if kind == "condition":
        return StateRule(watched, parts["trigger_state"], parts["avoid_state"], parts["goal_condition"])
    steps = said["condition_value"]
    # A bool is an int to Python.
    if not isinstance(steps, int) or isinstance(steps, bool) or steps < 1:
        message = f"{json.dumps(steps)[:40]} is no number of steps"
        raise _wrong(f"{place}.condition_value", message, "write an integer of at least 1")
    return StepRule(watched, parts["trigger_state"], parts["goal_condition"], steps)


def _rule_conditions(value: object, place: str) -> tuple[Condition, ...]:
    said = _object(value, place, (), _CONDITION_KEYS)
    if not said:
        raise _wrong(place, "it has no condition", f"write one of {', '.join(_CONDITION_KEYS)}")
    return tuple(_condition(key, each, f"{place}.{key}") for key, each in said.items())


def _sub_goal(value: object, place: str) -> SubGoal:
    said = dict(_object(value, place, ("object_name",), _GOAL_KEYS))
    kind = _kind(said.pop("object_name"), f"{place}.object_name")
    return SubGoal(kind, tuple(_goal_condition(key, each, f"{place}.{key}") for key, each in said.items()))


def _goal_condition(key: str, value: object, place: str) -> GoalCondition:
    if key == "not_on":
        return NotOn(_kinds(value, place))
    if key == "cooking_appliance":
        return CookedBy(_kind(value, place))
    return _condition(key, value, place)


def _condition(key: str, value: object, place: str) -> Condition:
    if key == "child":
        return Contains(_kinds(value, place))
    if key == "parent":
        return IsIn(_kinds(value, place))
    if key == "fillLiquid":
        liquid = _text(value, place)
        if liquid not in LIQUIDS:
            raise _wrong(place, f"the liquid {liquid[:40]} is not known", f"write one of {', '.join(LIQUIDS)}")
        return FilledWith(liquid)
    if not isinstance(value, bool):
        raise _wrong(place, "it is not true or false", "write true or false")
    return FlagIs(FLAG_KEYS[key], value)


def _initial_action(value: object, place: str) -> InitialAction:
    said = _object(value, place, ("action", "args"))
    if not isinstance(said["args"], dict):
        raise _wrong(f"{place}.args", "it is no object", "write the arguments as a JSON object")
    return InitialAction(_text(said["action"], f"{place}.action"), said["args"])


def _object(value: object, place: str, needed: Collection[str], other: Collection[str] = ()) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _wrong(place, "it is no object", "write a JSON object")
    for key in value:
        if key not in needed and key not in other:
            raise _wrong(place, f"the key {str(key)[:40]} is not known", f"use {', '.join((*needed, *other))}")
    for key in needed:
        if key not in value:
            raise _wrong(place, f"the key {key} is missing", f"add {key}")
    return value


def _items(said: Mapping[str, Any], key: str) -> Iterator[tuple[object, str]]:
    if not isinstance(said[key], list):
        raise _wrong(key, "it is no list", "write a list of objects")
    for number, each in enumerate(said[key], 1):
        yield each, f"{key}[{number}]"


def _kinds(value: object, place: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not value:
        raise _wrong(place, "it is no list of classes", 'write a list with at least one class, such as ["Box"]')
    return tuple(_kind(each, f"{place}[{number}]") for number, each in enumerate(value, 1))


def _kind(value: object, place: str) -> str:
    name = _text(value, place)
    if name not in KINDS:
        raise _wrong(place, f"the class {name[:40]} is not known", "use a class of AI2-THOR, such as CounterTop")
    return name


def _text(value: object, place: str) -> str:
    if not isinstance(value, str):
        raise _wrong(place, "it is no text", "write a text")
    return value


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    said = dict(pairs)
    if len(said) < len(pairs):
        repeated = next(key for number, (key, _) in enumerate(pairs) if any(key == k for k, _ in pairs[:number]))
        raise PlanningInputError(f"the key {repeated[:40]} stands twice in one object", remedy="keep one of them")
    return said


def _wrong(place: str, message: str, remedy: str) -> PlanningInputError:
    return PlanningInputError(f"{place}: {message}", remedy=remedy)


# What is written


def _rule_json(rule: Rule) -> dict[str, Any]:
    trigger, resolution = _conditions_json(rule.trigger), _conditions_json(rule.resolution)
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
        "avoid_state": _conditions_json(rule.avoid),
        "goal_condition": resolution,
    }


def _conditions_json(conditions: tuple[GoalCondition, ...]) -> dict[str, Any]:
    said = dict(condition_json(each) for each in conditions)
    if len(said) < len(conditions):
        remedy = f"ask for each of {', '.join(_GOAL_KEYS)} once"
        raise NotExpressible("two conditions on one object need the same key in a file of SPOC", remedy=remedy)
    return said
