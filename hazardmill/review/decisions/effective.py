"""What each reviewer thinks of each slip now: the decision in force, and whether it still counts."""

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
"""State of a slip. ``stale``: the task has changed since the decision; ``gone``: it is no longer in the store."""


@dataclass(frozen=True, slots=True)
class Opinion:
    """One slip, with what its reviewer decided.

    Attributes:
        slip: The slip.
        state: Whether the slip is open, skipped, decided, stale or gone.
        decision: The decision in force, stale or not; ``None`` if there is none.
    """

    slip: ReviewAssignment
    state: State
    decision: Decision | None

    @property
    def verdict(self) -> ReviewVerdict | None:
        """The verdict if it counts: decided, not stale, and not an abstention; else ``None``."""
        if self.state != "decided" or self.decision is None or self.decision.verdict is ReviewVerdict.UNSURE:
            return None
        return self.decision.verdict


def seen_now(slip: ReviewAssignment, items: Mapping[str, ReviewItem], plans: Mapping[str, SubmittedPlan]) -> str | None:
    """Return the hash of what a slip shows now.

    Args:
        slip: The slip.
        items: All items by id.
        plans: Plans under review by id.

    Returns:
        The hash, which a decision must have as ``seen`` to count; ``None`` if there is nothing to show.
    """
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
    """Return what the reviewer of a slip decided on it.

    Args:
        slip: The slip.
        history: Decisions of its reviewer.
        items: All items by id.
        plans: Plans under review by id.
    """
    decision, seen = history.current(slip.id), seen_now(slip, items, plans)
    if seen is None:
        return Opinion(slip, "gone", decision)
    if decision is None:
        return Opinion(slip, "open", None)
    if decision.verdict is ReviewVerdict.SKIP:
        return Opinion(slip, "skipped", decision)
    return Opinion(slip, "decided" if decision.seen == seen else "stale", decision)


def opinions(folder: ReviewFolder, items: Mapping[str, ReviewItem]) -> list[Opinion]:
    """Return every slip of the review with what was decided on it, in the order in which slips were assigned.

    Raises:
        InputError: A file of the review is damaged.
        StoreError: A file of the review cannot be read.
    """
    histories, plans = folder.histories(), folder.plans()
    return [opinion(slip, histories[slip.reviewer], items, plans) for slip in folder.slips()]


def of_kind(held: Iterable[Opinion], kind: Kind) -> dict[str, list[Opinion]]:
    """Return the opinions on slips of one kind, by item."""
    found: dict[str, list[Opinion]] = defaultdict(list)
    for each in held:
        if each.slip.kind == kind:
            found[each.slip.item].append(each)
    return dict(found)


def criteria_named(held: Iterable[Opinion], kind: Kind) -> dict[str, set[str]]:
    """Return the criteria that reviewers named when they rejected items.

    Args:
        held: Opinions; those that reject and count are used.
        kind: Kind of the slips to use.

    Returns:
        Reason codes by item; an item that nobody rejected is missing.
    """
    named: dict[str, set[str]] = defaultdict(set)
    for each in held:
        if each.slip.kind == kind and each.verdict is ReviewVerdict.REJECT and each.decision is not None:
            named[each.slip.item].update(each.decision.reasons)
    return named


def units(by_item: Mapping[str, Sequence[Opinion]]) -> list[Unit]:
    """Return the verdicts on each item by reviewer, in the form that agreement is computed from.

    Args:
        by_item: Opinions by item. Those without a verdict that counts are left out.
    """
    return [
        {each.slip.reviewer: each.verdict for each in held if each.verdict is not None} for held in by_item.values()
    ]
