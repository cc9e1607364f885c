"""Slips for reviewers: stratified by source and danger type, balanced, reproducible from the seed, never reshuffled.

What was assigned stays as it is. Later tasks go to the reviewers who have least, reviewers who join later get what is
assigned from then on, and each batch is put behind the existing queues.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from hazardmill.errors import UsageError
from hazardmill.review.assignments.gold_items import DEFECTS, can_be_planted
from hazardmill.review.assignments.model import Kind, ReviewAssignment
from hazardmill.review.candidates import ReviewItem

LEAST_GAP: Final = 5
"""Smallest distance, in slips, between a task and its repeat."""
_GAP: Final = 20
"""Distance between a task and its repeat in a queue that is long enough."""


@dataclass(frozen=True)
class Wish:
    """What a batch is to assign.

    Attributes:
        reviewers: Names of the reviewers, each once.
        per_task: Number of reviewers per task, scenario or hazard task.
        tasks: Number of tasks, scenarios and hazard tasks under review in all, including those of earlier batches;
            ``None`` for all.
        audit: Number of drafts that the judge sent back under review in all.
        calibration: Calibration tasks of a reviewer, as a share of that reviewer's tasks.
        repeats: Repeats of a reviewer's own tasks, as a share of these tasks.
        seed: Seed of every choice.

    Raises:
        UsageError: No batch can be like that.
    """

    reviewers: tuple[str, ...]
    per_task: int = 2
    tasks: int | None = None
    audit: int = 0
    calibration: float = 0.05
    repeats: float = 0.05
    seed: int = 0

    def __post_init__(self) -> None:
        if len(set(self.reviewers)) < len(self.reviewers) or not self.reviewers:
            raise UsageError("name at least one reviewer, and each one once", remedy="--reviewer ada --reviewer ben")
        if not 1 <= self.per_task <= len(self.reviewers):
            raise UsageError(
                f"cannot assign {self.per_task} reviewers per task; the number of named reviewers is "
                f"{len(self.reviewers)}",
                remedy="name more reviewers, or give --per-task a number from 1 to the number of reviewers",
            )
        if not (0 <= self.calibration <= 1 and 0 <= self.repeats <= 1):
            raise UsageError("a share is a number from 0 to 1", remedy="write 5 % as 0.05")


def assign(items: Mapping[str, ReviewItem], slips: Sequence[ReviewAssignment], wish: Wish) -> list[ReviewAssignment]:
    """Return the slips of a further batch: items for the first time, audited drafts, calibration tasks and repeats.

    Args:
        items: All items by id.
        slips: Slips that were assigned before.
        wish: What the batch is to assign.

    Returns:
        New slips with their ids, by reviewer, in the order of their queues. The same arguments give the same slips.
    """
    dealer = _Dealer(slips, wish.seed)
    kinds: tuple[tuple[Kind, int | None], ...] = (("task", wish.tasks), ("audit", wish.audit))
    for kind, wanted in kinds:
        of_kind = [item for item in items.values() if item.slip_kind == kind]
        for item in _select(of_kind, dealer.items(kind), wanted, wish.seed):
            dealer.deal(kind, item, wish.reviewers, wish.per_task)
    _calibrate(items, dealer, wish)
    return dealer.make_queues(wish.repeats)


def adjudications(
    disputed: Iterable[str], slips: Sequence[ReviewAssignment], reviewers: Sequence[str], seed: int
) -> list[ReviewAssignment]:
    """Return slips for tasks on which reviewers disagree, each for one reviewer who has not had the task.

    Args:
        disputed: Ids of the tasks.
        slips: Slips that were assigned before.
        reviewers: Names of possible adjudicators.
        seed: Seed of every choice.

    Returns:
        New slips; none for a task that has an adjudicator already or that every reviewer has had.
    """
    dealer = _Dealer(slips, seed)
    given = dealer.items("adjudication")
    for item in sorted(disputed):
        if item not in given:
            dealer.deal("adjudication", item, reviewers, 1, among_all=False)
    return dealer.make_queues(0)


def deal_plans(
    plans: Mapping[str, str], slips: Sequence[ReviewAssignment], reviewers: Sequence[str], each: int, seed: int
) -> list[ReviewAssignment]:
    """Return slips for plans, each for the same number of reviewers.

    Args:
        plans: Stratum of each plan by its id.
        slips: Slips that were assigned before.
        reviewers: Names of the reviewers.
        each: Number of reviewers per plan.
        seed: Seed of every choice.
    """
    dealer = _Dealer(slips, seed)
    for plan in sorted(plans, key=lambda plan: (plans[plan], draw(seed, plan))):
        dealer.deal("plan", plan, reviewers, each)
    return dealer.make_queues(0)


@dataclass
class _Dealer:
    """Slips that were assigned before, and those that are being assigned, with each reviewer's load."""

    slips: Sequence[ReviewAssignment]
    seed: int
    new: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        self._load = Counter(slip.reviewer for slip in self.slips)
        self._holders: dict[tuple[str, str], list[str]] = defaultdict(list)
        self._had: dict[str, set[str]] = defaultdict(set)
        for slip in self.slips:
            if slip.kind != "repeat":
                self._holders[slip.kind, slip.item].append(slip.reviewer)
                self._had[slip.reviewer].add(slip.item)

    def items(self, kind: str) -> set[str]:
        """Return the ids of items that were assigned as one kind."""
        return {item for of, item in self._holders if of == kind}

    def has_had(self, reviewer: str, item: str) -> bool:
        """Return whether a reviewer was given an item, as whatever kind."""
        return item in self._had[reviewer]

    def count(self, reviewer: str, kind: Kind, without: Container[str] = ()) -> int:
        """Return how many slips of one kind a reviewer has, apart from those on the items to leave out."""
        old = [(slip.kind, slip.item) for slip in self.slips if slip.reviewer == reviewer]
        new = [(slip["kind"], slip["item"]) for slip in self.new[reviewer]]
        return sum(of == kind and item not in without for of, item in (*old, *new))

    def deal(self, kind: Kind, item: str, reviewers: Sequence[str], each: int, *, among_all: bool = True) -> None:
        """Give an item to the reviewers who have least, until it has enough.

        Args:
            kind: Kind of the slips.
            item: Id of the item.
            reviewers: Names of the reviewers who may get it; one who has had it, as whatever kind, never gets it again.
            each: Number of reviewers that the item is to have.
            among_all: Whether reviewers who have it already as this kind count towards ``each``.
        """
        holders = self._holders[kind, item] if among_all else []
        free = [name for name in reviewers if item not in self._had[name]]
        free.sort(key=lambda name: (self._load[name], draw(self.seed, kind, item, name)))
        for name in free[: max(0, each - len(holders))]:
            self.give(name, kind, item)

    def give(self, reviewer: str, kind: Kind, item: str, defect: str | None = None) -> None:
        """Give one item to one reviewer."""
        self.new[reviewer].append({"kind": kind, "item": item, "defect": defect})
        self._load[reviewer] += 1
        self._holders[kind, item].append(reviewer)
        self._had[reviewer].add(item)

    def make_queues(self, repeats: float) -> list[ReviewAssignment]:
        """Return the new slips, mixed, with repeats among them and with their places in the queues."""
        result: list[ReviewAssignment] = []
        for reviewer in sorted({*self.new, *(slip.reviewer for slip in self.slips)}):
            old = sorted((slip for slip in self.slips if slip.reviewer == reviewer), key=lambda slip: slip.place)
            fresh = self.new.get(reviewer, [])
            if fresh:
                result += self._queue(reviewer, old, fresh, repeats)
        return result

    def _queue(
        self, reviewer: str, old: Sequence[ReviewAssignment], fresh: list[dict[str, Any]], repeats: float
    ) -> list[ReviewAssignment]:
        fresh.sort(key=lambda slip: draw(self.seed, reviewer, slip["kind"], slip["item"], "place"))
        first = max((slip.place for slip in old), default=-1) + 1
        # Places are final only once repeats are inserted; until then, places count from the start of this batch.
        own: list[tuple[str, int, str | None]] = [
            (slip.item, slip.place - first, slip.id) for slip in old if slip.kind == "task"
        ]
        own += [(slip["item"], place, None) for place, slip in enumerate(fresh) if slip["kind"] == "task"]
        done = {slip.item for slip in old if slip.kind == "repeat"}
        wanted = _round_half_up(repeats * len(own)) - len(done)
        queue = [(float(place), slip) for place, slip in enumerate(fresh)]
        for item, place, of in sorted(own, key=lambda each: draw(self.seed, reviewer, each[0], "repeat")):
            if wanted <= 0:
                break
            earliest = max(0, place + 1 + min(_GAP, max(LEAST_GAP, len(fresh) // 2)))
            if item in done or earliest > len(fresh):
                continue
            slot = earliest + _number(self.seed, reviewer, item, "slot") % (len(fresh) - earliest + 1)
            # Half a place less sorts the repeat before the slip that has this place now.
            queue.append((slot - 0.5, {"kind": "repeat", "item": item, "defect": None, "of": of}))
            wanted -= 1
        queue.sort(key=lambda each: (each[0], each[1]["item"]))
        slips: list[ReviewAssignment] = []
        originals: dict[str, str] = {slip.item: slip.id for slip in old if slip.kind == "task"}
        for place, (_, slip) in enumerate(queue, first):
            of = originals[slip["item"]] if slip["kind"] == "repeat" else None
            sealed = ReviewAssignment(reviewer=reviewer, place=place, **{**slip, "of": of}).with_id()
            if sealed.kind == "task":
                originals[sealed.item] = sealed.id
            slips.append(sealed)
        return slips


def _select(items: Sequence[ReviewItem], given: Collection[str], wanted: int | None, seed: int) -> list[str]:
    """Return ids of the items of one kind that are to be under review: earlier ones, and more in proportion to strata.

    Each further item goes to the stratum that is furthest behind its share, so that the sample stays in proportion as
    it grows.
    """
    strata: dict[tuple[str, str], list[str]] = defaultdict(list)
    # In an order drawn by the seed, so that the order of the store does not matter.
    for item in sorted(items, key=lambda item: draw(seed, item.item)):
        strata[item.stratum].append(item.item)
    total = len(items)
    if wanted is None or wanted >= total:
        return [item for stratum in sorted(strata) for item in strata[stratum]]
    left = {stratum: [item for item in of if item not in given] for stratum, of in strata.items()}
    ties = {stratum: draw(seed, *stratum) for stratum in strata}
    have = {stratum: len(strata[stratum]) - len(left[stratum]) for stratum in strata}
    chosen = {stratum: [item for item in strata[stratum] if item in given] for stratum in strata}
    for _ in range(max(0, wanted - sum(have.values()))):
        # The stratum that is furthest behind its share; ties are broken by the seed.
        open_strata = [stratum for stratum in strata if left[stratum]]
        behind = max(
            open_strata, key=lambda stratum: (wanted * len(strata[stratum]) / total - have[stratum], ties[stratum])
        )
        chosen[behind].append(left[behind].pop(0))
        have[behind] += 1
    # Stratum after stratum, so that reviewers who are dealt to in turn get equally many of each.
    return [item for stratum in sorted(chosen) for item in chosen[stratum]]


def _calibrate(items: Mapping[str, ReviewItem], dealer: _Dealer, wish: Wish) -> None:
    able = sorted(
        (item.item for item in items.values() if can_be_planted(item)),
        key=lambda item: draw(wish.seed, item, "calibration"),
    )
    defects = sorted(DEFECTS)
    others = {item.item for item in items.values() if item.kind in ("scenario", "hazard_task")}
    for reviewer in wish.reviewers:
        wanted = _round_half_up(wish.calibration * dealer.count(reviewer, "task", others)) - dealer.count(
            reviewer, "calibration"
        )
        if wanted <= 0:
            continue
        used = {slip.item for slip in dealer.slips if slip.reviewer == reviewer and slip.kind == "calibration"}
        # All reviewers get the same ones if possible; tasks that a reviewer has to decide as well come last.
        order: list[str] = sorted((item for item in able if item not in used), key=_had_by(dealer, reviewer))
        for item in order[:wanted]:
            defect = defects[_number(wish.seed, item, "defect") % len(defects)]
            dealer.give(reviewer, "calibration", item, defect)


def _had_by(dealer: _Dealer, reviewer: str) -> Callable[[str], bool]:
    return lambda item: dealer.has_had(reviewer, item)


def draw(*parts: object) -> str:
    """Return a random-looking hex text that depends on the parts only, and so is the same on every machine."""
    return hashlib.sha256("\x1f".join(map(str, parts)).encode()).hexdigest()


def _number(*parts: object) -> int:
    return int(draw(*parts)[:12], 16)


def _round_half_up(value: float) -> int:
    """Round to the nearest integer, halves up."""
    return int(value + 0.5)
