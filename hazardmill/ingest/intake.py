"""Intake: ingested records and rejects into the store. Re-ingesting the same input changes nothing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, Final

from hazardmill import __version__
from hazardmill.errors import InputError
from hazardmill.formalism.document.expressions import canonical_json
from hazardmill.ingest.ingest import IngestCounts, Ingestion, check_selection, ingest, meets
from hazardmill.ingest.shards import holds
from hazardmill.ingest.sources import Source, load_source
from hazardmill.ingest.sources.streams import as_file
from hazardmill.records import Record, Reject
from hazardmill.store.run_ids import new_run_id
from hazardmill.store.schemas import RECORDS, REJECTS, Table
from hazardmill.store.snapshot import read_table
from hazardmill.store.store import Store
from hazardmill.store.writer import Writer

_GROUP = 2_000
"""Rows a journal line holds at the most."""

_SEGMENT = 10_000
"""Rows after which a segment becomes parts: doing so takes all of its rows into memory, about 5 kB each."""

MAX_EXAMPLES: Final = 5
"""Rejects that an intake keeps to be shown, each for another reason."""

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
    """What one input gave: its records, the counts, and how many rows were new."""

    source: str
    content: Mapping[str, str]
    """Record id to content hash, in the order of the input."""
    counts: IngestCounts
    examples: tuple[Reject, ...]
    """The first reject of each reason, a few of them."""
    new_records: int
    changed_records: int
    new_rejects: int

    @property
    def record_ids(self) -> tuple[str, ...]:
        """The ids of the records in order."""
        return tuple(self.content)

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


def take_in(store: Store, writer: Writer, ingestion: Ingestion, shard: str | None = None) -> Intake:
    """Read an input into the store.

    Args:
        store: The store.
        writer: Where the rows go; its run is theirs.
        ingestion: The input, not yet read: what is wrong with path or selection came out when it was made.
        shard: Take in only the records of this shard. What is counted is the whole input, and so are rejects: every
            shard meets the same ones.

    Raises:
        StoreError: The store cannot be written.
    """
    source = ingestion.source
    known = _content_hashes(store, source)
    refused = _reject_keys(store, source)
    content: dict[str, str] = {}
    examples: dict[str, Reject] = {}
    tally = {"new": 0, "changed": 0, "rejects": 0}

    def rows() -> Iterator[tuple[str, dict[str, Any]]]:
        for item in ingestion:
            if isinstance(item, Record):
                record_id, said = item.record_id, item.content_hash
                if not holds(shard, record_id):
                    continue
                # Out of one and into the other: together they would hold a large input twice.
                before = known.pop(record_id, None) or content.get(record_id)
                content[record_id] = said
                if before == said:
                    continue
                tally["new" if before is None else "changed"] += 1
                yield "records", _record_row(item, writer.run_id)
            elif isinstance(item, Reject):
                if len(examples) < MAX_EXAMPLES:
                    examples.setdefault(item.reason, item)
                row = _reject_row(item, writer.run_id)
                key = _reject_key(*(row[name] for name in REJECTS.key))
                if key not in refused:
                    refused.add(key)
                    tally["rejects"] += 1
                    yield "rejects", row

    waiting = 0
    for group in _groups(rows()):
        writer.append_sync(group)
        waiting += sum(map(len, group.values()))
        if waiting >= _SEGMENT:
            writer.roll()
            waiting = 0
    return Intake(
        source=source.name,
        content=content,
        counts=ingestion.counts,
        examples=tuple(examples.values()),
        new_records=tally["new"],
        changed_records=tally["changed"],
        new_rejects=tally["rejects"],
    )


def _content_hashes(store: Store, source: Source) -> dict[str, str]:
    """Record id to content hash of what the store has of a source."""
    return dict(_stored_columns(store, source, RECORDS, ("record_id", "content_hash")))


def _reject_keys(store: Store, source: Source) -> set[bytes]:
    """The keys of the rejects that the store has of a source."""
    return {_reject_key(*values) for values in _stored_columns(store, source, REJECTS, REJECTS.key)}


def _stored_columns(store: Store, source: Source, table: Table, names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    import pyarrow as pa

    data = store.table(table.name, {"source": source.name}, names)
    # Arrow keeps what choosing the latest rows took, which is a multiple of the rows.
    pa.default_memory_pool().release_unused()
    for batch in data.to_batches():
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def first_of(ingestions: Sequence[Ingestion], shards: Sequence[str | None] = ()) -> Record | Reject | None:
    """The first record of the inputs, else their first reject; null if they hold neither.

    Reads as far as the first record, which in most files is the first item.

    Args:
        ingestions: The inputs.
        shards: Of each input, the shard that the record is to be of; by default all records will do.
    """
    first: Reject | None = None
    for ingestion, shard in zip(ingestions, shards or [None] * len(ingestions), strict=True):
        for item in ingestion:
            if isinstance(item, Record) and holds(shard, item.record_id):
                return item
            if first is None and isinstance(item, Reject):
                first = item
    return first


def place(reject: Reject) -> str:
    """``file:line (native id)``, as much of it as is known."""
    line = "" if reject.line is None else f":{reject.line}"
    return f"{reject.file}{line}" + (f" ({reject.native_id})" if reject.native_id else "")


def nothing_read(sources: Sequence[str], reject: Reject | None) -> InputError:
    """The error of inputs that gave no record; the reject says why."""
    message = f"there is no record of {', '.join(sorted(set(sources)))} to work on"
    if reject is None:
        return InputError(message, remedy="name an input, or ingest one into this store")
    return InputError(f"{message}: {reject.message}", file=reject.file, line=reject.line, remedy=reject.remedy)


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
    with as_file(path) as file:
        ingestion = ingest(source, file, where=where, limit=limit)
        # A killed ingest is not resumed but done again: this is when what it left becomes parts.
        store.recover()
        return _take_in(store, ingestion, {"source": source.name, "path": str(path), "where": dict(where or {})})


def _take_in(store: Store, ingestion: Ingestion, config: Mapping[str, Any]) -> tuple[str, Intake]:
    """An ingest run of an input that is there; ``config`` is what is written down of what was asked for."""
    with store.writer(new_run_id("ingest")) as writer:
        intake = take_in(store, writer, ingestion)
        row = {
            "run_id": writer.run_id,
            "sequence": 0,
            "kind": "ingest",
            "state": "completed",
            "config": canonical_json(config),
            "selection": None,
            "counts": canonical_json(intake.summary),
            "at": datetime.now(UTC),
            "hazardmill_version": __version__,
        }
        writer.append_sync({"runs": [row]})
        return writer.run_id, intake


def stored_content(
    store: Store, source: Source, where: Mapping[str, str], limit: int | None, shard: str | None = None
) -> dict[str, str]:
    """Content hash by id of the records of a source that the store holds and that meet ``where``, as they came.

    Of the first ``limit`` of these, the ones in ``shard``: so all shards together are what is taken without any.

    Raises:
        UsageError: ``where`` names a fact that the source does not have.
        StoreError: The store cannot be read.
    """
    check_selection(source, where)
    rows = store.rows("records", {"source": source.name}, ["record_id", "content_hash", *(["facts"] if where else [])])
    chosen = (row for row in rows if not where or meets(json.loads(row["facts"]), where))
    return {row["record_id"]: row["content_hash"] for row in islice(chosen, limit) if holds(shard, row["record_id"])}


def shelve(store: Store, records: Iterable[Record]) -> None:
    """Write records into a store as they are, for a run that takes them from there.

    Raises:
        StoreError: The store cannot be written.
    """
    with store.writer(new_run_id("ingest")) as writer:
        writer.append_sync({"records": [_record_row(record, writer.run_id) for record in records]})


class RecordReader:
    """The records of a store, as they were when the shelf was opened, for reading a few at a time.

    Content that a later intake replaced is there too, so that a run goes on with what it was started on.
    """

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
        "content_hash",
    )

    def __init__(self, store: Store) -> None:
        self._table = store.read(lambda snapshot: read_table(snapshot, RECORDS, None, self._COLUMNS, superseded=True))

    def take(self, content: Mapping[str, str | None]) -> dict[str, Record]:
        """Records by id.

        Args:
            content: Record id to the content hash that is wanted; null takes the latest.

        Returns:
            What is there: an id without that content is missing.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        wanted = pa.array(sorted(content), pa.string())
        rows = self._table.filter(pc.is_in(self._table["record_id"], wanted)).to_pylist()
        # In the order of commits: where content does not matter, or is there twice, the last one stands.
        return {
            row["record_id"]: _record(row) for row in rows if content[row["record_id"]] in (None, row["content_hash"])
        }


def _record(row: Mapping[str, Any]) -> Record:
    other = ("record_id", "content_hash", "facts", "warnings")
    values = {name: value for name, value in row.items() if name not in other}
    return Record(**values, facts=json.loads(row["facts"]), warnings=tuple(json.loads(row["warnings"])))


def _record_row(record: Record, run_id: str) -> dict[str, Any]:
    return {
        "run_id": run_id,
        "record_id": record.record_id,
        "source": record.source,
        "native_id": record.native_id,
        "context": record.context,
        "facts": record.canonical_facts,
        "licence": record.licence,
        "attribution": record.attribution,
        "content_hash": record.content_hash,
        "file": record.file,
        "line": record.line,
        "warnings": canonical_json(record.warnings) if record.warnings else "[]",
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


def _reject_key(*values: str | int) -> bytes:
    # Hashed: a whole year can be refused row by row.
    return hashlib.blake2b(repr(values).encode(), digest_size=16).digest()


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
