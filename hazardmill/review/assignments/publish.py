"""Giving out slips for good: a round is worked out and written down while nobody else gives out any."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from hazardmill.records import FrozenModel
from hazardmill.review.analysis.intent import sample, stratum
from hazardmill.review.assignments.model import AssignmentBatch, ReviewAssignment, SubmittedPlan, Unblinding
from hazardmill.review.assignments.sampler import Wish, adjudications, assign, deal_plans
from hazardmill.review.candidates import ReviewItem
from hazardmill.review.decisions.effective import opinions
from hazardmill.review.decisions.folder import APP, ReviewFolder, reviewer_name
from hazardmill.review.policies import find_disputed


class BatchSummary(FrozenModel):
    """What a round gave out."""

    slips: dict[str, dict[str, int]]
    """By reviewer and kind."""
    waiting: tuple[str, ...] = ()
    """Disputed tasks for which there is nobody left to decide."""


def give_tasks(folder: ReviewFolder, items: Mapping[str, ReviewItem], wish: Wish, *, dry: bool = False) -> BatchSummary:
    """Give out tasks, calibration tasks and repeats; with ``dry``, only say what would be.

    Raises:
        UsageError: A reviewer's name is none.
        InputError: The file of assignments is damaged.
        StoreError: It cannot be written.
    """
    _check_names(wish.reviewers)
    return _give(folder, wish.seed, {"give": "tasks", **asdict(wish)}, lambda: assign(items, folder.slips(), wish), dry)


def give_disputed(
    folder: ReviewFolder, items: Mapping[str, ReviewItem], reviewers: Sequence[str], seed: int, *, dry: bool = False
) -> BatchSummary:
    """Give out tasks on which reviewers disagree, each to one who has not had it. Raises as ``give_tasks``."""
    _check_names(reviewers)
    tasks = find_disputed(opinions(folder, items))
    options = {"give": "disputed", "reviewers": list(reviewers)}
    given = _give(folder, seed, options, lambda: adjudications(tasks, folder.slips(), reviewers, seed), dry)
    # A dry run has given out nothing, so that it cannot tell.
    decided = {slip.item for slip in folder.slips() if slip.kind == "adjudication"}
    return given if dry else given.model_copy(update={"waiting": tuple(task for task in tasks if task not in decided)})


def give_plans(
    folder: ReviewFolder,
    plans: Sequence[SubmittedPlan],
    reviewers: Sequence[str],
    *,
    most: int | None,
    each: int,
    seed: int,
    dry: bool = False,
) -> BatchSummary:
    """Give out a stratified sample of plans for the intent check. Raises as ``give_tasks``."""
    _check_names(reviewers)
    chosen = {plan.id: plan for plan in sample(plans, most, seed)}
    strata = {name: stratum(plan) for name, plan in chosen.items()}
    options = {"give": "plans", "reviewers": list(reviewers), "most": most, "each": each}

    def choose_rows() -> list[SubmittedPlan | ReviewAssignment]:
        slips = deal_plans(strata, folder.slips(), reviewers, each, seed)
        new = [plan for name, plan in chosen.items() if name not in folder.plans()]
        return [*new, *slips]

    return _give(folder, seed, options, choose_rows, dry)


def unblind(folder: ReviewFolder) -> bool:
    """Let reviewers see everything from now on; false where they were allowed to before."""
    with folder.assigning() as append:
        if folder.assignments().unblinded is not None:
            return False
        append([Unblinding(at=folder.now(), app=APP).with_id()])
    return True


def _check_names(reviewers: Sequence[str]) -> None:
    for name in reviewers:
        reviewer_name(name)


def _give(
    folder: ReviewFolder,
    seed: int,
    options: dict[str, Any],
    work_out: Callable[[], Sequence[SubmittedPlan | ReviewAssignment]],
    dry: bool,
) -> BatchSummary:
    if dry:
        rows = work_out()
    else:
        with folder.assigning() as append:
            rows = work_out()
            if rows:
                append([AssignmentBatch(at=folder.now(), seed=seed, options=options, app=APP).with_id(), *rows])
    counts: dict[str, dict[str, int]] = {}
    for row in rows:
        if isinstance(row, ReviewAssignment):
            of = counts.setdefault(row.reviewer, {})
            of[row.kind] = of.get(row.kind, 0) + 1
    return BatchSummary(slips=counts)
