"""What is worked out of one task by itself, from its document alone: its proofs anew, its structure, its texts.

All of it is here because it is what takes time, and so is done in worker processes (``Examiners``).
"""

from __future__ import annotations

import json
import multiprocessing
from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from hazardmill.errors import SandboxError
from hazardmill.formalism.document.document import Document
from hazardmill.formalism.document.name_leaks import leaking_names
from hazardmill.quality.text import fields_of, words
from hazardmill.release.build.splits import outline
from hazardmill.release.gates.pii import SOURCES, personal_of_task
from hazardmill.verification.task import AGAIN, COLUMNS, UNREADABLE, reason, verify_task

Row: TypeAlias = Mapping[str, Any]
Problem: TypeAlias = tuple[str, str]
"""What is wrong, and what to do."""

ASKED: Final = (*COLUMNS, "context", "beside")
"""The columns that are looked at, and the texts that are released beside them (``personal.texts_beside``)."""

_CHUNK: Final = 4
"""Tasks sent to a worker at once."""


@dataclass(frozen=True, slots=True)
class TaskExamination:
    """What was worked out of a task."""

    task_id: str
    problems: tuple[Problem, ...] = ()
    """What does not come out as its row has it."""
    structure: str | None = None
    """Null where the document is too regular to have one, or cannot be read."""
    outline: str | None = None
    """Null where the document cannot be read."""
    leaking: tuple[str, ...] = ()
    """Visible names that give the danger away, each with where it is."""
    personal: tuple[tuple[str, str, int], ...] = ()
    """Text, kind, and place of its first character, of each thing that looks like personal data."""
    words: tuple[str, ...] = ()
    """Of the text that duplicates are told by."""


def examine(row: Row) -> TaskExamination:
    """Look at one task. Nothing that it holds raises an error.

    Args:
        row: The columns of ``ASKED``.
    """
    task_id = row["task_id"]
    try:
        value = json.loads(row["document"])
        document = Document.from_json(value)
        danger = json.loads(row["danger"])
        # As `runs.duplicates.texts_of`, whose module would bring pyarrow into every worker.
        told = words("\n".join(fields_of({**document.texts, **danger})))
        personal = _personal(row)
    except UNREADABLE as error:
        return TaskExamination(task_id, ((f"its document or danger cannot be read: {reason(error)}", AGAIN),))
    verified = verify_task(row, document)
    return TaskExamination(
        task_id,
        tuple((finding.message, finding.remedy) for finding in verified.findings),
        verified.structure,
        outline(document.to_json()),
        tuple(f"{where} {name} ({token})" for where, name, token in leaking_names(document)),
        personal,
        tuple(told),
    )


def _personal(row: Row) -> tuple[tuple[str, str, int], ...]:
    if row["source"] not in SOURCES:
        return ()
    return tuple((name, each.kind, each.start) for name, each in personal_of_task(row))


class Examiners:
    """Examines tasks in worker processes, and gives what they found in the order in which the tasks were given.

    At most a few tasks a worker are under way: to give one more waits. A worker that is lost ends the examination.

    Args:
        jobs: Worker processes; with 1, the tasks are examined here.
    """

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._pool: ProcessPoolExecutor | None = None
        self._chunk: list[dict[str, Any]] = []
        self._under_way: deque[tuple[list[dict[str, Any]], Future[list[TaskExamination]]]] = deque()

    def give(self, row: Row) -> Iterator[tuple[Row, TaskExamination]]:
        """Take one more task, and give what is done by then: columns of ``ASKED``, and what was worked out.

        Raises:
            SandboxError: A worker process cannot be started, or was ended from outside.
        """
        asked = {name: row.get(name) for name in ASKED}
        if self._jobs == 1:
            yield asked, examine(asked)
            return
        self._chunk.append(asked)
        if len(self._chunk) >= _CHUNK:
            self._send()
        while len(self._under_way) > 2 * self._jobs or (self._under_way and self._under_way[0][1].done()):
            yield from self._next()

    def rest(self) -> Iterator[tuple[Row, TaskExamination]]:
        """What is still under way; afterwards the workers have ended.

        Raises:
            SandboxError: A worker process cannot be started, or was ended from outside.
        """
        if self._chunk:
            self._send()
        while self._under_way:
            yield from self._next()
        self.close()

    def close(self) -> None:
        """End the workers; what is under way is dropped."""
        self._under_way.clear()
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None

    def _send(self) -> None:
        if self._pool is None:
            # Not forked: this process may have threads, which a fork leaves with the locks that they held.
            self._pool = ProcessPoolExecutor(self._jobs, multiprocessing.get_context("spawn"))
        chunk, self._chunk = self._chunk, []
        try:
            self._under_way.append((chunk, self._pool.submit(_examine_all, chunk)))
        except BrokenProcessPool as error:
            raise self._lost_worker() from error
        except OSError as error:
            # A worker that ends before it has been told what to do breaks the pipe to it.
            self.close()
            raise SandboxError(
                f"a worker process that validates tasks cannot be started: {error.strerror or error}",
                remedy="see that memory is enough and further processes are allowed, or use fewer with --jobs",
            ) from error

    def _next(self) -> Iterator[tuple[Row, TaskExamination]]:
        chunk, future = self._under_way.popleft()
        try:
            return zip(chunk, future.result(), strict=True)
        except BrokenProcessPool as error:
            raise self._lost_worker() from error

    def _lost_worker(self) -> SandboxError:
        self.close()
        return SandboxError(
            "a worker process that validates tasks was ended from outside",
            remedy="see that memory is enough, or use fewer with --jobs",
        )


def _examine_all(rows: list[dict[str, Any]]) -> list[TaskExamination]:
    return [examine(row) for row in rows]
