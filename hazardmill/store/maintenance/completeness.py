"""Which records of a run have all their rows. The rows of a record belong together, or are made again.

The rows of a record are written as one group. If some of them are lost, the others are misleading, like an outcome with
five drafts of which only two exist. Without its outcome a record is pending, and ``run resume`` makes all its rows
again from the ledger.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from hazardmill.store.schemas import (
    CHECKS,
    DANGERS,
    DRAFTS,
    HAZARD_TASKS,
    LLM_CALLS,
    OUTCOMES,
    RECORDS,
    RUNS,
    SCENARIOS,
    TASKS,
    Table,
)
from hazardmill.store.snapshot import Snapshot, read_table

MADE: Final = (DANGERS, DRAFTS, CHECKS, TASKS, SCENARIOS, HAZARD_TASKS, OUTCOMES)
"""The tables with rows made for a record by its run. If they are made again, they are the same."""

Key = tuple[str, str]
"""Run and record."""


Selection = Mapping[str, str | None]
"""Ids of the records that a run was started on, with their content hash at that time; null if unknown."""


@dataclass(frozen=True)
class Standing:
    """What a store still holds of its runs."""

    incomplete: frozenset[Key]
    """Records of known runs with missing rows."""
    pending: Mapping[str, int]
    """Number of records without an outcome per generation run, including incomplete ones."""
    unknown_runs: Mapping[str, int]
    """Runs whose beginning is not in ``runs``, with their number of outcomes; they cannot be resumed."""
    missing_records: Mapping[str, int]
    """Number of records, by source, that runs were started on and that are missing or have changed."""
    missing_answers: int
    """Number of identities listed by dangers and drafts that the ledger has no answer to."""
    unknown_records: frozenset[str]
    """Records that have rows in some run but are missing themselves."""


def standing(snapshot: Snapshot) -> Standing:
    """Return what a store still holds of each of its runs.

    Args:
        snapshot: The store.

    Raises:
        CorruptStore: A file is damaged.
        SchemaMismatch: A newer hazardmill wrote a file.
    """
    selections = _selections(snapshot)
    outcomes = {_key(row): row for row in _rows(snapshot, OUTCOMES, "outcome", "drafts", "task_id")}
    dangers = _rows(snapshot, DANGERS, "identities")
    drafts = _rows(snapshot, DRAFTS, "draft", "identities")
    checks = read_table(snapshot, CHECKS, None, ["run_id", "record_id", "draft", "position", "check_name", "passed"])
    tasks = {(*_key(row), row["task_id"]) for row in _rows(snapshot, TASKS, "task_id")}
    tasks |= {(*_key(row), row["scenario_id"]) for row in _rows(snapshot, SCENARIOS, "scenario_id")}
    tasks |= {(*_key(row), row["hazard_task_id"]) for row in _rows(snapshot, HAZARD_TASKS, "hazard_task_id")}
    kept = Counter(key[:2] for key in tasks)
    extracting = _extracting_runs(snapshot)
    with_dangers = set(map(_key, dangers))
    whole_drafts = _whole_drafts(drafts, checks)
    proposed = _kept_proposals(checks)

    def is_whole(key: Key) -> bool:
        row = outcomes.get(key)
        # Nothing is extracted from seeds of scenarios and of dialogues.
        if (
            row is None
            or (key not in with_dangers and key[0] in extracting)
            or whole_drafts.get(key, 0) != row["drafts"]
        ):
            return False
        if row["outcome"] != "accepted":
            return True
        # A dialogue gives several tasks.
        return (*key, row["task_id"]) in tasks and kept[key] >= proposed[key]

    # Drafts and checks of every record are counted, if only as not whole.
    every = with_dangers | whole_drafts.keys() | {key[:2] for key in tasks} | outcomes.keys()
    incomplete = frozenset(key for key in every if key[0] in selections and not is_whole(key))
    runs = {run_id for run_id, _ in every} | _paying(snapshot)
    pending = {
        run_id: sum((run_id, record) not in outcomes or (run_id, record) in incomplete for record in selection)
        for run_id, selection in selections.items()
    }
    ended = Counter(run_id for run_id, _ in outcomes)
    return Standing(
        incomplete,
        pending,
        {run_id: ended[run_id] for run_id in sorted(runs - _begun_runs(snapshot))},
        _missing_records(snapshot, selections),
        _missing_answers(snapshot, [*dangers, *drafts]),
        frozenset({record_id for _, record_id in every} - _record_ids(snapshot)),
    )


def _rows(snapshot: Snapshot, table: Table, *columns: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = read_table(snapshot, table, None, ["run_id", "record_id", *columns]).to_pylist()
    return rows


def _key(row: Mapping[str, Any]) -> Key:
    return row["run_id"], row["record_id"]


def _selections(snapshot: Snapshot) -> dict[str, Selection]:
    """The selection of each generation run whose beginning exists."""
    rows = read_table(snapshot, RUNS, {"sequence": 0, "kind": "generate"}, ["run_id", "selection"]).to_pylist()
    return {row["run_id"]: json.loads(row["selection"] or "{}") for row in rows}


def _kept_proposals(checks: pa.Table) -> Counter[Key]:
    """Number of proposals per dialogue that became tasks."""
    import pyarrow.compute as pc

    found = checks.filter(
        pc.and_(pc.starts_with(checks["check_name"], "proposal "), pc.fill_null(checks["passed"], False))
    )
    return Counter(map(_key, found.select(["run_id", "record_id"]).to_pylist()))


def _extracting_runs(snapshot: Snapshot) -> set[str]:
    """The runs that make tasks, for which a danger is extracted first."""
    rows = read_table(snapshot, RUNS, {"sequence": 0, "kind": "generate"}, ["run_id", "config"]).to_pylist()
    return {row["run_id"] for row in rows if json.loads(row["config"] or "{}").get("kind", "task") == "task"}


def _whole_drafts(drafts: Sequence[Mapping[str, Any]], checks: pa.Table) -> dict[Key, int]:
    """Number of drafts per record; -1 if a draft lacks checks, or the drafts are not numbered 1, 2, ..."""
    grouped = (
        checks.group_by(["run_id", "record_id", "draft"])
        .aggregate([("position", "max"), ("position", "count")])
        .to_pylist()
    )
    checked = {
        (row["run_id"], row["record_id"], row["draft"])
        for row in grouped
        if row["position_max"] + 1 == row["position_count"]
    }
    unchecked = {(row["run_id"], row["record_id"], row["draft"]) for row in grouped} - checked
    numbers: dict[Key, list[int]] = defaultdict(list)
    whole: dict[Key, bool] = defaultdict(lambda: True)
    for row in drafts:
        key = _key(row)
        numbers[key].append(row["draft"])
        whole[key] &= (*key, row["draft"]) in checked
        checked.discard((*key, row["draft"]))
    # The remaining checks belong to missing drafts.
    for run_id, record_id, _ in checked | unchecked:
        whole[run_id, record_id] = False
    return {
        key: len(numbers[key]) if is_whole and sorted(numbers[key]) == [*range(1, len(numbers[key]) + 1)] else -1
        for key, is_whole in whole.items()
    }


def _begun_runs(snapshot: Snapshot) -> set[str]:
    return set(read_table(snapshot, RUNS, {"sequence": 0}, ["run_id"])["run_id"].to_pylist())


def _paying(snapshot: Snapshot) -> set[str]:
    return set(read_table(snapshot, LLM_CALLS, None, ["run_id"])["run_id"].to_pylist())


def _record_ids(snapshot: Snapshot) -> set[str]:
    return set(read_table(snapshot, RECORDS, None, ["record_id"])["record_id"].to_pylist())


def _missing_records(snapshot: Snapshot, selections: Mapping[str, Selection]) -> dict[str, int]:
    columns = ["record_id", "content_hash"]
    rows = read_table(snapshot, RECORDS, None, columns, superseded=True).to_pylist()
    content = {(row["record_id"], row["content_hash"]) for row in rows}
    ids = {record_id for record_id, _ in content}
    missing = {
        record_id
        for selection in selections.values()
        for record_id, wanted in selection.items()
        if (record_id not in ids if wanted is None else (record_id, wanted) not in content)
    }
    return dict(sorted(Counter(record_id.partition(":")[0] for record_id in missing).items()))


def _missing_answers(snapshot: Snapshot, rows: Iterable[Mapping[str, Any]]) -> int:
    """Number of identities that ``rows`` list and that have no answer."""
    listed = {identity for row in rows for identity in json.loads(row["identities"] or "[]")}
    answered = read_table(snapshot, LLM_CALLS, {"answered": True}, ["identity"])["identity"].to_pylist()
    return len(listed - set(answered))
