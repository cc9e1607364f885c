"""A digest of a store's content: equal for equal runs, whatever their ids, times, order, and interruptions.

Each latest row counts, with its stable columns (those not ``Column.volatile``). Rows are hashed as a multiset. Two
tables are treated differently, because a killed and resumed run has more rows in them than an uninterrupted one:
``llm_calls`` counts the answering attempt of each identity, and ``runs`` the latest row of each run. If several runs
paid for one identity, a run uses its own answer, and the store the earliest one.

The digest of one run covers what the run depends on: its own rows, the records its outcomes are about, and the answers
its dangers and drafts list, whichever run ingested or paid. Rejects belong to the store rather than a run: a second run
over the same input does not write them again, so the digest of one run leaves them out.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection

import pyarrow as pa
import pyarrow.compute as pc

from hazardmill.store.files.parts import is_latest
from hazardmill.store.schemas import DANGERS, DRAFTS, LLM_CALLS, OUTCOMES, RECORDS, REJECTS, RUNS, TABLES, Table
from hazardmill.store.snapshot import Snapshot, read_batches, read_table


def digest(snapshot: Snapshot, run_id: str | None = None, without: Collection[str] = ()) -> dict[str, str]:
    """Return the SHA-256 (hex) of each table, and of all of them under ``total``.

    Args:
        snapshot: The view to digest.
        run_id: Restricts the digest to what this run depends on; null for the whole store.
        without: Columns to leave out of every table, as if they were volatile.
    """
    digests = {
        name: _hash_rows(snapshot, table, _counting(snapshot, table, run_id), without)
        for name, table in TABLES.items()
        if table.in_digest
    }
    digests["total"] = hashlib.sha256(json.dumps(digests, sort_keys=True).encode()).hexdigest()
    return digests


def _counting(snapshot: Snapshot, table: Table, run_id: str | None) -> pa.Array:
    """Whether each row of a table, in commit order, counts. Reads few columns, because rows are large."""
    more = ["answered", "at"] if table is LLM_CALLS else []
    columns = list(dict.fromkeys([*table.key, "run_id", *more]))
    rows = read_table(snapshot, table, None, columns, superseded=True)
    own = pa.repeat(True, rows.num_rows) if run_id is None else pc.equal(rows["run_id"], run_id).combine_chunks()
    if table is RUNS:
        return is_latest(rows, ["run_id"], own)
    if table is LLM_CALLS:
        answers = pc.and_(is_latest(rows, table.key), rows["answered"].combine_chunks())
        if run_id is not None:
            answers = pc.and_(answers, pc.or_(own, _among(rows["identity"], _identities(snapshot, run_id))))
        return _one_an_identity(rows, answers, run_id)
    if run_id is None:
        return is_latest(rows, table.key)
    if table is REJECTS:
        return pa.repeat(False, rows.num_rows)
    latest_own = is_latest(rows, table.key, own)
    if table is not RECORDS:
        return latest_own
    outcomes = read_table(snapshot, OUTCOMES, {"run_id": run_id}, ["record_id"])["record_id"].to_pylist()
    missing = set(outcomes) - set(rows["record_id"].filter(latest_own).to_pylist())
    return pc.or_(latest_own, pc.and_(is_latest(rows, table.key), _among(rows["record_id"], missing)))


def _one_an_identity(rows: pa.Table, answers: pa.Array, run_id: str | None) -> pa.Array:
    """For each identity the run's own answer, otherwise the earliest, as the ledger chooses (``LedgerIndex``)."""
    best: dict[str, tuple[bool, int, str, int]] = {}
    positions = pa.array(range(rows.num_rows), pa.int64())
    found = rows.append_column("position", positions).filter(answers)
    # As integers: Arrow would otherwise need a time zone database, which small systems lack.
    columns = (found["identity"], found["run_id"], found["at"].cast(pa.int64()), found["position"])
    for identity, run, at, position in zip(*(column.to_pylist() for column in columns), strict=True):
        rank = (run != run_id, at, run, position)
        best[identity] = min(rank, best.get(identity, rank))
    return pc.is_in(positions, value_set=pa.array([rank[-1] for rank in best.values()], pa.int64()))


def _identities(snapshot: Snapshot, run_id: str) -> set[str]:
    found: set[str] = set()
    for table in (DANGERS, DRAFTS):
        listed = read_table(snapshot, table, {"run_id": run_id}, ["identities"])["identities"].to_pylist()
        found.update(identity for text in listed if text is not None for identity in json.loads(text))
    return found


def _among(column: pa.ChunkedArray, values: set[str]) -> pa.Array:
    return pc.is_in(column, value_set=pa.array(sorted(values), pa.string())).combine_chunks()


def _hash_rows(snapshot: Snapshot, table: Table, counting: pa.Array, without: Collection[str]) -> str:
    names = [name for name in table.stable_columns if name not in without]
    hashes = sorted(
        hashlib.sha256(json.dumps([row[name] for name in names], default=str).encode()).digest()
        for data in read_batches(snapshot, table, names, counting)
        for row in data.to_pylist()
    )
    return hashlib.sha256(json.dumps([table.name, names]).encode() + b"".join(hashes)).hexdigest()
