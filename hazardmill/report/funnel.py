"""The funnel: where the records of some runs went, and why each lost record was lost.

The unit is a pair of run and record; only structures are counted over distinct tasks. The records of a run are those
of its selection (table ``runs``); if it has none, those for which it has an outcome, a danger or a draft. Records
without an outcome are pending.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from hazardmill.quality.diversity import spread
from hazardmill.records import MAX_DRAFTS, FrozenModel, Outcome
from hazardmill.report.queries import Row, latest_tasks, select

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

FUNNEL_TABLES: Final = ("runs", "outcomes", "dangers", "drafts", "tasks", "rejects")
"""The tables that ``funnel`` reads."""

SENTENCES: Final = 8
"""How many of the commonest sentences about why there is no danger are counted separately."""

OTHER: Final = "other"
"""Stands for all other sentences."""

LOSSES: Final = (
    Outcome.NO_DANGER,
    Outcome.EXTRACTION_FAILED,
    Outcome.EXECUTION_FAILED,
    Outcome.QUALITY_FAILED,
    Outcome.DUPLICATE,
)
"""The outcomes in which a record is lost, in the order of the stages."""


class FunnelCounts(FrozenModel):
    """What became of the records of one source, or of all sources.

    All numbers count pairs of run and record unless a field says otherwise. Two of them can be added.
    """

    records: int = 0
    begun: int = 0
    """Records with an outcome, a danger or a draft."""
    rejects: int = 0
    """Items of the source that could not become records, whichever run read them; they are not among the records."""
    dangers: int = 0
    """Records in which extraction found a danger, and seeds and dialogues that have a draft; finished or not."""
    drafts: int = 0
    """Drafts, not records."""
    accepted: int = 0
    no_danger: int = 0
    extraction_failed: int = 0
    execution_failed: int = 0
    quality_failed: int = 0
    duplicate: int = 0
    pending: int = 0

    @property
    def finished(self) -> int:
        """Records with an outcome."""
        return self.accepted + sum(self.of(outcome) for outcome in LOSSES)

    @property
    def share_accepted(self) -> float | None:
        """Share of the finished records that were accepted; null if none finished."""
        return self.accepted / self.finished if self.finished else None

    @property
    def share_declined(self) -> float | None:
        """Share of the finished records in which no danger was found; null if none finished."""
        return self.no_danger / self.finished if self.finished else None

    def of(self, outcome: Outcome) -> int:
        """Return how many records ended in an outcome."""
        count: int = getattr(self, outcome.value)
        return count

    def __add__(self, other: FunnelCounts) -> FunnelCounts:
        return FunnelCounts(**{name: getattr(self, name) + getattr(other, name) for name in FunnelCounts.model_fields})


class FunnelLoss(FrozenModel):
    """Records of one source that were lost in one outcome for one reason.

    Attributes:
        reason: The reason code; null where the outcome has none.
        said: For records without a danger, what extraction said: one of the commonest sentences, or ``OTHER``. Null
            for all other outcomes.
        count: Number of records.
    """

    source: str
    outcome: Outcome
    reason: str | None
    said: str | None = None
    count: int


class DraftFailure(FrozenModel):
    """Drafts that failed one check for one reason, whether or not a later draft of the record passed."""

    check: str | None
    reason: str | None
    count: int


class DraftYield(FrozenModel):
    """The drafts with one number, such as all third drafts.

    Attributes:
        number: From 1.
        made: Drafts written.
        passed: Drafts that passed every check, including those of records that ended as duplicates.
        accepted: Tasks and scenarios accepted at this draft; dialogues whose first task is of this turn.
    """

    number: int
    made: int
    passed: int
    accepted: int


class StructureVariety(FrozenModel):
    """How varied the accepted tasks are, apart from names (see ``hazardmill.quality.structure``).

    Attributes:
        tasks: Tasks whose structure is known.
        distinct: Distinct structures among them.
        commonest: Tasks among the ten commonest structures.
        effective: Effective number of structures, exp of the Shannon entropy in nats; null without tasks.
        unknown: Tasks whose structure is not known: they are too large and regular to be canonised.
    """

    tasks: int
    distinct: int
    commonest: int
    effective: float | None
    unknown: int = 0

    @property
    def share_commonest(self) -> float | None:
        """Share of the tasks in the ten commonest structures; null without tasks, 1 with at most ten structures."""
        return self.commonest / self.tasks if self.tasks else None


class Funnel(FrozenModel):
    """Where the records of some runs went.

    Attributes:
        sources: Counts by source, in order of name.
        losses: The losses by source, outcome and reason.
        draft_failures: What drafts failed, the commonest first.
        drafts: Yield by draft number, from 1 to ``MAX_DRAFTS`` at least.
        structures: How varied the accepted tasks are.
        total: Sum of ``sources``.
        tasks: Rows of the table of tasks; a task that several runs accepted counts in each.
    """

    run_ids: tuple[str, ...]
    sources: dict[str, FunnelCounts]
    losses: tuple[FunnelLoss, ...]
    draft_failures: tuple[DraftFailure, ...]
    drafts: tuple[DraftYield, ...]
    structures: StructureVariety
    total: FunnelCounts
    tasks: int
    scenarios: int = 0
    """Rows of the table of scenarios."""
    dialogues: int = 0
    """Dialogues that gave a hazard task; these are the accepted records of their runs."""
    hazard_tasks: int = 0
    """Rows of the table of hazard tasks."""

    def balance(self) -> tuple[str, ...]:
        """Say where the funnel does not add up, one sentence each; empty if it adds up."""
        return tuple(_imbalances(self))

    def reasons(self, outcome: Outcome) -> list[tuple[str | None, int]]:
        """Return the reasons of a loss with their number of records over all sources.

        A reason is a code or, for records without a danger, a sentence of extraction. The commonest comes first,
        ``OTHER`` last.
        """
        counted: Counter[str | None] = Counter()
        for loss in self.losses:
            if loss.outcome is outcome:
                counted[loss.said or loss.reason] += loss.count
        return sorted(counted.items(), key=lambda item: (item[0] == OTHER, -item[1], item[0] or ""))

    def to_json(self) -> dict[str, Any]:
        """Return JSON values, including shares and balance."""
        return {
            **self.model_dump(mode="json"),
            "share_accepted": self.total.share_accepted,
            "share_declined": self.total.share_declined,
            "share_commonest_structures": self.structures.share_commonest,
            "balance": list(self.balance()),
        }


def funnel(connection: DuckDBPyConnection, run_ids: Sequence[str]) -> Funnel:
    """Count where the records of some runs went.

    Args:
        connection: A connection with one view per table.
        run_ids: The runs.

    Returns:
        Counts by source and in total, losses by reason, and the yield of each draft.
    """
    outcomes = select(connection, _OUTCOMES, run_ids)
    begun = {(row["run_id"], row["source"]): row["count"] for row in select(connection, _BEGUN, run_ids)}
    records = _records(select(connection, _RUNS, run_ids), begun)
    refused = select(connection, _REJECTS, run_ids)
    rejects = _by_source(refused)
    refused_here = {row["source"] for row in refused if row["here"]}
    dangers = _by_source(select(connection, _DANGERS, run_ids))
    made = select(connection, _DRAFTS, run_ids)
    drafts = _sum_by(made, "source", "made")
    tasks_at, scenarios_at, dialogues_at = (
        Counter({row["number"]: row["accepted"] for row in select(connection, _ACCEPTED_AT.format(table), run_ids)})
        for table in ("tasks", "scenarios", _DIALOGUES)
    )
    accepted_at = tasks_at + scenarios_at + dialogues_at
    names = sorted({*records, *(source for _, source in begun), *refused_here})
    sources = {
        name: _counts(
            [row for row in outcomes if row["source"] == name],
            records=records[name],
            begun=sum(count for (_, source), count in begun.items() if source == name),
            rejects=rejects.get(name, 0),
            dangers=dangers.get(name, 0),
            drafts=drafts.get(name, 0),
        )
        for name in names
    }
    tasks = tasks_at.total()
    return Funnel(
        run_ids=tuple(run_ids),
        sources=sources,
        losses=_losses([row for row in outcomes if row["outcome"] in LOSSES]),
        draft_failures=tuple(DraftFailure(**row) for row in select(connection, _DRAFT_FAILURES, run_ids)),
        drafts=_yields(_sum_by(made, "number", "made"), _sum_by(made, "number", "passed"), accepted_at),
        structures=_structures(latest_tasks(connection, run_ids, "task_id, structure_id")),
        total=sum(sources.values(), FunnelCounts()),
        tasks=tasks,
        scenarios=scenarios_at.total(),
        dialogues=dialogues_at.total(),
        hazard_tasks=select(connection, _HAZARD_TASKS, run_ids)[0]["count"],
    )


_MINE: Final = "list_contains($runs, run_id)"

_OUTCOMES: Final = f"""
    SELECT source, outcome, reason, count(*) AS count,
           CASE WHEN outcome = '{Outcome.NO_DANGER}' THEN message END AS said
    FROM outcomes WHERE {_MINE} GROUP BY ALL ORDER BY source, outcome, count DESC, reason, said
"""
_BEGUN: Final = f"""
    SELECT run_id, source, count(*) AS count FROM (
        SELECT run_id, source, record_id FROM outcomes WHERE {_MINE}
        UNION SELECT run_id, source, record_id FROM dangers WHERE {_MINE}
        UNION SELECT run_id, source, record_id FROM drafts WHERE {_MINE}
    ) GROUP BY run_id, source
"""
_RUNS: Final = f"SELECT run_id, selection FROM runs WHERE {_MINE} AND kind = 'generate' AND selection IS NOT NULL"
_REJECTS: Final = f"SELECT source, count(*) AS count, bool_or({_MINE}) AS here FROM rejects GROUP BY source"
_DANGERS: Final = f"""
    SELECT source, count(*) AS count FROM (
        SELECT run_id, source, record_id FROM dangers WHERE {_MINE} AND danger_type IS NOT NULL
        UNION SELECT run_id, source, record_id FROM drafts
        WHERE {_MINE} AND run_id IN (
            SELECT run_id FROM runs
            WHERE {_MINE} AND json_extract_string(config, '$.kind') IN ('mal', 'sit', 'hazard_task')
        )
    ) GROUP BY source
"""
# Several turns of a dialogue may give tasks; the dialogue passed at the first of them.
_DRAFTS: Final = f"""
    SELECT source, draft AS number, count(*) AS made, count(*) FILTER (accepted AND nth = 1) AS passed FROM (
        SELECT source, draft, accepted,
               row_number() OVER (PARTITION BY run_id, record_id, accepted ORDER BY draft) AS nth
        FROM drafts WHERE {_MINE}
    ) GROUP BY source, draft
"""
_DRAFT_FAILURES: Final = f"""
    SELECT failed_check AS check, failed_reason AS reason, count(*) AS count FROM drafts
    WHERE {_MINE} AND NOT accepted AND failed_check IS NOT NULL GROUP BY ALL
    ORDER BY count DESC, failed_check, failed_reason
"""
_ACCEPTED_AT: Final = f"SELECT draft AS number, count(*) AS accepted FROM {{}} WHERE {_MINE} GROUP BY draft"
_DIALOGUES: Final = "(SELECT run_id, min(draft) AS draft FROM hazard_tasks GROUP BY run_id, record_id)"
"""Dialogues that gave a task, with the turn of the first one."""
_HAZARD_TASKS: Final = f"SELECT count(*) AS count FROM hazard_tasks WHERE {_MINE}"


def _by_source(rows: list[Row]) -> dict[str, int]:
    return {row["source"]: row["count"] for row in rows}


def _sum_by(rows: Iterable[Row], key: str, column: str) -> Counter[Any]:
    found: Counter[Any] = Counter()
    for row in rows:
        found[row[key]] += row[column]
    return found


def _records(runs: list[Row], begun: Mapping[tuple[str, str], int]) -> Counter[str]:
    records: Counter[str] = Counter()
    for run in runs:
        records.update(record_id.partition(":")[0] for record_id in json.loads(run["selection"]))
    counted = {run["run_id"] for run in runs}
    for (run_id, source), count in begun.items():
        if run_id not in counted:
            records[source] += count
    return records


def _counts(outcomes: list[Row], **known: int) -> FunnelCounts:
    ended: Counter[str] = Counter()
    for row in outcomes:
        ended[row["outcome"]] += row["count"]
    pending = known["records"] - sum(count for outcome, count in ended.items() if outcome != Outcome.PENDING)
    return FunnelCounts(**known, **{o.value: ended[o] for o in (Outcome.ACCEPTED, *LOSSES)}, pending=pending)


def _losses(rows: list[Row]) -> tuple[FunnelLoss, ...]:
    """Return the losses, with all but the commonest sentences of extraction put together."""
    said: Counter[str] = Counter()
    for row in rows:
        row["said"] = _sentence(row["said"])
        if row["said"] is not None:
            said[row["said"]] += row["count"]
    ranked = sorted(said, key=lambda sentence: (-said[sentence], sentence))
    # A single further sentence is shown itself, not as "other".
    kept = set(ranked if len(ranked) <= SENTENCES + 1 else ranked[:SENTENCES])
    counted: Counter[tuple[str, str, str | None, str | None]] = Counter()
    for row in rows:
        sentence = row["said"] if row["said"] is None or row["said"] in kept else OTHER
        counted[row["source"], row["outcome"], row["reason"], sentence] += row["count"]
    return tuple(
        FunnelLoss(source=source, outcome=Outcome(outcome), reason=reason, said=sentence, count=count)
        for (source, outcome, reason, sentence), count in counted.items()
    )


def _sentence(said: str | None) -> str | None:
    """Normalise a model's sentence, so that small differences in writing do not make two of it; null if it is empty."""
    words = " ".join((said or "").split()).rstrip(".")
    return words[:1].upper() + words[1:] or None


def _yields(
    made: Mapping[int, int], passed: Mapping[int, int], accepted: Mapping[int | None, int]
) -> tuple[DraftYield, ...]:
    last = max([MAX_DRAFTS, *made])
    return tuple(
        DraftYield(
            number=number,
            made=made.get(number, 0),
            passed=passed.get(number, 0),
            accepted=accepted.get(number, 0),
        )
        for number in range(1, last + 1)
    )


def _structures(tasks: Iterable[Row]) -> StructureVariety:
    # Not computed anew from the documents: that takes milliseconds for each task.
    counts = Counter(row["structure_id"] for row in tasks)
    unknown = counts.pop(None, 0)
    found = spread(counts)
    return StructureVariety(
        tasks=found.things,
        distinct=found.kinds,
        commonest=found.commonest,
        effective=found.effective,
        unknown=unknown,
    )


def _imbalances(found: Funnel) -> list[str]:
    wrong = []
    for name, counts in [*found.sources.items(), ("all sources", found.total)]:
        with_danger = counts.accepted + counts.execution_failed + counts.quality_failed + counts.duplicate
        if not (counts.finished <= counts.begun <= counts.records == counts.finished + counts.pending):
            wrong.append(
                f"{name}: {counts.records} records, but {counts.begun} begun, {counts.finished} finished"
                f" and {counts.pending} pending"
            )
        if not with_danger <= counts.dangers <= with_danger + max(counts.pending, 0):
            wrong.append(
                f"{name}: {counts.dangers} dangers, but {with_danger} records finished with one"
                f" and {counts.pending} are pending"
            )
    if found.tasks + found.scenarios + found.dialogues != found.total.accepted:
        wrong.append(
            f"{found.total.accepted} records accepted, but {found.tasks} tasks, {found.scenarios} scenarios and"
            f" {found.dialogues} dialogues with a task"
        )
    passed = sum(row.passed for row in found.drafts)
    total = found.total
    if not total.accepted <= passed <= total.accepted + total.duplicate + max(total.pending, 0):
        wrong.append(
            f"{passed} drafts passed every check, but {total.accepted} records were accepted,"
            f" {total.duplicate} duplicates and {total.pending} are pending"
        )
    return wrong
