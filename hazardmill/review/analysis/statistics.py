"""All figures of a review, computed from slips and decisions each time; nothing is stored that could go out of date."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Final

from hazardmill.records import FrozenModel
from hazardmill.review.analysis.intent import Intent, intent
from hazardmill.review.analysis.judge_accuracy import JudgeAccuracy, judge_accuracy
from hazardmill.review.analysis.selection import EVERYTHING, ReviewedTask, ReviewSelection, list_tasks
from hazardmill.review.analysis.time_left import minutes_left
from hazardmill.review.assignments.gold_items import DEFECTS
from hazardmill.review.candidates import ReviewItem
from hazardmill.review.decisions.effective import Opinion, criteria_named, of_kind, opinions, units
from hazardmill.review.decisions.folder import ReviewFolder
from hazardmill.review.policies import AcceptedSet, Policy, accepted_set
from hazardmill.review.rubric import CRITERIA_OF, REASONS, ItemKind, ReviewVerdict
from hazardmill.statistics.agreement import Coefficient, alpha, cohen, fleiss, quartiles
from hazardmill.statistics.estimate import Proportion
from hazardmill.statistics.proportion import Share, rate

FORMAT: Final = "hazardmill-review/1"


class Time(FrozenModel):
    """Time per decision in seconds, as far as it was measured.

    Attributes:
        first_quartile: First quartile; ``None`` if no time is known.
        median: Median; ``None`` if no time is known.
        third_quartile: Third quartile; ``None`` if no time is known.
        known: Number of decisions with a time.
        unknown: Number of decisions without one.
    """

    first_quartile: float | None
    median: float | None
    third_quartile: float | None
    known: int
    unknown: int


class Caught(FrozenModel):
    """How planted defects were decided. An abstention has not caught a defect.

    Attributes:
        rejected: Share of decided calibration tasks that were rejected.
        named: Share that were rejected for the criterion that the defect breaks.
        by_defect: Share that were rejected, by defect.
    """

    rejected: Share
    named: Share
    by_defect: dict[str, Share]


class Reviewer(FrozenModel):
    """The figures of one reviewer. Shares are over decisions that are not stale.

    Attributes:
        states: Number of slips by state: open, skipped, decided, stale, gone.
        unsure: Number of abstentions on tasks.
        rejected: Share of tasks that were rejected, of those approved or rejected.
        time: Time per decision.
        minutes_left: Minutes that the slips left to decide will take, by the median of the reviewer's own times; null
            if too few of them are known.
        repeats: Share of blind repeats that were answered as the first time.
        repeats_kappa: Cohen's kappa of first and second answers.
        calibration: How planted defects were decided.
    """

    states: dict[str, int]
    unsure: int
    rejected: Share
    time: Time
    minutes_left: float | None
    repeats: Share
    repeats_kappa: Coefficient
    calibration: Caught


class Agreement(FrozenModel):
    """Agreement between reviewers who were blind to each other: approve or reject on tasks, without abstentions.

    Attributes:
        fleiss: Fleiss' kappa over the tasks with the most frequent number of verdicts.
        fleiss_ratings: That number; ``None`` if no task has two verdicts.
        alpha: Krippendorff's alpha over all tasks with at least two verdicts.
        cohen: Cohen's kappa by pair, names joined by a comma; pairs without a common task are missing.
    """

    fleiss: Coefficient
    fleiss_ratings: int | None
    alpha: Coefficient
    cohen: dict[str, Coefficient]


class ReviewStatistics(FrozenModel):
    """All figures of a review.

    Attributes:
        format: Name and version of this JSON format.
        accepted: The tasks, scenarios and hazard tasks that people accept under the policy.
        rejected: Share of tasks that are rejected, of those accepted or rejected under the policy.
        by_source: The same share by source.
        by_type: The same share by danger type; for scenarios by kind and hazard, for hazard tasks by first category.
        by_kind: The same share by kind: ``task``, ``mal`` and ``sit`` for scenarios, and ``hazard_task``.
        by_criterion: Share of the same items for which a reviewer named a criterion, by criterion; over those that can
            be rejected for it.
        stale: Number of decisions on items that have changed since.
        reviewers: Figures by reviewer.
        time: Time per decision, of all reviewers.
        agreement: Agreement between reviewers.
        calibration: How planted defects were decided.
        judge: The judge compared with people.
        intent: What people say about the intent of plans, compared with SI.
        tasks: What was reviewed, item by item.
        seed: Seed of the bootstrap.
    """

    format: str = FORMAT
    accepted: AcceptedSet
    rejected: Share
    by_source: dict[str, Share]
    by_type: dict[str, Share]
    by_kind: dict[str, Share]
    by_criterion: dict[str, Share]
    stale: int
    reviewers: dict[str, Reviewer]
    time: Time
    agreement: Agreement
    calibration: Caught
    judge: JudgeAccuracy
    intent: Intent
    tasks: tuple[ReviewedTask, ...]
    seed: int


def statistics(
    folder: ReviewFolder,
    items: Mapping[str, ReviewItem],
    policy: Policy = "any-reject",
    *,
    selection: ReviewSelection = EVERYTHING,
    seed: int = 0,
) -> ReviewStatistics:
    """Return every figure of a review.

    Args:
        folder: The review.
        items: All items by id.
        policy: The rule by which tasks are accepted.
        selection: Which items count; by default all.
        seed: Seed of the bootstrap.

    Raises:
        UnknownName: The selection names something that the review does not have.
        InputError: A file of the review is damaged.
        StoreError: A file of the review cannot be read.
    """
    selection.check(items, folder.assignments().of)
    items, held = selection.apply(items, opinions(folder, items), folder.plans())
    tasks = [item.item for item in items.values() if item.slip_kind == "task"]
    accepted = accepted_set(tasks, held, policy)
    settled = [*accepted.accepted, *accepted.rejected]
    against = set(accepted.rejected)

    def by(key: Callable[[ReviewItem], str]) -> dict[str, Proportion]:
        groups: dict[str, list[str]] = defaultdict(list)
        for task in settled:
            groups[key(items[task])].append(task)
        return {name: rate(len(against & {*of}), len(of)) for name, of in sorted(groups.items())}

    named = criteria_named(held, "task")
    return ReviewStatistics(
        accepted=accepted,
        rejected=rate(len(against), len(settled)),
        by_source=by(lambda item: item.source),
        by_type=by(lambda item: item.danger_type),
        by_kind=by(lambda item: item.rubric_kind),
        by_criterion=dict(_by_criterion(settled, items, named)),
        stale=sum(each.state == "stale" for each in held),
        reviewers={
            name: _reviewer([each for each in held if each.slip.reviewer == name], seed)
            for name in sorted({each.slip.reviewer for each in held})
            if name in (selection.reviewers or (name,))
        },
        time=_time(held),
        agreement=_agreement(held, seed),
        calibration=_catch_rates(held),
        judge=judge_accuracy(items, held, policy),
        intent=intent(folder.plans(), held),
        tasks=list_tasks(items, held, accepted),
        seed=seed,
    )


def _by_criterion(
    settled: Iterable[str], items: Mapping[str, ReviewItem], named: Mapping[str, set[str]]
) -> Iterator[tuple[str, Share]]:
    """Yield each criterion of tasks, and of the other kinds that were settled, over the items that have it."""
    by_kind: dict[ItemKind, list[str]] = defaultdict(list)
    for item in settled:
        by_kind[items[item].rubric_kind].append(item)
    for name in REASONS:
        kinds = [kind for kind, criteria in CRITERIA_OF.items() if name in criteria]
        of = [item for kind in kinds for item in by_kind[kind]]
        if of or "task" in kinds:
            yield name, rate(sum(name in named.get(item, ()) for item in of), len(of))


def _reviewer(held: Sequence[Opinion], seed: int) -> Reviewer:
    states: Counter[str] = Counter(each.state for each in held)
    tasks = [each for each in held if each.slip.kind == "task"]
    verdicts = Counter(each.verdict for each in tasks)
    twice = _repeat_pairs(held)
    waiting = sum(states[state] for state in ("open", "skipped", "stale"))
    return Reviewer(
        states=dict(states),
        unsure=sum(each.state == "decided" and each.verdict is None for each in tasks),
        rejected=rate(verdicts[ReviewVerdict.REJECT], verdicts[ReviewVerdict.REJECT] + verdicts[ReviewVerdict.APPROVE]),
        time=_time(held),
        minutes_left=minutes_left(waiting, _seconds(held)),
        repeats=rate(sum(pair["first"] == pair["second"] for pair in twice), len(twice)),
        repeats_kappa=cohen(twice, "first", "second", seed=seed),
        calibration=_catch_rates(held),
    )


def _repeat_pairs(held: Iterable[Opinion]) -> list[dict[str, ReviewVerdict]]:
    """Return the first and the second verdict on everything that was answered twice."""
    held = list(held)
    said = {each.slip.id: each.verdict for each in held}
    pairs = [(said.get(each.slip.of or ""), each.verdict) for each in held if each.slip.kind == "repeat"]
    return [{"first": one, "second": two} for one, two in pairs if one is not None and two is not None]


def _seconds(held: Iterable[Opinion]) -> list[float]:
    decided = [each.decision for each in held if each.state in ("decided", "stale") and each.decision is not None]
    return [decision.seconds for decision in decided if decision.seconds is not None]


def _time(held: Iterable[Opinion]) -> Time:
    held = list(held)
    seconds = _seconds(held)
    decided = sum(each.state in ("decided", "stale") and each.decision is not None for each in held)
    low, middle, high = quartiles(seconds) or (None, None, None)
    return Time(
        first_quartile=low,
        median=middle,
        third_quartile=high,
        known=len(seconds),
        unknown=decided - len(seconds),
    )


def _catch_rates(held: Iterable[Opinion]) -> Caught:
    """Return how planted defects were decided; an abstention has not caught a defect."""
    planted = [each for each in held if each.slip.kind == "calibration" and each.state == "decided"]
    rejected = [each for each in planted if each.verdict is ReviewVerdict.REJECT]
    defects = sorted({each.slip.defect for each in planted if each.slip.defect is not None})
    return Caught(
        rejected=rate(len(rejected), len(planted)),
        named=rate(sum(_named_it(each) for each in rejected), len(planted)),
        by_defect={
            defect: rate(
                sum(each.slip.defect == defect for each in rejected),
                sum(each.slip.defect == defect for each in planted),
            )
            for defect in defects
        },
    )


def _named_it(each: Opinion) -> bool:
    return each.decision is not None and DEFECTS.get(each.slip.defect or "") in each.decision.reasons


def _agreement(held: Iterable[Opinion], seed: int) -> Agreement:
    judged_by = units(of_kind(held, "task"))
    counts = Counter(len(unit) for unit in judged_by if len(unit) > 1)
    # The most frequent number; of two that are equally frequent, the larger.
    ratings = max(counts, key=lambda number: (counts[number], number), default=None)
    names = sorted({name for unit in judged_by for name in unit})
    pairs = [pair for pair in combinations(names, 2) if any({*pair} <= unit.keys() for unit in judged_by)]
    return Agreement(
        fleiss=fleiss(judged_by, ratings or 0, seed=seed),
        fleiss_ratings=ratings,
        alpha=alpha(judged_by, seed=seed),
        cohen={f"{one},{other}": cohen(judged_by, one, other, seed=seed) for one, other in pairs},
    )
