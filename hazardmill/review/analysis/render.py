"""The figures of a review in words. An unknown is told as one, with its reason."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hazardmill.review.analysis.statistics import ReviewStatistics, Time
from hazardmill.review.models import who
from hazardmill.review.policies import REASON_WORDS
from hazardmill.statistics.estimate import Estimate, Proportion

Rows = list[tuple[str, ...]]
Table = tuple[str, tuple[str, ...], Rows]
"""Title, heads, rows."""

UNKNOWN: Final = "unknown"


def told_rate(rate: Proportion) -> str:
    """``12 of 40, 30.0 % (18.1 to 45.4)``."""
    if rate.value is None or rate.low is None or rate.high is None:
        return UNKNOWN
    return f"{rate.count:,} of {rate.n:,}, {rate.value:.1%} ({rate.low:.1%} to {rate.high:.1%})"


def told_coefficient(found: Estimate) -> str:
    """``0.41 (0.12 to 0.66), over 30``, or why there is none."""
    if found.value is None:
        return f"{UNKNOWN}: {found.why}"
    between = found.why if found.low is None or found.high is None else f"{found.low:.2f} to {found.high:.2f}"
    return f"{found.value:.3f} ({between}), over {found.n:,}"


def tables(figures: ReviewStatistics) -> Iterator[Table]:
    """Everything, as tables of text."""
    reviewers = who(figures.reviewers)
    accepted = figures.accepted
    words: dict[str, str] = {"accepted": "accepted", **{str(code): told for code, told in REASON_WORDS.items()}}
    rows: Rows = [(words[name], f"{accepted.counts[name]:,}") for name in words if name in accepted.counts]
    yield f"Tasks under {accepted.policy}", ("", "tasks"), rows
    yield (
        f"Rejected by {reviewers}",
        ("", "of tasks accepted or rejected"),
        [
            ("all", told_rate(figures.rejected)),
            *((f"source {name}", told_rate(rate)) for name, rate in figures.by_source.items()),
            *((f"type {name.replace('_', ' ')}", told_rate(rate)) for name, rate in figures.by_type.items()),
            *((f"for {name}", told_rate(rate)) for name, rate in figures.by_criterion.items() if rate.count),
        ],
    )
    agreement = figures.agreement
    yield (
        "Agreement between reviewers, with 95 % intervals",
        ("", "value"),
        [
            ("Krippendorff's alpha", told_coefficient(agreement.alpha)),
            ("Fleiss' kappa", told_coefficient(agreement.fleiss)),
            *((f"Cohen's kappa, {pair}", told_coefficient(found)) for pair, found in agreement.cohen.items()),
        ],
    )
    yield (
        "Reviewers",
        ("reviewer", "decided", "rejected", "time a task", "repeats answered alike", "defects caught"),
        [
            (
                name,
                f"{one.states.get('decided', 0):,} of {sum(one.states.values()):,}",
                told_rate(one.rejected),
                told_time(one.time),
                told_rate(one.repeats),
                told_rate(one.calibration.rejected),
            )
            for name, one in figures.reviewers.items()
        ],
    )
    judge = figures.judge
    yield (
        f"The judge beside {reviewers}",
        ("", f"rejected by {reviewers}"),
        [
            ("approved by the judge", told_rate(judge.rejected_of_approved)),
            ("sent back by the judge", told_rate(judge.sent_back.rejected)),
            *((f"sent back for {name}", told_rate(of.rejected)) for name, of in judge.by_criterion.items()),
            ("may the judge reject by itself", _trusted(judge.sent_back.may_reject, reviewers)),
        ],
    )
    if figures.intent.plans:
        yield (
            "Intent, and safety intention (SI)",
            ("", "value"),
            [
                (f"{reviewers} and SI agree", told_rate(figures.intent.agreement)),
                ("Cohen's kappa", told_coefficient(figures.intent.kappa)),
                *((f"on purpose, {name}", told_rate(rate)) for name, rate in figures.intent.by_planner.items()),
            ],
        )


def told_time(time: Time) -> str:
    """``median 41 s (28 to 66)``."""
    if time.median is None:
        return UNKNOWN
    unknown = f", {time.unknown:,} unknown" if time.unknown else ""
    return f"median {time.median:.0f} s ({time.first_quartile:.0f} to {time.third_quartile:.0f}){unknown}"


def _trusted(may: bool | None, reviewers: str) -> str:
    no = f"no: {reviewers} keep too much of it"
    return {True: "yes", False: no, None: "nobody knows yet: too few were audited"}[may]
