"""Intake: ingested records and rejects into the store. Re-ingesting the same input changes nothing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from hazardmill import __version__
from hazardmill.formalism.expressions import canonical_json
from hazardmill.records import Record, Reject
from hazardmill.stages.ids import new_run_id
from hazardmill.stages.ingest import IngestCounts, check_selection, ingest, meets
from hazardmill.stages.sources import Source, load_source
from hazardmill.store.store import Store
from hazardmill.store.writer import Writer

_GROUP = 500
"""Rows a journal line holds at the most."""

_NO_PROVENANCE = {
    "prompt_version": None,
    "prompt_hash": None,
    "model_asked": None,
    "model_answered": None,
    "backend": None,
    "jail_profile": None,
    "hazardmill_version": __version__,
}


@dataclass(frozen=True)
class Intake:
    """What one input gave: the ids of its records in order, the counts, and how many rows were new."""

    record_ids: tuple[str, ...]
    counts: IngestCounts
    new_records: int
    changed_records: int
    new_rejects: int

    @property
    def summary(self) -> dict[str, int]:
        """The counts that people ask for."""
        return {
            "records": self.counts.records,
            "new": self.new_records,
            "changed": self.changed_records,
            "rejects": self.counts.rejects,
            "repeats": self.counts.repeats,
        }


def take_in(
    store: Store,
    writer: Writer,
    source: Source,
    path: Path,
    *,
    where: Mapping[str, str] | None = None,
    limit: int | None = None,
) -> Intake:
    """Read an input of a source into the store.

    Raises:
        SourceError: There is nothing to read at ``path``.
        UsageError: ``where`` or ``limit`` make no sense for the source.
        StoreError: The store cannot be written.
    """
    known = {
        row["record_id"]: row["content_hash"]
        for row in store.rows("records", {"source": source.name}, ["record_id", "content_hash"])
    }
    refused = {
        _reject_key(row)
        for row in store.rows("rejects", {"source": source.name}, ["source", "file", "line", "native_id", "reason"])
    }
    ingestion = ingest(source, path, where=where, limit=limit)
    record_ids: list[str] = []
    tally = {"new": 0, "changed": 0, "rejects": 0}

    def rows() -> Iterator[tuple[str, dict[str, Any]]]:
        for item in ingestion:
            if isinstance(item, Record):
                record_ids.append(item.record_id)
                before = known.get(item.record_id)
                if before == item.content_hash:
                    continue
                tally["new" if before is None else "changed"] += 1
                known[item.record_id] = item.content_hash
                yield "records", _record_row(item, writer.run_id)
            elif isinstance(item, Reject):
                row = _reject_row(item, writer.run_id)
                if _reject_key(row) not in refused:
                    refused.add(_reject_key(row))
                    tally["rejects"] += 1
                    yield "rejects", row

    for group in _groups(rows()):
        writer.append_sync(group)
    return Intake(tuple(record_ids), ingestion.counts, tally["new"], tally["changed"], tally["rejects"])


def ingest_into(
    store: Store, source_name: str, path: Path, *, where: Mapping[str, str] | None = None, limit: int | None = None
) -> tuple[str, Intake]:
    """An ingest run: take the input in, and write down what was read and counted.

    Raises:
        SourceError: There is no such source, or nothing to read at ``path``.
        UsageError: ``where`` or ``limit`` make no sense for the source.
        StoreError: The store cannot be written.
    """
    source = load_source(source_name)
    with store.writer(new_run_id("ingest")) as writer:
        intake = take_in(store, writer, source, path, where=where, limit=limit)
        row = {
            "run_id": writer.run_id,
            "sequence": 0,
            "kind": "ingest",
            "state": "completed",
            "config": canonical_json({"source": source.name, "path": str(path), "where": dict(where or {})}),
            "selection": None,
            "counts": canonical_json(intake.summary),
            "at": datetime.now(UTC),
            "hazardmill_version": __version__,
        }
        writer.append_sync({"runs": [row]})
        return writer.run_id, intake


def stored(store: Store, source: Source, where: Mapping[str, str], limit: int | None) -> list[str]:
    """Ids of the records of a source that the store holds and that meet ``where``, in the order they came.

    Raises:
        UsageError: ``where`` names a fact that the source does not have.
        StoreError: The store cannot be read.
    """
    check_selection(source, where)
    rows = store.rows("records", {"source": source.name}, ["record_id", *(["facts"] if where else [])])
    chosen = (row["record_id"] for row in rows if not where or meets(json.loads(row["facts"]), where))
    return list(islice(chosen, limit))


class Shelf:
    """The records of a store as they were when the shelf was opened, for reading a few at a time."""

    _COLUMNS = (
        "record_id",
        "source",
        "native_id",
        "context",
        "facts",
        "licence",
        "attribution",
        "file",
        "line",
        "warnings",
    )

    def __init__(self, store: Store) -> None:
        self._table = store.table("records", None, self._COLUMNS)

    def take(self, record_ids: Iterable[str]) -> dict[str, Record]:
        """Records by id; an id that is not there is missing from the result."""
        import pyarrow as pa
        import pyarrow.compute as pc

        wanted = pa.array(sorted(set(record_ids)), pa.string())
        rows = self._table.filter(pc.is_in(self._table["record_id"], wanted)).to_pylist()
        return {row["record_id"]: _record(row) for row in rows}


def _record(row: Mapping[str, Any]) -> Record:
    values = {name: value for name, value in row.items() if name not in ("record_id", "facts", "warnings")}
    return Record(**values, facts=json.loads(row["facts"]), warnings=tuple(json.loads(row["warnings"])))


def _record_row(record: Record, run_id: str) -> dict[str, Any]:
    return {
        "run_id": run_id,
        "record_id": record.record_id,
        "source": record.source,
        "native_id": record.native_id,
        "context": record.context,
        "facts": canonical_json(record.facts),
        "licence": record.licence,
        "attribution": record.attribution,
        "content_hash": record.content_hash,
        "file": record.file,
        "line": record.line,
        "warnings": canonical_json(list(record.warnings)),
        "input_hash": record.content_hash,
        **_NO_PROVENANCE,
    }


def _reject_row(reject: Reject, run_id: str) -> dict[str, Any]:
    return {
        "run_id": run_id,
        "source": reject.source,
        "file": reject.file,
        "line": -1 if reject.line is None else reject.line,
        "native_id": reject.native_id or "",
        "reason": reject.reason,
        "message": reject.message,
        "remedy": reject.remedy,
        "input_hash": None,
        **_NO_PROVENANCE,
    }


def _reject_key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("source", "file", "line", "native_id", "reason"))


def _groups(rows: Iterator[tuple[str, dict[str, Any]]]) -> Iterator[dict[str, list[dict[str, Any]]]]:
    group: dict[str, list[dict[str, Any]]] = {}
    count = 0
    for table, row in rows:
        group.setdefault(table, []).append(row)
        count += 1
        if count == _GROUP:
            yield group
            group, count = {}, 0
    if group:
        yield group
