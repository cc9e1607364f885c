"""The page ``page-yield``: how many records became tasks, by source and by draft, and why the others did not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from hazardmill.llm.requests import OFFLINE_MODEL
from hazardmill.report import tables
from hazardmill.report.dashboard.history import History
from hazardmill.report.dashboard.links import artifact_key, link_artifact
from hazardmill.report.dashboard.writing import (
    describe_offline,
    write_code,
    write_grid,
    write_picture,
    write_table,
    write_text,
)
from hazardmill.report.figures import funnel_bars, losses_by_reason
from hazardmill.report.funnel import LOSSES, Funnel, FunnelCounts, funnel
from hazardmill.report.queries import Row, copy_columns, select
from hazardmill.report.wording import OUTCOME_WORDS, reason
from hazardmill.reporting.numbers import NONE, count, plural, share, share_of

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

DAYS: Final = 30
"""The page is about runs that began in so many days."""

COUNTED: Final = {
    "runs": "run_id, sequence, kind, config, selection",
    "outcomes": "run_id, record_id, source, outcome, reason, message",
    "dangers": "run_id, record_id, source, danger_type",
    "drafts": "run_id, record_id, source, draft, accepted, failed_check, failed_reason",
    "tasks": "run_id, task_id, source, draft, structure_id",
    "scenarios": "run_id, scenario_id, source, draft",
    "hazard_tasks": "run_id, hazard_task_id, record_id, source, draft",
    "rejects": "run_id, source",
}
"""The columns of each table that the funnel reads."""

_DRAFTS: Final = 5
"""Drafts with a column of their own."""

_REASONS: Final = 6
"""Reasons with a row of their own, per source; the rarer ones share one."""

_BY_DRAFT: Final = """
    SELECT source, draft AS number, count(*) AS made, count(*) FILTER (accepted) AS passed
    FROM drafts WHERE list_contains($runs, run_id) GROUP BY source, draft
"""

_OFFLINE: Final = """
    SELECT count(DISTINCT run_id) AS runs FROM (
        SELECT run_id, model_answered FROM dangers UNION ALL SELECT run_id, model_answered FROM drafts
    ) WHERE model_answered = $offline AND list_contains($runs, run_id)
"""


def write_yields(views: DuckDBPyConnection, history: History, now: datetime) -> Iterator[str]:
    """Yield the blocks of the page.

    Args:
        views: A connection with one view per table.
        history: The runs of the same store.
        now: The time that counts as now.
    """
    since = f"{now.astimezone(UTC) - timedelta(days=DAYS):%Y-%m-%d %H:%M}"
    recent = [run_id for run_id, row in history.runs.items() if row["began"] >= since]
    runs = recent or list(history.runs)
    if not runs:
        yield "There is no generation run yet."
        return
    if offline := select(views, _OFFLINE, runs, offline=OFFLINE_MODEL)[0]["runs"]:
        yield describe_offline(offline, len(runs))
    if recent:
        yield (
            f"The {plural(len(runs), 'run')} that began in the last {DAYS} days; the column *All runs* has the yield of"
            f" all {len(history.runs)} runs of the store. A yield is the share of the records with an outcome."
        )
    else:
        yield f"No run began in the last {DAYS} days: these are all {plural(len(runs), 'run')} of the store."
    rows = copy_columns(views, runs, COUNTED)
    found = funnel(rows, runs)
    whole = {source: history.whole(source).share_accepted for source in found.sources}
    yield write_table(
        ("Source", "Records", "Accepted", "Yield", "All runs", "Lost / pending"),
        [
            *(_source_row(_link(name), counts, whole[name]) for name, counts in found.sources.items()),
            _source_row("**all**", found.total, history.whole().share_accepted),
        ],
    )
    yield write_picture(funnel_bars(found))
    yield "### Why the others were lost"
    yield write_picture(losses_by_reason(found))
    head = ("Source", "Lost as", "Reason", "Records", "Of the source")
    yield write_table(head, _loss_rows(found), words=3)
    yield "### By draft"
    yield write_grid(tables.yields(found.drafts))
    drafts = select(rows, _BY_DRAFT, runs)
    heads = ("Source", *(f"Draft {number}" for number in range(1, _DRAFTS + 1)))
    yield "Drafts that passed every check, of the drafts with that number:"
    yield write_table(heads, (_draft_row(name, drafts) for name in found.sources))
    if found.draft_failures:
        yield write_grid(tables.draft_failures(found))
    yield "\n".join(f"- {write_text(note)}" for note in tables.notes(found))


def _link(source: str) -> str:
    return link_artifact(artifact_key("funnel", source), source)


def _source_row(name: str, counts: FunnelCounts, whole: float | None) -> tuple[str, ...]:
    lost = sum(counts.of(outcome) for outcome in LOSSES)
    return (
        name,
        count(counts.records),
        count(counts.accepted),
        share(counts.share_accepted),
        share(whole),
        f"{count(lost)} / {count(counts.pending)}",
    )


def _loss_rows(found: Funnel) -> Iterator[tuple[str, ...]]:
    for source, counts in found.sources.items():
        by_reason: dict[tuple[str, str], int] = {}
        for loss in found.losses:
            if loss.source == source:
                words = (OUTCOME_WORDS[loss.outcome], reason(loss.said or loss.reason))
                by_reason[words] = by_reason.get(words, 0) + loss.count
        ranked = sorted(by_reason.items(), key=lambda each: (-each[1], each[0]))
        # A single further reason is shown itself.
        kept = ranked if len(ranked) <= _REASONS + 1 else ranked[:_REASONS]
        for (ended, why), number in kept:
            cells = (write_text(ended), write_text(why), count(number), share_of(number, counts.records))
            yield (write_code(source), *cells)
        if rest := sum(number for _, number in ranked[len(kept) :]):
            more = f"{plural(len(ranked) - len(kept), 'other reason')}"
            yield (write_code(source), NONE, more, count(rest), share_of(rest, counts.records))
    lost = sum(found.total.of(outcome) for outcome in LOSSES)
    yield ("**all**", "**all losses**", "", count(lost), share_of(lost, found.total.records))


def _draft_row(source: str, drafts: list[Row]) -> tuple[str, ...]:
    mine: Mapping[int, Row] = {row["number"]: row for row in drafts if row["source"] == source}
    cells = (mine.get(number) for number in range(1, _DRAFTS + 1))
    return (
        write_code(source),
        *(f"{share_of(row['passed'], row['made'])} of {count(row['made'])}" if row else NONE for row in cells),
    )
