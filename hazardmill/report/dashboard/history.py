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
        run_id: The run in focus, which counts among the last runs however old it is.
    """

    def __init__(self, connection: DuckDBPyConnection, run_id: str) -> None:
        self._connection = connection
        self.run_id = run_id
        self.runs = {row["run_id"]: row for row in select(connection, _RUNS, ())}
        """One row per generation run, oldest first."""
        self._records = {name: _records(row) for name, row in self.runs.items()}
        looked_at = sorted({run_id, *self._last(None), *(run for name in self.sources for run in self._last(name))})
        for statement in _PREPARED:
            connection.execute(statement, {"runs": looked_at} if "$runs" in statement else None)
        self._spend_totals = [(_key(row), _spend_totals(row)) for row in select(connection, _SPENT, looked_at)]
        self._all_spent = [(_key(row), _spend_totals(row)) for row in select(connection, _ALL_SPENT, ())]
        self._ended = select(connection, _ENDED, ())
        self._tasks = select(connection, _TASKS, ())
        self._distinct = {row["source"]: row["tasks"] for row in select(connection, _DISTINCT, ())}
        self._drafts = select(connection, _DRAFTS, ())
        self._offline = {row["run_id"] for row in select(connection, _OFFLINE, looked_at, offline=OFFLINE_MODEL)}

    @property
    def sources(self) -> list[str]:
        """The sources of the run in focus, in order of name."""
        return sorted(self._records.get(self.run_id) or self._inputs(self.run_id))

    @property
    def all_sources(self) -> list[str]:
        """The sources of all runs, in order of name."""
        return sorted({source for run_id in self.runs for source in self._records[run_id] or self._inputs(run_id)})

    @property
    def offline(self) -> bool:
        """Whether the offline author answered in the run in focus."""
        return self.run_id in self._offline

    def any_offline(self, pasts: Iterable[Past]) -> bool:
        """Whether the offline author answered in any of some runs, which must be among the last."""
        return any(past.run_id in self._offline for past in pasts)

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
        rows = select(self._connection, _LINE, (), run=run_id, source=source, points=_POINTS)
        return [SpendPoint(row["number"], row["usd"], None if row["unbounded"] else row["upper"]) for row in rows]

    def _runs_with(self, source: str | None) -> list[str]:
        return [name for name in self.runs if source is None or source in (self._records[name] or self._inputs(name))]

    def _last(self, source: str | None) -> list[str]:
        names = self._runs_with(source)
        last = names[-LAST:]
        # The run in focus takes the place of the oldest one if it is not among the last.
        return last if self.run_id in last or self.run_id not in names else [self.run_id, *last[1:]]

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


# Selections are large: they are not read if the first row has counts, which say how many records there are.
_RUNS: Final = """
    SELECT run_id, arg_max(state, sequence) AS state, arg_max(config, sequence) AS config,
           max(sequence) AS changes, arg_min(counts, sequence) AS counts,
           CASE WHEN arg_min(counts, sequence) IS NULL THEN any_value(selection) END AS selection,
           strftime(make_timestamp(epoch_us(min("at"))), '%Y-%m-%d %H:%M') AS began
    FROM runs WHERE kind = 'generate' GROUP BY run_id ORDER BY min("at"), run_id
"""
_PREPARED: Final = (
    # An attempt that was turned away is known to have cost nothing, though the ledger has no price for it.
    """
    CREATE TEMP TABLE made AS
    SELECT run_id, identity, attempt, stage, nullif(split_part(record_id, ':', 1), '') AS source, answered,
           prompt_tokens, cached_tokens, completion_tokens, usd_upper, epoch_us("at") AS moment, model_answered,
           CASE WHEN NOT answered AND usd_upper = 0 THEN 0.0 ELSE usd END AS usd,
           NOT coalesce(answered AND usd_upper = 0 AND usd IS DISTINCT FROM 0, false) AS paid
    FROM llm_calls
    """,
    """
    CREATE TEMP TABLE answers AS
    SELECT run_id, model_answered, identities FROM drafts WHERE list_contains($runs, run_id)
    UNION ALL SELECT run_id, model_answered, identities FROM dangers WHERE list_contains($runs, run_id)
    """,
    """
    CREATE TEMP TABLE used AS
    SELECT DISTINCT run_id, unnest(from_json(identities, '["VARCHAR"]')) AS identity FROM answers
    WHERE identities IS NOT NULL
    """,
    # Attempts of other runs, without answers that were not used: a run uses its own answer, else the earliest.
    """
    CREATE TEMP TABLE reused AS
    WITH others AS (
        SELECT used.run_id AS run_id, made.run_id AS payer, made.* EXCLUDE (run_id)
        FROM used JOIN made ON made.identity = used.identity AND made.run_id <> used.run_id
    ), answering AS (
        SELECT run_id, identity, payer,
               row_number() OVER (PARTITION BY run_id, identity ORDER BY min((moment, payer, attempt))) AS place
        FROM others WHERE answered GROUP BY run_id, identity, payer
    ), own AS (
        SELECT DISTINCT run_id, identity FROM made WHERE answered
    )
    SELECT others.run_id, others.source, others.stage, others.usd
    FROM others
    LEFT JOIN answering USING (run_id, identity, payer)
    LEFT JOIN own ON own.run_id = others.run_id AND own.identity = others.identity
    WHERE answering.place IS NULL OR (answering.place = 1 AND own.run_id IS NULL)
    """,
)
_SUMS: Final = """
    count(*) FILTER (paid) AS attempts,
    sum(usd) FILTER (paid) AS usd, count(usd) FILTER (paid) AS usd_known,
    sum(usd_upper) FILTER (paid) AS usd_upper, count(usd_upper) FILTER (paid) AS usd_upper_known,
    sum(prompt_tokens + completion_tokens) FILTER (paid) AS tokens,
    count(prompt_tokens + completion_tokens) FILTER (paid) AS tokens_known,
    sum(prompt_tokens) FILTER (paid AND cached_tokens IS NOT NULL) AS prompt,
    sum(cached_tokens) FILTER (paid AND prompt_tokens IS NOT NULL) AS cached,
    sum(usd) AS whole, count(usd) AS whole_known, count(*) AS behind
"""
_SPENT: Final = f"""
    SELECT run_id, source, stage, {_SUMS} FROM (
        SELECT run_id, source, stage, paid, usd, usd_upper, prompt_tokens, cached_tokens, completion_tokens
        FROM made WHERE list_contains($runs, run_id)
        UNION ALL BY NAME SELECT run_id, source, stage, usd, false AS paid FROM reused
    ) GROUP BY run_id, source, stage
"""
_ALL_SPENT: Final = f"SELECT '' AS run_id, source, stage, {_SUMS} FROM made GROUP BY source, stage"
_ENDED: Final = """
    SELECT run_id, source, count(*) AS finished, count(*) FILTER (outcome = 'accepted') AS accepted
    FROM outcomes WHERE outcome <> 'pending' GROUP BY run_id, source
"""
# Of tasks, scenarios and hazard tasks.
_ACCEPTED: Final = """(
    SELECT run_id, source, draft, task_id FROM tasks
    UNION ALL SELECT run_id, source, draft, scenario_id FROM scenarios
    UNION ALL SELECT run_id, source, draft, hazard_task_id FROM hazard_tasks
)"""
_TASKS: Final = f"SELECT run_id, source, count(*) AS tasks FROM {_ACCEPTED} GROUP BY run_id, source"
_DISTINCT: Final = f"SELECT source, count(DISTINCT task_id) AS tasks FROM {_ACCEPTED} GROUP BY source"
_DRAFTS: Final = f"""
    SELECT run_id, source, draft AS number, sum(made)::BIGINT AS made, sum(passed)::BIGINT AS passed,
           sum(accepted)::BIGINT AS accepted
    FROM (
        SELECT run_id, source, draft, count(*) AS made, count(*) FILTER (accepted) AS passed, 0 AS accepted
        FROM drafts GROUP BY run_id, source, draft
        UNION ALL SELECT run_id, source, draft, 0, 0, count(*) FROM {_ACCEPTED} GROUP BY run_id, source, draft
    ) GROUP BY run_id, source, draft
"""
_OFFLINE: Final = """
    SELECT run_id FROM made WHERE model_answered = $offline AND list_contains($runs, run_id)
    UNION SELECT run_id FROM answers WHERE model_answered = $offline
"""
_LINE: Final = """
    WITH line AS (
        SELECT row_number() OVER way AS number, sum(coalesce(usd, 0)) OVER way AS usd,
               sum(coalesce(usd_upper, 0)) OVER way AS upper,
               coalesce(bool_or(usd_upper IS NULL) OVER way, false) AS unbounded, count(*) OVER () AS attempts
        FROM made WHERE paid AND ($run IS NULL OR run_id = $run) AND ($source IS NULL OR source = $source)
        WINDOW way AS (ORDER BY moment, run_id, identity, attempt ROWS UNBOUNDED PRECEDING)
    )
    SELECT number, usd, upper, unbounded FROM line
    WHERE number = attempts OR number % greatest(1, attempts // $points) = 0 ORDER BY number
"""
