"""Replaces many manifests by one: how compaction and rebuild change a store.

    1. write new parts in the staging folder             crash: nobody sees them; removed later
    2. rename them into place, under the commit lock     crash: unlisted, and their commits exist; removed later
    3. rename the replacement's manifest into place      the commit: what it replaces no longer counts
    4. remove what it replaces                           crash: no longer read; removed later

No file is changed. A reader that looked before step 4 and reads after it finds a part missing, and looks again. The
caller holds the maintenance lock, so that only one process does this.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from hazardmill.errors import CorruptStore
from hazardmill.store.files.fsync_io import Fault, disk_errors, make_folder, remove, rename, sync_file
from hazardmill.store.files.layout import Layout
from hazardmill.store.files.manifests import CommitManifest, Manifests, Part, is_copy, list_converted, list_live
from hazardmill.store.files.parts import COMPRESSION, hash_file
from hazardmill.store.maintenance.findings import rebuild_remedy
from hazardmill.store.schemas import SCHEMA_VERSION, TABLES, Table

_ROW_GROUP_BYTES = 32 * 2**20
"""Size in memory, in bytes, at which rows become a row group."""


@dataclass(frozen=True)
class PlacedPart:
    """A part of a replacement: already in place, or staged to be renamed into place.

    Attributes:
        staged: The staged file; null if the part is in place.
    """

    part: Part
    staged: Path | None = None


def publish(
    layout: Layout,
    manifests: Manifests,
    name: str,
    placed: Sequence[PlacedPart],
    replaced: Sequence[CommitManifest],
    place: range,
    fault: Fault,
) -> None:
    """Publish a replacement and remove what it replaces (steps 2 to 4). The caller also holds the commit lock.

    Args:
        layout: The store's paths.
        manifests: The store's manifests.
        name: Name of the replacement.
        placed: Its parts, in the order of their rows.
        replaced: The manifests that it replaces.
        place: The commits that it stands for.
        fault: Called at ``part.renamed``, ``manifest.staged``, ``manifest.renamed``, ``copy.renamed``, ``part.removed``
            and ``manifest.removed``.

    Raises:
        StoreError: The disk refuses; the store is as it was, or as it should become.
    """
    for new in placed:
        if new.staged is not None:
            rename(new.staged, layout.root / new.part.table / new.part.file)
            fault("part.renamed")
    manifests.publish_replacement(name, [new.part for new in placed], replaced, place, fault)
    sweep(layout, manifests, fault)


def check_part(layout: Layout, part: Part) -> Path:
    """Return the path of a part after comparing it with its manifest: damaged parts must not get a new checksum.

    Raises:
        CorruptStore: The part is missing or damaged.
    """
    path = layout.root / part.table / part.file
    if not path.exists() or path.stat().st_size != part.size or hash_file(path) != part.sha256:
        remedy = rebuild_remedy(layout.root)
        raise CorruptStore("the part differs from its manifest", file=str(path), remedy=remedy)
    return path


def stage_part(layout: Layout, table: Table, pieces: Iterable[pa.Table], name: str, number: int) -> PlacedPart | None:
    """Write one part of a replacement to the staging folder, one row group at a time.

    Args:
        layout: The store's paths.
        table: The table of the rows.
        pieces: The rows.
        name: Name of the replacement.
        number: Number of the part within the replacement and table.

    Returns:
        The staged part; null if there are no rows.

    Raises:
        StoreError: The disk refuses.
    """
    make_folder(layout.staging)
    file = f"{name}.{number:04d}.parquet"
    staged = layout.staging / f"{name}.{table.name}.{number:04d}.parquet"
    rows = 0
    with disk_errors(staged, "write the part"):
        with pq.ParquetWriter(staged, table.schema, **COMPRESSION) as writer:
            for group in row_groups(pieces):
                writer.write_table(group.replace_schema_metadata(table.schema.metadata), row_group_size=group.num_rows)
                rows += group.num_rows
        if not rows:
            remove(staged)
            return None
        sync_file(staged)
        part = Part(table.name, file, rows, staged.stat().st_size, hash_file(staged), SCHEMA_VERSION)
    return PlacedPart(part, staged)


def row_groups(pieces: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Yield rows in groups of a size that suits a row group of a large Parquet file."""
    waiting: list[pa.Table] = []
    size = 0
    for piece in pieces:
        if piece.num_rows:
            waiting.append(piece)
            size += piece.nbytes
        if size >= _ROW_GROUP_BYTES:
            yield pa.concat_tables(waiting)
            waiting, size = [], 0
    if waiting:
        yield pa.concat_tables(waiting)


@dataclass(frozen=True)
class Leftovers:
    """Files that an interrupted maintenance left behind and that are not read any more."""

    parts: tuple[Path, ...]
    manifests: tuple[Path, ...]
    """Manifests, including second copies."""


def leftovers(layout: Layout, files: Sequence[CommitManifest]) -> Leftovers:
    """Return the files that an interrupted maintenance left behind. The caller keeps commits out.

    A part counts as left over only if its rows are in listed parts: its segment or replacement is in a manifest that
    counts, or it belongs to a replacement whose commits all have other manifests. Anything that may be the remains of a
    loss does not count.

    Args:
        layout: The store's paths.
        files: All manifests that exist.
    """
    counting = list_live(files)
    listed = {(part.table, part.file) for manifest in counting for part in manifest.parts}
    known = list_converted(counting)
    present = {number for manifest in counting for number in range(manifest.first, manifest.sequence + 1)}
    parts = []
    for path in _part_files(layout):
        if (path.parent.name, path.name) in listed:
            continue
        replacement = layout.replacement_of(path.name)
        if layout.owner_of(path.name) in known or (replacement and present.issuperset(replacement[1])):
            parts.append(path)
    dead = {manifest.file for manifest in files} - {manifest.file for manifest in counting}
    copies = []
    for path in sorted(layout.copies.glob("*.json")):
        replacement = layout.replacement_of(path.name.split("-", 1)[1])
        counts = any(manifest.file == path.name for manifest in counting)
        if not counts and replacement and present.issuperset(replacement[1]):
            copies.append(path)
    return Leftovers(tuple(parts), (*(layout.manifests / name for name in sorted(dead)), *copies))


def _part_files(layout: Layout) -> list[Path]:
    return [path for name in TABLES for path in sorted((layout.root / name).glob("*.parquet"))]


def sweep(layout: Layout, manifests: Manifests, fault: Fault) -> int:
    """Remove what an interrupted maintenance left, and write missing copies of manifests.

    The caller holds the maintenance lock and the commit lock.

    Args:
        layout: The store's paths.
        manifests: The store's manifests.
        fault: Called at ``part.removed`` and ``manifest.removed``.

    Returns:
        The number of files removed.

    Raises:
        CorruptStore: A manifest is damaged; nothing was removed.
        SchemaMismatch: A newer hazardmill wrote a manifest; nothing was removed.
    """
    left = leftovers(layout, manifests.files())
    for manifest in manifests.all():
        if manifest.generation and not is_copy(layout.copies / manifest.file, manifest):
            manifests.write_copy(manifest)
    staged = [path for path in layout.staging.glob("*") if _is_of_replacement(layout, path)]
    # Parts before manifests, so that a part left by a crash in between is still known as replaced.
    for path in (*staged, *left.parts):
        remove(path)
        fault("part.removed")
    for path in left.manifests:
        remove(path)
        fault("manifest.removed")
    return len(staged) + len(left.parts) + len(left.manifests)


def _is_of_replacement(layout: Layout, path: Path) -> bool:
    number, _, rest = path.name.partition("-")
    return layout.replacement_of(path.name) is not None or (
        number.isdigit() and path.suffix == ".json" and layout.replacement_of(rest) is not None
    )
