"""Rebuild: moves damage out of the way, and makes the store whole again as far as the rest allows.

    1. keep every damaged file in quarantine, under another name       crash: repeated
    2. replace a damaged segment by its intact lines                   crash: the segment is whole
    3. publish one manifest for all commits, of the intact parts       the commit
    4. remove the damaged files from their places, and what was replaced
    5. convert the journal to parts
    6. publish the same without the rows of records that are no longer complete

Missing rows are looked for in the tables each time instead of being remembered, so an interrupted rebuild can be
repeated and leads to the same result. The caller holds the maintenance lock and the locks of all runs with segments in
the journal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa

from hazardmill.errors import PartGone, StoreError
from hazardmill.store.commit import convert
from hazardmill.store.files.chain import LAST
from hazardmill.store.files.fsync_io import Fault, make_folder, remove, rename, write_file
from hazardmill.store.files.layout import Layout
from hazardmill.store.files.locks import exclusive, share
from hazardmill.store.files.manifests import CommitManifest, Manifests, Part
from hazardmill.store.files.parts import batches, read_parts
from hazardmill.store.maintenance.completeness import MADE, Key, Standing, standing
from hazardmill.store.maintenance.damage_survey import RepairPlan, survey
from hazardmill.store.maintenance.manifest_swap import PlacedPart, publish, stage_part, sweep
from hazardmill.store.maintenance.quarantine import Damage, keep
from hazardmill.store.maintenance.unrecoverable import losses
from hazardmill.store.maintenance.verify import look
from hazardmill.store.schemas import TABLES, Table
from hazardmill.store.snapshot import take_snapshot

_LOOKS: Final = 10
"""Maximum number of looks at a store that is compacted meanwhile; each compaction can spoil one."""


@dataclass(frozen=True)
class RebuildReport:
    """What a rebuild found and did, or would do.

    Attributes:
        damages: Everything found damaged, with what is done about it.
        dry_run: Whether nothing was changed.
    """

    damages: tuple[Damage, ...]
    quarantined: tuple[str, ...]
    """Names of the files in quarantine; empty for a dry run."""
    rows_lost: Mapping[str, int]
    """Lost rows by table, as far as known, including those of records that are made again."""
    retracted: Mapping[str, int]
    """Number of records per run whose rows were no longer complete; the run makes them again."""
    pending: Mapping[str, int]
    """Number of records still to be made, for each run that has any."""
    lost: tuple[str, ...]
    """What cannot be made again: one sentence each, with the remedy."""
    dry_run: bool

    @property
    def whole(self) -> bool:
        """Whether nothing stays lost."""
        return not self.lost


def rehearse(layout: Layout) -> RebuildReport:
    """Return what a rebuild would find and do. Changes nothing, and others may write and compact meanwhile.

    Args:
        layout: The store's paths.

    Raises:
        StoreError: The store changes faster than it can be examined.
        SchemaMismatch: A newer hazardmill wrote part of the store.
    """
    for _ in range(_LOOKS):
        with share(layout.commit_lock):
            seen = look(layout)
        try:
            plan = survey(layout, seen)
            report = _report(layout, plan, standing(plan.snapshot(layout)), (), dry_run=True)
        except (PartGone, FileNotFoundError):
            continue
        if all(damage.code != "part_missing" for damage in plan.damages):
            return report
        with share(layout.commit_lock):
            # A part is missing only if it is still listed; otherwise a compaction removed it.
            if look(layout).manifests == seen.manifests:
                return report
    raise StoreError(
        "the store changes faster than it can be examined", file=str(layout.root), remedy="try again when its runs end"
    )


def rebuild(layout: Layout, manifests: Manifests, runs: Collection[str], fault: Fault) -> RebuildReport:
    """Make the store whole again.

    Args:
        layout: The store's paths.
        manifests: The store's manifests, none of them read yet.
        runs: The runs whose locks the caller holds; journals of other runs are left alone.
        fault: Called at ``rebuild.kept``, ``rebuild.segment.mended``, ``rebuild.original.removed``, at the points of
            ``manifest_swap.publish`` prefixed with ``rebuild.``, and at those of ``commit.convert``.

    Returns:
        The damage with what was done about it, the files in quarantine, and the lost rows by table.

    Raises:
        SchemaMismatch: A newer hazardmill wrote part of the store; nothing was changed.
        StoreError: The disk refuses; repeating the rebuild leads to the same result.
    """

    def call_fault(point: str) -> None:
        fault(f"rebuild.{point}")

    make_folder(layout.root)
    with exclusive(layout.commit_lock):
        plan = survey(layout, look(layout))
        kept = []
        for damage in plan.damages:
            if damage.moves and (place := keep(layout, damage)) is not None:
                kept.append(place.name)
                call_fault("kept")
        _mend_journal(layout, plan, call_fault)
        mended = {LAST, *(f"journal/{saved.path.name}" for saved in plan.salvaged)}
        originals = [layout.root / d.file for d in plan.damages if d.moves and d.file not in mended]
        _republish(layout, manifests, plan, originals, call_fault)
    for path in layout.segments():
        if layout.run_of(path.stem) in runs:
            convert(layout, manifests, path, fault)
    snapshot = take_snapshot(layout, manifests)
    found = standing(snapshot)
    if found.incomplete:
        _retract(layout, manifests, found.incomplete, call_fault)
    return _report(layout, plan, found, tuple(kept), dry_run=False)


def _mend_journal(layout: Layout, plan: RepairPlan, fault: Fault) -> None:
    make_folder(layout.staging)
    for saved in plan.salvaged:
        staged = layout.staging / saved.path.name
        write_file(staged, saved.content)
        rename(staged, saved.path)
        fault("segment.mended")


def _republish(layout: Layout, manifests: Manifests, plan: RepairPlan, originals: list[Path], fault: Fault) -> None:
    placed = [PlacedPart(part) for manifest in plan.commits for part in manifest.parts]
    if plan.republishes and plan.place:
        name = layout.new_replacement("rebuild", plan.place)
        # Those in place win: a commit without its damaged parts would not be known by its hash.
        known = {manifest.segment: manifest for manifest in (*plan.commits, *plan.replaced)}
        parts = [new.part for new in placed]
        manifests.publish_replacement(name, parts, list(known.values()), plan.place, fault)
    for path in originals:
        remove(path)
        fault("original.removed")
    sweep(layout, manifests, fault)
    manifests.rename_last()


def _retract(layout: Layout, manifests: Manifests, incomplete: frozenset[Key], fault: Fault) -> None:
    """Publish the commits without the rows of these records."""
    with exclusive(layout.commit_lock):
        old = manifests.all()
        place = range(1, old[-1].sequence + 1)
        name = layout.new_replacement("rebuild", place)
        placed = [
            new
            for table in TABLES.values()
            for number, part in enumerate(_parts(old, table))
            for new in _without(layout, table, part, incomplete, name, number, fault)
        ]
        publish(layout, manifests, name, placed, old, place, fault)


def _parts(manifests: list[CommitManifest], table: Table) -> list[Part]:
    return [part for manifest in manifests for part in manifest.parts if part.table == table.name]


def _without(
    layout: Layout, table: Table, part: Part, keys: frozenset[Key], name: str, number: int, fault: Fault
) -> list[PlacedPart]:
    """Return the part without the rows of some records: unchanged, rewritten, or nothing if no row is left."""
    if table not in MADE:
        return [PlacedPart(part)]
    path = layout.root / table.name / part.file
    names = read_parts(table, [path], ["run_id", "record_id"]).to_pylist()
    stays = pa.array([(row["run_id"], row["record_id"]) not in keys for row in names], pa.bool_())
    if stays.true_count == part.rows:
        return [PlacedPart(part)]
    columns = [column.name for column in table.columns]
    new = stage_part(layout, table, batches(path, columns, stays), name, number)
    fault("part.staged")
    return [] if new is None else [new]


def _report(
    layout: Layout, plan: RepairPlan, found: Standing, kept: tuple[str, ...], *, dry_run: bool
) -> RebuildReport:
    retracted = Counter(run_id for run_id, _ in found.incomplete)
    return RebuildReport(
        damages=tuple(plan.damages),
        quarantined=kept,
        rows_lost=dict(sorted(plan.rows_lost.items())),
        retracted=dict(sorted(retracted.items())),
        pending={run_id: count for run_id, count in sorted(found.pending.items()) if count},
        lost=tuple(losses(layout, plan, found)),
        dry_run=dry_run,
    )
