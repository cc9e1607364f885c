"""What the review service takes and returns; ``Other`` and ``UnblindedItem`` are shown only after unblinding."""

from __future__ import annotations

from typing import Literal

from hazardmill.errors import InputError
from hazardmill.records import FrozenModel
from hazardmill.review.assignments.model import Kind
from hazardmill.review.document_view import ShownPlan
from hazardmill.review.item_view import AnyShown
from hazardmill.review.rubric import ReviewVerdict
from hazardmill.review.task_view import ShownTask

Code = Literal["invalid", "not_yours", "stale", "conflict", "nothing", "blind", "broken"]


class ReviewRefusal(InputError):
    """The service refuses a request.

    Attributes:
        code: Why, so that the app can choose its answer.
            ``invalid``: the rubric does not allow this answer.
            ``not_yours``: the slip belongs to another reviewer or does not exist.
            ``stale``: the task has changed since it was shown, or is no longer in the store.
            ``conflict``: another decision is in force than the request expects, for instance from another tab.
            ``nothing``: there is nothing to take back.
            ``blind``: the review is not unblinded yet.
            ``broken``: the task cannot be shown.
    """

    def __init__(self, code: Code, message: str, remedy: str) -> None:
        super().__init__(message, remedy=remedy)
        self.code = code


class ReviewAnswer(FrozenModel):
    """What a reviewer says about one slip.

    Attributes:
        verdict: The verdict; which ones are allowed depends on what the slip is about.
        reasons: Criteria of the rubric; at least one for a rejection.
        note: Free text, up to 4,000 characters; required for the reason ``other``.
        seconds: Time that the reviewer took, in seconds; ``None`` if it was not measured.
    """

    verdict: ReviewVerdict
    reasons: tuple[str, ...] = ()
    note: str = ""
    seconds: float | None = None


class Mine(FrozenModel):
    """One of the reviewer's own decisions.

    Attributes:
        decision: Id of the decision.
        slip: Id of the slip that it answers.
        at: When it was made, as ISO 8601 in UTC.
        verdict: The verdict.
        reasons: Criteria of the rubric that were named.
        note: Free text.
        stale: Whether the task has changed since, or is no longer in the store.
    """

    decision: str
    slip: str
    at: str
    verdict: ReviewVerdict
    reasons: tuple[str, ...]
    note: str
    stale: bool


class ReviewSheet(FrozenModel):
    """Everything that a reviewer is shown of one slip.

    Attributes:
        slip: Id of the slip.
        about: Whether the item or a plan for the task is to be decided.
        shown: The task, scenario or hazard task in words.
        plan: The plan whose intent is asked for; ``None`` if the task itself is to be decided.
        verdicts: The verdicts that are allowed.
        criteria: Reasons to reject what is shown, each with its explanation.
        seen: Hash of what is shown, to be sent back with the answer.
        mine: What the reviewer has decided on this slip; its ``decision`` is what an answer ``expects``. ``None``
            before.
    """

    slip: str
    about: Literal["task", "plan"]
    shown: AnyShown
    plan: ShownPlan | None
    verdicts: tuple[ReviewVerdict, ...]
    criteria: dict[str, str]
    seen: str
    mine: Mine | None

    @property
    def task(self) -> ShownTask:
        """The task in words, where it is known that the sheet shows one."""
        assert isinstance(self.shown, ShownTask), "the sheet shows no task"
        return self.shown


class Receipt(FrozenModel):
    """Confirmation that a decision or an undo is on disk.

    Attributes:
        decision: Id of the decision or of the undo.
        slip: Id of the slip.
        mine: The decision in force on the slip now; ``None`` if there is none.
        repeated: Whether the same submission was recorded before, so that nothing was written now.
    """

    decision: str
    slip: str
    mine: Mine | None
    repeated: bool


class Progress(FrozenModel):
    """Number of a reviewer's slips by state, whatever their kind.

    Attributes:
        total: All slips.
        decided: Slips with a decision on what is shown now.
        open: Slips without a decision.
        skipped: Slips that were put off.
        stale: Slips whose task has changed since the decision.
        gone: Slips whose task is no longer in the store or cannot be shown.
        minutes_left: Minutes that open, skipped and stale slips will take, by the median of the reviewer's own times;
            null while too few of them are known.
    """

    total: int
    decided: int
    open: int
    skipped: int
    stale: int
    gone: int
    minutes_left: float | None


class Other(FrozenModel):
    """What another reviewer decided on the same item; shown only after unblinding."""

    reviewer: str
    verdict: ReviewVerdict
    reasons: tuple[str, ...]
    note: str


class UnblindedItem(FrozenModel):
    """What was kept from a reviewer while the review was blind.

    Attributes:
        kind: Kind of the slip.
        item: Id of the task, scenario, hazard task, draft or plan.
        defect: The planted defect; ``None`` unless it is a calibration task.
        judged: Whether the judge approved; ``None`` if it was not asked or the task is no longer in the store.
        judge_criteria: What the judge found wrong.
        others: What other reviewers decided on the same item.
    """

    kind: Kind
    item: str
    defect: str | None
    judged: bool | None
    judge_criteria: tuple[str, ...]
    others: tuple[Other, ...]
