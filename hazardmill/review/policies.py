"""Which tasks people accept. Doubt means reject: a task that nobody settled is not accepted, with the reason stated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, Literal, get_args

from hazardmill.records import FrozenModel
from hazardmill.review.decisions.effective import Opinion, of_kind
from hazardmill.review.rubric import ReviewVerdict

Policy = Literal["any-reject", "majority", "adjudicated"]
"""
The rule by which a task is accepted.

``any-reject``: every reviewer who was asked approves; a single rejection is enough to reject.
``majority``: more than half of the reviewers who were asked approve.
``adjudicated``: all reviewers who were asked approve, or an adjudicator approves where they disagree.
"""

POLICIES: Final[tuple[Policy, ...]] = get_args(Policy)

Reason = Literal[
    "rejected",
    "no_majority",
    "unsure",
    "awaiting_adjudication",
    "rejected_by_adjudicator",
    "waiting",
    "stale",
    "not_assigned",
]

REASON_WORDS: Final[dict[Reason, str]] = {
    "rejected": "rejected",
    "no_majority": "no majority approves",
    "unsure": "a reviewer is unsure",
    "awaiting_adjudication": "reviewers disagree, and no adjudicator has decided yet",
    "rejected_by_adjudicator": "reviewers disagreed, and the adjudicator rejected it",
    "waiting": "not everybody who was asked has decided",
    "stale": "changed since the decision, to be reviewed again",
    "not_assigned": "nobody was asked",
}

REJECTED: Final[frozenset[Reason]] = frozenset({"rejected", "rejected_by_adjudicator"})
"""Reasons that mean that people rejected a task; all others mean that it is not settled."""


class AcceptedSet(FrozenModel):
    """The tasks that people accept under a policy, and why each other task is not accepted.

    Attributes:
        policy: The policy.
        accepted: Ids of accepted tasks, sorted.
        others: Reason for each task that is not accepted, by id.
        counts: Number of tasks by reason, and of ``accepted`` ones.
    """

    policy: Policy
    accepted: tuple[str, ...]
    others: dict[str, Reason]
    counts: dict[str, int]

    @property
    def rejected(self) -> tuple[str, ...]:
        """Ids of the tasks that people rejected, sorted."""
        return tuple(sorted(task for task, reason in self.others.items() if reason in REJECTED))


def accepted_set(tasks: Iterable[str], held: Iterable[Opinion], policy: Policy) -> AcceptedSet:
    """Return which tasks people accept.

    Args:
        tasks: Ids of all tasks.
        held: Opinions of reviewers. Calibration tasks, repeats and audited drafts among them do not count.
        policy: The rule by which a task is accepted.
    """
    held = list(held)
    primary, deciding = of_kind(held, "task"), of_kind(held, "adjudication")
    accepted, others = [], {}
    for task in sorted(tasks):
        reason = _why_not_accepted(primary.get(task, ()), deciding.get(task, ()), policy)
        if reason is None:
            accepted.append(task)
        else:
            others[task] = reason
    counts = {"accepted": len(accepted), **{str(reason): number for reason, number in Counter(others.values()).items()}}
    return AcceptedSet(policy=policy, accepted=tuple(accepted), others=others, counts=counts)


def find_disputed(held: Iterable[Opinion]) -> list[str]:
    """Return ids, sorted, of the tasks on which reviewers disagree: these need an adjudicator.

    A task is disputed if at least two reviewers were asked, all of them have decided, and the verdicts differ. An
    abstention counts as a verdict of its own.
    """
    return sorted(item for item, each in of_kind(held, "task").items() if _is_disputed(each))


def _is_disputed(held: Sequence[Opinion]) -> bool:
    return len(held) > 1 and all(each.state == "decided" for each in held) and len({each.verdict for each in held}) > 1


def _why_not_accepted(held: Sequence[Opinion], deciding: Sequence[Opinion], policy: Policy) -> Reason | None:
    if not held:
        return "not_assigned"
    verdicts = Counter(each.verdict for each in held)
    approved, rejected = verdicts[ReviewVerdict.APPROVE], verdicts[ReviewVerdict.REJECT]
    if policy == "any-reject":
        return "rejected" if rejected else _why_unsettled(held)
    if policy == "majority":
        if 2 * approved > len(held):
            return None
        if 2 * rejected > len(held):
            return "rejected"
        return _why_undecided(held) or "no_majority"
    if _is_disputed(held):
        return _adjudicators_reason(deciding)
    if rejected == len(held):
        return "rejected"
    return _why_unsettled(held)


def _why_unsettled(held: Sequence[Opinion]) -> Reason | None:
    """Return why a task that nobody rejects is not settled; ``None`` if everybody approves."""
    return _why_undecided(held) or ("unsure" if any(each.verdict is None for each in held) else None)


def _why_undecided(held: Sequence[Opinion]) -> Reason | None:
    states = {each.state for each in held}
    return "stale" if "stale" in states else "waiting" if states != {"decided"} else None


def _adjudicators_reason(deciding: Sequence[Opinion]) -> Reason | None:
    if not deciding or deciding[-1].state in ("open", "skipped", "gone"):
        return "awaiting_adjudication"
    last = deciding[-1]
    if last.state == "stale":
        return "stale"
    if last.verdict is None:
        return "unsure"
    return None if last.verdict is ReviewVerdict.APPROVE else "rejected_by_adjudicator"
