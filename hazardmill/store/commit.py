"""From a journal segment to parts: nothing lost and nothing doubled, wherever a crash comes between.

    1. write one part a table in the staging folder      crash: the segment is still the truth
       (and, of a store in a bucket, put it there)       crash: as above; no manifest lists what is in the bucket
    2. rename the parts into place                       crash: unlisted, so unseen; done again under the same names
    3. rename the manifest into place                    the commit
    4. remove the segment                                crash: readers skip a segment that a manifest names

The caller holds the lock of the segment's run, so that only one process does this.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hazardmill.store.files.fsync_io import Fault, make_folder, no_fault, remove, rename
from hazardmill.store.files.layout import Layout
from hazardmill.store.files.locks import exclusive
from hazardmill.store.files.manifests import Manifests
from hazardmill.store.files.parts import latest, write_part
from hazardmill.store.journal import read_segment
from hazardmill.store.rows import table_named, to_arrow


def convert(
    layout: Layout, manifests: Manifests, path: Path, fault: Fault = no_fault, check: Callable[[], None] | None = None
) -> None:
    """Turn the closed segment at ``path`` into visible parts and remove it.

    A part holds each key once: of rows with the same key in one segment, the last.

    Args:
        layout: The store's paths.
        manifests: The store's manifests.
        path: The segment.
        fault: Called at ``part.staged``, ``part.renamed``, ``manifest.staged``, ``manifest.renamed``
            and ``segment.removed``.
        check: Called under the lock of commits, before anything is renamed into place; raises if the store is no longer
            the one that the segment is of.

    Raises:
        CorruptStore: If the segment is damaged; it stays where it is.
        StoreError: If the disk refuses; the segment stays the truth and can be converted later.
    """
    segment = read_segment(path)
    if segment.groups and not manifests.list_rows_of(segment.name):
        make_folder(layout.staging)
        parts, renames = [], []
        for name in segment.tables:
            table = table_named(name)
            data = latest(to_arrow(table, segment.rows(name)), table.key)
            staged = layout.staging / f"{segment.name}.{name}.parquet"
            place = layout.part(name, segment.name)
            parts.append(write_part(table, data, staged, place.name))
            manifests.send(staged, parts[-1])
            renames.append((staged, place))
            fault("part.staged")
        with exclusive(layout.commit_lock):
            if check is not None:
                check()
            for staged, place in renames:
                rename(staged, place)
                fault("part.renamed")
            manifests.publish(segment.name, parts, fault)
    remove(path)
    fault("segment.removed")
