"""The inputs of a run: files to read, and records that the store already holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from hazardmill.errors import InputError
from hazardmill.ingest.fetch.catalogue import read_catalogue
from hazardmill.ingest.ingest import Ingestion, ingest
from hazardmill.ingest.intake import RecordReader, first_of, nothing_read, stored_content
from hazardmill.ingest.shards import holds
from hazardmill.ingest.sources import load_source
from hazardmill.records import Record
from hazardmill.runs.config import RunConfig, RunInput
from hazardmill.store.store import Store

_AT_ONCE: Final = 500
"""Records read from the store at once."""


def ingestion_of(item: RunInput) -> Ingestion | None:
    """Begin to read an input; None if it has no path."""
    source = load_source(item.source)
    return None if item.path is None else ingest(source, item.path, where=item.where, limit=item.limit)


def find_records(store: Store, config: RunConfig) -> None:
    """Make sure that some input holds a record. Nothing is written.

    Raises:
        InputError: None does; the message says why, and how to get some.
    """  # noqa: DOC501  # the helpers make an InputError
    inputs = [(ingestion_of(item), item) for item in config.inputs]
    if any(ingestion is None and stored_of(store, item) for ingestion, item in inputs):
        return
    read = [(ingestion, item.shard) for ingestion, item in inputs if ingestion is not None]
    found = first_of([ingestion for ingestion, _ in read], [shard for _, shard in read])
    if isinstance(found, Record):
        return
    if config.shard is not None:
        # All inputs were read to their end, because no record was in the shard.
        others = sum(ingestion.counts.records for ingestion, _ in read)
        others += sum(
            len(stored_of(store, item.model_copy(update={"shard": None})))
            for ingestion, item in inputs
            if ingestion is None
        )
        if others:
            raise _nothing_in_shard(config.shard, others)
    if found is None and (asked := [item.source for ingestion, item in inputs if ingestion is None]):
        raise _nothing_stored(store, asked)
    raise nothing_read([item.source for item in config.inputs], found)


def stored_of(store: Store, item: RunInput) -> dict[str, str]:
    """Select the records that an input without a path takes from the store.

    Returns:
        Record id to content hash, in the order in which the records came.

    Raises:
        UsageError: Its ``where`` makes no sense for the source.
        StoreError: The store cannot be read.
    """
    return stored_content(store, load_source(item.source), item.where, item.limit, item.shard)


def _nothing_in_shard(shard: str, others: int) -> InputError:
    return InputError(
        f"shard {shard} holds none of the {others} records to work on",
        remedy="leave this shard out, which is normal with few records, or divide them into fewer shards",
    )


def _nothing_stored(store: Store, sources: Sequence[str]) -> InputError:
    """Return the error of a run whose records should come from the store, which has none that match."""
    source = load_source(sources[0])
    if store.count("records", {"source": source.name}):
        remedy = f"no stored record of {source.name} matches --where: change --where, or give --input PATH"
    else:
        ingest_it = f"hazardmill ingest --source {source.name} --store {store.address}"
        offer = read_catalogue(source)
        first = f"hazardmill sources fetch {source.name}, then " if offer is not None and offer.files else ""
        place = f"data/{source.name}" if first else "PATH" if source.find_installed() is None else ""
        remedy = f"add some with: {first}{ingest_it} {place}".rstrip() + "; or give --input PATH"
    wanted = ", ".join(dict.fromkeys(sources))
    return InputError(f"there is no record of {wanted} to work on in the store {store.address}", remedy=remedy)


def records_of(store: Store, item: RunInput) -> Iterator[Record]:
    """Yield the records of an input, in order. Nothing is written.

    Raises:
        SourceError: There is nothing to read at its path.
        UsageError: Its ``where`` makes no sense for the source.
        StoreError: The store cannot be read.
    """
    ingestion = ingestion_of(item)
    if ingestion is not None:
        yield from (found for found in ingestion if isinstance(found, Record) and holds(item.shard, found.record_id))
        return
    content = stored_of(store, item)
    shelf, ids = RecordReader(store), list(content)
    for start in range(0, len(ids), _AT_ONCE):
        wanted = ids[start : start + _AT_ONCE]
        found = shelf.take({record_id: content[record_id] for record_id in wanted})
        yield from (found[record_id] for record_id in wanted)
