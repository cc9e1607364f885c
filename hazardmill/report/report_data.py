"""Everything that a report says, gathered once, however it is written down."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from hazardmill.llm.requests import OFFLINE_MODEL
from hazardmill.quality.corpus_thresholds import CorpusReport
from hazardmill.quality.lint_rules import Structure
from hazardmill.quality.structure import structure_id
from hazardmill.report import tables
from hazardmill.report.corpus import corpus, gates_grid, spreads_grid
from hazardmill.report.cost import Cost, cost
from hazardmill.report.despite_reference import PublishedComparison, compare, others_grid
from hazardmill.report.figures import all_figures
from hazardmill.report.funnel import Funnel, funnel
from hazardmill.report.queries import Row, latest_tasks, narrow, select
from hazardmill.report.wording import usd_per_task
from hazardmill.reporting.numbers import count, plural, share
from hazardmill.reporting.svg.drawing import Figure
from hazardmill.reporting.table import Grid
from hazardmill.review.analysis.render import grids as review_grids
from hazardmill.review.analysis.statistics import ReviewStatistics
from hazardmill.review.models import count_in_words, is_model, who

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


@dataclass(frozen=True)
class RecordedAnswers:
    """Answers of runs that were recorded earlier."""

    models: tuple[str, ...]
    """Who answered then."""
    answers: int
    older: int
    """Answers to another wording of the prompt than the run would send."""
    of: int
    """All answers of the runs."""

    @property
    def summary(self) -> str:
        """One sentence on whose answers they are, and how old."""
        names = ", ".join(self.models)
        whole = self.answers == self.of
        many = plural(self.answers, "answer") if whole else f"{self.answers:,} of {plural(self.of, 'answer')}"
        asked = "; nobody was asked in these runs" if whole else ""
        older = f" {plural(self.older, 'answer')} to earlier prompts than those of today." if self.older else ""
        return f"{many} of {names}, recorded earlier{asked}.{older}"


@dataclass(frozen=True)
class ReportData:
    """What a report says of some runs."""

    run_ids: tuple[str, ...]
    sources: tuple[str, ...]
    """The sources that it is restricted to; empty: all."""
    runs: tuple[Row, ...]
    """What is known of each run."""
    offline: bool
    """Whether the offline author answered in any of them."""
    recorded: RecordedAnswers | None
    """Null where every answer was given in the runs themselves."""
    review: ReviewStatistics | None
    """Null where no review was named."""
    funnel: Funnel
    cost: Cost
    corpus: CorpusReport
    comparison: PublishedComparison
    tasks: tuple[Row, ...]
    figures: tuple[Figure, ...]

    @property
    def headline(self) -> list[tuple[str, str]]:
        """The figures that matter most, each with its words."""
        return [
            (count(self.funnel.total.records), "records"),
            (count(self.cost.accepted), "accepted tasks"),
            (share(self.funnel.total.share_accepted), "of finished records accepted"),
            (usd_per_task(self.cost), "USD a validated task"),
        ]

    @property
    def notes(self) -> list[str]:
        """Sentences below the funnel; the last says whether it adds up."""
        return tables.notes(self.funnel)

    @property
    def gates(self) -> list[Grid]:
        """The corpus lint as tables."""
        return [gates_grid(self.corpus), spreads_grid(self.corpus)]

    @property
    def reviewed(self) -> str:
        """One sentence on who reviewed the tasks, and what came of it; nothing if no review was named."""
        if self.review is None:
            return ""
        if not self.review.reviewers:
            return "Nobody has reviewed these tasks yet."
        models = sum(map(is_model, self.review.reviewers))
        accepted = self.review.accepted
        nobody = "" if who(self.review.reviewers) != "language models" else " No person has reviewed them yet."
        return (
            f"Reviewed by {count_in_words(len(self.review.reviewers) - models, models)}:"
            f" {len(accepted.accepted):,} of {plural(len(accepted.accepted) + len(accepted.others), 'task')} approved"
            f" by all who were asked.{nobody}"
        )

    @property
    def reviews(self) -> list[Grid]:
        """The figures of the review as tables; none if there is no review."""
        if self.review is None or not self.review.reviewers:
            return []
        return list(review_grids(self.review))

    @property
    def published(self) -> Grid:
        """What else was published, beside ours."""
        return others_grid(self.comparison)


def gather(
    connection: DuckDBPyConnection,
    run_ids: Sequence[str],
    sources: Sequence[str] = (),
    review: ReviewStatistics | None = None,
) -> ReportData:
    """Read everything that a report says.

    Args:
        connection: Has one view a table. With ``sources`` it is the caller's alone, and stays narrowed to them.
        run_ids: The runs, oldest first; runs of ingestion may be among them.
        sources: The sources to restrict it to; all if none.
        review: What reviewers decided on the tasks of the store, under ``any-reject``.

    Raises:
        DocumentError: The store holds a task that this version cannot read.
    """
    if sources:
        narrow(connection, sources)
    key = _remember(structure_id)
    found, spent = funnel(connection, run_ids, key), cost(connection, run_ids)
    tasks = latest_tasks(connection, run_ids, _TASK_COLUMNS)
    offline = _answered_offline(connection, run_ids)
    comparison = compare(connection, run_ids, found, spent, offline=offline, narrowed=bool(sources))
    return ReportData(
        run_ids=tuple(run_ids),
        sources=tuple(sources),
        runs=tuple(_runs(connection, run_ids)),
        offline=offline,
        recorded=_recorded_answers(connection, run_ids),
        review=review,
        funnel=found,
        cost=spent,
        corpus=corpus(connection, run_ids, key),
        comparison=comparison,
        tasks=tuple(tasks),
        figures=tuple(all_figures(found, spent, tasks, comparison)),
    )


_TASK_COLUMNS: Final = "run_id, task_id, source, danger_group, danger_type, danger, plan_length, safety_effort"
# A time is read as microseconds: DuckDB's own objects for times with a zone need a package that we do not have.
_RUNS: Final = """
    SELECT run_id, arg_max(kind, sequence) AS kind, arg_max(state, sequence) AS state,
           arg_max(config, sequence) AS config,
           strftime(make_timestamp(epoch_us(min("at"))), '%Y-%m-%d %H:%M UTC') AS began,
           string_agg(DISTINCT hazardmill_version, ', ' ORDER BY hazardmill_version) AS versions
    FROM runs WHERE list_contains($runs, run_id) GROUP BY run_id ORDER BY min("at"), run_id
"""
_MODELS: Final = """
    SELECT run_id, list(DISTINCT model_answered ORDER BY model_answered) AS models,
           list(DISTINCT backend ORDER BY backend) AS backends,
           list(DISTINCT jail_profile ORDER BY jail_profile) AS jails
    FROM (
        SELECT run_id, model_answered, backend, jail_profile FROM dangers WHERE list_contains($runs, run_id)
        UNION SELECT run_id, model_answered, backend, jail_profile FROM drafts WHERE list_contains($runs, run_id)
        UNION SELECT run_id, model_answered, backend, jail_profile FROM tasks WHERE list_contains($runs, run_id)
        UNION SELECT run_id, model_answered, backend, jail_profile FROM llm_calls WHERE list_contains($runs, run_id)
    ) GROUP BY run_id
"""


_RECORDED: Final = """
    SELECT count(*) AS "of", count(*) FILTER (recording IS NOT NULL) AS answers,
           count(*) FILTER (recording IS NOT NULL AND recorded_for IS DISTINCT FROM prompt_hash) AS older,
           list(DISTINCT model_answered ORDER BY model_answered) FILTER (recording IS NOT NULL) AS models
    FROM llm_calls WHERE answered AND list_contains($runs, run_id)
"""


def _runs(connection: DuckDBPyConnection, run_ids: Sequence[str]) -> list[Row]:
    """What is known of each run; a run without a row of its own is named all the same."""
    answered = {row["run_id"]: row for row in select(connection, _MODELS, run_ids)}
    known = {row["run_id"]: row for row in select(connection, _RUNS, run_ids)}
    blank: dict[str, Any] = {"kind": None, "state": None, "config": "{}", "began": None, "versions": None}
    runs = []
    for run_id in [*known, *(run_id for run_id in run_ids if run_id not in known)]:
        row = known.get(run_id, blank)
        made = answered.get(run_id, {})
        runs.append(
            {
                **row,
                "run_id": run_id,
                "config": json.dumps(json.loads(row["config"]), indent=2, ensure_ascii=False),
                **{part: ", ".join(filter(None, made.get(part) or ())) for part in ("models", "backends", "jails")},
            }
        )
    return runs


def _answered_offline(connection: DuckDBPyConnection, run_ids: Sequence[str]) -> bool:
    return any(OFFLINE_MODEL in (row["models"] or ()) for row in select(connection, _MODELS, run_ids))


def _recorded_answers(connection: DuckDBPyConnection, run_ids: Sequence[str]) -> RecordedAnswers | None:
    [row] = select(connection, _RECORDED, run_ids)
    if not row["answers"]:
        return None
    return RecordedAnswers(models=tuple(row["models"]), answers=row["answers"], older=row["older"], of=row["of"])


def _remember(structure: Structure) -> Structure:
    """The same key, worked out once a document."""
    known: dict[bytes, str] = {}

    def key(document: Mapping[str, Any]) -> str:
        text = json.dumps(document, sort_keys=True, separators=(",", ":"))
        digest = hashlib.sha256(text.encode()).digest()
        if digest not in known:
            known[digest] = structure(document)
        return known[digest]

    return key
