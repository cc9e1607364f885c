"""The candidates of a release: read from the store at one moment, few columns of all, whole rows a few at a time.

Whole rows lie in a working folder meanwhile (``spool``), so that the parts of the store are read once, in the order in
which they lie, and rows are given in the order of task ids all the same.
"""

from __future__ import annotations

import datetime
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

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
from hazardmill.store.schemas import DANGERS, DRAFTS, OUTCOMES, RECORDS, RUNS, TASKS, Table
from hazardmill.store.snapshot import Snapshot, read_batches, read_table
from hazardmill.store.store import Store

Row = dict[str, Any]
_Pair = tuple[str, str]
"""Run and task, or run and record."""

_LEFT: Final = frozenset({"answer", "cross_check"})
"""Columns that a release has no use for, unless it is to have answers."""

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


@dataclass(frozen=True, slots=True)
class Candidate:
    """A task that may be released, as its latest row in the store has it, without what is large."""

    task_id: str
    run_id: str
    record_id: str
    source: str
    draft: int
    """The draft that was accepted."""
    document_hash: str
    structure_id: str | None
    danger_group: str
    danger_type: str
    avoidability: str
    licence: str
    attribution: str
    answered_by: frozenset[str]
    """Every model that answered a request of its record, whichever run paid; ``offline-author`` where our rules did."""
    answered_at: frozenset[tuple[str, str]]
    """Host of such a request, without its port, and the model that answered there; empty offline."""
    recorded_in: frozenset[str] = frozenset()
    """SHA-256 of the files that such answers were recorded in."""


@dataclass
class ReleaseCandidates:
    """What a release may be made of."""

    candidates: tuple[Candidate, ...]
    """By task id."""
    accepted: AcceptedSet | None
    """What people accept of them; null where nobody's opinion counts."""
    held: tuple[Opinion, ...]
    """What reviewers hold; empty where nobody's opinion counts."""
    runs: tuple[str, ...]
    """The generation runs that were looked at, sorted."""
    date: datetime.date | None
    """The day of the latest change of one of them."""
    funnel: Mapping[str, int]
    """Records of these runs, their drafts, and how many records ended in each outcome, each at its latest one."""
    calls: RecordCalls
    drafts_used: Mapping[str, int]
    """Task to the drafts that its record took."""
    _spools: Mapping[str, Spool] = field(repr=False)
    _contexts: Mapping[str, tuple[str, str]] = field(repr=False)
    """Record to its content hash and its text."""

    def whole(self, task_ids: Iterable[str]) -> Iterator[Row]:
        """The whole rows of tasks in the order of their ids, one at a time: the columns of ``tasks``, and ``context``.

        ``context`` is null where the store holds the record no longer as the task was made from it.
        """
        for task_id in sorted(task_ids):
            row = self._spools["tasks"].last(task_id)
            kept, text = self._contexts.get(row["record_id"], ("", ""))
            yield {**row, "context": text if kept == row["input_hash"] else None}

    def danger(self, candidate: Candidate) -> Row | None:
        """The row of ``dangers`` that a task's record has in the task's run; null if it is lost."""
        rows = self._spools["dangers"].all(_key(candidate.run_id, candidate.record_id))
        return rows[-1] if rows else None

    def drafts(self, candidate: Candidate) -> list[Row]:
        """The rows of ``drafts`` that a task's record has in the task's run, by number."""
        rows = self._spools["drafts"].all(_key(candidate.run_id, candidate.record_id))
        return sorted(rows, key=lambda row: int(row["draft"]))

    def close(self) -> None:
        """Remove what lies in the working folder."""
        for spool in self._spools.values():
            spool.close()


def gather(store: Store, review: Path | None, options: Options, working: Path) -> ReleaseCandidates:
    """Read the candidates of a release.

    Args:
        store: The store.
        review: Folder of the review; not looked at under the policy ``none``.
        options: What is asked for.
        working: An empty folder for what is too large for memory: as much as the tables ``tasks`` and ``drafts``.

    Raises:
        UsageError: The policy needs a review, and there is none.
        InputError: A run that was asked for is not there, or there is no task.
        StoreError: The store cannot be read, or the working folder not written.
    """
    reviewed = options.policy != "none"
    if reviewed and (review is None or not review.is_dir()):
        raise UsageError(
            f"the policy {options.policy} needs the folder of a review, and there is none"
            + ("" if review is None else f" at {review}"),
            remedy="name it with --review, or release without review: --policy none",
        )
    gathered = store.read(lambda snapshot: _gather(snapshot, options, working))
    if reviewed and review is not None:
        try:
            _take_in_review(gathered, store, review, options)
        except BaseException:
            gathered.close()
            raise
    return gathered


def _gather(snapshot: Snapshot, options: Options, working: Path) -> ReleaseCandidates:
    runs, date = _runs(snapshot, options)
    light = read_table(snapshot, TASKS, None, _LIGHT)
    # In the order of commits: of a task that several runs accepted, the last row counts.
    chosen = {row["task_id"]: row for row in light.filter(_among(light["run_id"], runs)).to_pylist()}
    if not chosen:
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


def _runs(snapshot: Snapshot, options: Options) -> tuple[tuple[str, ...], datetime.date | None]:
    """The runs to look at, and the day of their latest change."""
    rows = read_table(snapshot, RUNS, None, ["run_id", "kind", "at"]).to_pylist()
    known = {row["run_id"] for row in rows if row["kind"] == "generate"}
    unknown = sorted(set(options.runs) - known)
    if unknown:
        raise InputError(f"there is no generation run {unknown[0]} here", remedy="see: hazardmill run list")
    runs = set(options.runs) or known
    latest = max((row["at"] for row in rows if row["run_id"] in runs), default=None)
    return tuple(sorted(runs)), None if latest is None else latest.astimezone(datetime.UTC).date()


def _funnel(snapshot: Snapshot, runs: tuple[str, ...]) -> dict[str, int]:
    """Where the records of some runs went; one that several runs had is told of by the latest outcome."""
    selected: set[str] = set()
    for row in read_table(snapshot, RUNS, None, ["run_id", "selection"]).to_pylist():
        if row["run_id"] in runs:
            selected.update(json.loads(row["selection"] or "{}"))
    data = read_table(snapshot, OUTCOMES, None, ["run_id", "record_id", "outcome"])
    data = data.filter(_among(data["run_id"], runs))
    ended = dict(zip(data["record_id"].to_pylist(), data["outcome"].to_pylist(), strict=True))
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
    """The whole rows of tasks, by id; and of their records' dangers and drafts, by run and record."""
    spools: dict[str, Spool] = {}
    try:
        for table, wanted, by in (
            (TASKS, tasks, "task_id"),
            (DANGERS, records, "record_id"),
            (DRAFTS, records, "record_id"),
        ):
            spool = spools[table.name] = Spool(working / f"{table.name}.jsonl")
            columns = [c.name for c in table.columns if c.name not in _LEFT or (with_answers and c.name == "answer")]
            for row in _rows(snapshot, table, wanted, by, columns):
                spool.put(row["task_id"] if table is TASKS else _key(row["run_id"], row["record_id"]), row)
            spool.seal()
    except BaseException:
        for spool in spools.values():
            spool.close()
        raise
    return spools


def _rows(snapshot: Snapshot, table: Table, wanted: set[_Pair], by: str, columns: Sequence[str]) -> Iterator[Row]:
    """The latest rows of each key whose run and id are wanted, some at a time."""
    keys = read_table(snapshot, table, None, table.key, superseded=True)
    last: dict[tuple[Any, ...], int] = {}
    run, identifier = table.key.index("run_id"), table.key.index(by)
    for place, key in enumerate(zip(*(keys[name].to_pylist() for name in table.key), strict=True)):
        if (key[run], key[identifier]) in wanted:
            last[key] = place
    chosen = pa.array(_flags(len(keys), last.values()))
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
    """Add what people decided on the candidates."""
    assert options.policy != "none"
    runs = {candidate.task_id: candidate.run_id for candidate in gathered.candidates}
    # Of a task that is released from an older run than people were shown, their decisions are none.
    items = {name: item for name, item in load_pool(store).items() if runs.get(name, item.run_id) == item.run_id}
    gathered.held = tuple(opinions(ReviewFolder(review), items))
    gathered.accepted = accepted_set(runs, gathered.held, options.policy)


def tally(values: Iterable[str]) -> dict[str, int]:
    """How often each occurs, by name."""
    return dict(sorted(Counter(values).items()))
