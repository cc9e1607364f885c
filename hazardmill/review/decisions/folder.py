"""The folder of a review: the rubric, who is to look at what, and one file of decisions a reviewer."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError

from hazardmill import __version__
from hazardmill.errors import InputError, UsageError
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

APP: Final = f"hazardmill {__version__}"

ASSIGNMENTS: Final = "_assignments.jsonl"
"""No reviewer's name begins with an underscore."""

_NAME: Final[TypeAdapter[str]] = TypeAdapter(Name)


def reviewer_name(name: str) -> str:
    """The name, if it may be a reviewer's.

    Raises:
        UsageError: It may not.
    """
    try:
        return _NAME.validate_python(name)
    except ValidationError:
        raise UsageError(
            f"{name[:60]!r} is no name of a reviewer",
            remedy="use small letters, digits and hyphens, a letter first, 39 at the most",
        ) from None


class ReviewFolder:
    """Reads and writes the files of one review. Several processes may do so at once."""

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
        """The rubric."""
        return self.path / "rubric.md"

    def rubric_version(self) -> str:
        """The version of the rubric.

        Raises:
            InputError: There is none.
        """
        return rubric_version(self.rubric)

    def now(self) -> datetime:
        """The time, in UTC."""
        return self._clock().astimezone(UTC)

    def assignment_rows(self) -> Sequence[ReviewAssignment | AssignmentBatch | SubmittedPlan | Unblinding]:
        """Every line of the file of assignments, in order."""
        return self._assignments.rows()

    def assignments(self) -> Assignments:
        """The assignments, sorted out; the same object as long as nothing was added."""
        rows = self.assignment_rows()
        with self._mutex:
            place = (self._assignments.reloads, len(rows))
            if self._given is None or self._given[0] != place:
                self._given = (place, Assignments(rows))
            return self._given[1]

    def slips(self) -> Sequence[ReviewAssignment]:
        """Every slip."""
        return self.assignments().slips

    def plans(self) -> Mapping[str, SubmittedPlan]:
        """The plans to be looked at, by id."""
        return self.assignments().plans

    @contextmanager
    def assigning(
        self,
    ) -> Iterator[Callable[[Sequence[ReviewAssignment | AssignmentBatch | SubmittedPlan | Unblinding]], None]]:
        """Hold the assignments, so that nobody else gives out slips meanwhile; gives what appends rows."""
        with self._assignments.appending() as append:
            yield append

    def reviewers(self) -> list[str]:
        """Everybody who has a slip or has decided something, by name."""
        files = {path.stem for path in self._decisions.glob("[a-z]*.jsonl")}
        return sorted(files | {slip.reviewer for slip in self.slips()})

    def decision_log(self, reviewer: str) -> DecisionLog:
        """The decisions of one reviewer.

        Raises:
            UsageError: That is no name.
        """
        name = reviewer_name(reviewer)
        with self._mutex:
            if name not in self._decision_logs:
                self._decision_logs[name] = DecisionLog(self._decisions / f"{name}.jsonl", name, self.now)
            return self._decision_logs[name]

    def histories(self) -> dict[str, DecisionHistory]:
        """What everybody decided, by reviewer."""
        return {name: self.decision_log(name).history() for name in self.reviewers()}


class Assignments:
    """The assignments, sorted out."""

    def __init__(self, rows: Iterable[ReviewAssignment | AssignmentBatch | SubmittedPlan | Unblinding]) -> None:
        self.slips: list[ReviewAssignment] = []
        self.by_id: dict[str, ReviewAssignment] = {}
        self.of: dict[str, list[ReviewAssignment]] = {}
        """By reviewer."""
        self.plans: dict[str, SubmittedPlan] = {}
        self.unblinded: datetime | None = None
        """When reviewers were allowed to see everything; null if they are not."""
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
    """The file of one reviewer's decisions."""

    def __init__(self, path: Path, reviewer: str, now: Callable[[], datetime]) -> None:
        self.reviewer = reviewer
        self._now = now
        self._log: LogFile[Decision | Undo] = LogFile(path, self._own)
        self._mutex = threading.Lock()
        self._history = DecisionHistory()
        self._taken = 0
        self._reloads = 0

    def history(self) -> DecisionHistory:
        """What is in it now. The history grows with later calls; whoever lists it holds no lock.

        Raises:
            InputError: A line is damaged or altered, or is another reviewer's.
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
        """Hold the file: nobody else decides meanwhile in this reviewer's name. Gives the history, and what appends."""
        with self._log.appending() as append:

            def write(rows: Sequence[Decision | Undo]) -> None:
                append(rows)
                self.history()

            yield self.history(), write

    def next_moment(self, history: DecisionHistory) -> datetime:
        """Now, but after everything in the history: a clock that was put back must not turn decisions round."""
        now = self._now()
        last = history.entries[-1].at if history.entries else None
        return now if last is None or now > last else last + timedelta(microseconds=1)

    def _own(self, value: object) -> Decision | Undo:
        entry = read_entry(value)
        if entry.reviewer != self.reviewer:
            raise InputError(
                f"a decision of {entry.reviewer} in the file of {self.reviewer}",
                remedy="put it into that reviewer's file with: hazardmill review import",
            )
        return entry
