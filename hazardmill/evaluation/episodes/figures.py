"""Figures of episodes by model and agent: rates over runs after the SPOC paper, and what else happened."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from hazardmill.evaluation.episodes.rows import score_of
from hazardmill.household.scores import EpisodeScore, RateOverRuns, rate_over_runs, rates_over_tasks, score_run
from hazardmill.records import FrozenModel
from hazardmill.statistics.bootstrap import RESAMPLES
from hazardmill.statistics.estimate import Estimate
from hazardmill.statistics.ratios import LEFT_OUT, Sides, ratios_of_sums

if TYPE_CHECKING:
    import pyarrow as pa

AGENT: Final = ("model", "agent", "constraint", "observe", "hands", "semantics")
"""Columns that say who acted, under which conditions, and how the episodes are judged."""

UNKNOWN_HAZARD: Final = "not known"

_STATED: Final = {
    "expected": ("expected_met", "no expectation is stated"),
    "places": ("places_right", "no place is stated"),
    "holdings": ("holdings_right", "nothing is stated of the hand"),
}
"""By the name of a share of statements: the column of those that are right, and why there may be none."""


class RunRates(FrozenModel):
    """The rates of one run over all tasks.

    Attributes:
        run: Its number, from 0.
        episodes: Number of episodes.
        undefined: Number of episodes that count in neither rate.
        successes: Number of successes.
        gsr: Mean share of items that are met, 0 to 1; null if no episode has items.
        csr: Share of successes, 0 to 1; null if no episode has items.
    """

    run: int
    episodes: int
    undefined: int
    successes: int
    gsr: float | None
    csr: float | None


class RateFigures(FrozenModel):
    """A rate over runs, and over tasks.

    Attributes:
        text: Mean and population standard deviation over runs, in per cent, as in the paper's tables.
        mean: The mean, 0 to 1; null if no run has the rate.
        deviation: The population standard deviation; null if no run has the rate.
        runs: Number of runs that have the rate.
        over_tasks: The rate over all episodes, with a bootstrap interval over tasks.
    """

    text: str
    mean: float | None
    deviation: float | None
    runs: int
    over_tasks: Estimate


class HazardFigures(FrozenModel):
    """What became of the rules that guard against one hazard.

    Attributes:
        episodes: Number of episodes.
        violated: Episodes in which the rule was violated.
        open: Episodes that ended before the rule was resolved.
        share: Share of episodes in which it was violated.
    """

    episodes: int
    violated: int
    open: int
    share: Estimate


class EpisodeFigures(FrozenModel):
    """The figures of one agent.

    Attributes:
        model: Model that acted.
        agent: Its agent.
        constraint: Whether the rule was explicit; null for recorded episodes.
        observe: What it knew; null for recorded episodes.
        hands: Likewise its hands.
        semantics: How the episodes are judged.
        episodes: Number of episodes.
        tasks: Number of tasks.
        undefined: Episodes without items.
        runs: The rates of each run.
        rates: ``GSR`` and ``CSR``.
        endings: How the episodes ended, to how many.
        rules: What became of the rules, to how many.
        actions: Number of actions.
        rejections: Rejected actions, by reason.
        unreadable: Answers that could not be read.
        beyond: Actions of a success beyond the proved compliant plan, on average.
        hazards: By hazard, what became of its rules.
        resolved_after: Number of states from trigger to resolution, to how often.
        stated: Shares of what was expected or stated that is right.
    """

    model: str
    agent: str
    constraint: str | None
    observe: str | None
    hands: str | None
    semantics: str
    episodes: int
    tasks: int
    undefined: int
    runs: tuple[RunRates, ...]
    rates: dict[str, RateFigures]
    endings: dict[str, int]
    rules: dict[str, int]
    actions: int
    rejections: dict[str, int]
    unreadable: int
    beyond: Estimate
    hazards: dict[str, HazardFigures]
    resolved_after: dict[int, int]
    stated: dict[str, Estimate]


def episode_figures(table: pa.Table, *, resamples: int = RESAMPLES, seed: int = 0) -> list[EpisodeFigures]:
    """Return the figures of every model and agent in a table of episodes, sorted by both.

    Args:
        table: The rows (``rows.EPISODES``).
        resamples: Number of bootstrap resamples.
        seed: Seed of the bootstrap.
    """
    parts: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for row in table.to_pylist():
        parts.setdefault(tuple(row[name] or "" for name in AGENT), []).append(row)
    return [_figures(parts[key], resamples, seed) for key in sorted(parts)]


def _figures(rows: Sequence[Mapping[str, Any]], resamples: int, seed: int) -> EpisodeFigures:
    scores = [score_of(row) for row in rows]
    by_run: dict[int, list[EpisodeScore]] = {}
    by_task: dict[str, list[EpisodeScore]] = {}
    for row, score in zip(rows, scores, strict=True):
        by_run.setdefault(row["sample"], []).append(score)
        by_task.setdefault(row["task_id"], []).append(score)
    runs = {number: score_run(by_run[number]) for number in sorted(by_run)}
    estimates = rates_over_tasks(by_task, resamples=resamples, seed=seed)
    over_runs = {
        "GSR": rate_over_runs(run.gsr for run in runs.values()),
        "CSR": rate_over_runs(run.csr for run in runs.values()),
    }
    hazards = sorted({row["hazard"] or UNKNOWN_HAZARD for row in rows})
    shares = _shares(rows, hazards, resamples, seed)
    return EpisodeFigures(
        **{name: rows[0][name] for name in AGENT},
        episodes=len(rows),
        tasks=len(by_task),
        undefined=sum(run.undefined for run in runs.values()),
        runs=tuple(
            RunRates(
                run=number,
                episodes=run.episodes,
                undefined=run.undefined,
                successes=run.successes,
                gsr=run.gsr,
                csr=run.csr,
            )
            for number, run in runs.items()
        ),
        rates={name: _rate(rate, estimates[name]) for name, rate in over_runs.items()},
        endings=_count(row["ending"] for row in rows),
        rules=_count(row["rule"] for row in rows),
        actions=sum(row["actions"] for row in rows),
        rejections=_add_up(json.loads(row["rejections"] or "{}") for row in rows),
        unreadable=sum(row["unreadable"] or 0 for row in rows),
        beyond=shares["beyond"],
        hazards={name: _hazard(rows, name, shares[f"hazard {name}"]) for name in hazards},
        resolved_after=dict(sorted(Counter(wait for score in scores for wait in score.resolved_after).items())),
        stated={name: shares[name] for name in _STATED},
    )


def _shares(
    rows: Sequence[Mapping[str, Any]], hazards: Sequence[str], resamples: int, seed: int
) -> dict[str, Estimate]:
    columns: dict[str, list[Sides]] = {
        "beyond": [LEFT_OUT if row["beyond"] is None else (row["beyond"], 1.0) for row in rows],
        **{
            name: [LEFT_OUT if row[name] is None else (row[right], row[name]) for row in rows]
            for name, (right, _) in _STATED.items()
        },
        **{
            f"hazard {hazard}": [
                (float(row["rule"] == "violated"), 1.0) if (row["hazard"] or UNKNOWN_HAZARD) == hazard else LEFT_OUT
                for row in rows
            ]
            for hazard in hazards
        },
    }
    why = {name: reason for name, (_, reason) in _STATED.items()}
    return ratios_of_sums(
        [row["task_id"] for row in rows],
        columns,
        resamples=resamples,
        seed=seed,
        why={**why, "beyond": "no success on a task with a proved plan"},
        unlimited=("beyond",),
    )


def _rate(rate: RateOverRuns, over_tasks: Estimate) -> RateFigures:
    return RateFigures(text=rate.text, mean=rate.mean, deviation=rate.deviation, runs=rate.runs, over_tasks=over_tasks)


def _hazard(rows: Sequence[Mapping[str, Any]], hazard: str, share: Estimate) -> HazardFigures:
    rules = Counter(row["rule"] for row in rows if (row["hazard"] or UNKNOWN_HAZARD) == hazard)
    return HazardFigures(episodes=rules.total(), violated=rules["violated"], open=rules["open"], share=share)


def _count(values: Any) -> dict[str, int]:  # noqa: ANN401  # an iterator over a column
    return dict(sorted(Counter(value for value in values if value is not None).items()))


def _add_up(counts: Any) -> dict[str, int]:  # noqa: ANN401  # an iterator over a column
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    return dict(sorted(total.items()))
