"""One consistent view of a store while others write it: the visible parts and the rows still in the journal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from hazardmill.store.journal import Segment, read_segment
from hazardmill.store.layout import Layout
from hazardmill.store.manifests import Manifest, Manifests
from hazardmill.store.parts import equal_to, latest, read_parts
from hazardmill.store.rows import check_columns, check_condition, to_arrow
from hazardmill.store.schemas import Table


@dataclass(frozen=True)
class Snapshot:
    """The manifests in commit order, then the segments no manifest names, oldest first."""

    layout: Layout
    manifests: tuple[Manifest, ...]
    pending: tuple[Segment, ...]

    def parts(self, table: str) -> list[tuple[int, Path]]:
        """The visible parts of a table with their commit's sequence, in commit order."""
        return [
            (manifest.sequence, self.layout.root / table / part.file)
            for manifest in self.manifests
            for part in manifest.parts
            if part.table == table
        ]

    @property
    def through(self) -> int:
        """Number of the last commit up to which this view has every one.

        A listing of the manifests that runs beside two commits may show the second alone.
        """
        last = 0
        for manifest in self.manifests:
            if manifest.sequence == last + 1:
                last += 1
        return last

    def since(self, sequence: int) -> Snapshot:
        """This view without what was committed up to ``sequence``."""
        later = tuple(manifest for manifest in self.manifests if manifest.sequence > sequence)
        return Snapshot(self.layout, later, self.pending)

    def pending_table(self, table: Table) -> pa.Table:
        """The rows of a table that are still in the journal, oldest first."""
        return to_arrow(table, [row for segment in self.pending for row in segment.rows(table.name)])


def take_snapshot(layout: Layout, manifests: Manifests) -> Snapshot:
    """Look at the store now.

    Raises:
        CorruptStore, SchemaMismatch: If a segment or manifest cannot be read.
    """
    # The journal first: a segment that becomes parts meanwhile is then seen twice and skipped once, never missed.
    segments = []
    for path in layout.segments():
        try:
            segments.append(read_segment(path))
        except FileNotFoundError:
            continue  # became parts since it was listed: its manifest is there by now
    committed = tuple(manifests.all())
    converted = {manifest.segment for manifest in committed}
    return Snapshot(layout, committed, tuple(s for s in segments if s.name not in converted))


def read_table(
    snapshot: Snapshot,
    table: Table,
    where: Mapping[str, object] | None = None,
    columns: Sequence[str] | None = None,
    *,
    superseded: bool = False,
) -> pa.Table:
    """The rows of a table in commit order.

    Args:
        snapshot: The view to read.
        table: The table.
        where: Column to the value it must have (null matches null).
        columns: What to give back, in this order; all if none.
        superseded: Whether to give every row, not only the latest of each key.

    Raises:
        StoreError: For an unknown column, or a condition its column cannot meet.
        CorruptStore, SchemaMismatch: If a part cannot be read.
    """
    wanted = list(columns) if columns is not None else [column.name for column in table.columns]
    where = where or {}
    check_columns(table, wanted)
    check_condition(table, where)
    needed = list(dict.fromkeys([*wanted, *where, *table.key]))
    # A condition on the key picks whole keys, so it may come before the choice of the latest row; others may not.
    early = {name: value for name, value in where.items() if superseded or name in table.key}
    condition = _all_of(early)
    data = read_parts(table, [path for _, path in snapshot.parts(table.name)], needed, condition)
    pending = snapshot.pending_table(table).select(needed)
    if condition is not None:
        pending = pending.filter(condition)
    data = pa.concat_tables([data, pending])
    if not superseded:
        data = latest(data, table.key)
    late = _all_of({name: value for name, value in where.items() if name not in early})
    if late is not None:
        data = data.filter(late)
    return data.select(wanted)


def _all_of(where: Mapping[str, object]) -> pc.Expression | None:
    condition = None
    for name, value in where.items():
        term = equal_to(name, value)
        condition = term if condition is None else condition & term
    return condition
