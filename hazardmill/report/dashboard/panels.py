"""The pages of the cost dashboard, as Markdown that an orchestrator can show.

Its pages strip SVG elements and scripts, so that figures are images with ``data:`` addresses. Names, labels and models
are shown as code, and other text is escaped: nothing that a record or a model says can become a link, an image or a
heading.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

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
from hazardmill.report.figures import funnel_bars, losses_by_reason, yield_by_draft
from hazardmill.report.funnel import Funnel, funnel
from hazardmill.report.queries import copy_columns, narrow
from hazardmill.report.wording import usd_sum
from hazardmill.reporting.markdown import escape_markdown, grid_markdown
from hazardmill.reporting.numbers import NONE, UNKNOWN, count, plural, share, usd
from hazardmill.reporting.svg.drawing import Figure
from hazardmill.reporting.table import Grid

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from hazardmill.store.store import Store

_LONGEST_KEY: Final = 100
_LONGEST_NAME: Final = 120
_NEARLY_SPENT: Final = 0.9
"""Share of the budget from which on the command to resume a stopped run has a larger one."""

_OFFLINE: Final = (
    "**Written by the offline author**, hazardmill's rule-based stand-in (`offline-author`), not by a language model:"
    " these figures say nothing about any model, and nothing was paid."
)
_HEAD: Final = ("Records", "Accepted", "Yield", "USD", "USD per task", "Cached input")
_STATE_WORDS: Final = {
    "running": "under way",
    "completed": "completed: every record has its outcome",
    "stopped": "stopped, resumable",
    "failed": "failed, resumable once the cause is repaired",
    "stopped (killed)": "killed, resumable: what was paid for is kept",
    "stopped (rows lost)": "completed, but rows were lost since, resumable",
}


@dataclass(frozen=True)
class DashboardPanel:
    """One page, which becomes an artifact with a key.

    Attributes:
        key: Key of the artifact: lower-case letters, digits and dashes.
        markdown: The page.
        description: What the page shows, in one line of Markdown.
    """

    key: str
    markdown: str
    description: str


def panels(store: Store, run_id: str, *, report: Path | None = None) -> list[DashboardPanel]:
    """Render all pages that a change of a run affects, in any state of the run.

    Args:
        store: The store with the run.
        run_id: The run.
        report: The run's report, if one was written; the pages name it.

    Returns:
        ``run-<id>``, then ``cost-<source>`` and ``funnel-<source>`` for each of its sources, then ``cost-all``.

    Raises:
        InputError: The store has no generation run with that id.
        StoreError: The store cannot be read.
    """
    standing = _Standing.of(store, run_id, report)
    return store.query(lambda views: list(_panels(views, standing)))


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
    _Standing.of(store, run_id, None)
    past = store.query(lambda views: History(views, run_id).of(run_id))
    # Markdown reads a lone dash as the beginning of a list.
    words = ("none yet" if words == NONE else words for words in _headline(past))
    return [dict(zip(_HEAD, words, strict=True))]


def key(kind: str, name: str) -> str:
    """Return the key of an artifact. Different names give different keys, and most keys show the name.

    Where the name does not fit, the key ends in eight digits of the name's SHA-256.

    Args:
        kind: ``run``, ``cost`` or ``funnel``.
        name: A run id or a source. Names of sources have no dash, so that ``_`` can become one without a clash.
    """
    shown = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    kept = name if kind == "run" else name.replace("_", "-")
    if shown == kept != "all" and len(shown) <= _LONGEST_KEY:
        return f"{kind}-{shown}"
    return "-".join(filter(None, (kind, shown[:_LONGEST_KEY], hashlib.sha256(name.encode()).hexdigest()[:8])))


@dataclass(frozen=True)
class _Standing:
    """The state of a run, and the place of its store."""

    run_id: str
    state: str
    config: Mapping[str, Any]
    resume: str | None
    """The command that resumes the run; null if nothing is left, or a process works on it."""
    report: Path | None
    store: str
    """The address of the store, for people."""

    @classmethod
    def of(cls, store: Store, run_id: str, report: Path | None) -> _Standing:
        from hazardmill.runs.status import KILLED, RETRACTED, name_state
        from hazardmill.store.bucket.address import display_name
        from hazardmill.store.maintenance.findings import command
        from hazardmill.store.run_ids import known_runs, unknown_run

        rows = store.rows(
            "runs", {"run_id": run_id, "kind": "generate"}, ["run_id", "sequence", "state", "config", "counts"]
        )
        if not rows:
            raise unknown_run(run_id, known_runs(store, "generate"), store.address, kind="generation run")
        row = max(rows, key=lambda row: row["sequence"])
        state, resume = name_state(store, row), None
        if state == "completed" and _has_lost_records(store, row):
            state = RETRACTED
        config = json.loads(row["config"])
        if state in ("stopped", "failed", KILLED, RETRACTED):
            resume = command(f"run resume {run_id}{_larger_budget(store, row, config)}", store.path)
        return cls(run_id, state, config, resume, report, display_name(store.path))


def _has_lost_records(store: Store, row: Mapping[str, Any]) -> bool:
    """Whether a rebuild of the store left records of a completed run without an outcome."""
    records = json.loads(row["counts"] or "{}").get("records")
    return records is not None and store.count("outcomes", {"run_id": row["run_id"]}) < sum(records.values())


def _larger_budget(store: Store, row: Mapping[str, Any], config: Mapping[str, Any]) -> str:
    """Return the option with a larger budget if that of the run is nearly spent, else nothing."""
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
    rows = copy_columns(views, [at.run_id], _COUNTED)
    for source in past.sources:
        yield DashboardPanel(
            key("cost", source), _page(_of_source(past, at, source)), f"What {_code(source)} costs, run by run"
        )
        # A separate cursor, because a connection stays narrowed.
        mine = rows.cursor()
        narrow(mine, [source])
        lost = funnel(mine, [at.run_id])
        description = f"Where the records of {_code(source)} went in the run {_code(at.run_id)}"
        yield DashboardPanel(key("funnel", source), _page(_of_funnel(past, at, source, lost)), description)
    yield DashboardPanel("cost-all", _page(_of_all(past, at)), "What all sources cost, run by run")


_COUNTED: Final = {
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
        # Some requests were made for no single record, and would not be in any bar.
        of_each = [Bar("all", run.by_stage)]
    yield _picture(stacked_cost(of_each, "by source"))
    budget, shared = at.config.get("budget_usd"), at.config.get("budget_id")
    yield _picture(money_line(past.line(at.run_id), budget, "this run", shared))
    yield _picture(yield_by_draft(past.yields(at.run_id)))
    yield _picture(cache_shares(list(run.by_stage.items()), "this run"))
    yield from _last_runs(past, None, only_task=True)
    yield _other_artifacts(at, ["cost-all", *(key(kind, source) for source in sources for kind in ("cost", "funnel"))])


def _of_source(past: History, at: _Standing, source: str) -> Iterator[str]:
    last = past.last(source)
    yield from _beginning(past.any_offline(last))
    yield f"## Cost of {_code(source)}"
    yield _freshness(at)
    yield from _of_many(past, source, last)
    yield _other_artifacts(at, [key("run", at.run_id), key("funnel", source), "cost-all"])


def _of_all(past: History, at: _Standing) -> Iterator[str]:
    last, sources = past.last(), past.all_sources
    yield from _beginning(past.any_offline(last))
    yield "## Cost of all sources"
    yield _freshness(at)
    yield from _of_many(past, None, last, _by_source(sources, [past.whole(name) for name in sources], past.whole()))
    yield _other_artifacts(at, [key("run", at.run_id), *(key("cost", source) for source in sources)])


def _freshness(at: _Standing) -> str:
    return f"The whole store, and its last runs separately. Drawn after {_run_name(at)}."


def _run_name(at: _Standing) -> str:
    return f"the run {_code(at.run_id)} ({escape_markdown(at.state)})"


def _of_many(past: History, source: str | None, last: Sequence[Past], by_source: Grid | None = None) -> Iterator[str]:
    """Yield the blocks about many runs."""
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
    yield _picture(usd_per_task_bars(last, [run.began for run in last], past.run_id, runs))
    if not only_task:
        yield _grid(_run_by_run(last))


def _of_funnel(past: History, at: _Standing, source: str, lost: Funnel) -> Iterator[str]:
    yield from _beginning(past.offline)
    yield f"## Funnel of {_code(source)}"
    yield f"Of {_run_name(at)}."
    yield _grid(tables.funnel_table_by_source(lost))
    yield _picture(funnel_bars(lost))
    yield _picture(losses_by_reason(lost))
    yield _grid(tables.losses(lost))
    yield _picture(yield_by_draft(lost.drafts))
    if lost.draft_failures:
        yield _grid(tables.draft_failures(lost))
    yield "\n".join(f"- {_text(note)}" for note in tables.notes(lost))
    yield _other_artifacts(at, [key("run", at.run_id), key("cost", source)])


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
        named = f" (shared: {_code(str(at.config['budget_id']))})" if at.config.get("budget_id") else ""
        lines.append(f"Budget {usd(budget)}{named}: {spent} of it spent by this run.")
    if at.resume is not None:
        lines.append(f"To resume it, on the machine with the store: {_code(at.resume, longest=None)}")
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


def _other_artifacts(at: _Standing, keys: Sequence[str]) -> str:
    lines = [f"Other artifacts: {', '.join(map(_code, keys))}."]
    if at.report is not None:
        lines.insert(0, f"The report, with every figure and task: {_code(str(at.report), longest=None)}.")
    lines.append(f"Store: {_code(at.store, longest=None)}.")
    return "\n\n".join(lines)


def _page(blocks: Iterator[str]) -> str:
    return "\n\n".join(blocks) + "\n"


def _grid(grid: Grid) -> str:
    # A no-break space: in a narrow column the sign would go to the next line.
    return _break_links(grid_markdown(grid, titled=bool(grid.title))).replace(" %", "\u00a0%")


def _picture(figure: Figure) -> str:
    shown = f"![{_text(' '.join(figure.alt.split()))}]({figure.data_address})"
    return "\n\n".join([shown, *([_text(figure.note)] if figure.note else [])])


def _text(text: str) -> str:
    return _break_links(escape_markdown(text))


def _break_links(markdown: str) -> str:
    """Insert a word joiner into everything that a page would take for an address."""
    return _ADDRESS.sub("\\g<0>\u2060", markdown)


_ADDRESS: Final = re.compile(r"(?i)[a-z](?=://)|www(?=\.)|[^\s@](?=@)")


def _code(text: str, *, longest: int | None = _LONGEST_NAME) -> str:
    """Write text as code on one line, in which no character has a meaning."""
    shown = "".join(sign if sign.isprintable() and sign != "`" else " " for sign in text).strip()
    if longest is not None and len(shown) > longest:
        shown = f"{shown[: longest - 4]} ..."
    return f"`{shown}`" if shown else NONE
