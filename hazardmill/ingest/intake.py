"""Intake: writes ingested records and rejects to the store. Ingesting the same input again changes nothing."""

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
"""Maximum number of rows per journal line."""

_SEGMENT = 10_000
"""Number of rows after which a segment is converted to parts. The conversion holds all of them in memory, about 5 kB
each."""

MAX_EXAMPLES: Final = 5
"""Maximum number of rejects that an intake keeps as examples, each for a different reason."""

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
    """The result of one input: its records, the counts, and the number of new rows.

    Attributes:
        source: Name of the source.
        new_records: Records whose id the store did not have.
        changed_records: Records that the store had with other content.
        new_rejects: Rejects that the store did not have.
    """

    source: str
    content: Mapping[str, str]
    """Record id to content hash, in input order."""
    counts: IngestCounts
    examples: tuple[Reject, ...]
    """The first reject of each reason, up to ``MAX_EXAMPLES``."""
    new_records: int
    changed_records: int
    new_rejects: int

    @property
    def record_ids(self) -> tuple[str, ...]:
        """The ids of the records, in input order."""
        return tuple(self.content)

    @property
    def summary(self) -> dict[str, int]:
        """The counts shown to users, by name."""
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
        writer: Writes the rows; they belong to its run.
        ingestion: The input, not read yet. Errors in path and selection were raised when it was made.
        shard: Take in only the records of this shard. Counts and rejects cover the whole input, so every shard has the
            same rejects.

    Returns:
        Content hashes of the records by id, the counts, an example per reason of reject (``MAX_EXAMPLES`` at most), and
        the number of new and changed rows.

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
                # Move the entry from one to the other: kept in both, a large input would take twice the memory.
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
    """Record id to content hash, for the records of a source in the store."""
    return dict(_stored_columns(store, source, RECORDS, ("record_id", "content_hash")))


def _reject_keys(store: Store, source: Source) -> set[bytes]:
    """The keys of a source's rejects in the store."""
    return {_reject_key(*values) for values in _stored_columns(store, source, REJECTS, REJECTS.key)}


def _stored_columns(store: Store, source: Source, table: Table, names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    import pyarrow as pa

    data = store.table(table.name, {"source": source.name}, names)
    # Choosing the latest rows took a multiple of their memory, which Arrow would keep.
    pa.default_memory_pool().release_unused()
    for batch in data.to_batches():
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def first_of(ingestions: Sequence[Ingestion], shards: Sequence[str | None] = ()) -> Record | Reject | None:
    """Return the first record of some inputs, or else their first reject; null if they hold neither.

    Reads only up to the first record, which in most files is the first item.

    Args:
        ingestions: The inputs.
        shards: For each input, the shard that the record must belong to; empty to accept all records.
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
    """Return the place of a reject as ``file:line (native id)``, as far as known."""
    line = "" if reject.line is None else f":{reject.line}"
    return f"{reject.file}{line}" + (f" ({reject.native_id})" if reject.native_id else "")


def nothing_read(sources: Sequence[str], reject: Reject | None) -> InputError:
    """Return the error for inputs without any record.

    Args:
        sources: Names of the sources.
        reject: A reject that says why; null if there is none.
    """
    message = f"there are no records of {', '.join(sorted(set(sources)))} to work on"
    if reject is None:
        return InputError(message, remedy="give an input, or ingest one into this store")
    return InputError(f"{message}: {reject.message}", file=reject.file, line=reject.line, remedy=reject.remedy)


def ingest_into(
    store: Store, source_name: str, path: Path, *, where: Mapping[str, str] | None = None, limit: int | None = None
) -> tuple[str, Intake]:
    """Run an ingest: take the input in, and record what was read and counted.

    Args:
        store: The store.
        source_name: Name of the source.
        path: A file or folder; ``-`` for standard input.
        where: Values that the facts of a record must have, by name.
        limit: Maximum number of records; null for all.

    Returns:
        The id of the ingest run, and what the input gave.

    Raises:
        SourceError: There is no such source, or nothing to read at ``path``.
        UsageError: ``where`` or ``limit`` does not suit the source.
        InputError: The stream cannot be read.
        StoreError: The store cannot be written.
    """
    source = load_source(source_name)
    with as_file(path) as file:
        ingestion = ingest(source, file, where=where, limit=limit)
        # A killed ingest is repeated instead of resumed: convert now what it left.
        store.recover()
        return _take_in(store, ingestion, {"source": source.name, "path": str(path), "where": dict(where or {})})


def _take_in(store: Store, ingestion: Ingestion, config: Mapping[str, Any]) -> tuple[str, Intake]:
    """Run the ingest of an input; ``config`` is stored with the run."""
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
    """Return the records of a source in the store that match a selection: content hash by record id, in commit order.

    Args:
        store: The store.
        source: The source.
        where: Values that facts must have, by name.
        limit: Consider only this many matching records; null for all.
        shard: Of these, return only the records of this shard. All shards together give the records without sharding.

    Raises:
        UsageError: ``where`` names a fact that the source does not have.
        StoreError: The store cannot be read.
    """
    check_selection(source, where)
    rows = store.rows("records", {"source": source.name}, ["record_id", "content_hash", *(["facts"] if where else [])])
    chosen = (row for row in rows if not where or meets(json.loads(row["facts"]), where))
    return {row["record_id"]: row["content_hash"] for row in islice(chosen, limit) if holds(shard, row["record_id"])}


def shelve(store: Store, records: Iterable[Record]) -> None:
    """Write records to a store unchanged, for a run that reads them from there.

    Raises:
        StoreError: The store cannot be written.
    """
    with store.writer(new_run_id("ingest")) as writer:
        write_records(writer, records)


def write_records(writer: Writer, records: Iterable[Record]) -> dict[str, str | None]:
    """Write records that no source reads, unchanged.

    Returns:
        Content hash by record id, in order.

    Raises:
        StoreError: The store cannot be written.
    """
    made = list(records)
    writer.append_sync({"records": [_record_row(record, writer.run_id) for record in made]})
    return {record.record_id: record.content_hash for record in made}


class RecordReader:
    """Reads records of a store, a few at a time, as they were when the reader was made.

    It also finds content that a later intake has replaced, so that a run continues with the records it was started on.

    Args:
        store: The store.

    Raises:
        StoreError: The store cannot be read.
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
        """Return records by id.

        Args:
            content: Record id to the wanted content hash; null for the latest content.

        Returns:
            The records found; an id without that content is missing.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        wanted = pa.array(sorted(content), pa.string())
        rows = self._table.filter(pc.is_in(self._table["record_id"], wanted)).to_pylist()
        # In commit order: if content does not matter or occurs twice, the last record wins.
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
    # Hashed to save memory: a whole year may be rejected row by row.
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
