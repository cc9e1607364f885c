"""Lines of the file of assignments: slips, batches, plans under review, and the end of blindness."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import Discriminator, Field, TypeAdapter

from hazardmill.review.events import Id, Moment, Name, ReviewEvent, Short

Kind = Literal["task", "audit", "calibration", "repeat", "adjudication", "plan"]
"""
Why a reviewer is to look at something.

``task``: an accepted task, scenario or hazard task, for the first time. ``audit``: a draft that the judge sent back, to
measure the judge. ``calibration``: an accepted task with a planted defect. ``repeat``: an item that the reviewer has
had as ``task`` before. ``adjudication``: an item on which other reviewers disagreed. ``plan``: an evaluated plan
(intent check).
"""


class ReviewAssignment(ReviewEvent):
    """One thing that one reviewer is to look at. The reviewer may see its ``id`` and nothing else of it.

    Attributes:
        reviewer: Name of the reviewer.
        kind: Why the item is to be looked at.
        item: Id of the task, scenario, hazard task, draft or plan.
        defect: The planted defect; ``None`` unless it is a calibration task.
        of: Id of the slip that this one repeats; ``None`` unless it is a repeat.
        place: Place in the reviewer's queue, from 0.
    """

    row: Literal["slip"] = "slip"
    reviewer: Name
    kind: Kind
    item: Short
    defect: str | None = None
    of: Id | None = None
    place: Annotated[int, Field(ge=0)]


class AssignmentBatch(ReviewEvent):
    """When and how slips were assigned; the line comes before those slips.

    Attributes:
        at: When they were assigned, in UTC.
        seed: Seed of every choice.
        options: What was asked for.
        app: Name and version of the program.
    """

    row: Literal["round"] = "round"
    at: Moment
    seed: int
    options: dict[str, Any]
    app: Short


class SubmittedPlan(ReviewEvent):
    """A plan that was made for a task, with the verdict that was computed here.

    Attributes:
        item: Id of the task.
        planner: Who or what made the plan.
        plan: The plan as written.
        feasible: Whether it can be carried out and reaches the goal.
        safe: Whether it is feasible and safe.
        safety_intention: Whether safety intention holds for it.
    """

    row: Literal["plan"] = "plan"
    item: Short
    planner: Short
    plan: Annotated[str, Field(max_length=20_000)]
    feasible: bool
    safe: bool
    safety_intention: bool


class Unblinding(ReviewEvent):
    """The end of blindness: from here on, reviewers may see everything.

    Attributes:
        at: When the review was unblinded, in UTC.
        app: Name and version of the program.
    """

    row: Literal["unblinding"] = "unblinding"
    at: Moment
    app: Short


Assignment: TypeAlias = Annotated[ReviewAssignment | AssignmentBatch | SubmittedPlan | Unblinding, Discriminator("row")]

_ASSIGNMENT: Final[TypeAdapter[ReviewAssignment | AssignmentBatch | SubmittedPlan | Unblinding]] = TypeAdapter(
    Assignment
)


def read_assignment(value: object) -> ReviewAssignment | AssignmentBatch | SubmittedPlan | Unblinding:
    """Return a line of the file of assignments made from JSON values.

    Args:
        value: The values; ``row`` says which kind of line they are.

    Raises:
        ValidationError: They are no such line.
    """
    return _ASSIGNMENT.validate_python(value, strict=False)
