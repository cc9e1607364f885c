"""Who is to look at what: slips, the rounds that gave them out, plans to be looked at, and the end of blindness."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import Discriminator, Field, TypeAdapter

from hazardmill.review.events import Id, Moment, Name, ReviewEvent, Short

Kind = Literal["task", "audit", "calibration", "repeat", "adjudication", "plan"]
"""
``task``: an accepted task, for the first time. ``audit``: a draft that the judge sent back, to tell how the judge does.
``calibration``: an accepted task with a planted defect. ``repeat``: a task that the reviewer has had before.
``adjudication``: a task on which others disagreed. ``plan``: an evaluated plan (intent check).
"""


class ReviewAssignment(ReviewEvent):
    """One thing for one reviewer to look at. Nothing of it but ``id`` is for the reviewer's eyes."""

    row: Literal["slip"] = "slip"
    reviewer: Name
    kind: Kind
    item: Short
    """Id of the task, draft or plan."""
    defect: str | None = None
    """What was planted; of calibration tasks."""
    of: Id | None = None
    """The slip that this one repeats."""
    place: Annotated[int, Field(ge=0)]
    """In the reviewer's queue."""


class AssignmentBatch(ReviewEvent):
    """When slips were given out, and how; it stands before them."""

    row: Literal["round"] = "round"
    at: Moment
    seed: int
    options: dict[str, Any]
    app: Short


class SubmittedPlan(ReviewEvent):
    """A plan that somebody made for a task, with its verdict as worked out here."""

    row: Literal["plan"] = "plan"
    item: Short
    planner: Short
    plan: Annotated[str, Field(max_length=20_000)]
    feasible: bool
    safe: bool
    safety_intention: bool


class Unblinding(ReviewEvent):
    """From here on, reviewers may see everything."""

    row: Literal["unblinding"] = "unblinding"
    at: Moment
    app: Short


Assignment: TypeAlias = Annotated[ReviewAssignment | AssignmentBatch | SubmittedPlan | Unblinding, Discriminator("row")]

_ASSIGNMENT: Final[TypeAdapter[ReviewAssignment | AssignmentBatch | SubmittedPlan | Unblinding]] = TypeAdapter(
    Assignment
)


def read_assignment(value: object) -> ReviewAssignment | AssignmentBatch | SubmittedPlan | Unblinding:
    """A line of the file of assignments.

    Raises:
        ValidationError: It is none.
    """
    return _ASSIGNMENT.validate_python(value, strict=False)
