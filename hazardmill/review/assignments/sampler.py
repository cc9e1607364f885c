"""Slips for reviewers: stratified by source and danger type, balanced, the same for the same seed, never reshuffled.

What was given out stays as it is. Tasks that come later are given to whoever has least, reviewers who come later get
what is given out from then on, and each round is put behind the queues that there are.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from hazardmill.errors import UsageError
from hazardmill.review.assignments.gold_items import DEFECTS, can_be_planted
from hazardmill.review.assignments.model import Kind, ReviewAssignment
from hazardmill.review.candidates import ReviewItem

LEAST_GAP: Final = 5
"""Slips between a task and its repeat, at the least."""
_GAP: Final = 20
"""As many where the queue is long enough."""


@dataclass(frozen=True)
class Wish:
    """What a round is to give out.

    Raises:
        UsageError: No round can be like that.
    """

    reviewers: tuple[str, ...]
    per_task: int = 2
    """Reviewers a task."""
    tasks: int | None = None
    """Tasks under review in all, those of earlier rounds among them; null for every task."""
    audit: int = 0
    """Drafts that the judge sent back under review in all."""
    calibration: float = 0.05
    """Calibration tasks, as a share of a reviewer's tasks."""
    repeats: float = 0.05
    """Repeats of the reviewer's own tasks, as a share of them."""
    seed: int = 0

    def __post_init__(self) -> None:
        if len(set(self.reviewers)) < len(self.reviewers) or not self.reviewers:
            raise UsageError("name at least one reviewer, and each once", remedy="--reviewer ada --reviewer ben")
        if not 1 <= self.per_task <= len(self.reviewers):
            raise UsageError(
                f"{self.per_task} reviewers a task of {len(self.reviewers)}",
                remedy="name more reviewers, or ask for fewer a task: --per-task",
            )
        if not (0 <= self.calibration <= 1 and 0 <= self.repeats <= 1):
            raise UsageError("shares are from 0 to 1", remedy="5 % is 0.05")


def assign(items: Mapping[str, ReviewItem], slips: Sequence[ReviewAssignment], wish: Wish) -> list[ReviewAssignment]:
    """The slips of a further round.

    Args:
        items: Every item there is.
        slips: Those given out already.
        wish: What is wanted.

    Returns:
        New slips, sealed, by reviewer in the order of their queues.
    """
    dealer = _Dealer(slips, wish.seed)
    kinds: tuple[tuple[Kind, int | None], ...] = (("task", wish.tasks), ("audit", wish.audit))
    for kind, wanted in kinds:
        of_kind = [item for item in items.values() if item.kind == kind]
        for item in _select(of_kind, dealer.items(kind), wanted, wish.seed):
            dealer.deal(kind, item, wish.reviewers, wish.per_task)
    _calibrate(items, dealer, wish)
    return dealer.make_queues(wish.repeats)


def adjudications(
    disputed: Iterable[str], slips: Sequence[ReviewAssignment], reviewers: Sequence[str], seed: int
) -> list[ReviewAssignment]:
    """A third view of tasks that others disagree on, by whoever has none yet.

    Args:
        disputed: Ids of the tasks.
        slips: Those given out already.
        reviewers: Who may decide.
        seed: Of the choice.

    Returns:
        New slips; none for a task that has an adjudicator, or that everybody has had.
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
    """Plans to be looked at, each by so many reviewers.

    Args:
        plans: Stratum by id of the plan.
        slips: Those given out already.
        reviewers: Who may be asked.
        each: Reviewers a plan.
        seed: Of the choice.
    """
    dealer = _Dealer(slips, seed)
    for plan in sorted(plans, key=lambda plan: (plans[plan], draw(seed, plan))):
        dealer.deal("plan", plan, reviewers, each)
    return dealer.make_queues(0)


@dataclass
class _Dealer:
    """What was given out, and what is being given out."""

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
        """What was given out of a kind."""
        return {item for of, item in self._holders if of == kind}

    def has_had(self, reviewer: str, item: str) -> bool:
        """Whether the reviewer was given the item, in whatever way."""
        return item in self._had[reviewer]

    def count(self, reviewer: str, kind: Kind) -> int:
        """How many of a kind a reviewer has."""
        old = [slip for slip in self.slips if slip.reviewer == reviewer and slip.kind == kind]
        return len(old) + len([slip for slip in self.new[reviewer] if slip["kind"] == kind])

    def deal(self, kind: Kind, item: str, reviewers: Sequence[str], each: int, *, among_all: bool = True) -> None:
        """Give an item to whoever has least, until so many have it.

        Args:
            kind: As what.
            item: The item.
            reviewers: Who may get it.
            each: Reviewers an item.
            among_all: Whether those count who had it before as this kind; what one had in another way is never dealt.
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
        """The new slips with their places, mixed, and repeats among them."""
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
        # Places are known once the repeats are among them; what is repeated has a place of its own in any case.
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
    """Ids of items of a kind that are under review now: those given out, and more in proportion to the strata."""
    strata: dict[tuple[str, str], list[str]] = defaultdict(list)
    # In the order that the seed draws, so that the store's does not matter.
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
        # The stratum that is furthest behind its share; of equals the one that the seed draws.
        open_strata = [stratum for stratum in strata if left[stratum]]
        behind = max(
            open_strata, key=lambda stratum: (wanted * len(strata[stratum]) / total - have[stratum], ties[stratum])
        )
        chosen[behind].append(left[behind].pop(0))
        have[behind] += 1
    # Stratum after stratum: whoever is dealt to in turn gets as many of each.
    return [item for stratum in sorted(chosen) for item in chosen[stratum]]


def _calibrate(items: Mapping[str, ReviewItem], dealer: _Dealer, wish: Wish) -> None:
    able = sorted(
        (item.item for item in items.values() if can_be_planted(item)),
        key=lambda item: draw(wish.seed, item, "calibration"),
    )
    defects = sorted(DEFECTS)
    for reviewer in wish.reviewers:
        wanted = _round_half_up(wish.calibration * dealer.count(reviewer, "task")) - dealer.count(
            reviewer, "calibration"
        )
        if wanted <= 0:
            continue
        used = {slip.item for slip in dealer.slips if slip.reviewer == reviewer and slip.kind == "calibration"}
        # Everybody has the same ones where that can be, and none is planted in a task that one has to decide as well.
        order: list[str] = sorted((item for item in able if item not in used), key=_had_by(dealer, reviewer))
        for item in order[:wanted]:
            defect = defects[_number(wish.seed, item, "defect") % len(defects)]
            dealer.give(reviewer, "calibration", item, defect)


def _had_by(dealer: _Dealer, reviewer: str) -> Callable[[str], bool]:
    return lambda item: dealer.has_had(reviewer, item)


def draw(*parts: object) -> str:
    """A random-looking text that the parts decide: the same everywhere, whatever else there is."""
    return hashlib.sha256("\x1f".join(map(str, parts)).encode()).hexdigest()


def _number(*parts: object) -> int:
    return int(draw(*parts)[:12], 16)


def _round_half_up(value: float) -> int:
    """Halves up."""
    return int(value + 0.5)
