"""What a service takes and gives: all of it may be seen by the reviewer, until the review is unblinded."""

from __future__ import annotations

from typing import Literal

from hazardmill.errors import InputError
from hazardmill.records import FrozenModel
from hazardmill.review.assignments.model import Kind
from hazardmill.review.rubric import ReviewVerdict
from hazardmill.review.task_view import ShownPlan, ShownTask

Code = Literal["invalid", "not_yours", "stale", "conflict", "nothing", "blind", "broken"]


class ReviewRefusal(InputError):
    """A service does not do that. ``code`` says why, for the app's answer to it.

    ``invalid``: no answer of the rubric. ``not_yours``: no slip of this reviewer, or there is none such. ``stale``: the
    task has changed since it was shown. ``conflict``: it was answered meanwhile, as in another tab. ``nothing``: there
    is nothing to take back. ``blind``: not before unblinding. ``broken``: what the store holds of it cannot be shown.
    """

    def __init__(self, code: Code, message: str, remedy: str) -> None:
        super().__init__(message, remedy=remedy)
        self.code = code


class ReviewAnswer(FrozenModel):
    """What a reviewer says."""

    verdict: ReviewVerdict
    reasons: tuple[str, ...] = ()
    note: str = ""
    seconds: float | None = None


class Mine(FrozenModel):
    """A decision of the reviewer's own."""

    decision: str
    """Its id."""
    slip: str
    at: str
    """ISO 8601, UTC."""
    verdict: ReviewVerdict
    reasons: tuple[str, ...]
    note: str
    stale: bool
    """Whether the task has changed since."""


class ReviewSheet(FrozenModel):
    """What a reviewer looks at."""

    slip: str
    about: Literal["task", "plan"]
    task: ShownTask
    plan: ShownPlan | None
    """The plan whose intent is asked for; null where the task is."""
    verdicts: tuple[ReviewVerdict, ...]
    criteria: dict[str, str]
    """Reasons to reject, with their words."""
    seen: str
    """To be sent back with the answer."""
    mine: Mine | None
    """What the reviewer has said of this slip; its ``decision`` is what an answer ``expects``."""


class Receipt(FrozenModel):
    """What was recorded."""

    decision: str
    """Id of the decision, or of the undo."""
    slip: str
    mine: Mine | None
    """What is in force on the slip now."""
    repeated: bool
    """Whether it was sent before, and nothing was written now."""


class Progress(FrozenModel):
    """How far a reviewer is, in slips of whatever kind."""

    total: int
    decided: int
    open: int
    skipped: int
    stale: int
    gone: int
    """In the store no longer, or not to be shown."""


class Other(FrozenModel):
    """What somebody said, after unblinding."""

    reviewer: str
    verdict: ReviewVerdict
    reasons: tuple[str, ...]
    note: str


class UnblindedItem(FrozenModel):
    """What was kept from a reviewer, after unblinding."""

    kind: Kind
    item: str
    defect: str | None
    judged: bool | None
    """Whether the judge approved; null where it was not asked, or the task is gone."""
    judge_criteria: tuple[str, ...]
    others: tuple[Other, ...]
