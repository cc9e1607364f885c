"""The figures of a review as text; an unknown figure is shown as unknown, with its reason."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from hazardmill.reporting.estimates import render_estimate
from hazardmill.reporting.numbers import UNKNOWN, decimals, per_cent
from hazardmill.reporting.table import Grid
from hazardmill.review.analysis.statistics import ReviewStatistics, Time
from hazardmill.review.analysis.time_left import render_minutes_left
from hazardmill.review.models import who
from hazardmill.review.policies import REASON_WORDS
from hazardmill.statistics.estimate import Estimate, Proportion

_KINDS: Final = {"task": "tasks", "mal": "scenarios mal", "sit": "scenarios sit", "hazard_task": "hazard tasks"}


def render_rate(rate: Proportion) -> str:
    """Return a share as text: ``12 of 40, 30.0% (18.1% to 45.4%)``."""
    if rate.value is None:
        return UNKNOWN
    return f"{rate.count:,} of {rate.n:,}, {render_estimate(rate, per_cent, usual='wilson')}"


def render_coefficient(found: Estimate) -> str:
    """Return a coefficient as text, ``0.413 (0.12 to 0.66), over 30``, or the reason why there is none."""
    text = render_estimate(found, decimals(3), decimals(2), without=found.why)
    return text if found.value is None else f"{text}, over {found.n:,}"


def grids(figures: ReviewStatistics) -> Iterator[Grid]:
    """Yield all figures as tables of text.

    Yields:
        Tasks under the policy, rejections, agreement, reviewers, the judge, and intent if any plan is under review.
    """
    reviewers = who(figures.reviewers)
    accepted = figures.accepted
    words: dict[str, str] = {"accepted": "accepted", **{str(code): text for code, text in REASON_WORDS.items()}}
    rows = [(words[name], f"{accepted.counts[name]:,}") for name in words if name in accepted.counts]
    items = _items(figures.by_kind)
    yield Grid(f"{items.capitalize()} under {accepted.policy}", ("", items), tuple(rows))
    yield Grid(
        f"Rejected by {reviewers}",
        ("", f"of {items} accepted or rejected"),
        (
            ("all", render_rate(figures.rejected)),
            *((_KINDS[name], render_rate(rate)) for name, rate in figures.by_kind.items() if items != "tasks"),
            *((f"source {name}", render_rate(rate)) for name, rate in figures.by_source.items()),
            *((f"type {name.replace('_', ' ')}", render_rate(rate)) for name, rate in figures.by_type.items()),
            *((f"for {name}", render_rate(rate)) for name, rate in figures.by_criterion.items() if rate.count),
        ),
    )
    agreement = figures.agreement
    yield Grid(
        "Agreement between reviewers, with 95 % intervals",
        ("", "value"),
        (
            ("Krippendorff's alpha", render_coefficient(agreement.alpha)),
            ("Fleiss' kappa", render_coefficient(agreement.fleiss)),
            *((f"Cohen's kappa, {pair}", render_coefficient(found)) for pair, found in agreement.cohen.items()),
        ),
    )
    yield Grid(
        "Reviewers",
        (
            "reviewer",
            "decided",
            "time left",
            "rejected",
            "time per decision",
            "repeats answered alike",
            "defects caught",
        ),
        tuple(
            (
                name,
                f"{one.states.get('decided', 0):,} of {sum(one.states.values()):,}",
                render_minutes_left(one.minutes_left),
                render_rate(one.rejected),
                render_time(one.time),
                render_rate(one.repeats),
                render_rate(one.calibration.rejected),
            )
            for name, one in figures.reviewers.items()
        ),
    )
    judge = figures.judge
    yield Grid(
        f"The judge compared with {reviewers}",
        ("", f"rejected by {reviewers}"),
        (
            ("approved by the judge", render_rate(judge.rejected_of_approved)),
            ("sent back by the judge", render_rate(judge.sent_back.rejected)),
            *((f"sent back for {name}", render_rate(of.rejected)) for name, of in judge.by_criterion.items()),
            ("may the judge reject unaided", _render_trust(judge.sent_back.may_reject, reviewers)),
        ),
    )
    if figures.intent.plans:
        yield Grid(
            "Intent, and safety intention (SI)",
            ("", "value"),
            (
                (f"{reviewers} and SI agree", render_rate(figures.intent.agreement)),
                ("Cohen's kappa", render_coefficient(figures.intent.kappa)),
                *((f"on purpose, {name}", render_rate(rate)) for name, rate in figures.intent.by_planner.items()),
            ),
        )


def _items(kinds: Collection[str]) -> str:
    """Return what was settled, in words: ``tasks``, or these and what else there is."""
    scenarios, hazard_tasks = not {"mal", "sit"}.isdisjoint(kinds), "hazard_task" in kinds
    if scenarios and hazard_tasks:
        return "tasks, scenarios and hazard tasks"
    return "tasks and scenarios" if scenarios else "tasks and hazard tasks" if hazard_tasks else "tasks"


def render_time(time: Time) -> str:
    """Return the quartiles of a time as text: ``median 41 s (28 to 66)``."""
    if time.median is None:
        return UNKNOWN
    unknown = f", {time.unknown:,} unknown" if time.unknown else ""
    return f"median {time.median:.0f} s ({time.first_quartile:.0f} to {time.third_quartile:.0f}){unknown}"


def _render_trust(may: bool | None, reviewers: str) -> str:
    no = f"no: {reviewers} accept too much of it"
    return {True: "yes", False: no, None: "unknown: too few were audited"}[may]
