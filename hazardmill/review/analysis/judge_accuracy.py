"""The judge compared with people: how often is it right, about what, and may it reject before people look?

The store keeps tasks that the judge approved. How well it rejects is known from the audit: drafts that passed every
proof and were sent back by the judge, but were put before reviewers all the same. These are samples of two populations
of different sizes, so that shares are reported separately, never for both together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from hazardmill.records import FORMALIZATION, FrozenModel
from hazardmill.review.candidates import ReviewItem
from hazardmill.review.decisions.effective import Opinion, criteria_named, of_kind
from hazardmill.review.policies import Policy, accepted_set
from hazardmill.statistics.proportion import Share, rate

TRUSTED_FROM: Final = 0.9
"""The judge may reject unaided if people reject at least this share of what it rejects (lower end of the interval)."""


IN_THE_RUBRIC: Final = {
    "obvious": {"request"},
    "remedy": {"prevention"},
    FORMALIZATION: {"request", "causation", "prevention", "circumstances"},
}
"""Criteria that only the judge has; people who mean the same would name one of those given here."""

LEAST: Final = 20
"""With fewer settled items than this, nothing can be said about the judge."""


class Trust(FrozenModel):
    """How often people reject what the judge sent back.

    Attributes:
        rejected: Share that people rejected, of those that people settled.
        may_reject: Whether the judge may reject before people look; ``None`` if too few were settled to know.
    """

    rejected: Share
    may_reject: bool | None


class JudgeAccuracy(FrozenModel):
    """The verdicts of the judge compared with those of people.

    Attributes:
        confusion: Number of items by what the judge said (``approved``, ``sent_back``), then by what people said
            (``accepted``, ``rejected``, ``unsettled``).
        rejected_of_approved: Share of settled items that people reject although the judge approved: what the judge
            misses.
        sent_back: How people decided on everything that the judge sent back.
        by_criterion: The same by criterion for which the judge sent it back.
        same_reason: Share in which a reviewer named a criterion of the judge, of what the judge sent back and people
            reject.
        not_judged: Number of items under review that the judge was not asked about.
    """

    confusion: dict[str, dict[str, int]]
    rejected_of_approved: Share
    sent_back: Trust
    by_criterion: dict[str, Trust]
    same_reason: Share
    not_judged: int


def judge_accuracy(items: Mapping[str, ReviewItem], held: Sequence[Opinion], policy: Policy) -> JudgeAccuracy:
    """Compare the judge with people on everything under review.

    Args:
        items: All items by id.
        held: Opinions of reviewers.
        policy: The rule by which people accept or reject an item.

    Returns:
        Counts of items by what the judge and people said, and the shares that follow from them.
    """
    said = _people(items, held, policy)
    confusion = {judge: dict.fromkeys(("accepted", "rejected", "unsettled"), 0) for judge in ("approved", "sent_back")}
    for item, people in said.items():
        if items[item].judged is not None:
            confusion["approved" if items[item].judged else "sent_back"][people] += 1
    back = {item: people for item, people in said.items() if items[item].judged is False}
    criteria = sorted({criterion for item in back for criterion in items[item].judge_criteria})
    named = criteria_named(held, "audit")
    both = [item for item, people in back.items() if people == "rejected"]
    approved = confusion["approved"]
    return JudgeAccuracy(
        confusion=confusion,
        rejected_of_approved=rate(approved["rejected"], approved["rejected"] + approved["accepted"]),
        sent_back=_trust(back.values()),
        by_criterion={
            criterion: _trust(people for item, people in back.items() if criterion in items[item].judge_criteria)
            for criterion in criteria
        },
        same_reason=rate(sum(bool(named[item] & _in_the_rubric(items[item])) for item in both), len(both)),
        not_judged=sum(items[item].judged is None for item in said),
    )


def _in_the_rubric(item: ReviewItem) -> set[str]:
    """Return what the judge found wrong, as criteria of the rubric."""
    return {meant for criterion in item.judge_criteria for meant in IN_THE_RUBRIC.get(criterion, {criterion})}


def _people(items: Mapping[str, ReviewItem], held: Sequence[Opinion], policy: Policy) -> dict[str, str]:
    """Return what people decided on each item that was assigned."""
    # A policy is defined for tasks: audited drafts are presented to it as if they were tasks.
    asked = [
        replace(each, slip=each.slip.model_copy(update={"kind": "task"})) if each.slip.kind == "audit" else each
        for each in held
        if each.slip.item in items
    ]
    result = accepted_set(of_kind(asked, "task"), asked, policy)
    against = set(result.rejected)
    return dict.fromkeys(result.accepted, "accepted") | {
        item: "rejected" if item in against else "unsettled" for item in result.others
    }


def _trust(people: Iterable[str]) -> Trust:
    said = Counter(people)
    rejected = rate(said["rejected"], said["rejected"] + said["accepted"])
    may = None if rejected.low is None or rejected.n < LEAST else rejected.low >= TRUSTED_FROM
    return Trust(rejected=rejected, may_reject=may)
