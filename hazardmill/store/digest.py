"""A digest of what a store says: equal for equal runs, whatever their ids, times, order, and interruptions.

Each latest row counts with its stable columns (``Column.volatile`` is left out); rows are hashed as a multiset.
Two tables count otherwise, because a killed and resumed run has more rows of them than an uninterrupted one:
``llm_calls`` by the answering attempt of each identity, ``runs`` by the latest row of each run. Where several runs paid
for one identity, a run stands on its own answer, and the store on the one that came first.

The digest of one run covers what the run stands on: its own rows, the records its outcomes are about, and the
answers its dangers and drafts list, whichever run ingested or paid. Rejects are the store's, not a run's: a second run
over the same input does not write them again, so the digest of one run leaves them out.
"""

from __future__ import annotations

import hashlib
import json

import pyarrow as pa
import pyarrow.compute as pc

from hazardmill.store.parts import latest
from hazardmill.store.schemas import DANGERS, DRAFTS, LLM_CALLS, OUTCOMES, RECORDS, REJECTS, RUNS, TABLES, Table
from hazardmill.store.snapshot import Snapshot, read_table


def digest(snapshot: Snapshot, run_id: str | None = None) -> dict[str, str]:
    """SHA-256 (hex) by table, and of all of them under ``total``.

    Args:
        snapshot: The view to digest.
        run_id: Restricts it to what this run stands on.
    """
    digests = {name: _hash_rows(table, _relevant(snapshot, table, run_id)) for name, table in TABLES.items()}
    digests["total"] = hashlib.sha256(json.dumps(digests, sort_keys=True).encode()).hexdigest()
    return digests


def _relevant(snapshot: Snapshot, table: Table, run_id: str | None) -> pa.Table:
    columns = list(dict.fromkeys([*table.stable_columns, *table.key, "run_id"]))
    if table is RUNS:
        where = None if run_id is None else {"run_id": run_id}
        return latest(read_table(snapshot, table, where, columns), ["run_id"])
    if table is LLM_CALLS:
        answers = read_table(snapshot, table, {"answered": True}, [*columns, "at"])
        if run_id is not None:
            used = _among("identity", _identities(snapshot, run_id))
            answers = answers.filter((pc.field("run_id") == run_id) | used)
        return _one_an_identity(answers, run_id)
    if run_id is None:
        return read_table(snapshot, table, None, columns)
    if table is REJECTS:
        return table.schema.empty_table()
    own = latest(read_table(snapshot, table, {"run_id": run_id}, columns, superseded=True), table.key)
    if table is not RECORDS:
        return own
    outcomes = read_table(snapshot, OUTCOMES, {"run_id": run_id}, ["record_id"])["record_id"].to_pylist()
    missing = set(outcomes) - set(own["record_id"].to_pylist())
    others = read_table(snapshot, table, None, columns).filter(_among("record_id", missing))
    return pa.concat_tables([own, others])


def _one_an_identity(answers: pa.Table, run_id: str | None) -> pa.Table:
    """Of each identity the run's own answer, else the first that came; as the ledger chooses (``LedgerIndex``)."""
    best: dict[str, tuple[bool, int, str, int]] = {}
    # As integers: Arrow would look the zone up in a time zone database, which small systems lack.
    times = answers["at"].cast(pa.int64()).to_pylist()
    rows = zip(answers["identity"].to_pylist(), answers["run_id"].to_pylist(), times, strict=True)
    for position, (identity, run, at) in enumerate(rows):
        rank = (run != run_id, at, run, position)
        best[identity] = min(rank, best.get(identity, rank))
    chosen = pa.array([rank[-1] for rank in best.values()], pa.int64())
    # A mask, not take(): it keeps the chunks, so that string columns beyond 2 GB do not overflow.
    return answers.filter(pc.is_in(pa.array(range(answers.num_rows), pa.int64()), value_set=chosen))


def _identities(snapshot: Snapshot, run_id: str) -> set[str]:
    found: set[str] = set()
    for table in (DANGERS, DRAFTS):
        listed = read_table(snapshot, table, {"run_id": run_id}, ["identities"])["identities"].to_pylist()
        found.update(identity for text in listed if text is not None for identity in json.loads(text))
    return found


def _among(column: str, values: set[str]) -> pc.Expression:
    return pc.field(column).isin(pa.array(sorted(values), pa.string()))


def _hash_rows(table: Table, data: pa.Table) -> str:
    names = list(table.stable_columns)
    hashes = sorted(
        hashlib.sha256(json.dumps([row[name] for name in names], default=str).encode()).digest()
        for batch in data.select(names).to_batches()
        for row in batch.to_pylist()
    )
    return hashlib.sha256(json.dumps([table.name, names]).encode() + b"".join(hashes)).hexdigest()
