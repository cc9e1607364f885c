"""Add up what all runs of a store cost and yielded, in DuckDB: fast enough for a hundred runs and a million requests.

The definitions are those of ``hazardmill.report.cost``, but only sums leave the database. The tables are read once,
and only their narrow columns, into temporary tables.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Final

from hazardmill.llm.requests import OFFLINE_MODEL
from hazardmill.report.cost import STAGES, Sum
from hazardmill.report.dashboard.history_queries import (
    ALL_SPENT,
    DISTINCT,
    DRAFTS,
    ENDED,
    LINE,
    OFFLINE,
    PREPARED,
    RUNS,
    SPENT,
    TASKS,
)
from hazardmill.report.funnel import DraftYield
from hazardmill.report.queries import Row, select

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

LAST: Final = 20
"""How many of the last runs are shown separately."""

_RANK: Final = {stage: place for place, stage in enumerate(STAGES)}

_POINTS: Final = 160
"""Most points of a line: more could not be distinguished."""


@dataclass(frozen=True)
class SpendTally:
    """A partial sum, which can be added to others.

    Attributes:
        total: Sum of the known parts.
        known: Number of known parts.
        parts: Number of all parts.
    """

    total: float = 0
    known: int = 0
    parts: int = 0

    def __add__(self, other: SpendTally) -> SpendTally:
        return SpendTally(self.total + other.total, self.known + other.known, self.parts + other.parts)

    @property
    def sum(self) -> Sum:
        """The sum in the form of ``hazardmill.report.cost``."""
        return Sum(known=self.total if self.known or not self.parts else None, unknown=self.parts - self.known)


@dataclass(frozen=True)
class SpendTotals:
    """What some attempts took, as partial sums that can be added.

    All except ``whole`` count only attempts that the runs made and paid for themselves.

    Attributes:
        attempts: Number of attempts.
        usd: Cost in US dollars.
        usd_upper: Most that it can have been, in US dollars.
        tokens: Tokens in and out.
        prompt: Tokens in, over the attempts whose cached tokens are known too.
        cached: Cached tokens, over the same attempts.
        whole: US dollars of all attempts behind the results, whichever run paid.
    """

    attempts: int = 0
    usd: SpendTally = field(default_factory=SpendTally)
    usd_upper: SpendTally = field(default_factory=SpendTally)
    tokens: SpendTally = field(default_factory=SpendTally)
    prompt: int = 0
    cached: int = 0
    whole: SpendTally = field(default_factory=SpendTally)

    def __add__(self, other: SpendTotals) -> SpendTotals:
        return SpendTotals(*(getattr(self, part.name) + getattr(other, part.name) for part in fields(self)))

    @property
    def cache_hit_share(self) -> float | None:
        """Cached share of the tokens in; null if not known."""
        return self.cached / self.prompt if self.prompt else None


@dataclass(frozen=True)
class Past:
    """Cost and yield of one run, of a source within it, or of many runs together.

    Attributes:
        run_id: Empty for many runs.
        began: ``2026-01-31 23:59``, UTC; empty for many runs.
        records: Records selected; null if a selection is lost.
        finished: Records with an outcome.
        accepted: Records that were accepted.
        tasks: Distinct tasks.
        spent: What all requests took.
        by_stage: The same by stage.
    """

    run_id: str
    began: str
    records: int | None
    finished: int
    accepted: int
    tasks: int
    spent: SpendTotals
    by_stage: dict[str, SpendTotals]

    @property
    def share_accepted(self) -> float | None:
        """Share of the finished records that were accepted; null if none finished."""
        return self.accepted / self.finished if self.finished else None

    @property
    def usd_per_task(self) -> float | None:
        """Dollars per task, all attempts included, whichever run paid; a lower bound while a cost is unknown."""
        whole = self.spent.whole.sum.known
        return whole / self.tasks if self.tasks and whole is not None else None


@dataclass(frozen=True)
class SpendPoint:
    """One point of the line of cumulative cost.

    Attributes:
        attempts: Attempts so far.
        usd: Known cost so far, in US dollars.
        upper: Most that it can have been; null as soon as an attempt has no bound.
    """

    attempts: int
    usd: float
    upper: float | None


class History:
    """Cost and yield of the generation runs of a store, from one snapshot.

    Args:
        connection: A connection with one view per table, used by nobody else: temporary tables stay in it.
        run_id: The run in focus, which counts among the last runs however old it is; null for none.
        shown: How many of the last runs are added up separately.
    """

    def __init__(self, connection: DuckDBPyConnection, run_id: str | None = None, shown: int = LAST) -> None:
        self._connection = connection
        self.run_id = run_id
        self._shown = shown
        self.runs = {row["run_id"]: row for row in select(connection, RUNS, ())}
        """One row per generation run, oldest first."""
        self._records = {name: _records(row) for name, row in self.runs.items()}
        focus = [] if run_id is None else [run_id]
        looked_at = sorted({*focus, *self._last(None), *(run for name in self.sources for run in self._last(name))})
        for statement in PREPARED:
            connection.execute(statement, {"runs": looked_at} if "$runs" in statement else None)
        self._spend_totals = [(_key(row), _spend_totals(row)) for row in select(connection, SPENT, looked_at)]
        self._all_spent = [(_key(row), _spend_totals(row)) for row in select(connection, ALL_SPENT, ())]
        self._ended = select(connection, ENDED, ())
        self._tasks = select(connection, TASKS, ())
        self._distinct = {row["source"]: row["tasks"] for row in select(connection, DISTINCT, ())}
        self._drafts = select(connection, DRAFTS, ())
        self._offline = {row["run_id"] for row in select(connection, OFFLINE, looked_at, offline=OFFLINE_MODEL)}

    @property
    def sources(self) -> list[str]:
        """The sources of the run in focus, in order of name; without one, those of all runs."""
        if self.run_id is None:
            return self.all_sources
        return sorted(self._records.get(self.run_id) or self._inputs(self.run_id))

    @property
    def all_sources(self) -> list[str]:
        """The sources of all runs, in order of name."""
        return sorted({source for run_id in self.runs for source in self._records[run_id] or self._inputs(run_id)})

    @property
    def offline(self) -> bool:
        """Whether the offline author answered in the run in focus."""
        return self.run_id in self._offline

    def count_offline(self, pasts: Iterable[Past]) -> int:
        """Return in how many of some runs, which must be among the last, the offline author answered."""
        return sum(past.run_id in self._offline for past in pasts)

    def last(self, source: str | None = None) -> list[Past]:
        """Return the last runs, oldest first, or the part of one source in each."""
        return [self.of(run_id, source) for run_id in self._last(source)]

    def of(self, run_id: str, source: str | None = None) -> Past:
        """Return one of the last runs, or the part of one source in it."""
        mine = [
            (stage, spent)
            for (run, made_for, stage), spent in self._spend_totals
            if run == run_id and _is_of_source(made_for, source)
        ]
        return Past(
            run_id=run_id,
            began=self.runs[run_id]["began"],
            records=self._count_records(run_id, source),
            tasks=sum(
                row["tasks"] for row in self._tasks if row["run_id"] == run_id and _is_of_source(row["source"], source)
            ),
            finished=self._outcomes("finished", run_id, source),
            accepted=self._outcomes("accepted", run_id, source),
            spent=_add_up(mine),
            by_stage=_by_stage(mine),
        )

    def whole(self, source: str | None = None) -> Past:
        """Return all runs of the store together, or the part of one source in them."""
        counted = [self._count_records(run_id, source) for run_id in self._runs_with(source)]
        known = [number for number in counted if number is not None]
        mine = [(stage, spent) for (_, made_for, stage), spent in self._all_spent if _is_of_source(made_for, source)]
        return Past(
            run_id="",
            began="",
            records=sum(known) if len(known) == len(counted) else None,
            tasks=sum(tasks for name, tasks in self._distinct.items() if _is_of_source(name, source)),
            finished=self._outcomes("finished", None, source),
            accepted=self._outcomes("accepted", None, source),
            spent=_add_up(mine),
            by_stage=_by_stage(mine),
        )

    def yields(self, run_id: str | None = None, source: str | None = None) -> list[DraftYield]:
        """Return the yield by draft number, of one run or all, for one source or all (null)."""
        rows = [row for row in self._drafts if run_id in (None, row["run_id"]) and _is_of_source(row["source"], source)]
        return [
            DraftYield(
                number=number,
                **{
                    part: sum(row[part] for row in rows if row["number"] == number)
                    for part in ("made", "passed", "accepted")
                },
            )
            for number in sorted({row["number"] for row in rows})
        ]

    def line(self, run_id: str | None = None, source: str | None = None) -> list[SpendPoint]:
        """Return the line of cumulative cost, of one run or all, for one source or all (null)."""
        rows = select(self._connection, LINE, (), run=run_id, source=source, points=_POINTS)
        return [SpendPoint(row["number"], row["usd"], None if row["unbounded"] else row["upper"]) for row in rows]

    def _runs_with(self, source: str | None) -> list[str]:
        return [name for name in self.runs if source is None or source in (self._records[name] or self._inputs(name))]

    def _last(self, source: str | None) -> list[str]:
        names = self._runs_with(source)
        last = names[-self._shown :]
        # The run in focus takes the place of the oldest one if it is not among the last.
        return (
            last if self.run_id is None or self.run_id in last or self.run_id not in names else [self.run_id, *last[1:]]
        )

    def _inputs(self, run_id: str) -> set[str]:
        row = self.runs.get(run_id)
        config = json.loads(row["config"]) if row else {}
        return {item["source"] for item in config.get("inputs", ())}

    def _count_records(self, run_id: str, source: str | None) -> int | None:
        records = self._records[run_id]
        if records is None:
            return None
        return sum(records.values()) if source is None else records.get(source, 0)

    def _outcomes(self, part: str, run_id: str | None, source: str | None) -> int:
        rows = [row for row in self._ended if run_id in (None, row["run_id"]) and _is_of_source(row["source"], source)]
        return sum(row[part] for row in rows)


def _is_of_source(found: str | None, source: str | None) -> bool:
    return source is None or found == source


def _key(row: Row) -> tuple[str, str | None, str]:
    return row["run_id"], row["source"], row["stage"]


def _spend_totals(row: Row) -> SpendTotals:
    def tally(name: str, parts: str) -> SpendTally:
        return SpendTally(row[name] or 0, row[f"{name}_known"], row[parts])

    return SpendTotals(
        attempts=row["attempts"],
        usd=tally("usd", "attempts"),
        usd_upper=tally("usd_upper", "attempts"),
        tokens=tally("tokens", "attempts"),
        prompt=int(row["prompt"] or 0),
        cached=int(row["cached"] or 0),
        whole=tally("whole", "behind"),
    )


def _add_up(parts: Sequence[tuple[str, SpendTotals]]) -> SpendTotals:
    return sum((spent for _, spent in parts), SpendTotals())


def _by_stage(parts: Sequence[tuple[str, SpendTotals]]) -> dict[str, SpendTotals]:
    ranked = sorted({stage for stage, _ in parts}, key=lambda stage: (_RANK.get(stage, len(STAGES)), stage))
    return {stage: _add_up([part for part in parts if part[0] == stage]) for stage in ranked}


def _records(row: Row) -> dict[str, int] | None:
    """Return the number of records of a run by source; null if its selection is lost."""
    counted = json.loads(row["counts"]).get("records") if row["counts"] else None
    if counted is not None:
        return dict(counted)
    if row["selection"] is None:
        return None
    found: dict[str, int] = {}
    for record_id in json.loads(row["selection"]):
        source = record_id.partition(":")[0]
        found[source] = found.get(source, 0) + 1
    return found
