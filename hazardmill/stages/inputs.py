"""The inputs of a run: files to be read, and records that the store holds already."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from hazardmill.errors import InputError
from hazardmill.records import Record
from hazardmill.stages.config import RunConfig, RunInput
from hazardmill.stages.ingest import Ingestion, ingest
from hazardmill.stages.intake import Shelf, first_of, nothing_read, stored
from hazardmill.stages.published import published
from hazardmill.stages.sources import load_source
from hazardmill.store.store import Store

_AT_ONCE: Final = 500
"""Records taken from the store at a time."""


def ingestion_of(item: RunInput) -> Ingestion | None:
    """The reading of an input that has a path."""
    source = load_source(item.source)
    return None if item.path is None else ingest(source, item.path, where=item.where, limit=item.limit)


def find_records(store: Store, config: RunConfig) -> None:
    """Make sure that some input holds a record, writing nothing.

    Raises:
        InputError: None does; says why, and how to get some.
    """
    inputs = [(ingestion_of(item), item) for item in config.inputs]
    if any(ingestion is None and stored(store, load_source(item.source), item.where, 1) for ingestion, item in inputs):
        return
    found = first_of([ingestion for ingestion, _ in inputs if ingestion is not None])
    if isinstance(found, Record):
        return
    if found is None and (asked := [item.source for ingestion, item in inputs if ingestion is None]):
        raise _nothing_stored(store, asked)
    raise nothing_read([item.source for item in config.inputs], found)


def _nothing_stored(store: Store, sources: Sequence[str]) -> InputError:
    """The error of a run that was to take its records from the store, which has none that it wants."""
    source = load_source(sources[0])
    if store.count("records", {"source": source.name}):
        remedy = "none of those in the store meets --where: choose otherwise, or give --input PATH"
    else:
        ingest_it = f"hazardmill ingest --source {source.name} --store {store.path}"
        offer = published(source)
        first = f"hazardmill sources fetch {source.name}, then " if offer is not None and offer.files else ""
        place = f"data/{source.name}" if first else "PATH" if source.installed() is None else ""
        remedy = f"bring them there with: {first}{ingest_it} {place}".rstrip() + "; or give --input PATH"
    return InputError(
        f"there is no record of {', '.join(dict.fromkeys(sources))} to work on in the store {store.path}", remedy=remedy
    )


def records_of(store: Store, item: RunInput) -> Iterator[Record]:
    """The records of an input, in order. Nothing is written.

    Raises:
        SourceError: There is nothing to read at its path.
        UsageError: Its ``where`` makes no sense for the source.
        StoreError: The store cannot be read.
    """
    ingestion = ingestion_of(item)
    if ingestion is not None:
        yield from (found for found in ingestion if isinstance(found, Record))
        return
    content = stored(store, load_source(item.source), item.where, item.limit)
    shelf, ids = Shelf(store), list(content)
    for start in range(0, len(ids), _AT_ONCE):
        wanted = ids[start : start + _AT_ONCE]
        found = shelf.take({record_id: content[record_id] for record_id in wanted})
        yield from (found[record_id] for record_id in wanted)
