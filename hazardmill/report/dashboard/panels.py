"""The cost dashboard: what a change of a run has to say, as Markdown with figures that an orchestrator's pages show.

Those pages strip bare SVG and scripts, so that figures are ``data:`` images. Names, labels and models are shown as
code, and other text is escaped: nothing that a record or a model says can become a link, an image or a heading.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from hazardmill.errors import InputError
from hazardmill.report import tables
from hazardmill.report.dashboard.figures import Bar, a_task, cache_shares, money_line, stacked_cost, usd_a_task
from hazardmill.report.dashboard.history import History, Past, SpendTotals
from hazardmill.report.figures import funnel_bars, losses_by_reason, yield_by_draft
from hazardmill.report.funnel import Funnel, funnel
from hazardmill.report.queries import excerpt, narrow
from hazardmill.report.wording import usd_sum
from hazardmill.reporting.markdown import grid_markdown, plain
from hazardmill.reporting.numbers import NONE, UNKNOWN, count, plural, share, usd
from hazardmill.reporting.svg.drawing import Figure
from hazardmill.reporting.table import Grid

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from hazardmill.store.store import Store

_LONGEST_KEY: Final = 100
_LONGEST_NAME: Final = 120
_NEARLY_SPENT: Final = 0.9
"""Share of a budget from which on a stopped run is told to take a larger one."""

_OFFLINE: Final = (
    "**Written by the offline author**, hazardmill's rule-based stand-in (`offline-author`), and by no language model:"
    " these figures say nothing of any model, and cost nothing."
)
_HEAD: Final = ("Records", "Accepted", "Yield", "USD", "USD a task", "Cached input")
_TELLING: Final = {
    "running": "under way",
    "completed": "completed: every record has its outcome",
    "stopped": "stopped, resumable",
    "failed": "failed, resumable once what was wrong is mended",
    "stopped (killed)": "killed, resumable: what was paid for is kept",
    "stopped (rows lost)": "completed, but rows were lost since, resumable",
}


@dataclass(frozen=True)
class DashboardPanel:
    """One keyed artifact."""

    key: str
    """Lower-case letters, digits and dashes."""
    markdown: str
    description: str


def panels(store: Store, run_id: str, *, report: Path | None = None) -> list[DashboardPanel]:
    """All artifacts that a change of a run touches, while it is under way or however it ended.

    Args:
        store: Its store.
        run_id: The run.
        report: Its page, if one was written.

    Returns:
        ``run-<id>``, ``cost-<source>`` and ``funnel-<source>`` of each of its sources, ``cost-all``.

    Raises:
        InputError: The store holds no generation run of that id.
        StoreError: The store cannot be read.
    """
    standing = _Standing.of(store, run_id, report)
    return store.query(lambda views: list(_panels(views, standing)))


def headline(store: Store, run_id: str) -> list[dict[str, str]]:
    """The figures that matter most, as the rows of a table of six columns.

    Raises:
        InputError: The store holds no generation run of that id.
        StoreError: The store cannot be read.
    """
    _Standing.of(store, run_id, None)
    past = store.query(lambda views: History(views, run_id).of(run_id))
    # A dash alone is read as the beginning of a list.
    words = ("none yet" if words == NONE else words for words in _headline(past))
    return [dict(zip(_HEAD, words, strict=True))]


def key(kind: str, name: str) -> str:
    """A key for an artifact: another name gives another key, and most names can be read in theirs.

    Args:
        kind: ``run``, ``cost`` or ``funnel``.
        name: A run id, or a source: source names have no dash, so that one for ``_`` leaves them different.
    """
    shown = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    kept = name if kind == "run" else name.replace("_", "-")
    if shown == kept != "all" and len(shown) <= _LONGEST_KEY:
        return f"{kind}-{shown}"
    return "-".join(filter(None, (kind, shown[:_LONGEST_KEY], hashlib.sha256(name.encode()).hexdigest()[:8])))


@dataclass(frozen=True)
class _Standing:
    """How a run stands, and where."""

    run_id: str
    state: str
    config: Mapping[str, Any]
    resume: str | None
    """The command that goes on with it; null where nothing is left, or somebody works on it."""
    report: Path | None
    store: str
    """Where it lies, for people."""

    @classmethod
    def of(cls, store: Store, run_id: str, report: Path | None) -> _Standing:
        from hazardmill.runs.status import KILLED, RETRACTED, name_state
        from hazardmill.store.bucket.address import display_name
        from hazardmill.store.maintenance.findings import command

        rows = store.rows(
            "runs", {"run_id": run_id, "kind": "generate"}, ["run_id", "sequence", "state", "config", "counts"]
        )
        if not rows:
            raise InputError(f"there is no generation run {run_id} here", remedy="see: hazardmill run list")
        row = max(rows, key=lambda row: row["sequence"])
        state, resume = name_state(store, row), None
        if state == "completed" and _has_lost_records(store, row):
            state = RETRACTED
        config = json.loads(row["config"])
        if state in ("stopped", "failed", KILLED, RETRACTED):
            resume = command(f"run resume {run_id}{_larger(store, row, config)}", store.path)
        return cls(run_id, state, config, resume, report, display_name(store.path))


def _has_lost_records(store: Store, row: Mapping[str, Any]) -> bool:
    """Whether a rebuild of the store made records of a completed run pending again."""
    records = json.loads(row["counts"] or "{}").get("records")
    return records is not None and store.count("outcomes", {"run_id": row["run_id"]}) < sum(records.values())


def _larger(store: Store, row: Mapping[str, Any], config: Mapping[str, Any]) -> str:
    """The budget to go on with, where that of a run is as good as spent."""
    from hazardmill.runs.budgets import bound_spending, suggest_budget

    budget, records = config.get("budget_usd"), json.loads(row["counts"] or "{}").get("records")
    if budget is None or records is None:
        return ""
    spent = bound_spending(store, row["run_id"])
    if spent is None or spent < _NEARLY_SPENT * budget:
        return ""
    return f" --budget-usd {suggest_budget(store, row['run_id'], budget, sum(records.values())):g}"


def _panels(views: DuckDBPyConnection, at: _Standing) -> Iterator[DashboardPanel]:
    past = History(views, at.run_id)
    yield DashboardPanel(key("run", at.run_id), _page(_of_run(past, at)), f"Run {_code(at.run_id)}: {at.state}")
    rows = excerpt(views, [at.run_id], _COUNTED)
    for source in past.sources:
        yield DashboardPanel(
            key("cost", source), _page(_of_source(past, at, source)), f"What {_code(source)} costs, run by run"
        )
        # Of its own: what is narrowed stays so.
        mine = rows.cursor()
        narrow(mine, [source])
        lost = funnel(mine, [at.run_id], None)
        told = f"Where the records of {_code(source)} went in the run {_code(at.run_id)}"
        yield DashboardPanel(key("funnel", source), _page(_of_funnel(past, at, source, lost)), told)
    yield DashboardPanel("cost-all", _page(_of_all(past, at)), "What all sources cost, run by run")


_COUNTED: Final = {
    "runs": "run_id, sequence, kind, selection",
    "outcomes": "run_id, record_id, source, outcome, reason, message",
    "dangers": "run_id, record_id, source, danger_type",
    "drafts": "run_id, record_id, source, draft, accepted, failed_check, failed_reason",
    "tasks": "run_id, task_id, source, draft",
    "rejects": "run_id, source",
}
"""What the funnel reads of each table."""


def _of_run(past: History, at: _Standing) -> Iterator[str]:
    run, sources = past.of(at.run_id), past.sources
    yield from _beginning(past.offline)
    yield f"## Run {_code(at.run_id)}"
    yield _standing(at, run)
    yield _grid(Grid("", _HEAD, (_headline(run),), words=0))
    yield from _bounds([run])
    parts = [past.of(at.run_id, source) for source in sources]
    if len(sources) > 1:
        yield _grid(_by_source(sources, parts, run))
    of_each = [Bar(source, part.by_stage) for source, part in zip(sources, parts, strict=True)]
    if sum(part.spent.attempts for part in parts) < run.spent.attempts:
        # Some were made for no one record: they would be in no bar.
        of_each = [Bar("all", run.by_stage)]
    yield _picture(stacked_cost(of_each, "by source"))
    budget, shared = at.config.get("budget_usd"), at.config.get("budget_id")
    yield _picture(money_line(past.line(at.run_id), budget, "this run", shared))
    yield _picture(yield_by_draft(past.yields(at.run_id)))
    yield _picture(cache_shares(list(run.by_stage.items()), "this run"))
    yield from _last_runs(past, None, only_task=True)
    yield _elsewhere(at, ["cost-all", *(key(kind, source) for source in sources for kind in ("cost", "funnel"))])


def _of_source(past: History, at: _Standing, source: str) -> Iterator[str]:
    last = past.last(source)
    yield from _beginning(past.any_offline(last))
    yield f"## Cost of {_code(source)}"
    yield _freshness(at)
    yield from _of_many(past, source, last)
    yield _elsewhere(at, [key("run", at.run_id), key("funnel", source), "cost-all"])


def _of_all(past: History, at: _Standing) -> Iterator[str]:
    last, sources = past.last(), past.all_sources
    yield from _beginning(past.any_offline(last))
    yield "## Cost of all sources"
    yield _freshness(at)
    yield from _of_many(past, None, last, _by_source(sources, [past.whole(name) for name in sources], past.whole()))
    yield _elsewhere(at, [key("run", at.run_id), *(key("cost", source) for source in sources)])


def _freshness(at: _Standing) -> str:
    return f"The whole store, and its last runs one by one. Brought up to date by {_run_name(at)}."


def _run_name(at: _Standing) -> str:
    return f"the run {_code(at.run_id)} ({plain(at.state)})"


def _of_many(past: History, source: str | None, last: Sequence[Past], by_source: Grid | None = None) -> Iterator[str]:
    """What is said of many runs."""
    whole = past.whole(source)
    yield _grid(Grid("", _HEAD, (_headline(whole),), words=0))
    yield from _bounds([whole])
    if by_source is not None:
        yield _grid(by_source)
    runs = f"the last {plural(len(last), 'run')}" if len(last) > 1 else "one run"
    yield _picture(stacked_cost([Bar(run.began, run.by_stage) for run in last], runs))
    yield from _last_runs(past, source)
    yield _picture(cache_shares([(run.began, run.spent) for run in last], runs))
    yield _picture(money_line(past.line(source=source), None, "all runs"))
    yield _picture(yield_by_draft(past.yields(source=source)))


def _last_runs(past: History, source: str | None, *, only_task: bool = False) -> Iterator[str]:
    last = past.last(source)
    runs = f"the last {plural(len(last), 'run')}" if len(last) > 1 else "one run"
    yield _picture(usd_a_task(last, [run.began for run in last], past.run_id, runs))
    if not only_task:
        yield _grid(_run_by_run(last))


def _of_funnel(past: History, at: _Standing, source: str, lost: Funnel) -> Iterator[str]:
    yield from _beginning(past.offline)
    yield f"## Funnel of {_code(source)}"
    yield f"Of {_run_name(at)}."
    yield _grid(tables.way_by_source(lost))
    yield _picture(funnel_bars(lost))
    yield _picture(losses_by_reason(lost))
    yield _grid(tables.losses(lost))
    yield _picture(yield_by_draft(lost.drafts))
    if lost.draft_failures:
        yield _grid(tables.draft_failures(lost))
    yield "\n".join(f"- {_text(note)}" for note in tables.notes(lost))
    yield _elsewhere(at, [key("run", at.run_id), key("cost", source)])


def _beginning(offline: bool) -> Iterator[str]:
    if offline:
        yield _OFFLINE


def _standing(at: _Standing, run: Past) -> str:
    models = at.config.get("models") or {}
    named = ", ".join(_code(str(model)) for model in dict.fromkeys(models.values())) or UNKNOWN
    left = "how many records are left is unknown"
    if run.records is not None:
        left = f"{count(run.records - run.finished)} of {plural(run.records, 'record')} left"
    lines = [
        f"**{plain(_TELLING.get(at.state, at.state)).capitalize()}.** Began {run.began} UTC;"
        f" models asked: {named}; {left}."
    ]
    budget, most = at.config.get("budget_usd"), run.spent.usd_upper.sum
    if budget is not None:
        spent = (
            "an amount without a bound"
            if most.unknown
            else f"at most {usd(most.known)}, {share((most.known or 0) / budget)}"
        )
        named = f" (shared: {_code(str(at.config['budget_id']))})" if at.config.get("budget_id") else ""
        lines.append(f"Budget {usd(budget)}{named}: {spent} of it spent by this run.")
    if at.resume is not None:
        lines.append(f"To go on with it, where the store is: {_code(at.resume, longest=None)}")
    return "\n\n".join(lines)


def _headline(past: Past) -> tuple[str, ...]:
    return (
        UNKNOWN if past.records is None else count(past.records),
        count(past.accepted),
        share(past.share_accepted),
        _usd_range(past.spent),
        a_task(past),
        _cache_share(past.spent),
    )


def _by_source(sources: Sequence[str], parts: Sequence[Past], whole: Past) -> Grid:
    lines = [(source, *_short(part)) for source, part in zip(sources, parts, strict=True)]
    head = ("Source", "Records", "Accepted", "USD", "USD a task", "Cached input")
    return Grid("By source", head, (*lines, ("all", *_short(whole))))


def _run_by_run(pasts: Sequence[Past]) -> Grid:
    lines = tuple((f"{past.run_id}, {past.began}", *_short(past)) for past in reversed(pasts))
    return Grid("Run by run", ("Run", "Records", "Accepted", "USD", "USD a task", "Cached input"), lines)


def _short(past: Past) -> tuple[str, ...]:
    """As ``_headline``, in five columns."""
    records, accepted, share_accepted, *others = _headline(past)
    return (records, f"{accepted} ({share_accepted})", *others)


def _usd_range(spent: SpendTotals) -> str:
    """USD that was paid; from the least to the most that it can have been where some of it is not known."""
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
            " price. The most that it can be counts each with what was reserved for it."
        )


def _elsewhere(at: _Standing, keys: Sequence[str]) -> str:
    lines = [f"Other artifacts: {', '.join(map(_code, keys))}."]
    if at.report is not None:
        lines.insert(0, f"The report, with every figure and task: {_code(str(at.report), longest=None)}.")
    lines.append(f"Store: {_code(at.store, longest=None)}.")
    return "\n\n".join(lines)


def _page(blocks: Iterator[str]) -> str:
    return "\n\n".join(blocks) + "\n"


def _grid(grid: Grid) -> str:
    # Kept together: a narrow column would put the sign on a line of its own.
    return _break_links(grid_markdown(grid, titled=bool(grid.title))).replace(" %", "\u00a0%")


def _picture(figure: Figure) -> str:
    shown = f"![{_text(' '.join(figure.alt.split()))}]({figure.data_address})"
    return "\n\n".join([shown, *([_text(figure.note)] if figure.note else [])])


def _text(text: str) -> str:
    return _break_links(plain(text))


def _break_links(markdown: str) -> str:
    """Text of which no part is taken for an address: a sign without width stands in it."""
    return _ADDRESS.sub("\\g<0>\u2060", markdown)


_ADDRESS: Final = re.compile(r"(?i)[a-z](?=://)|www(?=\.)|[^\s@](?=@)")


def _code(text: str, *, longest: int | None = _LONGEST_NAME) -> str:
    """Text as code on one line, in which nothing means anything."""
    shown = "".join(sign if sign.isprintable() and sign != "`" else " " for sign in text).strip()
    if longest is not None and len(shown) > longest:
        shown = f"{shown[: longest - 4]} ..."
    return f"`{shown}`" if shown else NONE
