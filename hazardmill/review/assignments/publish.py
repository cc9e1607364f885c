"""Compute batches of slips and write them while the file of assignments is held, so that no two overlap."""

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
    """What a batch assigned.

    Attributes:
        slips: Number of new slips by reviewer and kind.
        waiting: Disputed tasks for which no reviewer is left who has not had them; empty for a dry run.
    """

    slips: dict[str, dict[str, int]]
    waiting: tuple[str, ...] = ()


def give_tasks(folder: ReviewFolder, items: Mapping[str, ReviewItem], wish: Wish, *, dry: bool = False) -> BatchSummary:
    """Assign tasks, scenarios and hazard tasks, audited drafts, calibration tasks and repeats.

    Args:
        folder: The review.
        items: All items by id.
        wish: What the batch is to assign.
        dry: Whether only to compute the batch, without writing it.

    Returns:
        What was assigned or, with ``dry``, would be.

    Raises:
        UsageError: A name is not a valid name of a reviewer.
        InputError: The file of assignments is damaged.
        StoreError: The file of assignments cannot be written.
    """
    _check_names(wish.reviewers)
    return _give(folder, wish.seed, {"give": "tasks", **asdict(wish)}, lambda: assign(items, folder.slips(), wish), dry)


def give_disputed(
    folder: ReviewFolder, items: Mapping[str, ReviewItem], reviewers: Sequence[str], seed: int, *, dry: bool = False
) -> BatchSummary:
    """Assign each task on which reviewers disagree to one reviewer who has not had it.

    Args:
        folder: The review.
        items: All items by id.
        reviewers: Names of possible adjudicators.
        seed: Seed of every choice.
        dry: Whether only to compute the batch, without writing it.

    Returns:
        What was assigned or, with ``dry``, would be; and the disputed tasks that still wait, none of them with ``dry``.

    Raises:
        UsageError: A name is not a valid name of a reviewer.
        InputError: A file of the review is damaged.
        StoreError: The file of assignments cannot be written.
    """
    _check_names(reviewers)
    tasks = find_disputed(opinions(folder, items))
    options = {"give": "disputed", "reviewers": list(reviewers)}
    given = _give(folder, seed, options, lambda: adjudications(tasks, folder.slips(), reviewers, seed), dry)
    # After a dry run nothing is assigned, so every task would seem to wait.
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
    """Assign a stratified sample of plans for the intent check.

    Args:
        folder: The review.
        plans: The plans to sample from.
        reviewers: Names of the reviewers.
        most: Number of plans in the sample; ``None`` takes all.
        each: Number of reviewers per plan.
        seed: Seed of every choice.
        dry: Whether only to compute the batch, without writing it.

    Returns:
        What was assigned or, with ``dry``, would be.

    Raises:
        UsageError: A name is not a valid name of a reviewer.
        InputError: The file of assignments is damaged.
        StoreError: The file of assignments cannot be written.
    """
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
    """Let reviewers see everything from now on. There is no way back.

    Returns:
        Whether the review was blind before.

    Raises:
        InputError: The file of assignments is damaged.
        StoreError: The file of assignments cannot be written.
    """
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
