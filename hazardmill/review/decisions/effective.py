"""What each reviewer holds of each thing now: in force, of a task that has changed since, or not yet there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from hazardmill.records import content_hash
from hazardmill.review.assignments.gold_items import planted_hash
from hazardmill.review.assignments.model import Kind, ReviewAssignment, SubmittedPlan
from hazardmill.review.candidates import ReviewItem
from hazardmill.review.decisions.folder import ReviewFolder
from hazardmill.review.decisions.history import Decision, DecisionHistory
from hazardmill.review.rubric import ReviewVerdict
from hazardmill.statistics.agreement import Unit

State = Literal["open", "skipped", "decided", "stale", "gone"]
"""``stale``: the task has changed since the decision; ``gone``: it is in the store no longer."""


@dataclass(frozen=True, slots=True)
class Opinion:
    """One slip, and what its reviewer holds."""

    slip: ReviewAssignment
    state: State
    decision: Decision | None
    """What is in force, stale or not; null where nothing is."""

    @property
    def verdict(self) -> ReviewVerdict | None:
        """The verdict, where it counts: decided, and not an abstention."""
        if self.state != "decided" or self.decision is None or self.decision.verdict is ReviewVerdict.UNSURE:
            return None
        return self.decision.verdict


def seen_now(slip: ReviewAssignment, items: Mapping[str, ReviewItem], plans: Mapping[str, SubmittedPlan]) -> str | None:
    """Hash of what the slip shows now; null where there is nothing to show."""
    if slip.kind == "plan":
        plan = plans.get(slip.item)
        base = None if plan is None else items.get(plan.item)
        return None if plan is None or base is None else content_hash([base.seen, plan.plan])
    item = items.get(slip.item)
    if item is None:
        return None
    return item.seen if slip.defect is None else planted_hash(item, slip.defect)


def opinion(
    slip: ReviewAssignment,
    history: DecisionHistory,
    items: Mapping[str, ReviewItem],
    plans: Mapping[str, SubmittedPlan],
) -> Opinion:
    """What the reviewer of a slip holds of it."""
    decision, seen = history.current(slip.id), seen_now(slip, items, plans)
    if seen is None:
        return Opinion(slip, "gone", decision)
    if decision is None:
        return Opinion(slip, "open", None)
    if decision.verdict is ReviewVerdict.SKIP:
        return Opinion(slip, "skipped", decision)
    return Opinion(slip, "decided" if decision.seen == seen else "stale", decision)


def opinions(folder: ReviewFolder, items: Mapping[str, ReviewItem]) -> list[Opinion]:
    """Every slip of the review with what is held of it, by the order in which they were given out."""
    histories, plans = folder.histories(), folder.plans()
    return [opinion(slip, histories[slip.reviewer], items, plans) for slip in folder.slips()]


def of_kind(held: Iterable[Opinion], kind: Kind) -> dict[str, list[Opinion]]:
    """The opinions of one kind, by item."""
    found: dict[str, list[Opinion]] = defaultdict(list)
    for each in held:
        if each.slip.kind == kind:
            found[each.slip.item].append(each)
    return dict(found)


def criteria_named(held: Iterable[Opinion], kind: Kind) -> dict[str, set[str]]:
    """The criteria that reviewers named where they rejected, by item, of the items of one kind."""
    named: dict[str, set[str]] = defaultdict(set)
    for each in held:
        if each.slip.kind == kind and each.verdict is ReviewVerdict.REJECT and each.decision is not None:
            named[each.slip.item].update(each.decision.reasons)
    return named


def units(by_item: Mapping[str, Sequence[Opinion]]) -> list[Unit]:
    """What reviewers said of each item, where they did."""
    return [
        {each.slip.reviewer: each.verdict for each in held if each.verdict is not None} for held in by_item.values()
    ]
