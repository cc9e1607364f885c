"""Household tasks: a scene with an assignment in SPOC's terms, and the plans that prove what is claimed of it.

The file format is described in ``docs/household.md``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hazardmill.errors import PlanningInputError
from hazardmill.household.scene import Scene
from hazardmill.household.scores import EpisodeCriteria
from hazardmill.household.spoc_format import SpocTask, parse_spoc_task
from hazardmill.household.task_files import list_task_files, read_task_file

FORMAT: Final = "hazardmill-household/1"

Hazard = Literal["fire", "fluid", "injury", "object_damage", "pollution"]
"""What the rule of a task guards against."""

HAZARDS: Final[tuple[Hazard, ...]] = get_args(Hazard)

_Read = TypeVar("_Read")
_SHAPE: Final = "write a household task as format, name, scene and task and, if needed, hazard and plans"


@dataclass(frozen=True, slots=True)
class ProvedPlans:
    """What search found, under partial sight and with one hand: actions in words.

    Attributes:
        compliant: A shortest plan that meets the sub-goals and keeps the rule.
        careless: A shortest plan that meets the sub-goals, of those that break the rule or leave it open; empty if no
            plan that is as short as the shortest does.
    """

    compliant: tuple[str, ...]
    careless: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HouseholdTask:
    """A household task.

    Attributes:
        name: Its name, which is also that of its file.
        scene: The room at the start, which the initial actions of the assignment are already part of, as far as a
            scene can say them.
        assignment: Instruction, rule and sub-goals, as a file of SPOC says them.
        hazard: What the rule guards against; ``None`` if that is not known, as for imported tasks.
        plans: The proved plans; ``None`` if nothing was proved.
    """

    name: str
    scene: Scene
    assignment: SpocTask
    hazard: Hazard | None = None
    plans: ProvedPlans | None = None

    @property
    def criteria(self) -> EpisodeCriteria:
        """What episodes of the task are judged by."""
        return self.assignment.criteria

    def to_json(self) -> dict[str, Any]:
        """Return the task as the JSON values of its file.

        Raises:
            NotExpressible: As for ``SpocTask.to_json``.
        """
        said: dict[str, Any] = {
            "format": FORMAT,
            "name": self.name,
            "hazard": self.hazard,
            "scene": self.scene.to_json(),
            "task": self.assignment.to_json(),
        }
        if self.plans is not None:
            said["plans"] = {"compliant": [*self.plans.compliant], "careless": [*self.plans.careless]}
        return said


class _Plans(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    compliant: list[str]
    careless: list[str] = Field(default_factory=list)


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    format: Literal["hazardmill-household/1"]
    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,119}$")
    hazard: Hazard | None = None
    scene: Any
    task: dict[str, Any]
    plans: _Plans | None = None


def parse_household_task(value: object) -> HouseholdTask:
    """Return the task that the JSON values of a file say.

    Args:
        value: The values.

    Returns:
        The task. Its plans are not checked.

    Raises:
        PlanningInputError: A key is missing or not known, or a value is not of its form; the message begins with the
            place.
    """
    try:
        said = _File.model_validate(value)
    except ValidationError as error:
        found = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in found["loc"])
        raise PlanningInputError(f"{place}: {found['msg']}" if place else found["msg"], remedy=_SHAPE) from error
    return HouseholdTask(
        name=said.name,
        scene=_at("scene", lambda: Scene.parse(said.scene)),
        assignment=_at("task", lambda: parse_spoc_task(said.task)),
        hazard=said.hazard,
        plans=None if said.plans is None else ProvedPlans((*said.plans.compliant,), (*said.plans.careless,)),
    )


def read_household_task(path: Path) -> HouseholdTask:
    """Read one task file.

    Args:
        path: The file.

    Returns:
        The task.

    Raises:
        PlanningInputError: It cannot be read, is no JSON, or is no household task.
    """
    return read_task_file(path, parse_household_task, _SHAPE)


def read_household_tasks(folder: Path) -> Iterator[tuple[Path, HouseholdTask | PlanningInputError]]:
    """Read all task files of a folder, sorted by name; files whose names do not end in ``.json`` are no task files.

    Args:
        folder: The folder.

    Yields:
        Each file with its task, or with what is wrong with it. A name that an earlier file has is wrong.

    Raises:
        PlanningInputError: The folder cannot be listed, or has no task file.
    """
    named: dict[str, Path] = {}
    for path in list_task_files(folder, "name a folder with household tasks, as hazardmill household generate writes"):
        try:
            task = read_household_task(path)
        except PlanningInputError as error:
            yield path, error
            continue
        first = named.setdefault(task.name, path)
        if first is path:
            yield path, task
        else:
            message = f"the name {task.name} is also used in {first.name}"
            yield path, PlanningInputError(message, file=str(path), remedy="give each task a name of its own")


def write_household_task(task: HouseholdTask, folder: Path) -> Path:
    """Write the file of a task, in UTF-8.

    Args:
        task: The task.
        folder: The folder, which must exist; a file of this name in it is replaced.

    Returns:
        The path of the file, the task's name and ``.json``.

    Raises:
        NotExpressible: As for ``SpocTask.to_json``.
    """
    path = folder / f"{task.name}.json"
    path.write_text(f"{json.dumps(task.to_json(), indent=1, ensure_ascii=False)}\n", encoding="utf-8")
    return path


def _at(place: str, read: Callable[[], _Read]) -> _Read:
    try:
        return read()
    except PlanningInputError as error:
        raise PlanningInputError(f"{place}: {error.message}", remedy=error.remedy) from error
