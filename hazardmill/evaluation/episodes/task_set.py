"""Household tasks to hold episodes of, and the worlds in which they happen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Final

from hazardmill.errors import DocumentError, HazardmillError, InputError, SearchLimitReached
from hazardmill.household.actions import Hands, Observe
from hazardmill.household.document import SceneDocument
from hazardmill.household.interpreter import Interpreter
from hazardmill.household.scene import Scene
from hazardmill.household.task import HouseholdTask, read_household_tasks
from hazardmill.records import content_hash

_WORLDS: Final = 64
"""Worlds that are kept ready; one of a kitchen has about 2 MB."""


@dataclass(frozen=True)
class HouseholdTasks:
    """Household tasks of a folder.

    Attributes:
        name: What to call them in words.
        tasks: The tasks that can be used, by the names of their files.
        left_out: Why others are left out, to how many.
        errors: What is wrong with those, one each.
    """

    name: str
    tasks: tuple[HouseholdTask, ...]
    left_out: Mapping[str, int] = field(default_factory=dict)
    errors: tuple[HazardmillError, ...] = ()

    @cached_property
    def digest(self) -> str:
        """SHA-256 over all tasks."""
        return content_hash([task.to_json() for task in self.tasks])


def read_tasks(folder: Path, observe: Observe = "partial", hands: Hands = "one") -> HouseholdTasks:
    """Read the task files of a folder.

    Args:
        folder: The folder.
        observe: The layer in which episodes are to be held.
        hands: Likewise.

    Returns:
        The tasks. Files that cannot be read, and scenes that are too large for a document, are left out and counted.

    Raises:
        InputError: There is no task that can be used.
    """
    tasks: list[HouseholdTask] = []
    errors: list[HazardmillError] = []
    left_out: dict[str, int] = {}
    for path, task in read_household_tasks(folder):
        if isinstance(task, HouseholdTask):
            try:
                open_world(task.scene, observe, hands)
                tasks.append(task)
                continue
            except (DocumentError, SearchLimitReached) as error:
                why, remedy = "too_large", "keep only the objects that the task needs"
                errors.append(InputError(error.message, file=str(path), remedy=error.remedy or remedy))
        else:
            why = "unread"
            errors.append(task)
        left_out[why] = left_out.get(why, 0) + 1
    if not tasks:
        raise errors[0]
    # The name of the folder alone: equal tasks in other places give equal summaries.
    return HouseholdTasks(folder.resolve().name, tuple(tasks), dict(sorted(left_out.items())), tuple(errors))


@lru_cache(maxsize=_WORLDS)
def open_world(scene: Scene, observe: Observe, hands: Hands) -> Interpreter:
    """Return what episodes in a scene share.

    Args:
        scene: The scene.
        observe: What the robot knows.
        hands: Whether its one hand does everything.

    Raises:
        DocumentError: The scene has too many objects.
        SearchLimitReached: Likewise.
    """  # the system raises them
    return Interpreter(SceneDocument(scene, observe, hands))
