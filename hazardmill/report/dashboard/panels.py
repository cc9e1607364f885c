"""The pages of the cost dashboard, as Markdown that an orchestrator can show.

Its pages strip SVG elements and scripts, so that figures are images with ``data:`` addresses. Names, labels and models
are shown as code, and other text is escaped: nothing that a record or a model says can become a link, an image or a
heading.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from hazardmill.report import tables
from hazardmill.report.dashboard.figures import (
    Bar,
    cache_shares,
    money_line,
    price_per_task,
    stacked_cost,
    usd_per_task_bars,
)
from hazardmill.report.dashboard.history import History, Past, SpendTotals
from hazardmill.report.dashboard.links import ReportPlace, artifact_key, link_artifact, link_pages
from hazardmill.report.dashboard.standing import RunStanding
from hazardmill.report.dashboard.writing import (
    DashboardPanel,
    describe_offline,
    join_blocks,
    write_code,
    write_grid,
    write_picture,
    write_text,
)
from hazardmill.report.dashboard.yields import COUNTED
from hazardmill.report.figures import funnel_bars, losses_by_reason, yield_by_draft
from hazardmill.report.funnel import Funnel, funnel
from hazardmill.report.queries import copy_columns, narrow
from hazardmill.report.wording import usd_sum
from hazardmill.reporting.markdown import escape_markdown
from hazardmill.reporting.numbers import NONE, UNKNOWN, count, plural, share, usd
from hazardmill.reporting.table import Grid

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from hazardmill.store.store import Store

_HEAD: Final = ("Records", "Accepted", "Yield", "USD", "USD per task", "Cached input")
_STATE_WORDS: Final = {
    "running": "under way",
    "completed": "completed: every record has its outcome",
    "stopped": "stopped, resumable",
    "failed": "failed, resumable once the cause is repaired",
    "stopped (killed)": "killed, resumable: what was paid for is kept",
    "stopped (rows lost)": "completed, but rows were lost since, resumable",
}


def panels(store: Store, run_id: str, *, report: ReportPlace | None = None) -> list[DashboardPanel]:
    """Render all pages that a change of a run affects, in any state of the run.

    Args:
        store: The store with the run.
        run_id: The run.
        report: Where the run's report is, if one was written; the pages lead to it.

    Returns:
        ``run-<id>``, then ``cost-<source>`` and ``funnel-<source>`` for each of its sources, then ``cost-all``.

    Raises:
        InputError: The store has no generation run with that id.
        StoreError: The store cannot be read.
    """
    standing = RunStanding.of(store, run_id)
    return store.query(lambda views: list(_panels(views, standing, report)))


def headline(store: Store, run_id: str) -> list[dict[str, str]]:
    """Return the most important figures of a run, as the rows of a table with six columns.

    Args:
        store: The store with the run.
        run_id: The run.

    Returns:
        One row: heading to text.

    Raises:
        InputError: The store has no generation run with that id.
        StoreError: The store cannot be read.
    """
    RunStanding.of(store, run_id)
    past = store.query(lambda views: History(views, run_id).of(run_id))
    # Markdown reads a lone dash as the beginning of a list.
    words = ("none yet" if words == NONE else words for words in _headline(past))
    return [dict(zip(_HEAD, words, strict=True))]


def _panels(views: DuckDBPyConnection, at: RunStanding, report: ReportPlace | None) -> Iterator[DashboardPanel]:
    past = History(views, at.run_id)
    yield DashboardPanel(
        artifact_key("run", at.run_id),
        join_blocks(_of_run(past, at, report)),
        f"Run {write_code(at.run_id)}: {at.state}",
    )
    rows = copy_columns(views, [at.run_id], COUNTED)
    for source in past.sources:
        yield DashboardPanel(
            artifact_key("cost", source),
            join_blocks(_of_source(past, at, source, report)),
            f"What {write_code(source)} costs, run by run",
        )
        # A separate cursor, because a connection stays narrowed.
        mine = rows.cursor()
        narrow(mine, [source])
        lost = funnel(mine, [at.run_id])
        description = f"Where the records of {write_code(source)} went in the run {write_code(at.run_id)}"
        yield DashboardPanel(
            artifact_key("funnel", source), join_blocks(_of_funnel(past, at, source, lost, report)), description
        )
    yield DashboardPanel("cost-all", join_blocks(_of_all(past, at, report)), "What all sources cost, run by run")


def _of_run(past: History, at: RunStanding, report: ReportPlace | None) -> Iterator[str]:
    run, sources = past.of(at.run_id), past.sources
    yield from _beginning(past, [past.of(at.run_id)])
    yield f"## Run {write_code(at.run_id)}"
    yield _standing(at, run)
    yield write_grid(Grid("", _HEAD, (_headline(run),), words=0))
    yield from _bounds([run])
    parts = [past.of(at.run_id, source) for source in sources]
    if len(sources) > 1:
        yield write_grid(_by_source(sources, parts, run))
    of_each = [Bar(source, part.by_stage) for source, part in zip(sources, parts, strict=True)]
    if sum(part.spent.attempts for part in parts) < run.spent.attempts:
        # Some requests were made for no single record, and would not be in any bar.
        of_each = [Bar("all", run.by_stage)]
    yield write_picture(stacked_cost(of_each, "by source"))
    budget, shared = at.config.get("budget_usd"), at.config.get("budget_id")
    yield write_picture(money_line(past.line(at.run_id), budget, "this run", shared))
    yield write_picture(yield_by_draft(past.yields(at.run_id)))
    yield write_picture(cache_shares(list(run.by_stage.items()), "this run"))
    yield from _last_runs(past, None, only_task=True)
    yield _other_artifacts(
        at, report, ["cost-all", *(artifact_key(kind, source) for source in sources for kind in ("cost", "funnel"))]
    )


def _of_source(past: History, at: RunStanding, source: str, report: ReportPlace | None) -> Iterator[str]:
    last = past.last(source)
    yield from _beginning(past, last)
    yield f"## Cost of {write_code(source)}"
    yield _freshness(at)
    yield from _of_many(past, source, last)
    yield _other_artifacts(at, report, [artifact_key("run", at.run_id), artifact_key("funnel", source), "cost-all"])


def _of_all(past: History, at: RunStanding, report: ReportPlace | None) -> Iterator[str]:
    last, sources = past.last(), past.all_sources
    yield from _beginning(past, last)
    yield "## Cost of all sources"
    yield _freshness(at)
    yield from _of_many(past, None, last, _by_source(sources, [past.whole(name) for name in sources], past.whole()))
    yield _other_artifacts(
        at, report, [artifact_key("run", at.run_id), *(artifact_key("cost", source) for source in sources)]
    )


def _freshness(at: RunStanding) -> str:
    return f"The whole store, and its last runs separately. Drawn after {_run_name(at)}."


def _run_name(at: RunStanding) -> str:
    return f"the run {write_code(at.run_id)} ({escape_markdown(at.state)})"


def _of_many(past: History, source: str | None, last: Sequence[Past], by_source: Grid | None = None) -> Iterator[str]:
    """Yield the blocks about many runs."""
    whole = past.whole(source)
    yield write_grid(Grid("", _HEAD, (_headline(whole),), words=0))
    yield from _bounds([whole])
    if by_source is not None:
        yield write_grid(by_source)
    runs = f"the last {plural(len(last), 'run')}" if len(last) > 1 else "one run"
    yield write_picture(stacked_cost([Bar(run.began, run.by_stage) for run in last], runs))
    yield from _last_runs(past, source)
    yield write_picture(cache_shares([(run.began, run.spent) for run in last], runs))
    yield write_picture(money_line(past.line(source=source), None, "all runs"))
    yield write_picture(yield_by_draft(past.yields(source=source)))


def _last_runs(past: History, source: str | None, *, only_task: bool = False) -> Iterator[str]:
    last = past.last(source)
    runs = f"the last {plural(len(last), 'run')}" if len(last) > 1 else "one run"
    yield write_picture(usd_per_task_bars(last, [run.began for run in last], past.run_id or "", runs))
    if not only_task:
        yield write_grid(_run_by_run(last))


def _of_funnel(past: History, at: RunStanding, source: str, lost: Funnel, report: ReportPlace | None) -> Iterator[str]:
    yield from _beginning(past, [past.of(at.run_id)])
    yield f"## Funnel of {write_code(source)}"
    yield f"Of {_run_name(at)}."
    yield write_grid(tables.funnel_table_by_source(lost))
    yield write_picture(funnel_bars(lost))
    yield write_picture(losses_by_reason(lost))
    yield write_grid(tables.losses(lost))
    yield write_picture(yield_by_draft(lost.drafts))
    if lost.draft_failures:
        yield write_grid(tables.draft_failures(lost))
    yield "\n".join(f"- {write_text(note)}" for note in tables.notes(lost))
    yield _other_artifacts(at, report, [artifact_key("run", at.run_id), artifact_key("cost", source)])


def _beginning(past: History, shown: Sequence[Past]) -> Iterator[str]:
    offline = past.count_offline(shown)
    if offline:
        yield describe_offline(offline, len(shown))


def _standing(at: RunStanding, run: Past) -> str:
    models = at.config.get("models") or {}
    named = ", ".join(write_code(str(model)) for model in dict.fromkeys(models.values())) or UNKNOWN
    left = "how many records are left is unknown"
    if run.records is not None:
        left = f"{count(run.records - run.finished)} of {plural(run.records, 'record')} left"
    lines = [
        f"**{escape_markdown(_STATE_WORDS.get(at.state, at.state)).capitalize()}.** Began {run.began} UTC;"
        f" models asked: {named}; {left}."
    ]
    budget, most = at.config.get("budget_usd"), run.spent.usd_upper.sum
    if budget is not None:
        spent = (
            "an amount without a bound"
            if most.unknown
            else f"at most {usd(most.known)}, {share((most.known or 0) / budget)}"
        )
        named = f" (shared: {write_code(str(at.config['budget_id']))})" if at.config.get("budget_id") else ""
        lines.append(f"Budget {usd(budget)}{named}: {spent} of it spent by this run.")
    if at.resume is not None:
        lines.append(f"To resume it, on the machine with the store: {write_code(at.resume, longest=None)}")
    return "\n\n".join(lines)


def _headline(past: Past) -> tuple[str, ...]:
    return (
        UNKNOWN if past.records is None else count(past.records),
        count(past.accepted),
        share(past.share_accepted),
        _usd_range(past.spent),
        price_per_task(past),
        _cache_share(past.spent),
    )


def _by_source(sources: Sequence[str], parts: Sequence[Past], whole: Past) -> Grid:
    lines = [(source, *_headline_in_five(part)) for source, part in zip(sources, parts, strict=True)]
    head = ("Source", "Records", "Accepted", "USD", "USD per task", "Cached input")
    return Grid("By source", head, (*lines, ("all", *_headline_in_five(whole))))


def _run_by_run(pasts: Sequence[Past]) -> Grid:
    lines = tuple((f"{past.run_id}, {past.began}", *_headline_in_five(past)) for past in reversed(pasts))
    return Grid("Run by run", ("Run", "Records", "Accepted", "USD", "USD per task", "Cached input"), lines)


def _headline_in_five(past: Past) -> tuple[str, ...]:
    """Return the figures of ``_headline`` in five columns."""
    records, accepted, share_accepted, *others = _headline(past)
    return (records, f"{accepted} ({share_accepted})", *others)


def _usd_range(spent: SpendTotals) -> str:
    """Write the dollars paid; as a range if some of them are unknown but bounded."""
    known, most = spent.usd.sum, spent.usd_upper.sum
    if known.unknown and not most.unknown:
        return f"{usd(known.known or 0)} to {usd(most.known)}"
    return usd_sum(known)


def _cache_share(spent: SpendTotals) -> str:
    if spent.prompt or not spent.attempts:
        return share(spent.cache_hit_share)
    return UNKNOWN


def _bounds(pasts: Sequence[Past]) -> Iterator[str]:
    unknown = sum(past.spent.usd.sum.unknown for past in pasts)
    if unknown:
        yield (
            f"The cost of {plural(unknown, 'attempt')} is not known, or not yet: under way, cut off, or without a"
            " price. In the upper bound each counts with what was reserved for it."
        )


def _other_artifacts(at: RunStanding, report: ReportPlace | None, keys: Sequence[str]) -> str:
    lines = [f"Other artifacts: {', '.join(map(link_artifact, keys))}.", link_pages()]
    if report is not None:
        lines.insert(0, report.link(at.run_id))
    lines.append(f"Store: {write_code(at.store, longest=None)}.")
    return "\n\n".join(lines)
