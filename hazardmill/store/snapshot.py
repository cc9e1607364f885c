"""A consistent view of a store while others write it: the visible parts and the rows still in the journal."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import pyarrow as pa

from hazardmill.store.files.footers import PICKING
from hazardmill.store.files.layout import Layout
from hazardmill.store.files.manifests import CommitManifest, Manifests, Part, last_without_gap, list_converted
from hazardmill.store.files.parts import Condition, batches, expression, having_keys_of, latest, read_parts
from hazardmill.store.files.verified import verified_parts
from hazardmill.store.journal import Segment, read_segment
from hazardmill.store.rows import check_columns, check_condition, to_arrow
from hazardmill.store.schemas import Table

_FEW: Final = 1000
"""Maximum number of values of a column for which rows are looked up by value."""


@dataclass(frozen=True)
class Snapshot:
    """A view of a store at one moment.

    Attributes:
        manifests: The manifests that count, in commit order.
        pending: The segments that no manifest lists, oldest first.
    """

    layout: Layout
    manifests: tuple[CommitManifest, ...]
    pending: tuple[Segment, ...]
    fetch: Callable[[Sequence[Part]], None] | None = field(default=None, compare=False, repr=False)
    """Downloads parts to the store's folder; null if all are there."""

    def parts(self, table: str) -> list[tuple[int, Path]]:
        """Return the visible parts of a table with their commit numbers, in commit order.

        All are in the store's folder, and as their manifests say.

        Raises:
            PartGone: A part does not exist.
            CorruptStore: A part is damaged.
        """
        self.verify([table])
        return [
            (manifest.sequence, self.layout.root / table / part.file)
            for manifest in self.manifests
            for part in manifest.parts
            if part.table == table
        ]

    def listed(self, tables: Collection[str] | None = None) -> list[tuple[Path, Part]]:
        """Return path and entry of the visible parts of some tables, wherever they are; null for all tables."""
        parts = [part for manifest in self.manifests for part in manifest.parts]
        chosen = [part for part in parts if tables is None or part.table in tables]
        return [(self.layout.root / part.table / part.file, part) for part in chosen]

    def bring(self, tables: Collection[str] | None = None) -> None:
        """Make sure that the visible parts of some tables are in the store's folder; null for all tables."""
        if self.fetch is not None:
            self.fetch([part for _, part in self.listed(tables)])

    def verify(self, tables: Collection[str] | None = None) -> None:
        """Bring the visible parts of some tables, and refuse those that are not as their manifests say.

        Args:
            tables: The tables that are about to be read; null for all.

        Raises:
            PartGone: A part does not exist.
            CorruptStore: A part is damaged.
        """
        self.bring(tables)
        verified_parts(self.layout.verified).refuse_damage(self.listed(tables))

    @property
    def through(self) -> int:
        """Number of the last commit up to which this view has all commits.

        A listing of the manifests taken during two commits may contain only the second.
        """
        return last_without_gap(self.manifests)

    def since(self, sequence: int) -> Snapshot:
        """Return this view without commits up to ``sequence``. Replacements are included whole or not at all."""
        later = tuple(manifest for manifest in self.manifests if manifest.sequence > sequence)
        return replace(self, manifests=later)

    def pending_table(self, table: Table) -> pa.Table:
        """Return the rows of a table that are still in the journal, oldest first."""
        pieces = [to_arrow(table, segment.rows(table.name)) for segment in self.pending]
        return pa.concat_tables([table.no_rows, *pieces])


def take_snapshot(layout: Layout, manifests: Manifests) -> Snapshot:
    """Return a snapshot of the store as it is now.

    Args:
        layout: The store's paths.
        manifests: The store's manifests.

    Raises:
        CorruptStore: A segment or manifest is damaged.
        SchemaMismatch: A newer hazardmill wrote one.
    """
    # Read the journal first: a segment converted meanwhile is then seen twice and skipped once, never missed.
    segments = []
    for path in layout.segments():
        try:
            segments.append(read_segment(path))
        except FileNotFoundError:
            continue  # converted since it was listed: its manifest exists by now
    committed = tuple(manifests.all())
    known = list_converted(committed)
    return Snapshot(layout, committed, tuple(s for s in segments if s.name not in known), manifests.fetch)


def read_table(
    snapshot: Snapshot,
    table: Table,
    where: Mapping[str, object] | None = None,
    columns: Sequence[str] | None = None,
    *,
    superseded: bool = False,
) -> pa.Table:
    """Return the rows of a table in commit order.

    Args:
        snapshot: The view to read.
        table: The table.
        where: Value that each named column must have (null matches null).
        columns: Columns to return, in this order; null for all.
        superseded: Whether to return every row instead of the latest of each key.

    Raises:
        StoreError: A column is unknown, or a condition does not suit its column.
        CorruptStore: A part is damaged.
        SchemaMismatch: A newer hazardmill wrote a part.
    """
    wanted = list(columns) if columns is not None else [column.name for column in table.columns]
    where = where or {}
    check_columns(table, wanted)
    check_condition(table, where)
    # A condition on the key selects whole keys, so it may be applied before choosing the latest row; others may not.
    early = {name: [value] for name, value in where.items() if superseded or name in table.key}
    late = {name: [value] for name, value in where.items() if name not in early}
    narrow = list(dict.fromkeys([*where, *table.key]))
    needed = list(dict.fromkeys([*wanted, *narrow]))
    if not late:
        data = _rows(snapshot, table, needed, early)
        return (data if superseded else latest(data, table.key)).select(wanted)
    if PICKING.isdisjoint(late) or set(needed) == set(narrow):
        return _that_meet(latest(_rows(snapshot, table, needed, early), table.key), late).select(wanted)
    # Few rows are wanted: find candidates by columns that few parts contain, then check by key that they are latest.
    found = latest(_rows(snapshot, table, needed, early | late), table.key)
    if not found.num_rows:
        return found.select(wanted)
    keys = {name: found[name].unique().to_pylist() for name in table.key}
    few = {name: values for name, values in keys.items() if len(values) <= _FEW}
    standing = _that_meet(latest(_rows(snapshot, table, narrow, early | few), table.key), late)
    return having_keys_of(found, standing, table.key).select(wanted)


def read_batches(snapshot: Snapshot, table: Table, columns: Sequence[str], chosen: pa.Array) -> Iterator[pa.Table]:
    """Yield the chosen rows of a table in commit order, in batches.

    Args:
        snapshot: The view to read.
        table: The table.
        columns: Columns to return.
        chosen: Boolean array: whether to return each row of ``read_table`` with ``superseded``.

    Raises:
        CorruptStore: A part is damaged.
    """
    snapshot.verify([table.name])
    parts, pending, start = snapshot.listed([table.name]), snapshot.pending_table(table), 0
    for path, part in parts:
        wanted = chosen.slice(start, part.rows)
        start += part.rows
        if wanted.true_count:
            yield from batches(path, columns, wanted)
    yield pending.select(list(columns)).filter(chosen.slice(start))


def _rows(snapshot: Snapshot, table: Table, columns: Sequence[str], where: Condition) -> pa.Table:
    """Every row that meets a condition, in commit order."""
    data = read_parts(table, [path for _, path in snapshot.parts(table.name)], columns, where)
    pending = _that_meet(snapshot.pending_table(table), where).select(list(columns))
    return pa.concat_tables([data, pending])


def _that_meet(data: pa.Table, where: Condition) -> pa.Table:
    condition = expression(where)
    return data if condition is None else data.filter(condition)
