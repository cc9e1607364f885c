"""The tasks of a safety evaluation: of task folders, or of a release.

A task folder has a ``task.json``; its ``metadata.json`` may have the task's id, the instruction (``robot_task``) and,
as the safe one of its reference plans, the reference script. Without it the id is the folder's name, and there is no
reference and no licence. The reference of a released task is its safe plan, and that of a hazard task its own script.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from hazardmill.errors import HazardmillError, InputError, NotExpressible, SearchLimitReached
from hazardmill.files import read_regular
from hazardmill.formalism.document.document import Document
from hazardmill.records import content_hash
from hazardmill.release.build.configs import BY_SA
from hazardmill.release.manifest import MANIFEST
from hazardmill.release.read.release import load_release
from hazardmill.task_access import read_document, task_folders

if TYPE_CHECKING:
    from hazardmill.release.read.release import Release

_METADATA: Final = "metadata.json"
_AGAIN: Final = "write the folder again"
_PARTS: Final = ("danger_formalization", "reference_feasible_plans", "hazardmill")
"""The objects of the metadata that are read."""

_INSTRUCTIONS: Final = ("robot_task", "instruction", "title", "narrative")
"""Texts of a document that may stand for its instruction, best first."""


@dataclass(frozen=True)
class SafetyTask:
    """A task that agents plan for.

    Attributes:
        task_id: Its id.
        document: The task.
        instruction: What the robot is asked to do, in words.
        reference: Plan string of the reference script; None if there is none.
        source: Source of its record; None if unknown.
        licence: Licence of the task; None if unknown.
        attribution: Whom to credit for it; None likewise.
    """

    task_id: str
    document: Document = field(repr=False)
    instruction: str
    reference: str | None = field(default=None, repr=False)
    source: str | None = None
    licence: str | None = None
    attribution: str | None = None

    @property
    def variant(self) -> None:
        """Always None: each counts as one task of the evaluation."""
        return None


@dataclass(frozen=True)
class SafetyTasks:
    """Tasks by id.

    Attributes:
        name: What to call them in words.
        tasks: The tasks that can be judged.
        left_out: Why others are left out, to how many.
        errors: What is wrong with those, one each.
    """

    name: str
    tasks: tuple[SafetyTask, ...]
    left_out: Mapping[str, int] = field(default_factory=dict)
    errors: tuple[HazardmillError, ...] = ()

    @cached_property
    def digest(self) -> str:
        """SHA-256 over all tasks."""
        return content_hash([[each.task_id, each.document.hash, each.instruction, each.reference] for each in self])

    def __iter__(self) -> Iterator[SafetyTask]:
        return iter(self.tasks)

    def keep_if_possible(self, work: Callable[[SafetyTask], object]) -> SafetyTasks:
        """Return the tasks on which something can be done; what is wrong with the others is added to the errors.

        Args:
            work: Raises ``SearchLimitReached`` or ``NotExpressible`` for a task on which it cannot be done.

        Raises:
            InputError: No task is left.
        """
        kept: list[SafetyTask] = []
        errors: list[HazardmillError] = []
        why: Counter[str] = Counter(self.left_out)
        for task in self:
            try:
                work(task)
            except (SearchLimitReached, NotExpressible) as error:
                errors.append(_wrong(task.task_id, error))
                why["too_large" if isinstance(error, SearchLimitReached) else "not_expressible"] += 1
            else:
                kept.append(task)
        if not kept and errors:
            raise errors[0]
        return replace(self, tasks=tuple(kept), left_out=dict(sorted(why.items())), errors=(*self.errors, *errors))


def _wrong(task_id: str, error: HazardmillError) -> InputError:
    return InputError(error.message, record_id=task_id, remedy=error.remedy or "leave the task out")


def read_tasks(place: str, split: str | None = None) -> SafetyTasks:
    """Read task folders in and below a folder, or a release's tasks that have a safe plan and its hazard tasks.

    Args:
        place: The folder of task folders; or the folder or hub name of a release.
        split: Only the tasks of this split of a release.

    Returns:
        The tasks by id. Folders that cannot be read are left out, and counted.

    Raises:
        InputError: There is no task, or a split was named and the folder is no release.
    """
    folder = Path(place)
    if not folder.is_dir() or (folder / MANIFEST).exists():
        return _of_release(load_release(place), split)
    if split is not None:
        raise InputError("task folders have no splits", file=place, remedy="leave out --split, or name a release")
    return _of_folders(folder)


def _of_release(release: Release, split: str | None) -> SafetyTasks:
    name = f"{release.manifest.name} {release.version}"
    tasks = [
        SafetyTask(
            each.task_id,
            each.document,
            str(each.row.get("robot_task") or "").strip(),
            each.safe_plan,
            each.source,
            each.row.get("licence"),
            each.row.get("attribution"),
        )
        for each in release.tasks(split)
    ]
    tasks += _hazard_tasks(release, split)
    if not tasks:
        raise InputError(
            f"{name} has neither a task with a safe plan nor a hazard task",
            remedy="name another release, or another --split",
        )
    return SafetyTasks(name if split is None else f"{name}, {split}", _by_id(tasks))


def _hazard_tasks(release: Release, split: str | None) -> Iterator[SafetyTask]:
    """Yield the tasks that roles proposed in dialogues, each with its own reference script."""
    columns = ("hazard_task_id", "document", "instruction", "reference", "source", "licence", "attribution")
    for config in ("hazard_tasks", "hazard_tasks" + BY_SA):
        if config not in release.configs() or (split is not None and split not in release.splits(config)):
            continue
        for row in release.rows(config, split, columns):
            try:
                document = Document.from_json(json.loads(row["document"]))
            except ValueError as error:
                raise InputError(
                    f"the document of {row['hazard_task_id']} cannot be read: {error}",
                    file=str(release.folder),
                    remedy="get the release again",
                ) from error
            task_id, _, *said = (row[name] for name in columns)
            yield SafetyTask(task_id, document, *said)


def _of_folders(root: Path) -> SafetyTasks:
    tasks: dict[str, SafetyTask] = {}
    errors: list[HazardmillError] = []
    left_out: Counter[str] = Counter()
    for place in task_folders(root):
        try:
            task = _of_folder(place)
        except InputError as error:
            errors.append(error)
            left_out["unread"] += 1
            continue
        if task.task_id in tasks:
            errors.append(
                InputError(
                    f"another folder has the same task, {task.task_id}",
                    file=str(place),
                    remedy="remove one of the two folders",
                )
            )
            left_out["repeated"] += 1
            continue
        tasks[task.task_id] = task
    if not tasks:
        raise (
            errors[0]
            if errors
            else InputError(
                "this folder is not a release, and there is no task.json in or below it",
                file=str(root),
                remedy="name a folder of task folders, as `hazardmill report` writes them, or a release",
            )
        )
    return SafetyTasks(f"tasks in {root.name}", _by_id(tasks.values()), dict(sorted(left_out.items())), tuple(errors))


def _by_id(tasks: Iterable[SafetyTask]) -> tuple[SafetyTask, ...]:
    return tuple(sorted(tasks, key=lambda task: task.task_id))


def _of_folder(folder: Path) -> SafetyTask:
    document = read_document(folder / "task.json")
    said = _metadata(folder / _METADATA)
    danger, plans, ours = (_part(said, name) for name in _PARTS)
    words = [danger.get("robot_task"), *(document.texts.get(name) for name in _INSTRUCTIONS), document.name]
    return SafetyTask(
        task_id=_text(said.get("task_id")) or folder.resolve().name,
        document=document,
        instruction=next(text for word in (*words, "") if (text := _text(word)) is not None),
        reference=_text(plans.get("safe")),
        source=_text(ours.get("source")),
        licence=_text(ours.get("licence")),
        attribution=_text(ours.get("attribution")),
    )


def _metadata(file: Path) -> Mapping[str, Any]:
    """Return the metadata of a task folder; nothing if it has none."""
    try:
        said = json.loads(read_regular(file))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise InputError(
            f"the metadata cannot be read: {error.strerror or error}", file=str(file), remedy=_AGAIN
        ) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"the metadata are not JSON: {error}", file=str(file), remedy=_AGAIN) from error
    if not isinstance(said, dict):
        raise InputError("the metadata are not a JSON object", file=str(file), remedy=_AGAIN)
    return said


def _part(said: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = said.get(name)
    return part if isinstance(part, dict) else {}


def _text(value: object) -> str | None:
    """Return a text; None for anything else, and for white space alone."""
    return value.strip() if isinstance(value, str) and value.strip() else None
