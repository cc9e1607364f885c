"""All figures of a review, worked out from slips and decisions each time: nothing is kept that could be wrong."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Final

from hazardmill.records import FrozenModel
from hazardmill.review.analysis.intent import Intent, intent
from hazardmill.review.analysis.judge_accuracy import JudgeAccuracy, judge_accuracy
from hazardmill.review.assignments.gold_items import DEFECTS
from hazardmill.review.candidates import ReviewItem
from hazardmill.review.decisions.effective import Opinion, criteria_named, of_kind, opinions, units
from hazardmill.review.decisions.folder import ReviewFolder
from hazardmill.review.policies import AcceptedSet, Policy, accepted_set
from hazardmill.review.rubric import CRITERIA, ReviewVerdict
from hazardmill.statistics.agreement import Coefficient, alpha, cohen, fleiss, quartiles
from hazardmill.statistics.estimate import Proportion
from hazardmill.statistics.proportion import Share, rate

FORMAT: Final = "hazardmill-review/1"


class Time(FrozenModel):
    """Seconds a decision took, as far as that was measured."""

    first_quartile: float | None
    median: float | None
    third_quartile: float | None
    known: int
    unknown: int


class Caught(FrozenModel):
    """What became of planted defects that were decided."""

    rejected: Share
    named: Share
    """Rejected for the criterion that the defect breaks."""
    by_defect: dict[str, Share]
    """Rejected, by defect."""


class Reviewer(FrozenModel):
    """One reviewer. Shares are of what is decided and not stale."""

    states: dict[str, int]
    """Slips by state: open, skipped, decided, stale, gone."""
    unsure: int
    rejected: Share
    """Of tasks, abstentions aside."""
    time: Time
    repeats: Share
    """Blind repeats that were answered as the first time."""
    repeats_kappa: Coefficient
    """Cohen's, of the first time and the second."""
    calibration: Caught


class Agreement(FrozenModel):
    """Agreement on tasks between reviewers who were blind to each other; approve or reject, abstentions left out."""

    fleiss: Coefficient
    """Of the tasks that have the commonest number of verdicts."""
    fleiss_ratings: int | None
    """That number."""
    alpha: Coefficient
    """Krippendorff's, of all tasks with two verdicts or more."""
    cohen: dict[str, Coefficient]
    """By pair, names joined by a comma; pairs who share no task are not there."""


class ReviewStatistics(FrozenModel):
    """The figures of a review."""

    format: str = FORMAT
    accepted: AcceptedSet
    rejected: Share
    """Tasks rejected under the policy, of those accepted or rejected under it."""
    by_source: dict[str, Share]
    by_type: dict[str, Share]
    by_criterion: dict[str, Share]
    """Tasks for which a reviewer named it, of the same tasks."""
    stale: int
    """Decisions on what has changed since."""
    reviewers: dict[str, Reviewer]
    time: Time
    agreement: Agreement
    calibration: Caught
    judge: JudgeAccuracy
    intent: Intent
    seed: int
    """Of the bootstrap."""


def statistics(
    folder: ReviewFolder, items: Mapping[str, ReviewItem], policy: Policy = "any-reject", *, seed: int = 0
) -> ReviewStatistics:
    """Work out every figure.

    Args:
        folder: The review.
        items: Every item there is.
        policy: By which tasks are accepted.
        seed: Of the bootstrap.

    Raises:
        InputError: A file of decisions is damaged.
    """
    held = opinions(folder, items)
    tasks = [item.item for item in items.values() if item.kind == "task"]
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
        by_criterion={
            name: rate(sum(name in named.get(task, ()) for task in settled), len(settled)) for name in CRITERIA
        },
        stale=sum(each.state == "stale" for each in held),
        reviewers={
            name: _reviewer([each for each in held if each.slip.reviewer == name], seed)
            for name in sorted({each.slip.reviewer for each in held})
        },
        time=_time(held),
        agreement=_agreement(held, seed),
        calibration=_catch_rates(held),
        judge=judge_accuracy(items, held, policy),
        intent=intent(folder.plans(), held),
        seed=seed,
    )


def _reviewer(held: Sequence[Opinion], seed: int) -> Reviewer:
    states: Counter[str] = Counter(each.state for each in held)
    tasks = [each for each in held if each.slip.kind == "task"]
    verdicts = Counter(each.verdict for each in tasks)
    twice = _repeat_pairs(held)
    return Reviewer(
        states=dict(states),
        unsure=sum(each.state == "decided" and each.verdict is None for each in tasks),
        rejected=rate(verdicts[ReviewVerdict.REJECT], verdicts[ReviewVerdict.REJECT] + verdicts[ReviewVerdict.APPROVE]),
        time=_time(held),
        repeats=rate(sum(pair["first"] == pair["second"] for pair in twice), len(twice)),
        repeats_kappa=cohen(twice, "first", "second", seed=seed),
        calibration=_catch_rates(held),
    )


def _repeat_pairs(held: Iterable[Opinion]) -> list[dict[str, ReviewVerdict]]:
    """Both verdicts on what was answered twice."""
    held = list(held)
    said = {each.slip.id: each.verdict for each in held}
    pairs = [(said.get(each.slip.of or ""), each.verdict) for each in held if each.slip.kind == "repeat"]
    return [{"first": one, "second": two} for one, two in pairs if one is not None and two is not None]


def _time(held: Iterable[Opinion]) -> Time:
    decided = [each.decision for each in held if each.state in ("decided", "stale") and each.decision is not None]
    seconds = [decision.seconds for decision in decided if decision.seconds is not None]
    low, middle, high = quartiles(seconds) or (None, None, None)
    return Time(
        first_quartile=low,
        median=middle,
        third_quartile=high,
        known=len(seconds),
        unknown=len(decided) - len(seconds),
    )


def _catch_rates(held: Iterable[Opinion]) -> Caught:
    """An abstention on a planted defect has not caught it."""
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
    # The commonest; of equals the larger.
    ratings = max(counts, key=lambda number: (counts[number], number), default=None)
    names = sorted({name for unit in judged_by for name in unit})
    pairs = [pair for pair in combinations(names, 2) if any({*pair} <= unit.keys() for unit in judged_by)]
    return Agreement(
        fleiss=fleiss(judged_by, ratings or 0, seed=seed),
        fleiss_ratings=ratings,
        alpha=alpha(judged_by, seed=seed),
        cohen={f"{one},{other}": cohen(judged_by, one, other, seed=seed) for one, other in pairs},
    )
