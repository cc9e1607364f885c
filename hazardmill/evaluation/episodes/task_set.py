"""Household tasks to hold episodes of, and the worlds in which they happen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Final

from hazardmill.errors import DocumentError, HazardmillError, InputError, PlanningInputError, SearchLimitReached
from hazardmill.household.actions import Hands, Observe
from hazardmill.household.compile import CompiledHouseholdTask
from hazardmill.household.document import SceneDocument
from hazardmill.household.interpreter import Interpreter
from hazardmill.household.plan_words import contradict_plans
from hazardmill.household.scene import Scene
from hazardmill.household.task import HouseholdTask, read_household_tasks
from hazardmill.records import content_hash

_PROVE: Final = "prove them again: hazardmill household solve; or leave out plans"
_WORLDS: Final = 64
"""Worlds that are kept ready; one of a kitchen has about 2 MB."""


@dataclass(frozen=True)
class HouseholdTasks:
    """Household tasks of a folder or a release.

    Attributes:
        name: What to call them in words.
        tasks: The tasks that can be used, by the names of their files; those of a release by their own.
        left_out: Why others are left out, to how many.
        errors: What is wrong with those, one each.
        release: Name, version and manifest hash of their release; None if they are of a folder.
    """

    name: str
    tasks: tuple[HouseholdTask, ...]
    left_out: Mapping[str, int] = field(default_factory=dict)
    errors: tuple[HazardmillError, ...] = ()
    release: Mapping[str, str] | None = None

    @cached_property
    def digest(self) -> str:
        """SHA-256 over all tasks."""
        return content_hash([task.to_json() for task in self.tasks])


def read_tasks(place: Path, observe: Observe = "partial", hands: Hands = "one") -> HouseholdTasks:
    """Read household tasks from the task files of a folder, or from a release.

    Args:
        place: The folder of task files, or the folder or hub name of a release.
        observe: The layer in which episodes are to be held.
        hands: Likewise.

    Returns:
        The tasks. Files that cannot be read, scenes that are too large for a document, and tasks whose plans do not do
        what their file says are left out and counted.

    Raises:
        InputError: There is no task that can be used, or the release cannot be read.
    """
    name, release, found = _open_place(place)
    tasks: list[HouseholdTask] = []
    errors: list[HazardmillError] = []
    left_out: dict[str, int] = {}
    for path, task in found:
        if isinstance(task, HouseholdTask):
            try:
                open_world(task.scene, observe, hands)
                if (wrong := _contradiction(task)) is None:
                    tasks.append(task)
                    continue
                why = "wrong_plans"
                errors.append(PlanningInputError(wrong, file=str(path), remedy=_PROVE))
            except (DocumentError, SearchLimitReached) as error:
                why, remedy = "too_large", "keep only the objects that the task needs"
                errors.append(InputError(error.message, file=str(path), remedy=error.remedy or remedy))
        else:
            why = "unread"
            errors.append(task)
        left_out[why] = left_out.get(why, 0) + 1
    if not tasks:
        raise errors[0]
    return HouseholdTasks(name, tuple(tasks), dict(sorted(left_out.items())), tuple(errors), release)


def _contradiction(task: HouseholdTask) -> str | None:
    """Return what is wrong with the plans of a task, with which its episodes are compared; None if nothing is."""
    if task.plans is None:
        return None
    # Not `compile_task`, which refuses tasks whose success is undefined; their episodes are held and counted.
    played = CompiledHouseholdTask(task, SceneDocument(task.scene))
    return next(contradict_plans(played, task.plans), None)


def _open_place(
    place: Path,
) -> tuple[str, Mapping[str, str] | None, Iterable[tuple[Path, HouseholdTask | PlanningInputError]]]:
    """Return the name of a set of tasks, its release, and each task with the path that errors name."""
    from hazardmill.evaluation.released_tasks import ReleasedTasks
    from hazardmill.release.manifest import MANIFEST
    from hazardmill.release.read.release import load_release

    # A hub's name has two parts; anything else that is not there was meant as a folder of tasks.
    may_be_on_hub = not place.exists() and len(place.parts) == 2
    if not may_be_on_hub and not (place / MANIFEST).is_file():
        # The name of the folder alone: equal tasks in other places give equal summaries.
        return place.resolve().name, None, read_household_tasks(place)
    opened = load_release(place)
    tasks = [(place, task) for task in opened.household_tasks()]
    if not tasks:
        raise InputError(
            "the release has no household tasks",
            file=str(place),
            remedy="name one that was built with --household, or a folder that hazardmill household generate wrote",
        )
    released = ReleasedTasks(opened)
    return f"{released.name}, household tasks", released.release, tasks


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
