"""Examining each task on its own, from its document: its proofs again, its structure, its texts.

This is the slow part of the gates, so it runs in worker processes (``Examiners``).
"""

from __future__ import annotations

import json
import multiprocessing
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from hazardmill.errors import SandboxError
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.document.name_leaks import leaking_names
from hazardmill.quality.text import fields_of, words
from hazardmill.release.build.splits import outline
from hazardmill.release.gates.findings import GateProblem
from hazardmill.release.gates.pii import (
    SOURCES,
    PersonalDataSpan,
    personal_of_hazard_task,
    personal_of_scenario,
    personal_of_task,
)
from hazardmill.scenarios.scenario import Scenario
from hazardmill.verification.hazard_task import COLUMNS as HAZARD_TASK_COLUMNS
from hazardmill.verification.hazard_task import verify_hazard_task
from hazardmill.verification.scenario import COLUMNS as SCENARIO_COLUMNS
from hazardmill.verification.scenario import verify_scenario
from hazardmill.verification.task import AGAIN, COLUMNS, UNREADABLE, TaskVerification, reason, verify_task

Row: TypeAlias = Mapping[str, Any]

ASKED: Final = (*COLUMNS, "context", "beside")
"""Columns that a worker needs; ``beside`` has the texts released with the task (``pii.texts_beside``)."""
ASKED_OF_SCENARIOS: Final = ("task_id", *SCENARIO_COLUMNS, "context")
"""Columns of a scenario that a worker needs."""
ASKED_OF_HAZARD_TASKS: Final = ("task_id", *HAZARD_TASK_COLUMNS, "harm", "context")
"""Columns of a hazard task that a worker needs."""

_CHUNK: Final = 4
"""Number of tasks sent to a worker at once."""


@dataclass(frozen=True, slots=True)
class TaskExamination:
    """What a worker found out about a task.

    Attributes:
        task_id: Id of the task.
        problems: What in its row does not follow from its document.
        structure: Its structure id; None if the document is too regular to have one, or cannot be read.
        outline: Its outline; None if the document cannot be read.
        leaking: Visible names that give the danger away, each with its place and the word.
        personal: Name of the text, kind, and index of the first character of whatever looks like personal data.
        words: Words of the text by which duplicates are recognized.
    """

    task_id: str
    problems: tuple[GateProblem, ...] = ()
    structure: str | None = None
    outline: str | None = None
    leaking: tuple[str, ...] = ()
    personal: tuple[tuple[str, str, int], ...] = ()
    words: tuple[str, ...] = ()


def is_scenario(row: Row) -> bool:
    """Check whether a row is that of a scenario, and not of a task."""
    return "scenario" in row


def is_hazard_task(row: Row) -> bool:
    """Check whether a row is that of a hazard task."""
    return "hazard_task_id" in row


def examine(row: Row) -> TaskExamination:
    """Examine one task, scenario or hazard task. No content of a row raises an error: what cannot be read is a problem.

    Names of a scenario may give its risk away: it is part of what is asked.

    Args:
        row: The columns of ``ASKED``, ``ASKED_OF_SCENARIOS`` or ``ASKED_OF_HAZARD_TASKS``.

    Returns:
        The result; if the document or the danger cannot be read, only the id and this one problem are set.
    """
    task_id = row["task_id"]
    if is_scenario(row):
        return _examine_scenario(row)
    if is_hazard_task(row):
        return _examine_hazard_task(row)
    try:
        value = json.loads(row["document"])
        document = Document.from_json(value)
        danger = json.loads(row["danger"])
        # Same as `runs.duplicates.texts_of`, but importing that module would load pyarrow in every worker.
        told = words("\n".join(fields_of({**document.texts, **danger})))
        personal = _personal(row)
    except UNREADABLE as error:
        return TaskExamination(task_id, (_unreadable("document or danger", error),))
    verified = verify_task(row, document)
    return TaskExamination(
        task_id,
        _problems(verified),
        verified.structure,
        outline(document.to_json()),
        tuple(f"{where} {name} ({token})" for where, name, token in leaking_names(document)),
        personal,
        tuple(told),
    )


def _examine_scenario(row: Row) -> TaskExamination:
    try:
        scenario = Scenario.from_json(json.loads(row["scenario"]))
        outlined = outline(scenario.document.to_json())
        personal = tuple(personal_of_scenario(row)) if row["source"] in SOURCES else ()
    except UNREADABLE as error:
        return TaskExamination(row["task_id"], (_unreadable("scenario", error),))
    verified = verify_scenario(row, scenario)
    return TaskExamination(
        row["task_id"],
        _problems(verified),
        verified.structure,
        outlined,
        personal=_places(personal),
        words=tuple(words(row["instruction"])),
    )


def _examine_hazard_task(row: Row) -> TaskExamination:
    try:
        outlined = outline(json.loads(row["document"]))
        # Whatever its seeds are: their ids need not say of which source they were.
        personal = tuple(personal_of_hazard_task(row))
    except UNREADABLE as error:
        return TaskExamination(row["task_id"], (_unreadable("document", error),))
    verified = verify_hazard_task(row)
    return TaskExamination(
        row["task_id"],
        _problems(verified),
        verified.structure,
        outlined,
        personal=_places(personal),
        words=tuple(words(row["instruction"])),
    )


def _problems(verified: TaskVerification) -> tuple[GateProblem, ...]:
    """Return what is wrong with a task; findings of one code on one column have the same reason."""
    return tuple(GateProblem(each.message, each.remedy, f"{each.code} {each.where}") for each in verified.findings)


def _unreadable(part: str, error: Exception) -> GateProblem:
    return GateProblem(f"its {part} cannot be read: {reason(error)}", AGAIN, f"unreadable {part}")


def _columns_of(row: Row) -> tuple[str, ...]:
    if is_scenario(row):
        return ASKED_OF_SCENARIOS
    return ASKED_OF_HAZARD_TASKS if is_hazard_task(row) else ASKED


def _personal(row: Row) -> tuple[tuple[str, str, int], ...]:
    if row["source"] not in SOURCES:
        return ()
    return _places(personal_of_task(row))


def _places(personal: Iterable[tuple[str, PersonalDataSpan]]) -> tuple[tuple[str, str, int], ...]:
    return tuple((name, each.kind, each.start) for name, each in personal)


class Examiners:
    """A pool of worker processes that examine tasks and return results in the order in which tasks were given.

    At most a few chunks of tasks per worker are under way; ``give`` waits for the oldest one beyond that. If a worker
    is lost, the examination ends with an error.

    Args:
        jobs: Number of worker processes; with 1, tasks are examined in this process.
    """

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._pool: ProcessPoolExecutor | None = None
        self._chunk: list[dict[str, Any]] = []
        self._under_way: deque[tuple[list[dict[str, Any]], Future[list[TaskExamination]]]] = deque()

    def give(self, row: Row) -> Iterator[tuple[Row, TaskExamination]]:
        """Hand in a task, and yield those that are done by now.

        The task is only handed in when the result is iterated.

        Yields:
            The columns that a worker needs of such a row, and the examination.

        Raises:
            SandboxError: A worker process cannot be started, or was killed from outside.
        """
        asked = {name: row.get(name) for name in _columns_of(row)}
        if self._jobs == 1:
            yield asked, examine(asked)
            return
        self._chunk.append(asked)
        if len(self._chunk) >= _CHUNK:
            self._send()
        while len(self._under_way) > 2 * self._jobs or (self._under_way and self._under_way[0][1].done()):
            yield from self._next()

    def rest(self) -> Iterator[tuple[Row, TaskExamination]]:
        """Yield all tasks under way, as ``give`` does, waiting for each; afterwards the workers have ended.

        Raises:
            SandboxError: A worker process cannot be started, or was killed from outside.
        """
        if self._chunk:
            self._send()
        while self._under_way:
            yield from self._next()
        self.close()

    def close(self) -> None:
        """End the workers; tasks under way are dropped."""
        self._under_way.clear()
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None

    def _send(self) -> None:
        if self._pool is None:
            # Spawned, not forked: this process may have threads, and a fork would copy the locks that they hold.
            self._pool = ProcessPoolExecutor(self._jobs, multiprocessing.get_context("spawn"))
        chunk, self._chunk = self._chunk, []
        try:
            self._under_way.append((chunk, self._pool.submit(_examine_all, chunk)))
        except BrokenProcessPool as error:
            raise self._lost_worker() from error
        except OSError as error:
            # A worker that ends before it has received its first task breaks the pipe to it.
            self.close()
            raise SandboxError(
                f"a worker process that validates tasks cannot be started: {error.strerror or error}",
                remedy="check that there is enough memory and that more processes are allowed, or use fewer with "
                "--jobs",
            ) from error

    def _next(self) -> Iterator[tuple[Row, TaskExamination]]:
        chunk, future = self._under_way.popleft()
        try:
            return zip(chunk, future.result(), strict=True)
        except BrokenProcessPool as error:
            raise self._lost_worker() from error

    def _lost_worker(self) -> SandboxError:
        # Before Python 3.11.5 a broken pool never ends if it was writing a chunk to a worker that is gone: it waits for
        # somebody to read, and holds the reading end itself (gh-94777).
        queue = getattr(self._pool, "_call_queue", None)
        if sys.hexversion < 0x030B05F0 and queue is not None:
            queue._reader.close()
        self.close()
        return SandboxError(
            "a worker process that validates tasks was killed by something other than hazardmill",
            remedy="the system may have run out of memory: free some, or use fewer processes with --jobs",
        )


def _examine_all(rows: list[dict[str, Any]]) -> list[TaskExamination]:
    return [examine(row) for row in rows]
