"""The candidates of a release, read from one snapshot of the store.

A few columns of every task are kept in memory. Whole rows are copied to a working folder (``spool``) and read back a
few at a time: each part of the store is thus read once, in the order on disk, while rows are returned in the order of
task ids.
"""

from __future__ import annotations

import datetime
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

import pyarrow as pa
import pyarrow.compute as pc

from hazardmill.errors import InputError, UsageError
from hazardmill.records import Outcome
from hazardmill.release.build.llm_provenance import RecordCalls, calls_of
from hazardmill.release.build.options import Options
from hazardmill.release.build.spool import Spool
from hazardmill.review.candidates import load_pool
from hazardmill.review.decisions.effective import Opinion, opinions
from hazardmill.review.decisions.folder import ReviewFolder
from hazardmill.review.policies import AcceptedSet, accepted_set
from hazardmill.scenarios.risk import UNLABELLED
from hazardmill.store.run_ids import unknown_run
from hazardmill.store.schemas import DANGERS, DRAFTS, HAZARD_TASKS, OUTCOMES, RECORDS, RUNS, SCENARIOS, TASKS, Table
from hazardmill.store.snapshot import Snapshot, read_batches, read_table
from hazardmill.store.store import Store

Row = dict[str, Any]
ReleasedKind = Literal["task", "scenario", "hazard_task"]
"""What a candidate is."""

_Pair = tuple[str, str]
"""Run and task, or run and record."""

_LEFT: Final = frozenset({"answer", "cross_check"})
"""Columns that are not read: a release has no use for them, except for answers if they are asked for."""

_LIGHT: Final = (
    "task_id",
    "run_id",
    "record_id",
    "source",
    "draft",
    "document_hash",
    "structure_id",
    "danger_group",
    "danger_type",
    "avoidability",
    "licence",
    "attribution",
    "model_answered",
)

_LIGHT_OF_HAZARD_TASKS: Final = (
    "hazard_task_id",
    "run_id",
    "record_id",
    "source",
    "draft",
    "document_hash",
    "categories",
    "licence",
    "attribution",
    "model_answered",
)

_LIGHT_OF_SCENARIOS: Final = (
    "scenario_id",
    "run_id",
    "record_id",
    "source",
    "draft",
    "document_hash",
    "kind",
    "target",
    "hazard",
    "licence",
    "attribution",
    "model_answered",
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """What may be released: the small columns of the latest row of a task, scenario or hazard task, and who answered.

    If several runs accepted the same one, the row of a task that was committed last counts; of a scenario or hazard
    task, that of the run with the last id.
    """

    task_id: str
    """Id of the task, scenario or hazard task."""
    run_id: str
    record_id: str
    source: str
    draft: int
    """Number of the draft that was accepted."""
    document_hash: str
    structure_id: str | None
    danger_group: str
    danger_type: str
    """By which it is spread over the splits: of a scenario, its kind and its hazard; of a hazard task, its first
    category."""
    avoidability: str
    """Of a task; empty for others."""
    licence: str
    attribution: str
    answered_by: frozenset[str]
    """Every model that answered a request of its record, whichever run paid for it; ``offline-author`` if hazardmill's
    rules did."""
    answered_at: frozenset[tuple[str, str]]
    """Pairs of host (without the port) and model, one per place where such a request was answered; empty offline."""
    recorded_in: frozenset[str] = frozenset()
    """SHA-256 of each file of recorded answers that such a request was answered from."""
    product: ReleasedKind = "task"
    """What it is."""


@dataclass
class ReleaseCandidates:
    """Everything that a release may contain: its candidates, the review of them, and where they came from.

    Whole rows lie in working files, which ``close`` removes.
    """

    candidates: tuple[Candidate, ...]
    """Sorted by task id."""
    accepted: AcceptedSet | None
    """Which candidates the review accepts and rejects; None under the policy ``none``."""
    held: tuple[Opinion, ...]
    """The opinions of reviewers on candidates; empty under the policy ``none``."""
    runs: tuple[str, ...]
    """Ids of the generation runs that were read, sorted."""
    date: datetime.date | None
    """Day (UTC) of the latest change of one of these runs."""
    funnel: Mapping[str, int]
    """Counts over these runs: records, drafts, and records per outcome. A record counts once, by its latest outcome."""
    calls: RecordCalls
    drafts_used: Mapping[str, int]
    """Number of drafts that the record of each task took, by task id."""
    _spools: Mapping[str, Spool] = field(repr=False)
    _contexts: Mapping[str, tuple[str, str]] = field(repr=False)
    """Content hash and text of each record, by record id."""

    def whole(self, task_ids: Iterable[str]) -> Iterator[Row]:
        """Yield the whole rows of some candidates, one at a time, sorted by id.

        A row has the columns of ``tasks`` and ``context``, the text of the record. ``context`` is None if the store no
        longer holds the record in the version from which the task was made. The row of a scenario or hazard task has
        the columns of its own table instead, and its id as ``task_id`` too.
        """
        others = [self._spools[table.name] for table in (SCENARIOS, HAZARD_TASKS)]
        for task_id in sorted(task_ids):
            spool = next((each for each in others if each.count(task_id)), self._spools[TASKS.name])
            row = {**spool.last(task_id), "task_id": task_id}
            kept, text = self._contexts.get(row["record_id"], ("", ""))
            yield {**row, "context": text if kept == row["input_hash"] else None}

    def danger(self, candidate: Candidate) -> Row | None:
        """Return the row of ``dangers`` for a task's record in the task's run; None if the store has lost it."""
        rows = self._spools["dangers"].all(_key(candidate.run_id, candidate.record_id))
        return rows[-1] if rows else None

    def drafts(self, candidate: Candidate) -> list[Row]:
        """Return the rows of ``drafts`` for a task's record in the task's run, sorted by number."""
        rows = self._spools["drafts"].all(_key(candidate.run_id, candidate.record_id))
        return sorted(rows, key=lambda row: int(row["draft"]))

    def close(self) -> None:
        """Remove the working files."""
        for spool in self._spools.values():
            spool.close()


def gather(store: Store, review: Path | None, options: Options, working: Path) -> ReleaseCandidates:
    """Read the candidates of a release.

    Args:
        store: The store; it is read at one moment, apart from the pool of the review.
        review: Folder of the review; ignored under the policy ``none``.
        options: Runs, policy and the other choices for this release.
        working: An empty folder for rows that are too large for memory. It grows to about the size of the tables
            ``tasks`` and ``drafts`` without compression.

    Returns:
        The candidates. The caller must ``close`` them.

    Raises:
        UsageError: The policy needs a review, and its folder does not exist.
        InputError: A requested run does not exist, or there is no task to release and no folder of household tasks.
        StoreError: The store cannot be read, or the working folder cannot be written.
    """
    reviewed = options.policy != "none"
    # Household tasks need no review, so that where there are some, the store is first asked whether anything else is.
    if reviewed and options.household is None:
        _check_review(review, options)
    gathered = store.read(lambda snapshot: _gather(snapshot, options, working))
    if reviewed and gathered.candidates:
        try:
            _take_in_review(gathered, store, _check_review(review, options), options)
        except BaseException:
            gathered.close()
            raise
    return gathered


def _check_review(review: Path | None, options: Options) -> Path:
    if review is None or not review.is_dir():
        raise UsageError(
            f"the policy {options.policy} needs a review folder, but there is none"
            + ("" if review is None else f" at {review}"),
            remedy="name it with --review, or release without review: --policy none",
        )
    return review


def _gather(snapshot: Snapshot, options: Options, working: Path) -> ReleaseCandidates:
    runs, date = _runs(snapshot, options)
    chosen = _latest(snapshot, TASKS, _LIGHT, "task_id", runs)
    scenarios: dict[str, Row] = {}
    hazard_tasks: dict[str, Row] = {}
    # The runs are in the order of their ids, as for the pool of a review: it must be the same row.
    for run in runs:
        scenarios |= _latest(snapshot, SCENARIOS, _LIGHT_OF_SCENARIOS, "scenario_id", (run,))
        hazard_tasks |= _latest(snapshot, HAZARD_TASKS, _LIGHT_OF_HAZARD_TASKS, "hazard_task_id", (run,))
    chosen |= {name: _scenario_as_task(row) for name, row in scenarios.items()}
    chosen |= {name: _hazard_task_as_task(row) for name, row in hazard_tasks.items()}
    if not chosen and options.household is None:
        raise InputError(
            "there is no task to release" + (f" in {', '.join(options.runs)}" if options.runs else " in this store"),
            remedy="make some with: hazardmill run generate",
        )
    of_records = {(row["run_id"], row["record_id"]) for row in chosen.values()}
    calls = calls_of(snapshot, of_records, runs)
    of_tasks = {(row["run_id"], row["task_id"]) for row in chosen.values()}
    spools = _spool(snapshot, of_tasks, of_records, working, with_answers=options.with_answers)
    used = {task_id: spools["drafts"].count(_key(row["run_id"], row["record_id"])) for task_id, row in chosen.items()}
    return ReleaseCandidates(
        candidates=tuple(_candidate(chosen[task_id], calls) for task_id in sorted(chosen)),
        accepted=None,
        held=(),
        runs=runs,
        date=date,
        funnel=_funnel(snapshot, runs),
        calls=calls,
        drafts_used=used,
        _spools=spools,
        _contexts=_contexts(snapshot, {row["record_id"] for row in chosen.values()}),
    )


def _latest(snapshot: Snapshot, table: Table, columns: Sequence[str], by: str, runs: tuple[str, ...]) -> dict[str, Row]:
    """Return the latest row of each task of some runs, or of what the table holds instead, by id."""
    light = read_table(snapshot, table, None, columns)
    # Rows come in the order of commits, so the last row wins if several runs accepted the same one.
    return {row[by]: row for row in light.filter(_among(light["run_id"], runs)).to_pylist()}


def _hazard_task_as_task(row: Row) -> Row:
    """Return the small columns of a hazard task under the names that a task has for them."""
    categories = json.loads(row.pop("categories"))
    return {
        **{name: value for name, value in row.items() if name != "hazard_task_id"},
        "task_id": row["hazard_task_id"],
        "structure_id": None,
        "danger_group": "",
        # The gates refuse a task without a category.
        "danger_type": next(iter(categories), ""),
        "avoidability": "",
        "product": "hazard_task",
    }


def _scenario_as_task(row: Row) -> Row:
    """Return the small columns of a scenario under the names that a task has for them."""
    kind, target, hazard = (row.pop(name) for name in ("kind", "target", "hazard"))
    return {
        **{name: value for name, value in row.items() if name != "scenario_id"},
        "task_id": row["scenario_id"],
        "structure_id": None,
        "danger_group": target or UNLABELLED,
        "danger_type": f"{kind}: {hazard or UNLABELLED}",
        "avoidability": "",
        "product": "scenario",
    }


def _runs(snapshot: Snapshot, options: Options) -> tuple[tuple[str, ...], datetime.date | None]:
    """Return the runs to read, and the day of their latest change."""
    rows = read_table(snapshot, RUNS, None, ["run_id", "kind", "at"]).to_pylist()
    known = {row["run_id"] for row in rows if row["kind"] == "generate"}
    unknown = sorted(set(options.runs) - known)
    if unknown:
        raise unknown_run(unknown[0], known, str(snapshot.layout.root), kind="generation run")
    runs = set(options.runs) or known
    latest = max((row["at"] for row in rows if row["run_id"] in runs), default=None)
    return tuple(sorted(runs)), None if latest is None else latest.astimezone(datetime.UTC).date()


def _funnel(snapshot: Snapshot, runs: tuple[str, ...]) -> dict[str, int]:
    """Count where the records of some runs ended; a record of several runs of a kind counts by its latest outcome.

    A record that was to become a task, and a scenario too, counts once for each.

    Returns:
        Numbers of ``records`` and ``drafts``, and of records by outcome.
    """
    selected: set[tuple[str, str]] = set()
    kinds: dict[str, str] = {}
    for row in read_table(snapshot, RUNS, None, ["run_id", "selection", "config"]).to_pylist():
        if row["run_id"] in runs:
            kind = kinds[row["run_id"]] = json.loads(row["config"]).get("kind", "task")
            selected.update((kind, record_id) for record_id in json.loads(row["selection"] or "{}"))
    data = read_table(snapshot, OUTCOMES, None, ["run_id", "record_id", "outcome"])
    data = data.filter(_among(data["run_id"], runs))
    of_runs = (kinds[run_id] for run_id in data["run_id"].to_pylist())
    records = zip(of_runs, data["record_id"].to_pylist(), strict=True)
    ended = dict(zip(records, data["outcome"].to_pylist(), strict=True))
    drafts = read_table(snapshot, DRAFTS, None, ["run_id"])
    counted = Counter(ended.values())
    return {
        "records": len(selected | ended.keys()),
        "drafts": drafts.filter(_among(drafts["run_id"], runs)).num_rows,
        **{outcome.value: counted[outcome.value] for outcome in Outcome if outcome is not Outcome.PENDING},
        Outcome.PENDING.value: len(selected - ended.keys()),
    }


def _candidate(row: Row, calls: RecordCalls) -> Candidate:
    record = (row["run_id"], row["record_id"])
    named = {row.pop("model_answered")} - {None}
    return Candidate(
        **row,
        answered_by=calls.answered_by(record) | named,
        answered_at=calls.answered_at(record),
        recorded_in=calls.recorded_in(record),
    )


def _spool(
    snapshot: Snapshot, tasks: set[_Pair], records: set[_Pair], working: Path, *, with_answers: bool
) -> dict[str, Spool]:
    """Copy whole rows to working files: products by their id; what their records have by run and record."""
    spools: dict[str, Spool] = {}
    try:
        for table, wanted, by in (
            (TASKS, tasks, "task_id"),
            (SCENARIOS, tasks, "scenario_id"),
            (HAZARD_TASKS, tasks, "hazard_task_id"),
            (DANGERS, records, "record_id"),
            (DRAFTS, records, "record_id"),
        ):
            spool = spools[table.name] = Spool(working / f"{table.name}.jsonl")
            columns = [c.name for c in table.columns if c.name not in _LEFT or (with_answers and c.name == "answer")]
            for row in _rows(snapshot, table, wanted, by, columns):
                spool.put(_key(row["run_id"], row["record_id"]) if by == "record_id" else row[by], row)
            spool.seal()
    except BaseException:
        for spool in spools.values():
            spool.close()
        raise
    return spools


def _rows(snapshot: Snapshot, table: Table, wanted: set[_Pair], by: str, columns: Sequence[str]) -> Iterator[Row]:
    """Yield the latest row of each key whose run and id are wanted."""
    keys = read_table(snapshot, table, None, table.key, superseded=True)
    last: dict[tuple[Any, ...], int] = {}
    run, identifier = table.key.index("run_id"), table.key.index(by)
    for place, key in enumerate(zip(*(keys[name].to_pylist() for name in table.key), strict=True)):
        if (key[run], key[identifier]) in wanted:
            last[key] = place
    chosen = pa.array(_flags(len(keys), last.values()), pa.bool_())
    for batch in read_batches(snapshot, table, columns, chosen):
        yield from batch.to_pylist()


def _flags(count: int, places: Iterable[int]) -> list[bool]:
    flags = [False] * count
    for place in places:
        flags[place] = True
    return flags


def _contexts(snapshot: Snapshot, wanted: set[str]) -> dict[str, tuple[str, str]]:
    rows = read_table(snapshot, RECORDS, None, ["record_id", "content_hash", "context"])
    rows = rows.filter(_among(rows["record_id"], wanted))
    return {row["record_id"]: (row["content_hash"], row["context"]) for row in rows.to_pylist()}


def _among(column: pa.ChunkedArray, values: Iterable[str]) -> pa.ChunkedArray:
    return pc.is_in(column, value_set=pa.array(sorted(values), pa.string()))


def _key(run_id: str, record_id: str) -> str:
    return json.dumps([run_id, record_id])


def _take_in_review(gathered: ReleaseCandidates, store: Store, review: Path, options: Options) -> None:
    """Add the decisions of reviewers on the candidates."""
    assert options.policy != "none"
    runs = {candidate.task_id: candidate.run_id for candidate in gathered.candidates}
    # Decisions on a task do not count if reviewers saw its row of another run than the one that is released.
    items = {name: item for name, item in load_pool(store).items() if runs.get(name, item.run_id) == item.run_id}
    gathered.held = tuple(opinions(ReviewFolder(review), items))
    gathered.accepted = accepted_set(runs, gathered.held, options.policy)


def tally(values: Iterable[str]) -> dict[str, int]:
    """Count how often each value occurs, and return the counts sorted by value."""
    return dict(sorted(Counter(values).items()))
