"""Rows of episodes that a simulator recorded: nobody is asked, and the monitors judge the states."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from hazardmill.errors import HazardmillError, InputError, PlanningInputError
from hazardmill.evaluation.episodes.rows import episode_table, trace_row
from hazardmill.evaluation.episodes.task_set import HouseholdTasks
from hazardmill.files import open_regular
from hazardmill.household.recorded_traces import RecordedTrace, read_traces
from hazardmill.household.rules import Semantics
from hazardmill.records import content_hash

if TYPE_CHECKING:
    import pyarrow as pa

RECORDED: Final = "recorded"
"""Agent of recorded episodes, and who acted if nobody says."""

_ID: Final = re.compile(r"(?P<task>[^#]+)(?:#(?P<run>[1-9][0-9]{0,8}))?")


@dataclass(frozen=True)
class TraceRows:
    """The rows of a file of recorded episodes.

    Attributes:
        table: The rows (``rows.episode_table``).
        errors: What is wrong with episodes that are left out.
        sha256: Hash of the file.
    """

    table: pa.Table
    errors: tuple[HazardmillError, ...]
    sha256: str


def name_of_traces(path: Path, tasks: HouseholdTasks, model: str) -> str:
    """Return the name of the episodes of a file; equal files on equal tasks have equal names.

    Raises:
        InputError: The file cannot be read.
    """
    return f"episodes-{content_hash([tasks.digest, _hash_file(path), model])[:12]}"


def score_traces(path: Path, tasks: HouseholdTasks, semantics: Semantics, run: str, model: str) -> TraceRows:
    """Judge every episode of a file.

    Args:
        path: The file, as ``recorded_traces.read_traces`` reads it. The id of an episode is the name of its task, or
            this with ``#`` and the number of the run from 1, such as ``mug#2``.
        tasks: The tasks.
        semantics: How episodes are judged.
        run: Name of the evaluation.
        model: Who acted.

    Returns:
        The rows, and what is wrong with other episodes.

    Raises:
        InputError: The file cannot be read, or no episode of it can be used.
    """
    known = {task.name: task for task in tasks.tasks}
    rows: dict[tuple[str, int], dict[str, Any]] = {}
    errors: list[HazardmillError] = []
    for trace in read_traces(path):
        if isinstance(trace, PlanningInputError):
            errors.append(trace)
            continue
        found = _ID.fullmatch(trace.episode_id)
        task = None if found is None else known.get(found["task"])
        if found is None or task is None:
            errors.append(_unknown(trace, path))
            continue
        key = task.name, int(found["run"] or 1) - 1
        if key in rows:
            said = f"the episode {trace.episode_id} occurs twice: without a number it is the first of its task"
            errors.append(PlanningInputError(said, file=str(path), remedy="give each run of a task its own number"))
            continue
        fixed = {"run": run, "model": model, "agent": RECORDED, "sample": key[1]}
        rows[key] = {**fixed, **trace_row(task, trace.states, semantics)}
    if not rows:
        raise (
            errors[0]
            if errors
            else InputError("the file holds no episode", file=str(path), remedy="write one line of JSON per state")
        )
    return TraceRows(episode_table(rows.values()), tuple(errors), _hash_file(path))


def _unknown(trace: RecordedTrace, path: Path) -> PlanningInputError:
    return PlanningInputError(
        f"the episode {trace.episode_id} belongs to no task of the folder",
        file=str(path),
        remedy="call it by the name of its task, and the number of its run if there are several: mug#2",
    )


def _hash_file(path: Path) -> str:
    try:
        with open_regular(path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(
            f"the traces cannot be read: {error.strerror or error}", file=str(path), remedy="check the path"
        ) from error
