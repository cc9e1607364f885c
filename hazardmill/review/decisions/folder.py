"""The folder of a review: the rubric, the assignments, and one file of decisions per reviewer."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError

from hazardmill import __version__
from hazardmill.errors import InputError, UsageError
from hazardmill.resources import review_folder
from hazardmill.review.assignments.model import (
    AssignmentBatch,
    ReviewAssignment,
    SubmittedPlan,
    Unblinding,
    read_assignment,
)
from hazardmill.review.decisions.append_log import LogFile
from hazardmill.review.decisions.history import Decision, DecisionHistory, Undo, read_entry
from hazardmill.review.events import Name
from hazardmill.review.rubric import rubric_version
from hazardmill.store.files.fsync_io import make_folder, write_file

APP: Final = f"hazardmill {__version__}"

ASSIGNMENTS: Final = "_assignments.jsonl"
"""Name of the file of assignments; no name of a reviewer begins with an underscore."""

_NAME: Final[TypeAdapter[str]] = TypeAdapter(Name)


def reviewer_name(name: str) -> str:
    """Return the name if it is a valid name of a reviewer.

    Raises:
        UsageError: It is not: small letters, digits and hyphens, a letter first, 39 characters at most.
    """
    try:
        return _NAME.validate_python(name)
    except ValidationError:
        raise UsageError(
            f"{name[:60]!r} is not a valid name of a reviewer",
            remedy="use at most 39 lower-case letters, digits and hyphens, beginning with a letter",
        ) from None


class ReviewFolder:
    """Reads and writes the files of one review. Threads and processes may do so at the same time.

    Args:
        path: The folder.
        clock: Returns the time, with its zone.

    Attributes:
        path: The folder, with ``rubric.md`` and ``decisions/``.
    """

    def __init__(self, path: Path, *, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self.path = path
        self._clock = clock
        self._assignments: LogFile[ReviewAssignment | AssignmentBatch | SubmittedPlan | Unblinding] = LogFile(
            self._decisions / ASSIGNMENTS, read_assignment
        )
        self._given: tuple[tuple[int, int], Assignments] | None = None
        self._decision_logs: dict[str, DecisionLog] = {}
        self._mutex = threading.Lock()

    @property
    def _decisions(self) -> Path:
        return self.path / "decisions"

    @property
    def rubric(self) -> Path:
        """Path of the rubric."""
        return self.path / "rubric.md"

    @property
    def has_rubric(self) -> bool:
        """Whether there is a rubric, readable or not; without one the folder is no review yet."""
        return os.path.lexists(self.rubric)

    def rubric_version(self) -> str:
        """Return the version of the rubric.

        Raises:
            InputError: There is no rubric, it is a link, or it declares no version.
        """
        return rubric_version(self.rubric)

    def adopt_rubric(self) -> None:
        """Copy hazardmill's rubric into the folder, which is made, unless it has a rubric.

        Decisions lie beside the rubric by which they were made, so it is not read in place.

        Raises:
            StoreError: The folder cannot be written.
        """
        if not self.has_rubric:
            make_folder(self.path.absolute())
            write_file(self.rubric, (review_folder() / "rubric.md").read_bytes())

    def now(self) -> datetime:
        """Return the time in UTC."""
        return self._clock().astimezone(UTC)

    def assignment_rows(self) -> Sequence[ReviewAssignment | AssignmentBatch | SubmittedPlan | Unblinding]:
        """Return every line of the file of assignments, in order.

        Raises:
            InputError: The file is damaged.
            StoreError: The file cannot be read.
        """
        return self._assignments.rows()

    def assignments(self) -> Assignments:
        """Return the assignments, indexed; the same object as long as nothing was added."""
        rows = self.assignment_rows()
        with self._mutex:
            place = (self._assignments.reloads, len(rows))
            if self._given is None or self._given[0] != place:
                self._given = (place, Assignments(rows))
            return self._given[1]

    def slips(self) -> Sequence[ReviewAssignment]:
        """Return every slip, in the order in which they were assigned."""
        return self.assignments().slips

    def plans(self) -> Mapping[str, SubmittedPlan]:
        """Return the plans under review, by id."""
        return self.assignments().plans

    @contextmanager
    def assigning(
        self,
    ) -> Iterator[Callable[[Sequence[ReviewAssignment | AssignmentBatch | SubmittedPlan | Unblinding]], None]]:
        """Hold the file of assignments, so that nobody else assigns meanwhile; yields what appends rows."""
        with self._assignments.appending() as append:
            yield append

    def reviewers(self) -> list[str]:
        """Return the names of all who have a slip or a file of decisions, sorted."""
        files = {path.stem for path in self._decisions.glob("[a-z]*.jsonl")}
        return sorted(files | {slip.reviewer for slip in self.slips()})

    def decision_log(self, reviewer: str) -> DecisionLog:
        """Return the decisions of one reviewer; the same object for the same name.

        Raises:
            UsageError: This is not a valid name of a reviewer.
        """
        name = reviewer_name(reviewer)
        with self._mutex:
            if name not in self._decision_logs:
                self._decision_logs[name] = DecisionLog(self._decisions / f"{name}.jsonl", name, self.now)
            return self._decision_logs[name]

    def histories(self) -> dict[str, DecisionHistory]:
        """Return what each reviewer decided, by name.

        Raises:
            InputError: A file of decisions is damaged.
            StoreError: A file of decisions cannot be read.
        """
        return {name: self.decision_log(name).history() for name in self.reviewers()}


class Assignments:
    """The assignments of a review, indexed.

    Attributes:
        slips: Every slip, in the order in which they were assigned.
        by_id: Slips by id.
        of: Slips by reviewer.
        plans: Plans under review by id.
        unblinded: When reviewers were first allowed to see everything; ``None`` while the review is blind.
    """

    def __init__(self, rows: Iterable[ReviewAssignment | AssignmentBatch | SubmittedPlan | Unblinding]) -> None:
        self.slips: list[ReviewAssignment] = []
        self.by_id: dict[str, ReviewAssignment] = {}
        self.of: dict[str, list[ReviewAssignment]] = {}
        self.plans: dict[str, SubmittedPlan] = {}
        self.unblinded: datetime | None = None
        for row in rows:
            if isinstance(row, ReviewAssignment):
                self.slips.append(row)
                self.by_id[row.id] = row
                self.of.setdefault(row.reviewer, []).append(row)
            elif isinstance(row, SubmittedPlan):
                self.plans[row.id] = row
            elif isinstance(row, Unblinding):
                self.unblinded = self.unblinded or row.at


class DecisionLog:
    """The file of one reviewer's decisions.

    Args:
        path: The file; it need not exist.
        reviewer: Name of the reviewer.
        now: Returns the time in UTC.

    Attributes:
        reviewer: Name of the reviewer.
    """

    def __init__(self, path: Path, reviewer: str, now: Callable[[], datetime]) -> None:
        self.reviewer = reviewer
        self._now = now
        self._log: LogFile[Decision | Undo] = LogFile(path, self._own)
        self._mutex = threading.Lock()
        self._history = DecisionHistory()
        self._taken = 0
        self._reloads = 0

    def history(self) -> DecisionHistory:
        """Return what the file holds now.

        The returned object grows with later calls; reading it takes no lock.

        Raises:
            InputError: A line is damaged or altered, or belongs to another reviewer.
            StoreError: The file cannot be read.
        """
        rows = self._log.rows()
        with self._mutex:
            if self._log.reloads != self._reloads or len(rows) < self._taken:
                self._history, self._taken, self._reloads = DecisionHistory(), 0, self._log.reloads
            for row in rows[self._taken :]:
                self._history.add(row)
            self._taken = len(rows)
            return self._history

    @contextmanager
    def writing(self) -> Iterator[tuple[DecisionHistory, Callable[[Sequence[Decision | Undo]], None]]]:
        """Hold the file, so that nobody else records decisions of this reviewer meanwhile.

        Yields:
            The history, and a function that appends entries and returns once they are on disk.

        Raises:
            InputError: A line is damaged or altered, or belongs to another reviewer.
            StoreError: The file cannot be written.
        """
        with self._log.appending() as append:

            def write(rows: Sequence[Decision | Undo]) -> None:
                append(rows)
                self.history()

            yield self.history(), write

    def next_moment(self, history: DecisionHistory) -> datetime:
        """Return the time for the next entry: now, but later than every entry so far.

        A clock that was set back must not change the order of decisions.
        """
        now = self._now()
        last = history.entries[-1].at if history.entries else None
        return now if last is None or now > last else last + timedelta(microseconds=1)

    def _own(self, value: object) -> Decision | Undo:
        entry = read_entry(value)
        if entry.reviewer != self.reviewer:
            raise InputError(
                f"there is a decision of {entry.reviewer} in the file of {self.reviewer}",
                remedy="move it to that reviewer's file with: hazardmill review import",
            )
        return entry
