"""Decisions and undos of one reviewer, and which decisions are in force.

Nothing is ever changed: another decision on a slip replaces the one before, and an undo brings that one back.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Final, Literal, Self, TypeAlias

from pydantic import Discriminator, Field, TypeAdapter, model_validator

from hazardmill.review.events import Id, Key, Moment, Name, ReviewEvent, Short
from hazardmill.review.rubric import MAX_NOTE, OF_PLANS, OF_TASKS, ReviewVerdict, describe_wrong_reasons

Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Decision(ReviewEvent):
    """What a reviewer decided on one slip; validated against the rubric.

    Attributes:
        reviewer: Name of the reviewer.
        at: When the decision was made, in UTC.
        slip: Id of the slip that it answers.
        item: Id of the task, scenario, hazard task or plan, as in the slip.
        about: Whether the slip asks about a task (or scenario, or hazard task) or about a plan.
        verdict: The verdict.
        reasons: Criteria of the rubric; at least one for a rejection.
        note: Free text; required for the reason ``other``.
        seen: Hash of what was shown; if it differs from what is shown now, the decision is stale.
        seconds: Time that the reviewer took, in seconds; ``None`` if it was not measured.
        rubric: Version of the rubric.
        app: Name and version of the program: ``hazardmill 0.1.0``.
        submission: Key of the submission, so that sending it twice records it once.
    """

    row: Literal["decision"] = "decision"
    reviewer: Name
    at: Moment
    slip: Id
    item: Short
    about: Literal["task", "plan"] = "task"
    verdict: ReviewVerdict
    reasons: tuple[str, ...] = ()
    note: Annotated[str, Field(max_length=MAX_NOTE)] = ""
    seen: Hash
    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    rubric: Short
    app: Short
    submission: Key

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        allowed = OF_TASKS if self.about == "task" else OF_PLANS
        if self.verdict not in allowed:
            raise ValueError(f"the verdict on a {self.about} must be one of {', '.join(allowed)}, not {self.verdict}")
        # Which of the reasons fit depends on the item, which a line by itself does not know.
        wrong = describe_wrong_reasons(self.reasons, None)
        if wrong is not None:
            raise ValueError(wrong)
        if len(set(self.reasons)) < len(self.reasons):
            raise ValueError("a reason is named twice")
        if self.verdict is ReviewVerdict.REJECT and not self.reasons:
            raise ValueError("a rejection needs a reason: name one from the rubric, or `other` together with a note")
        if self.reasons and self.verdict not in (ReviewVerdict.REJECT, ReviewVerdict.UNSURE):
            raise ValueError(f"the verdict {self.verdict} takes no reasons")
        if "other" in self.reasons and not self.note.strip():
            raise ValueError("the reason `other` needs a note")
        return self

    def says_the_same(self, other: Decision) -> bool:
        """Return whether slip, verdict, reasons, note and what was shown are the same in both."""
        return (self.slip, self.verdict, self.reasons, self.note, self.seen) == (
            other.slip,
            other.verdict,
            other.reasons,
            other.note,
            other.seen,
        )


class Undo(ReviewEvent):
    """A decision taken back.

    Attributes:
        reviewer: Name of the reviewer.
        at: When it was taken back, in UTC.
        slip: Id of the slip.
        undoes: Id of the decision that is taken back.
        app: Name and version of the program.
        submission: Key of the submission.
    """

    row: Literal["undo"] = "undo"
    reviewer: Name
    at: Moment
    slip: Id
    undoes: Id
    app: Short
    submission: Key


Entry: TypeAlias = Annotated[Decision | Undo, Discriminator("row")]
"""A line of a reviewer's file, decision or undo."""

_ENTRY: Final[TypeAdapter[Decision | Undo]] = TypeAdapter(Entry)


def read_entry(value: object) -> Decision | Undo:
    """Return a decision or an undo made from JSON values.

    Args:
        value: The values; ``row`` says which of the two they are.

    Raises:
        ValidationError: They are neither, or the rubric does not allow them.
    """
    return _ENTRY.validate_python(value, strict=False)


class DecisionHistory:
    """The decisions and undos of one reviewer, ordered by time.

    Attributes:
        entries: All entries, ordered by time.
        touched: Slips in the order in which entries on them were added here; what is new is at the end.
    """

    def __init__(self, entries: Iterable[Decision | Undo] = ()) -> None:
        self.entries: list[Decision | Undo] = []
        self._by_submission: dict[str, Decision | Undo] = {}
        self._ids: set[str] = set()
        self._undone: set[str] = set()
        self._of_slip: dict[str, list[Decision]] = {}
        self.touched: list[str] = []
        for entry in sorted(entries, key=lambda entry: entry.at):
            self.add(entry)

    def add(self, entry: Decision | Undo) -> None:
        """Add an entry in its place by time; an entry that is already here is ignored."""
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
        """Return what was recorded under a submission key; ``None`` if nothing was."""
        return self._by_submission.get(submission)

    def current(self, slip: str) -> Decision | None:
        """Return the decision in force on a slip, the latest that was not taken back; ``None`` if there is none."""
        return next((each for each in reversed(self._of_slip.get(slip, ())) if each.id not in self._undone), None)

    def last(self) -> Decision | None:
        """Return the latest decision that is in force on its slip; ``None`` if there is none."""
        for entry in reversed(self.entries):
            if isinstance(entry, Decision) and self.current(entry.slip) is entry:
                return entry
        return None

    def slips(self) -> Iterator[str]:
        """Return the ids of all slips that were ever decided."""
        return iter(self._of_slip)

    def of_slip(self, slip: str) -> Sequence[Decision]:
        """Return every decision on a slip by time, including those taken back."""
        return tuple(self._of_slip.get(slip, ()))
