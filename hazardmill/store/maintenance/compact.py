"""Compaction: replaces many small parts by few large ones.

Every row keeps its place, except rows that a later row of the same run and key replaces. A run depends on its own rows,
so rows that another run wrote under the same key stay, and no digest changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Final

import pyarrow as pa

from hazardmill.errors import CorruptStore, StoreError
from hazardmill.store.files.fsync_io import Fault, remove
from hazardmill.store.files.layout import Layout
from hazardmill.store.files.locks import exclusive
from hazardmill.store.files.manifests import CommitManifest, Manifests, Part, missing_sequences
from hazardmill.store.files.parts import batches, is_latest, own_key, read_parts
from hazardmill.store.maintenance.findings import rebuild_remedy
from hazardmill.store.maintenance.manifest_swap import PlacedPart, check_part, publish, stage_part, sweep
from hazardmill.store.schemas import TABLES, Table

TARGET_BYTES: Final = 128 * 2**20
"""Size at which a new part is full; parts of at least half this size are left alone."""


@dataclass(frozen=True)
class MaintenanceSummary:
    """What a compaction did: parts and bytes before and after."""

    parts_before: int
    parts_after: int
    bytes_before: int
    bytes_after: int
    rows_dropped: int
    """Rows that a later row of the same run and key replaced."""
    commits: int
    """Number of manifests that were replaced by one; 0 if there was nothing to do."""
    swept: int
    """Number of files left by an earlier maintenance that were removed."""


def compact(layout: Layout, manifests: Manifests, fault: Fault, target: int = TARGET_BYTES) -> MaintenanceSummary:
    """Compact what is committed now. Writers and readers may continue; the caller holds the maintenance lock.

    Args:
        layout: The store's paths.
        manifests: The store's manifests.
        fault: Called at ``compact.part.staged`` and at the points of ``manifest_swap.publish``, prefixed with
            ``compact.``.
        target: Size in bytes at which a new part is full.

    Returns:
        Parts and bytes before and after; ``commits`` is 0 if there was nothing to do.

    Raises:
        CorruptStore: The store is damaged; nothing was changed.
        StoreError: The disk refuses; either nothing was changed, or everything.
    """
    fault = partial(_name_point, fault)
    with exclusive(layout.commit_lock):
        swept = sweep(layout, manifests, fault)
    old = manifests.all()
    gaps = missing_sequences(old)
    if gaps:
        message, remedy = f"commit {gaps[0]} has no manifest", rebuild_remedy(layout.root)
        raise CorruptStore(message, file=str(layout.manifests), remedy=remedy)
    groups = {table: _groups(_parts(old, name), target) for name, table in TABLES.items()}
    before = [part for manifest in old for part in manifest.parts]
    if all(len(group) == 1 for found in groups.values() for group in found):
        size = sum(part.size for part in before)
        return MaintenanceSummary(len(before), len(before), size, size, 0, 0, swept)
    place = range(1, old[-1].sequence + 1)
    name = layout.new_replacement("compact", place)
    try:
        placed = [new for table, found in groups.items() for new in _rewrite(layout, table, found, name, fault)]
    except StoreError:
        # Free the space at once, because the disk may be full.
        for path in layout.staging.glob(f"{name}.*"):
            remove(path)
        raise
    with exclusive(layout.commit_lock):
        publish(layout, manifests, name, placed, old, place, fault)
    after = [new.part for new in placed]
    return MaintenanceSummary(
        parts_before=len(before),
        parts_after=len(after),
        bytes_before=sum(part.size for part in before),
        bytes_after=sum(part.size for part in after),
        rows_dropped=sum(part.rows for part in before) - sum(part.rows for part in after),
        commits=len(old),
        swept=swept,
    )


def _name_point(fault: Fault, point: str) -> None:
    fault(f"compact.{point}")


def _parts(manifests: Sequence[CommitManifest], table: str) -> list[Part]:
    return [part for manifest in manifests for part in manifest.parts if part.table == table]


def _groups(parts: Sequence[Part], target: int) -> list[list[Part]]:
    """Group the parts, in their order; each group becomes one part."""
    groups: list[list[Part]] = []
    is_open = False
    for part in parts:
        small = part.size < target // 2
        if small and is_open:
            groups[-1].append(part)
        else:
            groups.append([part])
        is_open = small and sum(member.size for member in groups[-1]) < target
    return groups


def _rewrite(
    layout: Layout, table: Table, groups: Sequence[Sequence[Part]], name: str, fault: Fault
) -> Iterator[PlacedPart]:
    """Yield the parts of one table, with one new part for each group of several."""
    parts = [part for group in groups for part in group]
    starts = dict(zip((part.file for part in parts), accumulate((p.rows for p in parts), initial=0), strict=False))
    columns, standing = [column.name for column in table.columns], None
    for number, group in enumerate(groups):
        if len(group) == 1:
            yield PlacedPart(group[0])
            continue
        paths = [check_part(layout, part) for part in group]
        if standing is None:
            standing = _standing(layout, table, parts)
        pieces = (
            data
            for part, path in zip(group, paths, strict=True)
            for data in batches(path, columns, standing.slice(starts[part.file], part.rows))
        )
        new = stage_part(layout, table, pieces, name, number)
        fault("part.staged")
        if new is not None:
            yield new


def _standing(layout: Layout, table: Table, parts: Sequence[Part]) -> pa.Array:
    """Boolean array: whether each row of the table is not replaced by a later row of its run and key."""
    key = own_key(table)
    keys = read_parts(table, [layout.root / table.name / part.file for part in parts], key)
    if keys.num_rows != sum(part.rows for part in parts):
        raise CorruptStore(
            f"the parts have {keys.num_rows} rows, which differs from their manifests",
            file=str(layout.root / table.name),
            remedy=rebuild_remedy(layout.root),
        )
    return is_latest(keys, key)
