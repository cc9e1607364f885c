"""Decisions and undos of one reviewer, and what is in force of them.

Nothing is ever changed: another decision on a slip takes the place of the one before, an undo brings that one back.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Final, Literal, Self, TypeAlias

from pydantic import Discriminator, Field, TypeAdapter, model_validator

from hazardmill.review.events import Id, Key, Moment, Name, ReviewEvent, Short
from hazardmill.review.rubric import CRITERIA, MAX_NOTE, OF_PLANS, OF_TASKS, ReviewVerdict

Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Decision(ReviewEvent):
    """What a reviewer said of one slip."""

    row: Literal["decision"] = "decision"
    reviewer: Name
    at: Moment
    slip: Id
    """The slip that it answers."""
    item: Short
    """Id of the task or plan, as the slip has it."""
    about: Literal["task", "plan"] = "task"
    verdict: ReviewVerdict
    reasons: tuple[str, ...] = ()
    """Criteria of the rubric; at least one where a task is rejected."""
    note: Annotated[str, Field(max_length=MAX_NOTE)] = ""
    seen: Hash
    """Hash of what was shown: with another one now, the decision is stale."""
    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    """Time the reviewer took; null where nobody measured it."""
    rubric: Short
    """Version of the rubric."""
    app: Short
    """What it was made with, and its version: ``hazardmill 0.1.0``."""
    submission: Key
    """One a submission: sent twice, it counts once."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        allowed = OF_TASKS if self.about == "task" else OF_PLANS
        if self.verdict not in allowed:
            raise ValueError(f"the verdict on a {self.about} is one of {', '.join(allowed)}, not {self.verdict}")
        unknown = [reason for reason in self.reasons if reason not in CRITERIA]
        if unknown:
            raise ValueError(f"no reason of the rubric: {', '.join(unknown)}; reasons are {', '.join(CRITERIA)}")
        if len(set(self.reasons)) < len(self.reasons):
            raise ValueError("a reason is named twice")
        if self.verdict is ReviewVerdict.REJECT and not self.reasons:
            raise ValueError("a rejection needs a reason: name one of the rubric's, or other with a note")
        if self.reasons and self.verdict not in (ReviewVerdict.REJECT, ReviewVerdict.UNSURE):
            raise ValueError(f"{self.verdict} takes no reasons")
        if "other" in self.reasons and not self.note.strip():
            raise ValueError("the reason other needs a note")
        return self

    def says_the_same(self, other: Decision) -> bool:
        """Whether both hold the same of the same thing."""
        return (self.slip, self.verdict, self.reasons, self.note, self.seen) == (
            other.slip,
            other.verdict,
            other.reasons,
            other.note,
            other.seen,
        )


class Undo(ReviewEvent):
    """A decision taken back."""

    row: Literal["undo"] = "undo"
    reviewer: Name
    at: Moment
    slip: Id
    undoes: Id
    app: Short
    submission: Key


Entry: TypeAlias = Annotated[Decision | Undo, Discriminator("row")]
"""A line of a reviewer's file."""

_ENTRY: Final[TypeAdapter[Decision | Undo]] = TypeAdapter(Entry)


def read_entry(value: object) -> Decision | Undo:
    """A decision or undo of JSON values.

    Raises:
        ValidationError: It is neither.
    """
    return _ENTRY.validate_python(value, strict=False)


class DecisionHistory:
    """The decisions of one reviewer, in the order of their times."""

    def __init__(self, entries: Iterable[Decision | Undo] = ()) -> None:
        self.entries: list[Decision | Undo] = []
        self._by_submission: dict[str, Decision | Undo] = {}
        self._ids: set[str] = set()
        self._undone: set[str] = set()
        self._of_slip: dict[str, list[Decision]] = {}
        self.touched: list[str] = []
        """Slips in the order in which something was said of them here: what is new is at the end."""
        for entry in sorted(entries, key=lambda entry: entry.at):
            self.add(entry)

    def add(self, entry: Decision | Undo) -> None:
        """Take in one more; the same one twice is one."""
        if entry.id in self._ids:
            return
        self._ids.add(entry.id)
        place = bisect_right(self.entries, entry.at, key=lambda other: other.at)
        self.entries.insert(place, entry)
        self.touched.append(entry.slip)
        self._by_submission.setdefault(entry.submission, entry)
        if isinstance(entry, Undo):
            self._undone.add(entry.undoes)
        else:
            decisions = self._of_slip.setdefault(entry.slip, [])
            decisions.insert(bisect_right(decisions, entry.at, key=lambda other: other.at), entry)

    def __contains__(self, entry_id: object) -> bool:
        return entry_id in self._ids

    def find_submission(self, submission: str) -> Decision | Undo | None:
        """What was recorded under this key."""
        return self._by_submission.get(submission)

    def current(self, slip: str) -> Decision | None:
        """What is in force on a slip: the latest decision that was not taken back."""
        return next((each for each in reversed(self._of_slip.get(slip, ())) if each.id not in self._undone), None)

    def last(self) -> Decision | None:
        """The latest decision that is in force on its slip."""
        for entry in reversed(self.entries):
            if isinstance(entry, Decision) and self.current(entry.slip) is entry:
                return entry
        return None

    def slips(self) -> Iterator[str]:
        """Every slip that was ever decided."""
        return iter(self._of_slip)

    def of_slip(self, slip: str) -> Sequence[Decision]:
        """Every decision on a slip, those taken back included."""
        return tuple(self._of_slip.get(slip, ()))
