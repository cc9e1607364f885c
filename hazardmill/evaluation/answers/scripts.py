"""Scripts of released tasks in a plans file: plan strings, or programs as VirtualHome writes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hazardmill.errors import InputError, PlanningInputError
from hazardmill.evaluation.answers.file import PlansFile
from hazardmill.hazards.programs import read_program
from hazardmill.release.build.configs import BY_SA

if TYPE_CHECKING:
    from hazardmill.release.read.release import Release

_KEYS: Final = {"tasks": "task_id", "hazard_tasks": "hazard_task_id"}
"""Configs whose tasks can have scripts, and the column of their ids."""


def read_scripts(path: Path, release: Release) -> dict[str, Sequence[str]]:
    """Read the scripts of a release's tasks and hazard tasks.

    Args:
        path: JSON lines as for ``PlansFile``: ``task_id`` and ``plan``, and ``sample`` if a task has several. A plan
            that begins with ``[`` is a program of VirtualHome.
        release: The release.

    Returns:
        Plan strings by task.

    Raises:
        InputError: The file cannot be read, a line is no script, or it is one of a task that the release does not have;
            with the line.
    """
    plans = PlansFile.read(path, "script")
    known = set(_task_ids(release))
    found: dict[str, Sequence[str]] = {}
    for (task_id, variant), places in plans.places.items():
        if variant or task_id not in known:
            raise InputError(
                f"{f'the {variant} of ' if variant else ''}task {task_id} is not among the tasks of the release",
                file=str(path),
                line=places[0].line,
                remedy="leave the line out, or name the release that the scripts are for",
            )
        texts = []
        for place, (_, given) in zip(places, plans.of(task_id, None), strict=True):
            if given.plan is None:
                raise InputError(
                    "the line has an answer, which is not a script",
                    file=str(path),
                    line=place.line,
                    remedy="write the script as plan: (action object) (action object)",
                )
            texts.append(_plan_string(given.plan, path, place.line))
        found[task_id] = texts
    return found


def _task_ids(release: Release) -> Iterator[str]:
    for name, key in _KEYS.items():
        for config in (name, name + BY_SA):
            if config in release.configs():
                yield from (row[key] for row in release.rows(config, None, (key,)))


def _plan_string(text: str, path: Path, line: int) -> str:
    if not text.lstrip().startswith("["):
        return text
    try:
        program = read_program(text)
    except PlanningInputError as error:
        raise InputError(error.message, file=str(path), line=line, remedy=error.remedy) from error
    if program.unsaid:
        step = program.unsaid[0]
        raise InputError(
            f"step {step.text!r} of the program cannot be said as an action: {step.reason}",
            file=str(path),
            line=line,
            remedy="write steps such as [GRAB] <cup> (1), or a plan string",
        )
    return program.plan
