"""Task files of SPOC: a JSON object with scene, instruction, rule, sub-goals and initial actions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from hazardmill.errors import PlanningInputError
from hazardmill.household.rules import Rule, SubGoal
from hazardmill.household.scores import EpisodeCriteria
from hazardmill.household.spoc_format.conditions import conditions_json, rule_at, rule_json, sub_goal_at
from hazardmill.household.spoc_format.values import items_at, object_at, text_at, wrong_at
from hazardmill.household.task_files import list_task_files, read_task_file

Room: TypeAlias = Literal["kitchen", "living room", "bedroom", "bathroom"]

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
            "requirement_condition": rule_json(self.rule),
            "goal_condition_state": [
                {"object_name": goal.kind, **conditions_json(goal.conditions)} for goal in self.goals
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
    for path in list_task_files(folder, "name a folder with task files of SPOC"):
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
    return read_task_file(path, parse_spoc_task, f"write a JSON object with {', '.join(_TASK_KEYS)}")


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
    said = object_at(value, "the task", _TASK_KEYS, ("init_actions",))
    scene = text_at(said["scene_name"], "scene_name")
    if _room(scene) is None:
        raise wrong_at("scene_name", f"there is no floor plan {scene}", "name FloorPlan1 to 30, 201 to 230, and so on")
    if not isinstance(said["treat_step_constraint_as_goal"], bool):
        raise wrong_at("treat_step_constraint_as_goal", "it is not true or false", "write true or false")
    return SpocTask(
        scene=scene,
        instruction=text_at(said["instruction"], "instruction"),
        requirements=text_at(said["requirements"], "requirements"),
        rule=rule_at(said["requirement_condition"], "requirement_condition"),
        rule_is_item=said["treat_step_constraint_as_goal"],
        goals=tuple(sub_goal_at(each, place) for each, place in items_at(said, "goal_condition_state")),
        initial_actions=(
            tuple(_initial_action(each, place) for each, place in items_at(said, "init_actions"))
            if "init_actions" in said
            else None
        ),
    )


def _room(scene: str) -> Room | None:
    match = re.fullmatch(r"FloorPlan([1-9][0-9]{0,2})", scene)
    if match is None:
        return None
    hundred, number = divmod(int(match[1]), 100)
    return _FLOOR_PLANS.get(hundred) if 1 <= number <= 30 else None


def _initial_action(value: object, place: str) -> InitialAction:
    said = object_at(value, place, ("action", "args"))
    if not isinstance(said["args"], dict):
        raise wrong_at(f"{place}.args", "it is not an object", "write the arguments as a JSON object")
    return InitialAction(text_at(said["action"], f"{place}.action"), said["args"])
