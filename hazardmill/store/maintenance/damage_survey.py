"""Surveys the damage in a store and plans its repair from what is left, without changing anything.

Lost manifests are reconstructed from the best source: the copy of a replacement's manifest, or else the parts that
carry the segment's name. Parts are ordered like their commits; if several commits are lost, the older segment gets the
lower number. Parts without a free number belonged to the last commits, and come last.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow.parquet as pq

from hazardmill.errors import CorruptStore, SchemaMismatch, StoreError
from hazardmill.store.files.chain import find_breaks, find_lost_end
from hazardmill.store.files.footers import PAGE_CHECKSUMS, READ_ERRORS
from hazardmill.store.files.layout import Layout
from hazardmill.store.files.manifests import (
    CommitManifest,
    Part,
    list_converted,
    list_live,
    missing_sequences,
    read_manifest,
)
from hazardmill.store.files.parts import hash_file, schema_version
from hazardmill.store.journal import Segment, read_segment
from hazardmill.store.maintenance.findings import UPGRADE, Finding
from hazardmill.store.maintenance.quarantine import Damage
from hazardmill.store.maintenance.salvage import Salvage, salvage
from hazardmill.store.maintenance.verify import StoreFiles, check_part, find_unlisted, lost_replacements
from hazardmill.store.schemas import SCHEMA_VERSION
from hazardmill.store.snapshot import Snapshot

_NEWER = {"manifest_newer", "part_newer"}


@dataclass
class RepairPlan:
    """The files that exist, the damage, and the store as it should become."""

    damages: list[Damage] = field(default_factory=list)
    commits: list[CommitManifest] = field(default_factory=list)
    """Every commit with its intact parts, in order."""
    replaced: list[CommitManifest] = field(default_factory=list)
    """The manifests that count now."""
    salvaged: list[Salvage] = field(default_factory=list)
    pending: list[Segment] = field(default_factory=list)
    """The segments that are not in parts yet, without damaged lines."""
    rows_lost: Counter[str] = field(default_factory=Counter)
    """Lost rows by table, as far as known."""
    commits_lost: list[int] = field(default_factory=list)
    """Commits of which nothing is left; what they held is unknown."""
    parts_lost: Counter[str] = field(default_factory=Counter)
    """Unreadable parts by table that no manifest lists; their number of rows is unknown."""
    lines_lost: int = 0
    """Damaged journal lines whose content is unknown."""
    records_from: set[str] = field(default_factory=set)
    """Segments whose rows of ``records`` are lost."""
    last: int = 0
    """Number of the last commit that the journal names; 0 if it names none."""
    commits_mixed: list[int] = field(default_factory=list)
    """Commits that are here with another content than in the history that a later one belongs to."""

    @property
    def place(self) -> range:
        """The numbers of all commits, including those that are gone."""
        return range(1, max([self.last, *(manifest.sequence for manifest in self.commits)]) + 1)

    @property
    def republishes(self) -> bool:
        """Whether the manifests have to be replaced."""
        return (
            bool(self.commits_mixed)
            or self.commits != self.replaced
            or bool(missing_sequences(self.commits, self.last))
        )

    def snapshot(self, layout: Layout) -> Snapshot:
        """Return the store as it should become, before incomplete records are retracted."""
        return Snapshot(layout, tuple(self.commits), tuple(self.pending))


def survey(layout: Layout, seen: StoreFiles) -> RepairPlan:
    """Read every file that was seen, and plan the repair.

    Args:
        layout: The store's paths.
        seen: Its files.

    Returns:
        The damage, and the store as it should become.

    Raises:
        FileNotFoundError: A segment has become parts since.
        SchemaMismatch: A newer hazardmill wrote part of the store.
        StoreError: A manifest cannot be opened.
    """
    plan = RepairPlan()
    for finding in seen.findings:
        _refuse_unread(layout, finding)
        restored = "the last commit here" if finding.code == "last_changed" else "its copy or its parts"
        plan.damages.append(_damage(finding, f"moved to quarantine; restored from {restored}", moves=True))
    plan.replaced = list(seen.manifests)
    plan.last = 0 if seen.last is None else seen.last.sequence
    _tell_mixture(layout, plan, seen)
    commits = [*seen.manifests, *_restore_copies(plan, seen)]
    commits = list_live([*commits, *_regroup_parts(layout, plan, seen, commits)])
    _tell_gaps(plan, seen, commits)
    plan.commits = [_intact(layout, plan, manifest) for manifest in commits]
    _read_journal(layout, plan, seen)
    return plan


def _refuse_unread(layout: Layout, finding: Finding) -> None:
    """Refuse files that are not damaged, but that this version cannot read or that cannot be read now."""
    if finding.code in _NEWER:
        raise SchemaMismatch(finding.message, file=str(layout.root / finding.file), remedy=UPGRADE)
    if finding.code == "manifest_unreadable":
        raise StoreError(finding.message, file=str(layout.root / finding.file), remedy=finding.remedy)


def _damage(finding: Finding, action: str, *, moves: bool) -> Damage:
    return Damage(finding.code, finding.file, finding.message, action, moves)


def _tell_mixture(layout: Layout, plan: RepairPlan, seen: StoreFiles) -> None:
    """Report manifests of another history; what they followed is lost, but all that is here is kept."""
    breaks = list(find_breaks(layout, seen.manifests))
    breaks += [
        (plan.last, end) for end in find_lost_end(layout, seen.manifests, seen.last) if end.code == "chain_broken"
    ]
    for number, finding in breaks:
        plan.damages.append(_damage(finding, "kept, as one history with the others", moves=False))
        plan.commits_mixed.append(number)


def _commit_numbers(plan: RepairPlan) -> dict[str, int]:
    """The segment and commit number of each changed manifest, which its file name still gives."""
    told: dict[str, int] = {}
    for damage in plan.damages:
        number, _, owner = Path(damage.file).stem.partition("-")
        if damage.code == "manifest_changed" and number.isdigit():
            told[owner] = int(number)
    return told


def _tell_gaps(plan: RepairPlan, seen: StoreFiles, commits: Sequence[CommitManifest]) -> None:
    """Report commits without a manifest. A segment that is in the journal and also has parts may be one of them."""
    told, present = (
        _commit_numbers(plan),
        {n for manifest in commits for n in range(manifest.first, manifest.sequence + 1)},
    )
    committed = {path.stem for paths in seen.parts.values() for path in paths} & seen.pending.keys()
    unnamed = len(committed - told.keys())
    for number in sorted({*missing_sequences(commits, plan.last), *told.values()} - present):
        file, message = f"manifests/{number:010d}-*.json", f"commit {number} has no manifest and no part"
        if any(told.get(name) == number for name in committed):
            action = "its segment is still in the journal"
        elif unnamed:
            unnamed -= 1
            action = "assumed to be a segment that is still in the journal"
        else:
            action = "given up"
            plan.commits_lost.append(number)
        plan.damages.append(Damage("manifest_missing", file, message, action))


def _restore_copies(plan: RepairPlan, seen: StoreFiles) -> list[CommitManifest]:
    """Restore lost manifests of replacements from their copies."""
    found = []
    for path in lost_replacements(seen):
        file = f"manifests/copies/{path.name}"
        try:
            found.append(read_manifest(path))
        except CorruptStore as error:
            plan.damages.append(Damage("manifest_changed", file, error.message, "moved to quarantine", moves=True))
            continue
        if all(damage.file != f"manifests/{path.name}" for damage in plan.damages):
            message = "the manifest of a compaction is missing; only its copy exists"
            plan.damages.append(Damage("manifest_missing", f"manifests/{path.name}", message, "restored from its copy"))
    return found


def _regroup_parts(
    layout: Layout, plan: RepairPlan, seen: StoreFiles, commits: Sequence[CommitManifest]
) -> list[CommitManifest]:
    """Reconstruct lost manifests from the parts that carry their segment's name."""
    listed = {(part.table, part.file) for manifest in list_live(commits) for part in manifest.parts}
    known = list_converted(commits)
    groups: dict[str, list[Part]] = defaultdict(list)
    for path in find_unlisted(layout, seen, listed):
        file, owner = str(path.relative_to(layout.root)), layout.owner_of(path.name)
        belongs = layout.is_part(path.name)
        if owner in known:
            continue  # replaced by a replacement that was restored; will be removed
        part = _describe_part(path) if belongs else None
        if part is None:
            what = "is not a readable part of this table" if belongs else "does not belong here"
            message = f"no manifest lists this file, which {what}"
            plan.damages.append(Damage("part_unlisted", file, message, "moved to quarantine", moves=True))
            plan.parts_lost[path.parent.name] += belongs
        else:
            plan.damages.append(Damage("part_unlisted", file, "its manifest is lost", "listed again"))
            groups[owner].append(part)
    return _number_commits(layout, groups, plan, commits)


def _number_commits(
    layout: Layout, groups: dict[str, list[Part]], plan: RepairPlan, commits: Sequence[CommitManifest]
) -> list[CommitManifest]:
    made = []
    taken = {number for manifest in commits for number in range(manifest.first, manifest.sequence + 1)}
    for name in sorted(groups):
        replacement = layout.replacement_of(name)
        if replacement is not None:
            parts = sorted(groups.pop(name), key=lambda part: (part.table, part.file))
            owner, place = replacement
            if taken.isdisjoint(place):
                made.append(CommitManifest(place[-1], owner, tuple(parts), "", place[0], 1))
            else:
                # Commits made since its loss reuse its numbers: put it before them, so that it hides nothing.
                made.append(CommitManifest(0, owner, tuple(parts), "", 0))
    told = _commit_numbers(plan)
    present = {number for manifest in [*commits, *made] for number in range(manifest.first, manifest.sequence + 1)}
    last = max([plan.last, *present, *told.values()])
    gaps = [number for number in range(1, last + 1) if number not in present and number not in told.values()]
    for owner in sorted(groups, key=layout.creation_key):
        if owner in told:
            number = told[owner]
        elif gaps:
            number = gaps.pop(0)
        else:
            number = last = last + 1
        made.append(CommitManifest(number, owner, tuple(groups[owner]), "", number))
    return made


def _describe_part(path: Path) -> Part | None:
    """Return an unlisted part as a manifest would list it; null if it is damaged or belongs to another table."""
    try:
        data = pq.read_table(path, **PAGE_CHECKSUMS)
    except READ_ERRORS:
        return None
    said = (data.schema.metadata or {}).get(b"hazardmill_table", b"").decode()
    version = schema_version(data.schema)
    if said != path.parent.name or version is None or version > SCHEMA_VERSION:
        return None
    return Part(said, path.name, data.num_rows, path.stat().st_size, hash_file(path), version)


def _intact(layout: Layout, plan: RepairPlan, manifest: CommitManifest) -> CommitManifest:
    """Return a commit without its damaged parts."""
    parts = []
    for part in manifest.parts:
        findings = list(check_part(layout, part))
        for finding in findings:
            _refuse_unread(layout, finding)
        if not findings:
            parts.append(part)
            continue
        there = (layout.root / part.table / part.file).exists()
        action = f"{'moved to quarantine' if there else 'given up'}: {part.rows} rows"
        plan.damages.append(_damage(findings[0], action, moves=there))
        plan.rows_lost[part.table] += part.rows
        if part.table == "records":
            plan.records_from.update(manifest.names)
    return replace(manifest, parts=tuple(parts)) if len(parts) < len(manifest.parts) else manifest


def _read_journal(layout: Layout, plan: RepairPlan, seen: StoreFiles) -> None:
    known = list_converted(plan.commits)
    for name, path in seen.pending.items():
        saved = salvage(path)
        if saved is None:
            plan.pending += [] if name in known else [read_segment(path)]
            continue
        plan.salvaged.append(saved)
        lost = ", ".join(map(str, saved.lines_lost))
        message = f"line {lost} does not match its checksum"
        if name in known:
            action = "moved to quarantine; all its rows are in parts"
        else:
            action = f"moved to quarantine; {len(saved.segment.groups)} intact lines stay"
            plan.pending.append(saved.segment)
            plan.rows_lost += saved.rows_lost
            plan.lines_lost += saved.unknown
        plan.damages.append(Damage("segment_corrupt", f"journal/{path.name}", message, action, moves=True))
