"""The judge against people: how often is it right, on what, and may it reject before people look?

The store keeps tasks that the judge approved. How it does on what it sends back is known from the audit: drafts that
passed every proof, were sent back by the judge, and were put before reviewers all the same. The two are samples of two
populations of different sizes, so that shares are told for each by itself, never for both together.
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
"""The judge may reject by itself where people are sure to reject at least so many of what it rejects (lower bound)."""


IN_THE_RUBRIC: Final = {
    "obvious": {"request"},
    "remedy": {"prevention"},
    FORMALIZATION: {"request", "causation", "prevention", "circumstances"},
}
"""Criteria that only the judge has, and what people would name, one of these, who mean the same."""

LEAST: Final = 20
"""Fewer judged drafts than this say nothing."""


class Trust(FrozenModel):
    """How often people reject what the judge said this of."""

    rejected: Share
    """By people, of what the judge sent back."""
    may_reject: bool | None
    """Whether the judge may reject before people look; null where nobody knows yet."""


class JudgeAccuracy(FrozenModel):
    """The judge against people."""

    confusion: dict[str, dict[str, int]]
    """What the judge said, then what people said: ``accepted``, ``rejected``, ``unsettled``."""
    rejected_of_approved: Share
    """What people reject of what the judge approved: what the judge misses."""
    sent_back: Trust
    """What the judge sent back."""
    by_criterion: dict[str, Trust]
    """The same by what the judge found wrong."""
    same_reason: Share
    """Of what both rejected: a reviewer named a criterion that the judge named too."""
    not_judged: int
    """Tasks under review that no judge has seen."""


def judge_accuracy(items: Mapping[str, ReviewItem], held: Sequence[Opinion], policy: Policy) -> JudgeAccuracy:
    """Compare the judge with people on everything under review.

    Args:
        items: Every item there is.
        held: What reviewers hold.
        policy: By which people are taken for having rejected or accepted.
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
    """What the judge found wrong, in people's criteria."""
    return {meant for criterion in item.judge_criteria for meant in IN_THE_RUBRIC.get(criterion, {criterion})}


def _people(items: Mapping[str, ReviewItem], held: Sequence[Opinion], policy: Policy) -> dict[str, str]:
    """What people say of each item that was given out."""
    # A policy speaks of tasks: audited drafts are put to it as if they were some.
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
