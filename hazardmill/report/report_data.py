"""The content of a report, gathered once for all formats."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from hazardmill.llm.requests import OFFLINE_MODEL
from hazardmill.quality.corpus_thresholds import CorpusReport
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
    """How many answers of some runs were recorded earlier, and by which models.

    Attributes:
        models: The models that answered when they were recorded.
        answers: Recorded answers.
        older: Those of them that answered another wording of the prompt than the run would send.
        of: All answers of the runs.
    """

    models: tuple[str, ...]
    answers: int
    older: int
    of: int

    @property
    def summary(self) -> str:
        """One sentence on whose answers they are, and how old."""
        names = ", ".join(self.models)
        whole = self.answers == self.of
        many = plural(self.answers, "answer") if whole else f"{self.answers:,} of {plural(self.of, 'answer')}"
        asked = "; no model was asked in these runs" if whole else ""
        are = "is" if self.older == 1 else "are"
        older = f" {plural(self.older, 'answer')} {are} to earlier versions of the prompts." if self.older else ""
        return f"{many} of {names}, recorded earlier{asked}.{older}"


@dataclass(frozen=True)
class ReportData:
    """The content of a report on some runs.

    Attributes:
        sources: The sources that the report is restricted to; empty: all.
        runs: One row per run: kind, state, beginning, configuration, models, backends, jails, versions.
        offline: Whether the offline author answered in any of the runs.
        recorded: Null if no answer was recorded earlier.
        review: Null if no review was named.
        tasks: One row per distinct task, without documents.
        figures: All figures, in the order of the page.
    """

    run_ids: tuple[str, ...]
    sources: tuple[str, ...]
    runs: tuple[Row, ...]
    offline: bool
    recorded: RecordedAnswers | None
    review: ReviewStatistics | None
    funnel: Funnel
    cost: Cost
    corpus: CorpusReport
    comparison: PublishedComparison
    tasks: tuple[Row, ...]
    figures: tuple[Figure, ...]

    @property
    def headline(self) -> list[tuple[str, str]]:
        """The most important figures, each with its caption."""
        return [
            (count(self.funnel.total.records), "records"),
            (count(self.cost.accepted), f"accepted {tables.made_in_words(self.funnel, plural=True)}"),
            (share(self.funnel.total.share_accepted), "of finished records accepted"),
            (usd_per_task(self.cost), f"USD per validated {tables.made_in_words(self.funnel)}"),
        ]

    @property
    def notes(self) -> list[str]:
        """Sentences about the funnel; the last one says whether it adds up."""
        return tables.notes(self.funnel)

    @property
    def gates(self) -> list[Grid]:
        """The corpus lint as tables."""
        return [gates_grid(self.corpus), spreads_grid(self.corpus)]

    @property
    def reviewed(self) -> str:
        """A sentence on who reviewed the tasks, and with what result; empty if no review was named."""
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
        """The figures of the review as tables; none without a review."""
        if self.review is None or not self.review.reviewers:
            return []
        return list(review_grids(self.review))

    @property
    def published(self) -> Grid:
        """The other published figures of DESPITE beside ours."""
        return others_grid(self.comparison)


def gather(
    connection: DuckDBPyConnection,
    run_ids: Sequence[str],
    sources: Sequence[str] = (),
    review: ReviewStatistics | None = None,
) -> ReportData:
    """Read the content of a report.

    Args:
        connection: A connection with one view per table. With ``sources`` nobody else may use it, because it stays
            restricted to them.
        run_ids: The runs, oldest first; ingestion runs may be among them.
        sources: The sources to restrict the report to; empty: all.
        review: The decisions of reviewers under the policy ``any-reject``; null: the report leaves them out.

    Returns:
        All figures as numbers and drawn, with the rows of runs and tasks behind them.

    Raises:
        DocumentError: The store holds a task that this version cannot read.
    """
    if sources:
        narrow(connection, sources)
    found, spent = funnel(connection, run_ids), cost(connection, run_ids)
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
        corpus=corpus(connection, run_ids),
        comparison=comparison,
        tasks=tuple(tasks),
        figures=tuple(all_figures(found, spent, tasks, comparison)),
    )


_TASK_COLUMNS: Final = (
    "run_id, task_id, source, danger_group, danger_type, danger, unsafe_length, safe_length, plan_length, safety_effort"
)
# Times are read as microseconds: for times with a zone, DuckDB needs a package that we do not depend on (pytz).
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
    """Return one row per run; a run without a row in the store is named nevertheless."""
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
