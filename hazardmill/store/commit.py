"""Converts a journal segment to parts; nothing is lost or duplicated, wherever a crash happens.

    1. write one part per table in the staging folder    crash: the segment is still the truth
       (and, for a store in a bucket, upload it)         crash: as above; no manifest lists the uploaded parts
    2. rename the parts into place                       crash: unlisted, so unseen; repeated under the same names
    3. rename the manifest into place                    the commit
    4. remove the segment                                crash: readers skip a segment that a manifest lists

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
    """Convert the closed segment at ``path`` to visible parts and remove it.

    A part holds each key once: if a segment has several rows with the same key, the last one.

    Args:
        layout: The store's paths.
        manifests: The store's manifests.
        path: The segment.
        fault: Called at ``part.staged``, ``part.renamed``, ``manifest.staged``, ``manifest.renamed`` and
            ``segment.removed``.
        check: Called under the commit lock, before anything is renamed into place. It raises if the store is no longer
            the one that the segment belongs to.

    Raises:
        CorruptStore: The segment is damaged; it stays in place.
        StoreError: The disk refuses; the segment stays the truth and can be converted later.
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
